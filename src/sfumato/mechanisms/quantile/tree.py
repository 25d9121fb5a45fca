"""Quantiles read off a noisy hierarchy of counts: all of them for one price, best where rows are few and the range is wide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.histogram.laplace import LaplaceHistogram
from sfumato.mechanisms.histogram.tree import Tree
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.quantile.asked import Levels, OnLattice, Points
from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise import Source

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True)
class TreeQuantiles(OnLattice):
    """Counts of `bins` equal bins with the noise of a tree, least squares, the nearest rising cumulative counts, and where they
    cross q n: within a bin, its points in proportion.

    Proof: a tally moves by at most l1, so do the bins; `LaplaceHistogram` on `Tree.branching(bins, fan_out)` costs what it
    says. Everything after it, isotonic regression (Ayer and others 1955) and crossing included, sees released numbers only.
    """

    noise_field: ClassVar[str] = "scale"

    size: int
    bins: int
    fan_out: int
    quantiles: Levels = Levels()
    scale: Positive = Positive()
    by_group: bool = False

    def __post_init__(self) -> None:
        self._check()
        if isinstance(self.bins, bool) or not isinstance(self.bins, int) or not 1 <= self.bins <= self.size:
            raise BadInput("there is no bin, or more bins than points", hint="give 1 to as many bins as points")
        _ = self._counts  # a senseless fan-out is refused at once

    @cached_property
    def _counts(self) -> LaplaceHistogram:
        return LaplaceHistogram(Tree.branching(self.bins, self.fan_out), self.scale)

    def price(self, reach: Sensitivity) -> Loss:
        return self._counts.loss(reach)

    def one(self, tally: Tally, source: Source) -> Points:
        return self._read(np.asarray(self._counts.sample(self._binned(tally), source)))

    def repeat(self, value: Tally | Sequence[Tally], count: int, source: Source) -> Sequence[Points]:
        if not isinstance(value, Tally):
            return super().repeat(value, count, source)
        drawn = self._counts.repeat(self._binned(value.inside(self.size)), count, source)
        read = {each: self._read(np.array(each)) for each in set(drawn)}
        return [read[each] for each in drawn]

    def _binned(self, tally: Tally) -> NDArray[np.int64]:
        left = tally.below[np.searchsorted(tally.places, self._edges, side="left")]
        counts: NDArray[np.int64] = np.diff(left)
        return counts

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        """Bin i holds the points from edge i to before edge i + 1."""
        return np.array([-(-i * self.size // self.bins) for i in range(self.bins + 1)], dtype=np.int64)

    def _read(self, counts: Floats) -> Points:
        """Where the rising cumulative counts cross each quantile of their end."""
        rising = isotonic(np.concatenate([[0.0], np.cumsum(counts)]))
        rising -= rising[0]
        if rising[-1] <= 0:
            rising = self._edges / self._edges[-1]
        points = []
        for q in self.quantiles:
            target = float(q) * float(rising[-1])
            i = min(max(int(np.searchsorted(rising, target, side="left")) - 1, 0), self.bins - 1)
            low, high = float(rising[i]), float(rising[i + 1])
            part = (target - low) / (high - low) if high > low else 0.0
            width = int(self._edges[i + 1] - self._edges[i])
            points.append(int(self._edges[i]) + min(max(int(part * width), 0), width - 1))
        return tuple(points)

    def within(self, confidence: Number) -> float:
        """How far in rank (weight) the named bin may be from each quantile, with this confidence for all at once, whatever the
        data. The bin's own rows are the rest of the error.

        With this confidence no cumulative count is off by more than t: isotonic regression never makes the largest error
        larger, and q times the end is off by q t. Chernoff's bound holds at any rate h > 0, for each edge; a few are tried.
        """
        miss = float(1 - probability(confidence, name="confidence")) / self.bins
        strategy = self._counts.strategy
        spreads = np.stack([np.abs(strategy.weights(row)).ravel() for row in np.tri(self.bins)])
        rates = 1 / (strategy.row_scales * float(self.scale))
        ratio = 4 * np.exp(-rates) / np.expm1(-rates) ** 2
        top, best = float((rates / np.maximum(spreads.max(axis=0), 1e-12)).min()), math.inf
        for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            inside = 1 - ratio * np.sinh(share * top * spreads / 2) ** 2
            if (inside > 0).all():
                sums = np.log(2 / miss) - np.log(inside).sum(axis=1)
                best = min(best, float(sums.max()) / (share * top))
        return 2 * best * (1 + 1e-9) + self.bins * 2.0**-20

    def law(self, value: Tally | Sequence[Tally]) -> Law | None:
        """Where the rows of the tree are few: their law, read as quantiles."""
        if not isinstance(value, Tally):
            return None
        rows = self._counts.law_of_rows(self._binned(value.inside(self.size)))
        if rows is None:
            return None
        found: dict[Any, tuple[int, int]] = {}
        fitted = self._counts._estimate(np.array(list(rows.weights), dtype=np.int64))
        for counts, (low, high) in zip(fitted, rows.weights.values(), strict=True):
            key = self._read(counts)
            old = found.get(key, (0, rows.rest))  # what the rows' law leaves out may be read as any of these
            found[key] = old[0] + low, old[1] + high
        return Law(rows.bits, found, rows.rest)

    def audit_cases(self) -> Sequence[Case[Tally]]:
        """The only row comes, at the far end, or one more at the near end."""
        one = Sensitivity.of(1)
        return (
            Case(Tally.of([]), Tally.of([self.size - 1]), one, tight=False),
            Case(Tally.of([0, self.size - 1]), Tally.of([0, 0, self.size - 1]), one, tight=False),
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(2, 2, 2, "1/2", "1/2"), cls(4, 2, 2, ["1/3", "2/3"], "1/2"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The scale that spends exactly epsilon; it is pure, so a delta is left unspent."""
        target = positive(epsilon, name="epsilon")
        probability(delta, name="delta")
        price = cls(scale=1, **public).loss(sensitivity).pure()
        assert price is not None
        if price[0] == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public answer needs no mechanism")
        return cls(scale=price[0] / target, **public)


def isotonic(values: Floats) -> Floats:
    """The nearest rising numbers in least squares: neighbours out of order are pooled at their mean."""
    means: list[float] = []
    counts: list[int] = []
    for value in values.tolist():
        mean, count = value, 1
        while means and means[-1] > mean:
            mean = (mean * count + means[-1] * counts[-1]) / (count + counts[-1])
            count += counts.pop()
            means.pop()
        means.append(mean)
        counts.append(count)
    return np.repeat(np.array(means), counts)
