"""Whether sensitivity is true: two neighbouring tables, one question, and how far the exact integers really moved."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.core import Sensitivity
from sfumato.queries.bounded import Bounded

Cells = Sequence[Sequence[int]]


def check_moved(bounded: Bounded, here: Cells, there: Cells) -> None:
    """Raises AssertionError if neighbours are further apart than the sensitivities say, one by one or together."""
    moved = [[int(a) - int(b) for a, b in zip(one, other, strict=True)] for one, other in zip(here, there, strict=True)]
    for statistic, change, promised in zip(bounded.tally.statistics, moved, bounded.sensitivities, strict=True):
        _check(change, promised, str(statistic))
    _check([each for change in moved for each in change], bounded.sensitivity, "all statistics together")


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
    l1 = sum(
        abs(int(a) - int(b)) for one, other in zip(here, there, strict=True) for a, b in zip(one, other, strict=True)
    )
    return Fraction(l1) / bounded.sensitivity.l1
