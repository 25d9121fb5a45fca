"""The histogram method of Canesse and Garivier, corrected: one threshold test per quantile walks along the edges of bins."""

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
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.quantile.asked import Levels
from sfumato.mechanisms.quantile.edges import BITS, Bounds, OnEdges, rises
from sfumato.mechanisms.quantile.tally import Tally
from sfumato.mechanisms.stream.threshold import Comparison
from sfumato.noise import Geometric, Source

_BLOCK = 1 << 20
_WIDEST = 12


@final
@dataclass(frozen=True)
class HistogramMethod(OnEdges):
    """For each quantile q a noisy line, and the first edge where w(left of edge) - q n, with noise of its own, reaches it.

    The note's method with what was wrong put right: edges begin at a, one cumulative histogram serves all quantiles in time
    O(n + bins), the edge that crosses is named and not the one before, the end is named when none does, quantiles are sorted,
    q n is part of the query and not of the threshold, and the noise is one-sided, whole, with its mean taken out.

    Proof: as for `AboveThreshold` (Dwork and Roth 2014, Theorem 3.23; Ding and others 2021 for one-sided noise). All
    queries move within [-low, high], low and high at least 0; high is at most `rises`, and high + low at most l1: at two
    edges a weight added moves them by -q w or (1-q) w, so they are at most w apart; a replacement's parts add up. Fix what
    comes before the edge that is named. On the neighbour take the line's noise rho + high: all before stays below; and the
    edge's own noise nu + high - (its move), which lies in [nu, nu + high + low]: the same edge is named. In units of
    1/denominator all are whole numbers, so this is one-to-one on the noise, at ratios of at most exp(rises/scale) and
    exp(l1/(ratio scale)). When none is named only the first is needed. Quantiles add up; sorting is free.
    """

    size: int
    bins: int
    quantiles: Levels = Levels()
    scale: Positive = Positive()
    ratio: Positive = Positive()
    by_group: bool = False

    def __post_init__(self) -> None:
        self._check()

    def each(self, reach: Sensitivity, q: Fraction) -> Fraction:
        return rises(reach, q) + reach.l1 / self.ratio

    def _noises(self, q: Fraction) -> Comparison:
        line, query = (Geometric(s * q.denominator) for s in (self.scale, self.ratio * self.scale))
        return Comparison(0, False, 1, line, query, None)

    def first(self, above: NDArray[Any], q: Fraction, count: int, source: Source) -> NDArray[np.int64]:
        """Edges are walked in blocks, until every draw has found its own."""
        compare = self._noises(q)
        line = np.minimum(compare.threshold_noise.sample(source, count), 1 << 61) + compare.offset
        found = np.full(count, above.size, dtype=np.int64)
        open_, width = np.arange(count), max(1, min(above.size, _BLOCK // count))
        for start in range(0, above.size, width):
            part = above[start : start + width]
            noise = np.minimum(compare.query_noise.sample(source, (open_.size, part.size)), 1 << 61)
            over = noise + part >= line[open_, None]
            some = over.any(axis=1)
            found[open_[some]] = start + np.argmax(over[some], axis=1)
            open_ = open_[~some]
            if not open_.size:
                break
        return found

    def chances(self, above: list[int], q: Fraction) -> list[Bounds] | None:
        """Given the line, the edges' noises are independent."""
        compare = self._noises(q)
        if compare.query_noise.scale > _WIDEST or compare.threshold_noise.scale > _WIDEST:
            return None
        one, found = 1 << BITS, [(0, 0)] * (len(above) + 1)
        last = math.ceil(compare.threshold_noise.scale * 64)
        for rho in range(last):
            low, high = compare.threshold_noise.pmf_bounds(rho, BITS)
            for i, value in enumerate([*above, None]):
                tail = (
                    compare.query_noise.tail_bounds(rho + compare.offset - value, BITS)
                    if value is not None
                    else (one, one)
                )
                found[i] = found[i][0] + (low * tail[0] >> BITS), found[i][1] - (-high * tail[1] >> BITS)
                low, high = low * (one - tail[1]) >> BITS, -(-high * (one - tail[0]) >> BITS)
        rest = compare.threshold_noise.tail_bounds(last, BITS)[1]
        return [(low, high + rest) for low, high in found]

    def within(self, confidence: Number) -> float:
        """How far in rank (weight) the named bin may be from each quantile, with this confidence for all at once, whatever
        the data: w(left of the edge) - q n is at least minus that, and at the edge before at most that. The bin's own rows
        are the rest of the error."""
        sure = 1 - (1 - probability(confidence, name="confidence")) / len(self.quantiles)
        steps = [self._noises(q).margin(self.bins, sure) / q.denominator for q in self.quantiles]
        return math.nextafter(max(steps), math.inf)

    def audit_cases(self) -> Sequence[Case[Tally]]:
        """A row comes to the middle: edges before it fall, those after it rise."""
        ends, middle = [0, self.size - 1], self.size // 2 - 1
        added = Case(Tally.of(ends), Tally.of([*ends, middle]), Sensitivity.of(1), tight=False)
        return (added, *super().audit_cases())

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(8, 4, "1/2", 2, 1), cls(8, 4, ["1/2", "2/3"], 1, "5/4"))


def best_ratio(q: Number = "1/2") -> Fraction:
    """How much wider the edges' noise should be than the line's: with a price t / scale + l1 / (ratio scale), the sum of both
    variances is least at ratio^3 = l1 / t (Lyu, Su and Li 2017); t = max(q, 1 - q) l1 under add/remove."""
    level = Fraction(q) if not isinstance(q, float) else Fraction(str(q))
    return Fraction(round(float(1 / max(level, 1 - level)) ** (1 / 3) * 4096), 4096)
