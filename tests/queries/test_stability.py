"""Stability is true: exact answers of neighbouring tables are never further apart than `sensitivity` says."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from sfumato.core import NotSupported, Relation
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB
from sfumato.queries.bounded import Bounded, bound
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql.parse import parse
from sfumato.testing import oracle, questions
from sfumato.testing.stability import check_moved, reach, without

Rows = list[dict[str, Any]]
COLUMNS = (
    Column("g", "category", values=("a", "b", "c"), null="group"),
    Column("k", "integer", range=(Fraction(1), Fraction(3)), null="drop"),
    Column("x", "integer", range=(Fraction(-3), Fraction(5))),
    Column("y", "number", range=(Fraction(2), Fraction(4)), grain=Fraction(1, 2)),
    Column("z", "integer", range=(Fraction(-9), Fraction(-4))),
    Column("f", "boolean"),
    Column("d", "date", range=(date(2020, 1, 1), date(2020, 12, 31))),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "g": st.sampled_from(["a", "b", "c", "other", None]),
    "k": st.sampled_from([0, 1, 2, 3, 9, None]),
    "x": st.sampled_from([-100, -3, -1, 0, 5, 77, None]),
    "y": st.sampled_from([float("nan"), float("-inf"), 2.0, 2.3, 3.0, 4.0, 1e9, None]),
    "z": st.sampled_from([-1000, -9, -6, -4, 0, None]),
    "f": st.sampled_from([True, False, None]),
    "d": st.sampled_from([date(1900, 1, 1), date(2020, 2, 29), date(2020, 12, 31), None]),
}
ROW = st.fixed_dictionaries({"person": st.sampled_from(["u", "v", "w", None]), **VALUES})
KEYS = [
    "g",
    "k",
    "f",
    "HISTOGRAM(x, -2, 0, 4)",
    "HISTOGRAM(y, [2.5, 3, 4])",
    "month(d)",
    "x > 0",
    "CASE WHEN x > 0 THEN g ELSE 'none' END",
    "FLOOR(y)",
    "x % 3",
]
NUMBERS = [
    "x",
    "y",
    "z",
    "x * 2",
    "x * y",
    "x + z",
    "y / x",
    "x / y",
    "ABS(x)",
    "CASE WHEN f THEN x ELSE z END",
    "x - y",
    "-z",
]
CONDITIONS = [
    "x > -2",
    "f",
    "g = 'a' OR y > 2.5",
    "NOT f",
    "d > '2020-03-01'",
    "x IS NOT NULL",
    "z BETWEEN -9 AND -5",
    "k <> 2",
]


@st.composite
def texts(draw: st.DrawFn) -> str:
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    x = st.sampled_from(NUMBERS)
    kinds = [
        "COUNT(*)",
        "COUNT({})",
        "COUNT(DISTINCT person)",
        "COUNT(DISTINCT {})",
        "SUM({})",
        "AVG({})",
        "VAR_POP({})",
        "SUM({}) FILTER (WHERE f)",
        "MEDIAN({})",
        "QUANTILE({}, 0.1, 0.9) FILTER (WHERE f)",
    ]
    measures = [draw(st.sampled_from(kinds)).format(draw(x)) for _ in range(draw(st.integers(1, 3)))]
    where = draw(st.one_of(st.none(), st.sampled_from(CONDITIONS)))
    shown = [*(f"{key} AS g{place}" for place, key in enumerate(keys)), *measures]
    return (
        f"SELECT {', '.join(shown)} FROM people"
        + (f" WHERE {where}" if where else "")
        + (f" GROUP BY {', '.join(keys)}" if keys else "")
    )


def policy(max_rows: int, relation: Relation) -> Schema:
    return Schema((Table("people", COLUMNS, unit="person"),), Unit("person", relation, max_rows))


def duckdb(bounded: Bounded, rows: Rows) -> list[list[int]]:
    import pyarrow as pa

    kinds = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "date": pa.date32()}
    types = {"person": pa.string(), **{c.name: kinds.get(c.type, pa.string()) for c in COLUMNS}}
    data = pa.table({name: pa.array([row[name] for row in rows], type=kind) for name, kind in types.items()})
    engine = DuckDB({"people": Source({c.name: c.type for c in COLUMNS}, data=data, unit="person")}, threads=1)
    found = [vector.tolist() for vector in bounded.vectors(engine.execute(bounded.sql("duckdb")))]
    engine.close()
    return found


def by_hand(bounded: Bounded, rows: Rows) -> list[list[int]]:
    return [list(vector) for vector in oracle.exact(bounded.tally, rows)]


def neighbour(rows: Rows, others: Rows, relation: Relation) -> Rows:
    """Unit u has left; under replace, it has come back with other rows."""
    left = without(rows, "u")
    return left if relation is Relation.ADD_REMOVE else [*left, *({**row, "person": "u"} for row in others)]


RELATIONS = st.sampled_from([Relation.ADD_REMOVE, Relation.REPLACE])


CASE = (texts(), st.lists(ROW, max_size=12), st.lists(ROW, max_size=6), st.integers(1, 3), RELATIONS)


@given(*CASE)
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
def test_by_hand(text: str, rows: Rows, others: Rows, max_rows: int, relation: Relation) -> None:
    check(by_hand, text, rows, others, max_rows, relation)


@given(*CASE)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
def test_on_duckdb(text: str, rows: Rows, others: Rows, max_rows: int, relation: Relation) -> None:
    check(duckdb, text, rows, others, max_rows, relation)


@pytest.mark.slow
@given(*CASE)
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
def test_on_duckdb_for_longer(text: str, rows: Rows, others: Rows, max_rows: int, relation: Relation) -> None:
    check(duckdb, text, rows, others, max_rows, relation)


@pytest.mark.torture
@given(*CASE)
@settings(max_examples=20_000, suppress_health_check=list(HealthCheck))
def test_by_hand_at_length(text: str, rows: Rows, others: Rows, max_rows: int, relation: Relation) -> None:
    check(by_hand, text, rows, others, max_rows, relation)


def check(exact: Any, text: str, rows: Rows, others: Rows, max_rows: int, relation: Relation) -> None:
    schema = policy(max_rows, relation)
    try:
        bounded = bound(parse(text, schema), schema)
    except NotSupported:
        reject()
    check_moved(bounded, exact(bounded, rows), exact(bounded, neighbour(rows, others, relation)))


@pytest.mark.slow
@pytest.mark.parametrize("word", ["one", "two", "three"])
def test_generated_questions_on_hostile_tables(word: str) -> None:
    """Every unit of a hostile table in turn, on questions as wild as those that engines are checked with."""
    draw = questions.Draw(f"stability/{word}")
    for relation in (Relation.ADD_REMOVE, Relation.REPLACE):
        schema = questions.schema(max_rows=2, neighbours=relation)
        rows = questions.rows(draw, 60, units=6)
        others = questions.rows(draw, 12, units=1)
        for _ in range(40):
            try:
                bounded = bound(parse(questions.question(draw), schema), schema)
            except NotSupported:
                continue
            here = by_hand(bounded, rows)
            for unit in {row["person"] for row in rows} - {None}:
                there = without(rows, unit)
                if relation is Relation.REPLACE:
                    there += [{**row, "person": unit} for row in others]
                check_moved(bounded, here, by_hand(bounded, there))


@pytest.mark.parametrize(
    ("text", "worst"),
    [
        ("SELECT COUNT(*) FROM people", [{"x": 0}] * 3),
        ("SELECT g, COUNT(*) FROM people GROUP BY g", [{"g": "a"}, {"g": "b"}, {"g": "c"}]),
        ("SELECT SUM(x) FROM people", [{"x": 5}] * 3),
        ("SELECT SUM(z) FROM people", [{"z": -9}] * 3),
        ("SELECT AVG(y) FROM people", [{"y": 2.0}, {"y": 4.0}, {"y": 3.0}]),
        ("SELECT VAR_POP(y) FROM people", [{"y": 2.0}, {"y": 4.0}, {"y": 2.0}]),
        ("SELECT g, COUNT(DISTINCT person) FROM people GROUP BY g", [{"g": "a"}, {"g": "b"}, {"g": "c"}]),
        ("SELECT COUNT(*), SUM(x), AVG(y) FROM people", [{"x": 5, "y": 4.0}] * 3),
        ("SELECT MEDIAN(y) FROM people", [{"y": 2.0}, {"y": 4.0}, {"y": 4.0}]),
        ("SELECT g, QUANTILE(x, 0.1, 0.9) FROM people GROUP BY g", [{"g": each, "x": 5} for each in "abc"]),
        ("SELECT COUNT(DISTINCT x) FROM people", [{"x": 0}, {"x": 1}, {"x": 2}]),
        (
            "SELECT g, COUNT(DISTINCT x) FROM people GROUP BY g",
            [{"g": "a", "x": 0}, {"g": "a", "x": 1}, {"g": "b", "x": 0}],
        ),
    ],
)
def test_the_promise_is_tight(text: str, worst: Rows) -> None:
    """A unit at the worst end of everything uses the whole of the promised l1: nothing is given away."""
    schema = policy(3, Relation.ADD_REMOVE)
    bounded = bound(parse(text, schema), schema)
    rows = [{"person": "u", **{c.name: None for c in COLUMNS}, **row} for row in worst]
    assert reach(bounded, by_hand(bounded, rows), by_hand(bounded, [])) == 1


def test_a_unit_with_many_rows_reaches_no_further_than_one_at_the_bound() -> None:
    schema = policy(2, Relation.ADD_REMOVE)
    bounded = bound(parse("SELECT g, COUNT(*), SUM(x) FROM people GROUP BY g", schema), schema)
    for count in (1, 2, 3, 7, 1000):
        row = {"person": "u", **{c.name: None for c in COLUMNS}, "g": "a", "x": 5}
        check_moved(bounded, by_hand(bounded, [row] * count), by_hand(bounded, []))


def test_rows_of_nobody_count_nowhere() -> None:
    schema = policy(1, Relation.ADD_REMOVE)
    bounded = bound(parse("SELECT COUNT(*) FROM people", schema), schema)
    row = {"person": None, **{c.name: 1 if c.type == "integer" else None for c in COLUMNS}}
    assert duckdb(bounded, [row] * 5) == by_hand(bounded, [row] * 5) == [[0]]
