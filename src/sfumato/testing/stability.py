"""Whether sensitivity is true: two neighbouring tables, one question, and how far the exact integers really moved."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.core import Sensitivity
from sfumato.queries.bounded import Bounded
from sfumato.queries.plan import Ranked, Statistic

Cells = Sequence[Sequence[Any]]
"""Vectors, and for quantiles lines of group, place and weight."""


def check_moved(bounded: Bounded, here: Cells, there: Cells) -> None:
    """Raises AssertionError if neighbours are further apart than the sensitivities say, one by one or together."""
    pairs = zip(bounded.tally.statistics, here, there, strict=True)
    moved = [_moved(statistic, one, other) for statistic, one, other in pairs]
    for statistic, change, promised in zip(bounded.tally.statistics, moved, bounded.sensitivities, strict=True):
        _check(change, promised, str(statistic))
    _check([each for change in moved for each in change], bounded.sensitivity, "all statistics together")


def _moved(statistic: Statistic, one: Sequence[Any], other: Sequence[Any]) -> list[int]:
    """Cell by cell; of a quantile, the cells are the places of every group, most of them empty."""
    if not isinstance(statistic, Ranked):
        return [int(a) - int(b) for a, b in zip(one, other, strict=True)]
    here, there = ({(group, place): int(weight) for group, place, weight in lines} for lines in (one, other))
    assert len(here) == len(one), "a place is told twice"
    assert len(there) == len(other), "a place is told twice"
    every = sorted({*here, *there})
    assert all(0 <= place <= statistic.top for _, place in every), "a place lies outside of its lattice"
    return [here.get(each, 0) - there.get(each, 0) for each in every]


def _check(change: list[int], promised: Sensitivity, what: str) -> None:
    l1, linf = sum(map(abs, change)), max(map(abs, change), default=0)
    l2_squared = sum(each * each for each in change)
    cells = sum(each != 0 for each in change)
    assert l1 <= promised.l1, f"{what}: l1 moved by {l1}, promised {promised.l1}"
    assert linf <= promised.linf, f"{what}: one cell moved by {linf}, promised {promised.linf}"
    assert l2_squared <= promised.l2_squared, f"{what}: l2 squared moved by {l2_squared}, {promised.l2_squared}"
    assert promised.cells is None or cells <= promised.cells, f"{what}: {cells} cells moved"


def without(rows: list[dict[str, Any]], unit: Any, *, name: str = "person") -> list[dict[str, Any]]:
    """The table after one unit has left."""
    return [row for row in rows if row[name] != unit]


def reach(bounded: Bounded, here: Cells, there: Cells) -> Fraction:
    """How much of the promised l1 was used: 1 means that the promise is tight."""
    pairs = zip(bounded.tally.statistics, here, there, strict=True)
    l1 = sum(abs(change) for statistic, one, other in pairs for change in _moved(statistic, one, other))
    return Fraction(l1) / bounded.sensitivity.l1
