"""A point of a lattice, by a score that is constant over long runs of points: exactly, without listing the points."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.interval import Bounds, exp_bounds
from sfumato.noise.ladder import Uniform
from sfumato.noise.law import Integers
from sfumato.noise.powers import powers
from sfumato.noise.source import Source

_CUT = 160  # weights below exp(-160) of the best: all of 2**63 points together are below 2**-160 of it


@final
@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of points from left to right: where each begins, how many points it has, and how far each of them is from best."""

    starts: Integers
    lengths: Integers
    distances: NDArray[Any]


@final
@dataclass(frozen=True, eq=False)
class Plateaus:
    """Point t with probability proportional to exp(-rate * distance(t)).

    `near` holds at least all runs whose weight is exp(-160) of the best one's or more; `whole` gives all of them, and is
    only asked when a uniform number falls so close to a threshold that floats do not decide (once in 2**40 or so).
    """

    rate: Fraction
    near: Runs
    whole: Callable[[], Runs]

    def sample(self, source: Source, count: int) -> Integers:
        runs = self.near
        sums, margin = self._sums()
        words = source.words(count)
        point = words.astype(np.float64) * (float(sums[-1]) * 2.0**-64)
        found = np.searchsorted(sums, point - margin, side="right")
        unsure = (found != np.searchsorted(sums, point + margin, side="right")) | (found >= sums.size)
        starts, lengths = runs.starts[found * ~unsure], runs.lengths[found * ~unsure]
        for place in np.flatnonzero(unsure):
            starts[place], lengths[place] = self._settle(Uniform(int(words[place]), 64), source)
        points: Integers = starts + within_runs(lengths, source)
        return points

    def _sums(self) -> tuple[NDArray[np.float64], float]:
        """Cumulative weights as floats, and a bound on what comparing u * total with them can be wrong by.

        Proof: weights are within a relative 2**-49 and lengths within 2**-53 of exact; a running sum of n positive terms
        adds n 2**-53 of the total; what is left out is below 2**-160 of it, since the best run has a point.
        """
        far = self.near.distances - self.near.distances[self.near.lengths > 0].min()
        near = np.minimum(far, (1 << 62) - 1).astype(np.int64)
        weights = powers(self.rate, np.maximum(near, 0), cut=_CUT) * self.near.lengths
        sums = np.cumsum(weights)
        return sums, float(sums[-1]) * (sums.size + 64) * 2.0**-50

    def _settle(self, uniform: Uniform, source: Source) -> tuple[int, int]:
        runs = self.whole()
        lengths = runs.lengths.tolist()
        while True:
            pairs = plateau_bounds(self.rate, runs, uniform.bits + 80)
            below, above = (list(accumulate(side)) for side in zip(*pairs, strict=True))
            least, most = uniform.seen * below[-1], (uniform.seen + 1) * above[-1]
            i = bisect_right(above, least >> uniform.bits)
            if (
                i < len(below)
                and most <= below[i] << uniform.bits
                and (i == 0 or above[i - 1] << uniform.bits <= least)
            ):
                return int(runs.starts[i]), lengths[i]
            uniform = uniform.reveal(2 * uniform.bits, source)


def plateau_bounds(rate: Fraction, runs: Runs, bits: int) -> list[Bounds]:
    """Each run's weight, relative to the best point's: bounds over 2**bits."""
    distances, lengths = runs.distances.tolist(), runs.lengths.tolist()
    best = min(d for d, length in zip(distances, lengths, strict=True) if length)
    found: dict[int, Bounds] = {}
    pairs = []
    for distance, length in zip(distances, lengths, strict=True):
        if length and distance not in found:
            found[distance] = exp_bounds(-rate * (distance - best), bits)
        low, high = found[distance] if length else (0, 0)
        pairs.append((low * length, high * length))
    return pairs


def within_runs(lengths: Integers, source: Source) -> Integers:
    """For each length a uniform whole number below it."""
    return np.array([source.below(length) if length > 1 else 0 for length in lengths.tolist()], dtype=np.int64)
