"""How much stands where on a public lattice: what an engine hands up instead of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction, positive
from sfumato.noise.law import Integers

LARGEST_SIZE = 1 << 61
"""A lattice has at most this many points."""

_WEIGHTS = 1 << 52
_FEW = 1 << 22  # up to this many points rows are counted point by point, without sorting them


@final
@dataclass(frozen=True, eq=False)
class Tally:
    """Whole weights above 0 at sorted distinct whole places: one row per place, as a question grouped by bin key gives.

    A weight is a number of rows, or a sum of row weights. Places outside of a mechanism's lattice count at its ends.
    """

    places: Integers
    weights: Integers

    @classmethod
    def of(cls, places: Sequence[int] | NDArray[Any], weights: Sequence[int] | NDArray[Any] | None = None) -> Self:
        """From one place per row in any order, and the row's weight (1 each without)."""
        where = _whole(places, "place")
        each = where if weights is None else _whole(weights, "weight")
        if each.shape != where.shape:
            raise BadInput("places and weights differ in number", hint="give one weight per place")
        if weights is not None and each.size and (int(each.min()) < 0 or float(each.sum(dtype=np.float64)) > _WEIGHTS):
            raise BadInput("weights are negative, or beyond 2**52 in all", hint="give whole weights of 0 or more")
        if weights is None:
            return cls.of_sorted(np.sort(where))
        order = np.argsort(where, kind="stable")
        where, each = where[order], each[order]
        first = np.flatnonzero(np.diff(where, prepend=where[:1] - 1)) if where.size else np.empty(0, dtype=np.int64)
        sums = np.add.reduceat(each, first) if where.size else each
        kept = sums > 0
        return cls(where[first][kept], sums[kept].astype(np.int64))

    @classmethod
    def of_sorted(cls, places: Integers) -> Self:
        """From one place per row, in order."""
        first = np.flatnonzero(np.append(places.size > 0, places[1:] != places[:-1]))[: places.size]
        return cls(places[first], np.diff(first, append=places.size))

    @cached_property
    def below(self) -> Integers:
        """The weight left of each place, and last the weight of all."""
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.weights)])

    @property
    def total(self) -> int:
        return int(self.below[-1])

    def inside(self, size: int) -> Tally:
        """The same rows, those outside of 0 ... size - 1 at the nearer end: each row moves by itself."""
        if not self.places.size or (self.places[0] >= 0 and self.places[-1] < size):
            return self
        return Tally.of(np.clip(self.places, 0, size - 1), self.weights)


@final
@dataclass(frozen=True, slots=True)
class Lattice:
    """`size` public points: low, low + step, low + 2 step, ..."""

    low: Fraction
    step: Fraction
    size: int

    @classmethod
    def of(cls, low: Number, high: Number, *, points: int = 1 << 30) -> Lattice:
        """Equal cells from low up to high; each real number stands at the left end of its cell."""
        bottom, top = fraction(low, name="low"), fraction(high, name="high")
        if not bottom < top:
            raise BadInput("a range has no width", hint="give public bounds with low below high")
        return cls(bottom, (top - bottom) / checked_size(points), points)

    @classmethod
    def whole(cls, low: int, high: int, *, step: Number = 1) -> Lattice:
        """low, low + step, ..., up to high itself: for whole numbers, or those of a fixed number of digits."""
        grain = positive(step, name="step")
        return cls(
            fraction(low, name="low"), grain, checked_size(math.floor((fraction(high, name="high") - low) / grain) + 1)
        )

    def tally(self, values: NDArray[Any], weights: NDArray[Any] | None = None) -> Tally:
        """Rows of numbers as places: floored to the lattice, those outside at its ends; what is no number is left out."""
        numbers = np.asarray(values)
        if numbers.dtype.kind not in "iuf":
            raise BadInput("values must be numbers", hint="give an int64 or a float64 array")
        kept = ~np.isnan(numbers) if numbers.dtype.kind == "f" else np.ones(numbers.shape, dtype=np.bool_)
        each = None if weights is None else np.asarray(weights)[kept]
        cells = numbers.astype(np.float64) if kept.all() else numbers[kept].astype(np.float64)
        cells -= float(self.low)
        cells /= float(self.step)
        places = np.clip(cells, 0, self.size - 1, out=cells).astype(np.int64)
        if each is None and self.size <= _FEW:
            counts = np.bincount(places, minlength=1)
            found = np.flatnonzero(counts)
            return Tally(found, counts[found])
        return Tally.of(np.minimum(places, self.size - 1), each)

    def values(self, positions: Sequence[int]) -> tuple[float, ...]:
        """Released points as numbers; this costs nothing."""
        return tuple(float(self.low + self.step * int(t)) for t in positions)


def checked_size(size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= LARGEST_SIZE:
        raise BadInput("a lattice has no point, or too many", hint="give between 1 and 2**61 points")
    return size


def _whole(values: Sequence[int] | NDArray[Any], name: str) -> Integers:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise BadInput(f"a list of {name}s is not of whole numbers", hint=f"give whole {name}s below 2**63")
    return array.astype(np.int64)
