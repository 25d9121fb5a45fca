"""Noisy binary search for quantiles: few comparisons instead of a walk along all edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.exact import Number, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.quantile.asked import Levels
from sfumato.mechanisms.quantile.edges import BITS, Bounds, OnEdges, rises
from sfumato.noise import DiscreteLaplace, Source


@final
@dataclass(frozen=True)
class NoisySearch(OnEdges):
    """For each quantile a binary search among the edges: w(left of edge) - q n with fresh noise is 0 or more, or it is not.

    Proof: `turns` = ceil(log2(bins)) numbers, each chosen after the earlier replies, each moved by at most D = `rises` and
    released with Laplace noise of `scale` (only its sign is kept: post-processing): turns D / scale a quantile, by
    Dwork, McSherry, Nissim and Smith 2006 and adaptive composition. In units of 1/denominator all are whole numbers, so the
    discrete law's ratios are those of the continuous one. Sorting is free. There is no long run of false alarms as in a walk
    along all edges: the error grows with log(bins) only.
    """

    size: int
    bins: int
    quantiles: Levels = Levels()
    scale: Positive = Positive()
    by_group: bool = False

    def __post_init__(self) -> None:
        self._check()

    @property
    def turns(self) -> int:
        """Comparisons for one quantile: the last edge needs none."""
        return max(1, (self.bins - 1).bit_length())

    def each(self, reach: Sensitivity, q: Fraction) -> Fraction:
        return self.turns * rises(reach, q)

    def first(self, above: NDArray[Any], q: Fraction, count: int, source: Source) -> NDArray[np.int64]:
        noise = DiscreteLaplace(self.scale * q.denominator)
        low, high = np.zeros(count, dtype=np.int64), np.full(count, above.size - 1, dtype=np.int64)
        while (open_ := np.flatnonzero(low < high)).size:
            middle = (low[open_] + high[open_]) // 2
            over = np.clip(noise.sample(source, open_.size), -(1 << 61), 1 << 61) + above[middle] >= 0
            high[open_] = np.where(over, middle, high[open_])
            low[open_] = np.where(over, low[open_], middle + 1)
        return low

    def chances(self, above: list[int], q: Fraction) -> list[Bounds]:
        noise, one = DiscreteLaplace(self.scale * q.denominator), 1 << BITS
        found = [(0, 0)] * (len(above) + 1)
        todo = [(0, len(above) - 1, one, one)]
        while todo:
            start, end, low, high = todo.pop()
            if start == end:
                found[start] = low, high
                continue
            middle = (start + end) // 2
            least, most = noise.tail_bounds(-above[middle], BITS)
            todo.append((start, middle, low * least >> BITS, -(-high * most >> BITS)))
            todo.append((middle + 1, end, low * (one - most) >> BITS, -(-high * (one - least) >> BITS)))
        return found

    def within(self, confidence: Number) -> float:
        """How far in rank (weight) the named bin may be from each quantile, with this confidence for all at once: no noise of
        any comparison is larger. The bin's own rows are the rest of the error."""
        miss = (1 - probability(confidence, name="confidence")) / (len(self.quantiles) * self.turns)
        steps = [
            Fraction(DiscreteLaplace(self.scale * q.denominator).within(1 - miss) + 1, q.denominator)
            for q in self.quantiles
        ]
        return math.nextafter(float(max(steps)), math.inf)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(8, 2, "1/2", 1), cls(8, 4, ["1/2", "2/3"], 1))
