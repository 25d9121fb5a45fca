"""Each way to get the bounds wrong, tried on a broken copy: the checks that guard them have to notice.

Two kinds of check: `check_moved` (one unit reaches further than promised) and bit-equality with the oracle. Weights
taken before a filter do not break a promise (n only grows), so it is the second that catches them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from sfumato.core import EngineFailed, NotSupported, Relation, Sensitivity
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB
from sfumato.queries import stability
from sfumato.queries.bounded import Bounded, bound
from sfumato.queries.plan import Filter, Tally, Weigh
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql import emit as emitter
from sfumato.queries.sql import formula, relation
from sfumato.queries.sql.formula import integer
from sfumato.queries.sql.parse import parse
from sfumato.testing import oracle
from sfumato.testing.stability import check_moved, without

COLUMNS = (
    Column("g", "category", values=("a", "b", "c")),
    Column("x", "integer", range=(Fraction(0), Fraction(10))),
    Column("f", "boolean"),
)
ROWS: list[dict[str, Any]] = [
    *({"person": "u", "g": "abc"[place % 3], "x": 99 if place % 2 else None, "f": place < 4} for place in range(7)),
    {"person": "v", "g": "a", "x": 3, "f": True},
    {"person": None, "g": "a", "x": 4, "f": True},
]
QUESTION = "SELECT g, COUNT(*), SUM(x), AVG(x), COUNT(DISTINCT person) FROM people WHERE f GROUP BY g"
ROWWISE = "SELECT g, COUNT(*), SUM(x), AVG(x) FROM people WHERE f GROUP BY g"
DIFFERENT = "SELECT COUNT(*), COUNT(DISTINCT CASE WHEN x IS NULL OR x <> 3 THEN g END) FROM people"
PLACES = "SELECT MEDIAN(x) FROM people WHERE x IS NOT NULL"
BINS = "SELECT HISTOGRAM(x, 0, 3, 5, 10), COUNT(*) FROM people"
EVERYONE = "SELECT COUNT(*), SUM(x), AVG(x) FROM people"


def asked(text: str, relation: Relation = Relation.ADD_REMOVE) -> Bounded:
    schema = Schema((Table("people", COLUMNS, unit="person"),), Unit("person", relation, 2))
    return bound(parse(text, schema), schema)


def on_duckdb(bounded: Bounded, rows: list[dict[str, Any]], sql: str | None = None) -> list[list[int]]:
    types = {"person": pa.string(), "g": pa.string(), "x": pa.int64(), "f": pa.bool_()}
    data = pa.table({name: pa.array([row[name] for row in rows], type=kind) for name, kind in types.items()})
    engine = DuckDB({"people": Source({c.name: c.type for c in COLUMNS}, data=data, unit="person")}, threads=1)
    return [vector.tolist() for vector in bounded.vectors(engine.execute(sql or bounded.sql("duckdb")))]


def reaches_too_far(text: str, *, relation: Relation = Relation.ADD_REMOVE) -> None:
    bounded = asked(text, relation)
    check_moved(bounded, on_duckdb(bounded, ROWS), on_duckdb(bounded, without(ROWS, "u")))


def differs(text: str) -> None:
    bounded = asked(text)
    assert on_duckdb(bounded, ROWS) == [list(vector) for vector in oracle.exact(bounded.tally, ROWS)]


Check = Callable[[str], None]


@pytest.mark.parametrize("text", [QUESTION, ROWWISE, EVERYONE, PLACES])
def test_nothing_is_broken_yet(text: str) -> None:
    reaches_too_far(text)
    differs(text)


def one_more(count: exp.Expr, weigh: Weigh) -> exp.Expr:
    return ORIGINAL_WEIGHT(count, replace(weigh, bound=weigh.bound + 1))


def rounded(count: exp.Expr, weigh: Weigh) -> exp.Expr:
    share = exp.Div(this=exp.cast(exp.Literal.number(weigh.whole * weigh.bound), "double"), expression=count.copy())
    return exp.cast(exp.func("LEAST", exp.func("ROUND", share), exp.Literal.number(weigh.whole)), "bigint")


def unclamped(column: Column) -> exp.Expr:
    return exp.column(exp.to_identifier(column.name, quoted=True), table="t")


def null_becomes_a_number(x: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    return exp.func("GREATEST", low, exp.func("LEAST", high, x, dialect="duckdb"), dialect="duckdb")


def full_weight(count: exp.Expr, weigh: Weigh) -> exp.Expr:
    return exp.Literal.number(weigh.whole)


def of_everyone(place: int, keys: list[str], width: int, weigh: Weigh, *, single: bool) -> exp.Expr:
    """Rows counted where weights had to be added up."""
    return ORIGINAL_PLACED(place, keys, width, weigh, single=True).transform(
        lambda node: exp.Mul(this=node, expression=integer(weigh.whole)) if isinstance(node, exp.Count) else node
    )


def nowhere_is_a_place(place: int, keys: list[str], width: int, weigh: Weigh, *, single: bool) -> exp.Expr:
    """Rows without a value at the lowest place."""
    found = ORIGINAL_PLACED(place, keys, width, weigh, single=single)
    found.set("where", None)
    return found.transform(
        lambda node: (
            exp.func("COALESCE", node, integer(0)) if isinstance(node, exp.Column) and node.name == "q0" else node
        )
    )


def one_edge_up(x: exp.Expr, edges: list[exp.Expr], names: tuple[str, ...]) -> exp.Expr:
    """An edge in the bin below it."""
    return ORIGINAL_HALVED(x, edges, names).transform(
        lambda node: exp.LTE(this=node.this, expression=node.expression) if isinstance(node, exp.LT) else node
    )


def without_ends(x: exp.Expr, edges: list[exp.Expr], names: tuple[str, ...]) -> exp.Expr:
    """All bins but the first."""
    return exp.Literal.string(names[-1])


ORIGINAL_HALVED = formula._halved
ORIGINAL_WEIGHT, ORIGINAL_PLACED = emitter._weight, emitter._placed


@pytest.mark.parametrize(
    ("name", "broken", "check", "text"),
    [
        ("_weight", one_more, reaches_too_far, ROWWISE),
        ("_weight", one_more, reaches_too_far, QUESTION),
        ("_weight", one_more, differs, EVERYONE),
        ("_weight", full_weight, reaches_too_far, ROWWISE),
        ("_weight", full_weight, reaches_too_far, "SELECT g, COUNT(DISTINCT person) FROM people GROUP BY g"),
        ("_weight", rounded, reaches_too_far, "SELECT COUNT(*) FROM people WHERE x IS NOT NULL"),
        ("_weight", one_more, reaches_too_far, DIFFERENT),
        ("_weight", full_weight, reaches_too_far, DIFFERENT),
        ("_weight", one_more, reaches_too_far, PLACES),
        ("_weight", full_weight, reaches_too_far, PLACES),
        ("_weight", rounded, reaches_too_far, PLACES),
        ("_placed", of_everyone, reaches_too_far, PLACES),
        ("_placed", nowhere_is_a_place, differs, "SELECT MEDIAN(x) FROM people"),
        ("_halved", one_edge_up, differs, BINS),
        ("_halved", without_ends, differs, BINS),
        ("settled", unclamped, reaches_too_far, PLACES),
        ("settled", unclamped, reaches_too_far, "SELECT SUM(x) FROM people"),
        ("settled", unclamped, reaches_too_far, "SELECT AVG(x) FROM people"),
        ("clamped", null_becomes_a_number, differs, "SELECT AVG(x) FROM people"),
    ],
)
def test_a_broken_statement_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., exp.Expr], check: Check, text: str
) -> None:
    check(text)
    for module in (emitter, formula, relation):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, broken)
    with pytest.raises(AssertionError):
        check(text)


def before_the_filter(bounded: Bounded) -> Bounded:
    """The same cells, the weights counted over rows that the WHERE has not left."""
    weigh = bounded.tally.child
    assert isinstance(weigh, Weigh)
    assert isinstance(weigh.child, Filter)
    return replace(
        bounded, tally=Tally(replace(weigh, child=weigh.child.child), bounded.tally.keys, bounded.tally.statistics)
    )


def test_weights_before_the_filter_are_noticed() -> None:
    """They keep the promise, and lose rows that had to count."""
    bounded = asked("SELECT COUNT(*) FROM people WHERE f")
    right = bounded.sql("duckdb")
    early = before_the_filter(bounded).sql("duckdb")
    start, end = right.index("sfumato_weights AS"), right.index(") SELECT CAST")
    rows = early[early.index("SELECT u AS u") : early.index("), sfumato_weights")]
    wrong = right[:start] + right[start:end].replace("FROM sfumato_rows", f"FROM ({rows})") + right[end:]
    assert wrong != right
    check_moved(bounded, on_duckdb(bounded, ROWS, wrong), on_duckdb(bounded, without(ROWS, "u"), wrong))
    by_hand = [list(vector) for vector in oracle.exact(bounded.tally, ROWS)]
    assert on_duckdb(bounded, ROWS, right) == by_hand
    assert on_duckdb(bounded, ROWS, wrong) != by_hand


def test_a_filter_after_the_join_is_noticed() -> None:
    """The WHERE moved out to the weighed rows: the same loss, in the other place."""
    bounded = asked("SELECT COUNT(*) FROM people WHERE x IS NOT NULL")
    right = bounded.sql("duckdb")
    condition = " WHERE (NOT (x0 IS NULL))"
    assert condition in right
    wrong = (
        right.replace(condition, "")
        .replace("u AS u", "u AS u, x0")
        .replace("USING (u)", "USING (u) WHERE NOT x0 IS NULL")
    )
    by_hand = [list(vector) for vector in oracle.exact(bounded.tally, ROWS)]
    assert on_duckdb(bounded, ROWS, right) == by_hand
    assert on_duckdb(bounded, ROWS, wrong) != by_hand


def test_rows_of_nobody_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded = asked("SELECT COUNT(*) FROM people")
    wrong = bounded.sql("duckdb").replace(' WHERE NOT t."person" IS NULL', "").replace("JOIN", "LEFT JOIN")
    wrong = wrong.replace("SUM(w)", "SUM(COALESCE(w, 1048576))")
    assert on_duckdb(bounded, ROWS, wrong) != [list(vector) for vector in oracle.exact(bounded.tally, ROWS)]


def half(l1: Fraction, linf: Fraction, l2_squared: Fraction, cells: int, about: Any, *, signed: bool) -> Sensitivity:
    """Replace priced as add/remove."""
    return Sensitivity(l1, linf, l2_squared, about, cells)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g, COUNT(*) FROM people GROUP BY g",
        "SELECT g, AVG(x) FROM people GROUP BY g",
        "SELECT QUANTILE(x, 0.1, 0.9) FROM people",
    ],
)
def test_a_broken_price_of_replacing_is_noticed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    here: list[dict[str, Any]] = [{"person": "u", "g": "a", "x": 10, "f": True}] * 2
    there: list[dict[str, Any]] = [{"person": "u", "g": "b", "x": 0, "f": True}] * 2

    def check() -> None:
        bounded = asked(text, Relation.REPLACE)
        check_moved(bounded, on_duckdb(bounded, here), on_duckdb(bounded, there))

    check()
    monkeypatch.setattr(stability, "_between", half)
    with pytest.raises(AssertionError):
        check()


def test_a_signed_sum_needs_its_own_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """-4 replaced by 4 moves a sum by 8, which the rule for non-negative cells does not cover."""
    schema = Schema(
        (Table("people", (Column("x", "integer", range=(Fraction(-4), Fraction(4))),), unit="person"),),
        Unit("person", Relation.REPLACE, 1),
    )
    original = stability._between

    def moved() -> None:
        bounded = bound(parse("SELECT SUM(x) FROM people", schema), schema)
        here, there = ([{"person": "u", "x": x}] for x in (-4, 4))
        check_moved(bounded, oracle.exact(bounded.tally, here), oracle.exact(bounded.tally, there))

    moved()
    monkeypatch.setattr(
        stability,
        "_between",
        lambda l1, linf, l2_squared, cells, about, *, signed: original(
            l1, linf, l2_squared, cells, about, signed=False
        ),
    )
    with pytest.raises(AssertionError):
        moved()


ORACLES = [
    "SELECT SUM(CASE WHEN f THEN 2000000000 ELSE 1 END + CASE WHEN x > 3 THEN 2000000000 ELSE 1 END) FROM people",
    "SELECT SUM(x / x), SUM(1 / (x - 10)), SUM(x // (x + x)) FROM people",
    "SELECT COUNT(*) FROM people WHERE 1 / x > 0 OR x % 3 = 1",
    "SELECT COUNT(*) FROM people WHERE substring(g, x + 1) = 'a'",
    "SELECT COUNT(*) FROM people WHERE CAST(g AS INTEGER) > 0",
    "SELECT SUM(x * 1000000000 * 1000000000 * 1000000000) FROM people",
]


@pytest.mark.parametrize("text", ORACLES)
def test_no_row_can_make_a_question_fail(text: str) -> None:
    """Division by zero, overflow, a bad cast: refused beforehand, or total; the engine never sees a way to fail."""
    try:
        bounded = asked(text)
    except NotSupported:
        return
    for row in [*ROWS, {"person": "w", "g": "a", "x": 10, "f": True}, {"person": "w", "g": "", "x": 0, "f": None}]:
        assert on_duckdb(bounded, [row]) == [list(vector) for vector in oracle.exact(bounded.tally, [row])]


def test_constants_of_32_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB adds two small literals in 32 bits: a row for which both branches are taken would fail the question."""
    bounded = asked(ORACLES[0])
    both = [{"person": "u", "g": "a", "x": 9, "f": True}]
    neither = [{"person": "u", "g": "a", "x": 0, "f": False}]
    on_duckdb(bounded, both)
    monkeypatch.setattr(formula, "constant", lambda value: formula.integer(int(value)))
    on_duckdb(bounded, neither)
    with pytest.raises(EngineFailed):
        on_duckdb(bounded, both)
