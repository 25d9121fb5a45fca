"""BigQuery's options in a question: what they say is compared with the policy and the price, and never passed over."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sfumato.core.errors import NotSupported
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql.options import priced, taken_out
from sfumato.queries.sql.parse import parse

SCHEMA = Schema(
    (
        Table(
            "people",
            (Column("sex", "category", values=("F", "M")), Column("zip", "text", values="private")),
            unit="person",
        ),
    ),
    Unit("person"),
)
ASKED = "SELECT WITH DIFFERENTIAL_PRIVACY\n  OPTIONS({}) {key}, COUNT(*) FROM people GROUP BY {key}"
ALL = "epsilon = 0.5, delta=1e-6, privacy_unit_column = person"


def asked(options: str = ALL, key: str = "sex", **price: Any) -> tuple[str, Any, Any]:
    given = {"epsilon": None, "within": None, "delta": None} | price
    return priced(ASKED.format(options, key=key), SCHEMA, **given)


def test_the_question_is_the_one_without_options() -> None:
    text, epsilon, delta = asked()
    assert parse(text, SCHEMA) == parse("SELECT sex, COUNT(*) FROM people GROUP BY sex", SCHEMA)
    assert (epsilon, delta) == (Fraction(1, 2), None), "public groups cost no delta"
    whole = ASKED.format(ALL, key="sex")
    assert text.index("FROM people") == whole.index("FROM people"), "refusals say where words stand"
    assert text.count("\n") == whole.count("\n")


def test_private_groups_take_their_delta() -> None:
    assert asked(key="zip")[1:] == (Fraction(1, 2), Fraction(1, 10**6))


@pytest.mark.parametrize("price", [{"epsilon": "0.5"}, {"epsilon": Fraction(1, 2)}])
def test_the_same_price_twice_is_one_price(price: Any) -> None:
    assert asked(**price)[1] == price["epsilon"]


@pytest.mark.parametrize(
    ("options", "price", "code"),
    [
        (ALL, {"epsilon": "0.4"}, "SF004"),
        (ALL, {"within": "1"}, "SF004"),
        ("epsilon = 1, privacy_unit_column = sex", {}, "SF021"),
        ("epsilon = 1, epsilon = 2", {}, "SF021"),
        ("epsilon = 1, max_groups_contributed = 2", {}, "SF021"),
        ("epsilon 1", {}, "SF021"),
        ("epsilon =", {}, "SF021"),
    ],
)
def test_a_contradiction_is_refused(options: str, price: Any, code: str) -> None:
    with pytest.raises(NotSupported) as error:
        asked(options, **price)
    assert error.value.code == code


def test_another_delta_for_private_groups_is_refused() -> None:
    with pytest.raises(NotSupported, match="another delta"):
        asked(key="zip", delta="1e-7")


def test_a_price_is_not_lost_where_none_is_agreed() -> None:
    with pytest.raises(NotSupported, match="OPTIONS hold the price"):
        parse(ASKED.format(ALL, key="sex"), SCHEMA)


def test_options_of_a_part_of_the_question_are_refused() -> None:
    inner = ASKED.format("epsilon = 9", key="sex")
    with pytest.raises(NotSupported, match="inside of the question"):
        taken_out(f"SELECT COUNT(*) FROM ({inner}) AS p")


def test_text_in_quotes_holds_no_options() -> None:
    text = "SELECT COUNT(*) FROM people WHERE zip = 'WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=9)'"
    assert taken_out(text).sql == text
    assert taken_out(text).epsilon is None
