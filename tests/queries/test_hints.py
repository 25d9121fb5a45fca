"""What a refusal offers is taken when it is followed: an analyst has nothing else to go by."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from sfumato.core import NotSupported
from sfumato.queries.bounded import bound
from sfumato.queries.schema import Column, Schema, Step, Table, Unit
from sfumato.queries.sql.parse import parse

SCHEMA = Schema(
    (
        Table(
            "stays",
            (
                Column("ward", "category", values=("a", "b"), null="refuse"),
                Column("age", "integer", range=(Fraction(0), Fraction(120))),
                Column("cost", "number", range=(Fraction(0), Fraction(20_000))),
                Column("day", "date", range=(date(2020, 1, 1), date(2021, 12, 31))),
                Column("left", "date", range=(date(2020, 1, 1), date(2021, 12, 31))),
            ),
            unit="patient",
        ),
        Table(
            "dx",
            (Column("code", "category", values=("X", "Y")),),
            unit="patient",
            path=(Step("stay", "stays", "stay"),),
        ),
        Table(
            "acts",
            (Column("n", "integer", range=(Fraction(0), Fraction(9))),),
            unit="patient",
            path=(Step("stay", "stays", "stay"),),
        ),
    ),
    Unit("person", max_rows=3),
)


def refusal(text: str) -> NotSupported:
    with pytest.raises(NotSupported) as error:
        parse(text, SCHEMA)
    return error.value


@pytest.mark.parametrize(
    "where", ["ward IS NOT NULL", "age > 5 AND ward IS NOT NULL", "age > 5 AND (age < 9 AND ward = 'a')"]
)
def test_a_column_without_nulls_may_be_asked_beside_other_conditions(where: str) -> None:
    bound(parse(f"SELECT ward, COUNT(*) FROM stays WHERE {where} GROUP BY ward", SCHEMA), SCHEMA)


@pytest.mark.parametrize("where", ["age > 5", "age > 5 OR ward IS NOT NULL", "NOT (age > 5 AND ward IS NOT NULL)"])
def test_a_condition_that_lets_nulls_through_does_not_help(where: str) -> None:
    assert "IS NOT NULL" in str(refusal(f"SELECT ward, COUNT(*) FROM stays WHERE {where} GROUP BY ward").hint)
