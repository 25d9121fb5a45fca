"""COUNT(DISTINCT x): the weighted form undercounts less than a cap by hash, and says what raw SQL says where nobody is cut."""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction

import pytest

from sfumato.core import Relation
from sfumato.queries.bounded import bound
from sfumato.queries.plan import Distinct
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql.parse import parse
from sfumato.testing import oracle

COLUMNS = (Column("x", "integer", range=(Fraction(0), Fraction(10**6))), Column("g", "category", values=("a", "b")))


def schema(max_rows: int, unit: str | None = "person") -> Schema:
    return Schema((Table("t", COLUMNS, unit=unit),), Unit("person" if unit else "row", Relation.ADD_REMOVE, max_rows))


def counted(rows: list[tuple[str, int]], max_rows: int, unit: str | None = "person") -> Fraction:
    policy = schema(max_rows, unit)
    bounded = bound(parse("SELECT COUNT(DISTINCT x) FROM t", policy), policy)
    ((cell,),) = oracle.exact(bounded.tally, [{"person": person, "x": x, "g": "a"} for person, x in rows])
    return Fraction(cell, bounded.whole)


def by_hash(rows: list[tuple[str, int]], most: int) -> int:
    """The other way: each unit keeps `most` values, those with the least hash of unit and value."""
    kept: dict[str, set[int]] = {}
    for person, x in rows:
        kept.setdefault(person, set()).add(x)
    found: set[int] = set()
    for person, values in kept.items():
        found.update(sorted(values, key=lambda x: hashlib.md5(f"{person}/{x}".encode()).digest())[:most])
    return len(found)


def test_nobody_is_cut_off_below_the_bound() -> None:
    rows = [(f"p{place % 5}", place % 7) for place in range(35)]
    assert counted(rows, 7) == 7
    assert counted(rows, 100) == 7
    assert counted(rows, 1, unit=None) == 7


@pytest.mark.parametrize(("people", "values", "most"), [(200, 20, 5), (1, 50, 10), (30, 100, 3), (300, 1000, 2)])
def test_it_undercounts_less_than_a_cap_by_hash(people: int, values: int, most: int) -> None:
    """A value that m people have with a share of B/k each counts min(1, m B/k); it survives a cap with 1 - (1 - B/k)^m."""
    rows = [(f"p{person}", place * 37 % values) for person in range(people) for place in range(min(values, 4 * most))]
    assert counted(rows, most) >= by_hash(rows, most) * Fraction(999, 1000)
    assert counted(rows, most) <= len({x for _, x in rows})


def test_its_sensitivity_is_the_bound() -> None:
    policy = schema(3)
    bounded = bound(parse("SELECT g, COUNT(DISTINCT x) FROM t GROUP BY g", policy), policy)
    assert isinstance(bounded.tally.statistics[0], Distinct)
    assert bounded.sensitivity.l1 == bounded.sensitivity.linf == 3 * bounded.whole


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_two_of_them_in_one_question_keep_their_subqueries_apart(dialect: str) -> None:
    """Spark 4.0 has all subqueries of a statement on one level, and refuses two of one name."""
    policy = schema(3)
    bounded = bound(parse("SELECT COUNT(DISTINCT x), COUNT(DISTINCT x * 2) FROM t", policy), policy)
    names = re.findall(r"[`\"]?(\w+)[`\"]? AS (?:MATERIALIZED |NOT MATERIALIZED )?\(", bounded.sql(dialect))
    assert len(names) >= 5
    assert len(names) == len(set(names))
