"""What the interpreter claims of an expression holds on every row: type, range, grid, NULL, and the list of its keys."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core import NotSupported
from sfumato.queries.domain import domain
from sfumato.queries.evaluate import LOWER, UPPER, evaluate, like
from sfumato.queries.expression import Field, Measure
from sfumato.queries.infer import STEPS, Type, infer, visible
from sfumato.queries.schema import Value
from sfumato.queries.sql.names import Names, relation_of
from sfumato.queries.sql.parse import parse_row_expression
from sfumato.testing.oracle import settled
from sfumato.testing.questions import COLUMNS, Draw, condition_text, key_text, number_text, rows, schema

TABLE = schema().tables[0]
COLUMNS_OF = Names((("", relation_of(TABLE, schema()).columns),))
SCOPE = visible(TABLE)
LISTED = {column.name: column.values for column in COLUMNS if isinstance(column.values, tuple)}
ROWS: list[dict[Field | Measure, Value]] = [
    {Field(column.name): settled(row[column.name], column) for column in COLUMNS}
    for row in rows(Draw("infer"), 60, units=5)
]


def holds(of: Type, value: Value) -> bool:
    if value is None:
        return of.nullable
    match of.kind:
        case "number":
            assert isinstance(value, int | Fraction)
            inside = (of.low is None or of.low <= value) and (of.high is None or value <= of.high)  # type: ignore[operator]
            return inside and (of.grain is None or (Fraction(value) / of.grain).denominator == 1)
        case "date":
            assert isinstance(value, date)
            return of.low <= value <= of.high  # type: ignore[operator]
        case "boolean":
            return isinstance(value, bool)
        case "text":
            return isinstance(value, str)
    return False


@given(st.text(max_size=8), st.sampled_from([number_text, condition_text]))
@settings(max_examples=300)
def test_claims_hold_on_every_row(word: str, kind: object) -> None:
    text = kind(Draw(f"claims/{word}"), 3)  # type: ignore[operator]
    try:
        typed = parse_row_expression(text, COLUMNS_OF)
    except NotSupported:
        return
    assert infer(typed.expression, SCOPE) == typed.type or typed.type.kind == "null", text
    for row in ROWS:
        assert holds(typed.type, evaluate(typed.expression, row)), text


@given(st.text(max_size=8))
@settings(max_examples=150, deadline=None)
def test_a_key_never_leaves_its_list(word: str) -> None:
    """Of numbers and dates, whose lists come from ranges; a listed text may have other values, which are dropped."""
    typed = parse_row_expression(key_text(Draw(f"keys/{word}")), COLUMNS_OF)
    values = domain(typed.expression, SCOPE, LISTED)
    assert values is not None
    assert len(set(values)) == len(values)
    if typed.type.kind in {"number", "date", "boolean"}:
        assert {evaluate(typed.expression, row) for row in ROWS} <= {*values, None}


@pytest.mark.parametrize(
    ("text", "low", "high", "grain"),
    [
        ("age * 52", 0, 6240, 52),
        ("age + 0.5", Fraction(1, 2), Fraction(241, 2), Fraction(1, 2)),
        ("score - heat", -50, 60, Fraction(1, 100)),
        ("heat * heat", -2500, 2500, Fraction(1, 100)),
        ("ABS(heat)", 0, 50, Fraction(1, 10)),
        ("FLOOR(heat / 25)", -2, 2, 1),
        ("age // 10", 0, 12, 1),
        ("age % 7", 0, 6, 1),
        ("big % 7", -6, 6, 1),
        ("GREATEST(0, LEAST(big, 1000))", 0, 1000, 1),
        ("CASE WHEN flag THEN age ELSE heat END", -50, 120, Fraction(1, 10)),
        ("COALESCE(age, -1)", -1, 120, 1),
        ("year(day)", 2019, 2021, 1),
        ("day - DATE '2020-01-01'", -31, 546, 1),
        ("CAST(flag AS INTEGER)", 0, 1, 1),
        ("income / 12", Fraction(-834, 10), Fraction(833333, 10), Fraction(1, 10)),
    ],
)
def test_ranges(text: str, low: Fraction, high: Fraction, grain: Fraction) -> None:
    found = parse_row_expression(text, COLUMNS_OF).type
    assert (found.low, found.high, found.grain) == (low, high, grain)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "big + 1",
            "-big",
            "big * 2",
            "big / 2",
            "free + 1",
            "free > 0",
            "big > 0.5",
            "income * income * income * income",
        ),
        *("age + 'a'", "flag < TRUE", "note + 1", "age % 0", "age % score", "age / 0", "LEAST('a', 'b')", "day + 0.5"),
        *(
            "day + 4000000",
            "FLOOR(note)",
            "substring(note, 0)",
            "substring(note, age)",
            "note LIKE sex",
        ),
        *(
            "1e50 + age",
            "age = 1e-40",
            "CASE WHEN age THEN 1 END",
            "CASE WHEN flag THEN 1 ELSE 'a' END",
            "sqrt(age)",
            "ln(age)",
        ),
        *(
            "age::VARCHAR",
            "hash(note)",
            "regexp_matches(note, 'a')",
            "strftime(day, '%Y')",
            "age IS 3",
            "note COLLATE NOCASE = 'a'",
        ),
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(NotSupported):
        parse_row_expression(text, COLUMNS_OF)


@pytest.mark.parametrize(
    ("text", "said", "unsaid"),
    [
        ("free + 1", "no public grid", "GREATEST"),
        ("GREATEST(0, LEAST(9, free))", "no public grid", "GREATEST"),
        ("big + 1", "GREATEST(low, LEAST(high, x))", "grid"),
    ],
)
def test_a_hint_is_offered_only_where_it_is_followed(text: str, said: str, unsaid: str) -> None:
    """A limit stands for the range of an integer; a number without a range has no grid that a limit could lie on."""
    with pytest.raises(NotSupported) as error:
        parse_row_expression(text, COLUMNS_OF)
    assert error.value.code == "SF002"
    assert said in str(error.value.hint)
    assert unsaid not in str(error.value.hint)
    parse_row_expression("GREATEST(0, LEAST(9, big)) + 1", COLUMNS_OF)


def test_nothing_needs_more_than_61_bits() -> None:
    for place in range(300):
        try:
            found = parse_row_expression(number_text(Draw(f"bits/{place}"), 4), COLUMNS_OF).type
        except NotSupported:
            continue
        if found.bounded and found.grain is not None:
            assert isinstance(found.low, Fraction)
            assert isinstance(found.high, Fraction)
            assert max(abs(found.low), abs(found.high)) / found.grain <= STEPS


def test_case_pairs_are_pairs() -> None:
    assert len(LOWER) == len(UPPER) == len(set(LOWER)) == len(set(UPPER))
    assert not set(LOWER) & set(UPPER)
    assert LOWER.upper() == UPPER


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        *(("a%", "abc", True), ("a%", "ba", False), ("_", "é", True), ("_", "e\u0301", False), ("%", "a\nb", True)),
        *(("a.c", "abc", False), ("[a]", "a", False), ("", "", True), ("", "a", False), ("%\u0301", "e\u0301", True)),
    ],
)
def test_like(pattern: str, text: str, matches: bool) -> None:
    assert (like(pattern).fullmatch(text) is not None) == matches
