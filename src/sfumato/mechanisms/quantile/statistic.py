"""What inverse sensitivity can aim at: a quantile, the largest, the mean, a count; and how many rows away each value is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.neighbours import Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.quantile.asked import levels_of
from sfumato.mechanisms.quantile.ranks import RankDistance
from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise.plateaus import Runs

_COUNTED = 1 << 20


class Statistic(Protocol):
    """A distance for each lattice point, constant on runs, that one unit moves by at most `moved`."""

    def moved(self, reach: Sensitivity) -> Fraction: ...
    def runs(self, tally: Tally, size: int, smooth: int, within: int | None) -> Runs: ...
    @property
    def grains(self) -> int:
        """Distances are whole multiples of 1 / grains."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Quantile:
    """How far the rank of t is from that of the quantile: rows to add, take away or replace; with weights, their weight.

    d(t) = max(0, below(t) - q n, q n - upto(t)). Adding a weight w left of t moves the first by (1-q) w and the second by
    minus that, right of t by -q w and q w, at t itself the first by -q w and the second by -(1-q) w: add/remove moves d by at
    most max(q, 1-q) times the unit's weight. Replacing takes away M <= B and adds P <= B: below(t) - q n then rises by at
    most (1-q) P + q M <= B and falls by no more, likewise the other.
    """

    level: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", levels_of(self.level)[0])

    @property
    def grains(self) -> int:
        return self.level.denominator

    def moved(self, reach: Sensitivity) -> Fraction:
        if reach.about.relation is Relation.REPLACE:
            return reach.held
        return max(self.level, 1 - self.level) * reach.l1

    def runs(self, tally: Tally, size: int, smooth: int, within: int | None) -> Runs:
        return RankDistance.over(tally, size, self.level, smooth).runs(within)


MEDIAN = Quantile(Fraction(1, 2))


@final
@dataclass(frozen=True, slots=True)
class Largest:
    """max(weight right of t, 1 if nothing stands at t): the rows to change so that t is the largest.

    Rows right of t must move or go, and if there is none, one must come to t. One row moves the first by its weight and the
    second by 1, hence the larger of the two by the larger of both.
    """

    @property
    def grains(self) -> int:
        return 1

    def moved(self, reach: Sensitivity) -> Fraction:
        return max(reach.held, Fraction(1)) if reach.l1 else Fraction(0)

    def runs(self, tally: Tally, size: int, smooth: int, within: int | None) -> Runs:
        """Within `smooth` of t the best point is the rightmost, or the largest row itself."""
        places, top = tally.places, int(tally.places[-1]) if tally.places.size else -1
        inner = np.concatenate([places - smooth, [top + smooth + 1]]) if places.size else places
        edges = np.unique(np.concatenate([[0], inner[(inner > 0) & (inner < size)], [size]]))
        starts = edges[:-1]
        right = tally.total - tally.below[np.searchsorted(places, starts + smooth, side="right")]
        at_top = (top >= 0) & (starts - smooth <= top)
        return Runs(starts, np.diff(edges), np.where(right > 0, right, np.where(at_top, 0, 1)))


@final
@dataclass(frozen=True, slots=True)
class Mean:
    """How many rows to replace so that the mean, floored to the lattice, is t. Replace only: how many rows there are is public.

    Replacing j rows moves their sum up by at most the sum of the j largest ways up, down likewise, and to all whole
    numbers between; changing one row changes this count by at most 1 (a path one longer reaches all that was reached).
    """

    @property
    def grains(self) -> int:
        return 1

    def moved(self, reach: Sensitivity) -> Fraction:
        if reach.about.relation is not Relation.REPLACE:
            raise BadInput(
                "inverse sensitivity for the mean is about replaced rows", hint="release a noisy sum and count instead"
            )
        return reach.held

    def runs(self, tally: Tally, size: int, smooth: int, within: int | None) -> Runs:
        n = tally.total
        if n == 0:
            return Runs(*(np.array([each], dtype=np.int64) for each in (0, size, 0)))
        rows: NDArray[Any] = np.repeat(tally.places, tally.weights).astype(object if n * size >= 1 << 62 else np.int64)
        total = sum(rows.tolist())
        up = total + np.concatenate([[0], np.cumsum(size - 1 - rows)])
        down = total - np.concatenate([[0], np.cumsum(rows[::-1])])
        highest = np.minimum(up // n + smooth, size - 1).astype(np.int64)
        lowest = np.maximum(down // n - smooth, 0).astype(np.int64)
        steps = np.arange(1, n + 1)
        return Runs(
            np.concatenate([lowest[1:][::-1], lowest[:1], highest[:-1] + 1]),
            np.concatenate([-np.diff(lowest)[::-1], highest[:1] - lowest[:1] + 1, np.diff(highest)]),
            np.concatenate([steps[::-1], [0], steps]),
        )


@final
@dataclass(frozen=True, slots=True)
class Count:
    """|t - n|: how many rows to add or take away. A unit moves n by its weight. On small lattices; else add Laplace noise."""

    @property
    def grains(self) -> int:
        return 1

    def moved(self, reach: Sensitivity) -> Fraction:
        return reach.held

    def runs(self, tally: Tally, size: int, smooth: int, within: int | None) -> Runs:
        if size > _COUNTED:
            raise BadInput(
                "a count was asked on a large lattice", hint="use Laplace noise: it is the same, without ends"
            )
        points = np.arange(size)
        return Runs(points, np.ones_like(points), np.maximum(0, np.abs(points - min(tally.total, size - 1)) - smooth))
