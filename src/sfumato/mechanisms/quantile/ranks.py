"""How far each lattice point is from a quantile, in ranks: constant on data points and between them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise.law import Integers
from sfumato.noise.plateaus import Plateaus, Runs
from sfumato.noise.source import Source

GRAIN = Fraction(1, 1 << 20)
"""Accuracy is stated to this part of a rank."""

_NEAR = 170  # nats; runs further off are left to the exact path (`Plateaus` asks for 160)


@final
@dataclass(frozen=True, eq=False)
class RankDistance:
    """max(0, below(t) - q n, q n - upto(t)) for the points low ... high - 1 and the weight that stands there.

    `below(t)` and `upto(t)` are the weight left of t and up to t, n all of it; times the denominator of q they are whole.
    `smooth` takes the least over all points at most that far: below(t - smooth), upto(t + smooth).
    """

    tally: Tally
    low: int
    high: int
    first: int
    last: int
    quantile: Fraction
    smooth: int = 0

    @classmethod
    def over(cls, tally: Tally, size: int, quantile: Fraction, smooth: int = 0) -> RankDistance:
        return cls(tally, 0, size, 0, tally.places.size, quantile, smooth)

    def draw(self, rate: Fraction, source: Source, count: int) -> Integers:
        """Points with probability proportional to exp(-rate distance)."""
        each = rate / self.quantile.denominator
        near = self.runs(int(_NEAR / each) + 1)
        return Plateaus(each, near, lambda: self.runs(None)).sample(source, count)

    def runs(self, within: int | None) -> Runs:
        """All runs, or those whose distance, times the denominator, is at most `within`, and perhaps a few more."""
        a, b = self.quantile.numerator, self.quantile.denominator
        below = self.tally.below[self.first : self.last + 1]
        start, total = int(below[0]), int(below[-1]) - int(below[0])
        first, last = self.first, self.last
        if within is not None and not self.smooth:
            # Points whose ranks lie in [a n / b - within / b, a n / b + within / b], and one more on either side.
            left, right = start + (a * total - within) // b - 1, start + (a * total + within) // b + 1
            first = max(first, self.first + int(np.searchsorted(below, max(left, -1), side="left")) - 1)
            last = min(last, self.first + int(np.searchsorted(below, min(right, 1 << 62), side="right")))
        return self._spread(first, last, start, a * total, b)

    def _spread(self, first: int, last: int, start: int, target: int, b: int) -> Runs:
        """Runs between the places first ... last - 1; the outer ones reach to the ends only where there are no more places."""
        places = self.tally.places[first:last]
        sums: NDArray[Any] = self.tally.below[first : last + 1] - start
        if b * (self.tally.total + 1) >= 1 << 62:
            sums = sums.astype(object)
        left = self.low if first == self.first else int(self.tally.places[first - 1]) + 1
        right = self.high if last == self.last else int(self.tally.places[last])
        if self.smooth:
            return self._smoothed(places, sums, left, right, target, b)
        count = places.size
        starts, lengths = np.empty(2 * count + 1, dtype=np.int64), np.ones(2 * count + 1, dtype=np.int64)
        starts[0], starts[1::2], starts[2::2] = left, places, places + 1
        lengths[::2] = np.append(places, right) - starts[::2]
        distances = np.empty(2 * count + 1, dtype=sums.dtype)
        distances[::2] = np.abs(b * sums - target)
        distances[1::2] = np.maximum(0, np.maximum(b * sums[:-1] - target, target - b * sums[1:]))
        return Runs(starts, lengths, distances)

    def _smoothed(self, places: Integers, sums: NDArray[Any], left: int, right: int, target: int, b: int) -> Runs:
        """Between two neighbouring edges x - smooth and x + smooth + 1, no place enters or leaves reach."""
        inner = np.concatenate([places - self.smooth, places + self.smooth + 1])
        edges = np.unique(np.concatenate([[left], inner[(inner > left) & (inner < right)], [right]]))
        starts = edges[:-1]
        below = sums[np.searchsorted(places, starts - self.smooth, side="left")]
        upto = sums[np.searchsorted(places, starts + self.smooth, side="right")]
        distances = np.maximum(0, np.maximum(b * below - target, target - b * upto))
        return Runs(starts, np.diff(edges), distances)
