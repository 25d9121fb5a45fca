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


@pytest.mark.parametrize(
    ("condition", "said", "hint"),
    [
        ("EXISTS (SELECT 1 FROM dx)", "EXISTS is", "JOIN"),
        ("age IN (SELECT n FROM acts)", "a subquery", "JOIN"),
        ("day > CURRENT_DATE", "CURRENT_DATE is", "DATE '"),
        ("day > now()", "NOW is", "DATE '"),
        ("DATE_TRUNC('day', day) = day", "no part DAY", "there are year, quarter, month, week"),
        ("EXTRACT(HOUR FROM day) = 3", "no part HOUR", "there are year, quarter, month, day"),
        ("strftime(day, '%Y') = '2020'", "STRFTIME is", "YEAR"),
        ("DATEDIFF('day', day, \"left\") > 3", "DATEDIFF is", "b - a"),
        ('day + INTERVAL 5 DAY > "left"', "INTERVAL is", "d + 5"),
        ("REGEXP_MATCHES(ward, 'a')", "REGEXP_MATCHES is", "there are CASE"),
        ("'EXISTS' = ward AND EXISTS (SELECT 1 FROM dx)", "column 54: 'EXISTS'", "JOIN"),
    ],
)
def test_what_was_written_is_named_and_something_else_is_offered(condition: str, said: str, hint: str) -> None:
    error = refusal(f"SELECT COUNT(*) FROM stays WHERE {condition}")
    assert said in str(error)
    assert hint in str(error.hint)


@pytest.mark.parametrize(
    "condition", ['day + 5 > "left"', '"left" - day > 3', "day > DATE '2020-01-31'", "YEAR(day) = 2020"]
)
def test_what_is_offered_instead_is_understood(condition: str) -> None:
    bound(parse(f"SELECT COUNT(*) FROM stays WHERE {condition}", SCHEMA), SCHEMA)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT DISTINCT ward FROM stays", "GROUP BY"),
        ("SELECT COUNT(*) FROM stays UNION ALL SELECT COUNT(*) FROM dx", "each SELECT by itself"),
        ("SELECT COUNT(*) FROM (SELECT age FROM stays UNION ALL SELECT n FROM acts) AS u", "each SELECT by itself"),
        ("SELECT STRING_AGG(ward, ',') FROM stays", "use COUNT"),
    ],
)
def test_clauses_are_refused_with_what_to_do(text: str, hint: str) -> None:
    assert hint in str(refusal(text).hint)


def test_tables_that_lead_to_a_third_are_joined_through_it() -> None:
    error = refusal("SELECT COUNT(*) FROM dx JOIN acts ON dx.stay = acts.stay")
    assert (error.code, "both lead to" in str(error.hint)) == ("SF022", True)
    followed = "SELECT COUNT(*) FROM dx JOIN stays ON dx.stay = stays.stay JOIN acts ON acts.stay = stays.stay"
    bound(parse(followed, SCHEMA), SCHEMA)


def test_the_unit_has_one_name_in_tables_that_are_joined() -> None:
    joined = "FROM stays JOIN dx ON stays.stay = dx.stay"
    assert parse(f"SELECT COUNT(DISTINCT patient) {joined}", SCHEMA) == parse(
        f"SELECT COUNT(DISTINCT stays.patient) {joined}", SCHEMA
    )
    outer = joined.replace("JOIN", "LEFT JOIN")
    assert "two tables" in refusal(f"SELECT COUNT(DISTINCT patient) {outer}").message, "there it may be NULL"


def test_too_many_cells_are_counted() -> None:
    with pytest.raises(NotSupported) as error:
        bound(parse("SELECT age, cost, COUNT(*) FROM stays WHERE ward = 'a' GROUP BY age, cost, day", SCHEMA), SCHEMA)
    assert "121 x 2,001 x 731 = 176,990,451 cells" in error.value.message
