"""What the bins of an axis are: intervals between public edges, or categories; and which workloads make sense on them."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, assert_never, final

from sfumato.core.errors import BadInput
from sfumato.mechanisms.histogram.workload import Bins, Prefixes, Ranges, Workload

Kind = Literal["bins", "ranges", "cdf", "levels"]
"""Single bins, all ranges of neighbouring bins, cumulative counts, and all nodes of declared levels."""


@final
@dataclass(frozen=True, slots=True)
class Edges:
    """Bins between rising public edges: each holds its lower edge, the last one its upper edge too.

    Edges are written down by whoever asks, never taken from rows: the smallest and largest value of a table are somebody's.
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        given = tuple(self.edges)
        if len(given) < 2:
            raise BadInput("fewer than two edges make no bin", hint="give rising edges such as [0, 18, 65, 120]")
        for each in given:
            if isinstance(each, bool) or not isinstance(each, int | float) or not math.isfinite(each):
                raise BadInput("an edge is not a finite number", hint="give rising edges such as [0, 18, 65, 120]")
        if any(after <= before for before, after in pairwise(given)):
            raise BadInput("edges fall or repeat", hint="sort the edges, each of them once")
        object.__setattr__(self, "edges", given)

    @classmethod
    def even(cls, low: float, high: float, bins: int) -> Edges:
        """So many bins of equal width."""
        if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
            raise BadInput("the number of bins is not 1 or more", hint="give a whole number of bins, such as 16")
        return cls((*(low + (high - low) * i / bins for i in range(bins)), high))

    @property
    def bins(self) -> int:
        return len(self.edges) - 1

    @property
    def positions(self) -> tuple[float, ...]:
        """The middles of the bins, for distances between histograms."""
        return tuple((low + high) / 2 for low, high in pairwise(self.edges))

    @property
    def labels(self) -> tuple[str, ...]:
        """The bins as people write them."""
        pairs = pairwise(self.edges)
        return tuple(f"[{low:g}, {high:g}{']' if high == self.edges[-1] else ')'}" for low, high in pairs)

    def bin_of(self, value: float) -> int | None:
        """The bin that holds a value; None outside of the edges, and for what is no number."""
        if not self.edges[0] <= value <= self.edges[-1]:
            return None
        return min(bisect_right(self.edges, value) - 1, self.bins - 1)

    def between(self, low: float, high: float) -> tuple[int, int]:
        """The first and the last bin of a range whose ends are edges."""
        first, last = bisect_left(self.edges, low), bisect_left(self.edges, high)
        if not low < high or self.edges[first : first + 1] != (low,) or self.edges[last : last + 1] != (high,):
            raise BadInput("a range does not begin and end at edges", hint="ask from one edge to a later one")
        return first, last - 1

    def workload(self, kind: Kind) -> Workload:
        """The questions of this kind."""
        return _workload(kind, self.bins)


@final
@dataclass(frozen=True, slots=True)
class Categories:
    """Public names, each a bin. They have an order only if someone says so: the alphabet is none."""

    names: tuple[Hashable, ...]
    ordered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        if not self.names or len(set(self.names)) < len(self.names):
            raise BadInput("categories are missing or repeat", hint="list each public category once")

    @property
    def bins(self) -> int:
        return len(self.names)

    def workload(self, kind: Kind) -> Workload:
        """The questions of this kind; ranges and cumulative counts want an order."""
        if kind != "bins" and not self.ordered:
            raise BadInput(
                "ranges were asked of categories without an order",
                hint="ask for single bins, or declare the categories in order with ordered=True",
            )
        return _workload(kind, self.bins)


def _workload(kind: Kind, bins: int) -> Workload:
    match kind:
        case "bins":
            return Bins(bins)
        case "ranges":
            return Ranges(bins)
        case "cdf":
            return Prefixes(bins)
        case "levels":
            raise BadInput("levels were asked of bins that have none", hint="ask for ranges")
        case _:
            assert_never(kind)


def kind_of(word: str) -> Kind:
    """A workload's name as written in a question."""
    match word.lower():
        case "bins" | "ranges" | "cdf" | "levels" as kind:
            return kind
        case _:
            raise BadInput("a workload is of no known kind", hint="write bins, ranges, cdf or levels")
