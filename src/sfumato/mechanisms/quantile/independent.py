"""Quantiles one by one, each by its own exponential mechanism."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Self, final

from sfumato.core.exact import Number, probability
from sfumato.core.neighbours import Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.choice.exponential import Exponential
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.quantile.asked import ByRate, Levels, Points
from sfumato.mechanisms.quantile.inverse_sensitivity import InverseSensitivity, rank_cases
from sfumato.mechanisms.quantile.ranks import GRAIN, RankDistance
from sfumato.mechanisms.quantile.statistic import Quantile
from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise import Source

_WRITTEN = 4096


@final
@dataclass(frozen=True)
class IndependentQuantiles(ByRate):
    """For each quantile q a lattice point, with probability proportional to exp(-rate_q * rank distance); sorted at the end.

    rate_q = rate / (2 max(q, 1-q)): the middle is harder to move, so it gets a sharper choice for the same price.

    Proof: Smith 2011, on the lattice: each round is `InverseSensitivity` of a quantile, whose rank distance moves by at most
    max(q, 1-q) l1 under add/remove: a bounded range of 2 rate_q max(q, 1-q) l1 = rate l1. Under replace it moves by at most
    l1/2, a range of rate_q l1. Rounds add up; sorting what is released costs nothing. Exact draws, as there.
    """

    size: int
    quantiles: Levels = Levels()
    rate: Positive = Positive()
    by_group: bool = False

    def __post_init__(self) -> None:
        self._check()

    def rounds(self, reach: Sensitivity) -> tuple[int, Fraction]:
        if reach.about.relation is Relation.REPLACE:
            return len(self.quantiles), reach.l1 * max(sharpened(q) for q in self.quantiles)
        return len(self.quantiles), reach.l1

    def one(self, tally: Tally, source: Source) -> Points:
        return self._drawn(tally, 1, source)[0]

    def repeat(self, value: Tally | Sequence[Tally], count: int, source: Source) -> Sequence[Points]:
        if not isinstance(value, Tally):
            return super().repeat(value, count, source)
        return self._drawn(value.inside(self.size), count, source)

    def _drawn(self, tally: Tally, count: int, source: Source) -> list[Points]:
        columns = [
            RankDistance.over(tally, self.size, q).draw(self.rate * sharpened(q), source, count).tolist()
            for q in self.quantiles
        ]
        return [tuple(sorted(row)) for row in zip(*columns, strict=True)]

    def within(self, confidence: Number) -> float:
        """How far in rank (weight) each released point may be from its quantile, with this confidence for all at once.

        Whatever the data, some point has distance 0, so P(distance > t) is at most (size - 1) exp(-rate_q t) / (1 + the
        same). Sorting makes the largest error no larger.
        """
        miss = (1 - probability(confidence, name="confidence")) / len(self.quantiles)
        return max(Exponential(self.size, self.rate * sharpened(q), GRAIN).within(1 - miss) for q in self.quantiles)

    def law(self, value: Tally | Sequence[Tally]) -> Law | None:
        if self.size ** len(self.quantiles) > _WRITTEN or not isinstance(value, Tally):
            return None
        laws = [InverseSensitivity(self.size, Quantile(q), self.rate * sharpened(q)).law(value) for q in self.quantiles]
        found: dict[Hashable, tuple[int, int]] = {}
        bits = 160
        for points in product(range(self.size), repeat=len(laws)):
            low = high = 1 << bits
            for law, t in zip(laws, points, strict=True):
                assert law is not None
                low, high = low * law.weights[t][0] >> bits, -(-high * law.weights[t][1] >> bits)
            key = tuple(sorted(points))
            old = found.get(key, (0, 0))
            found[key] = old[0] + low, old[1] + high
        return Law(bits, found)

    def audit_cases(self) -> Sequence[Case[Tally]]:
        return rank_cases(self.size)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(42, ["1/2"], 1), cls(8, ["2/5", "1/2"], 1))


def sharpened(q: Fraction) -> Fraction:
    """1 / (2 max(q, 1 - q)): between 1/2 and 1."""
    return 1 / (2 * max(q, 1 - q))
