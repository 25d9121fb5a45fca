"""The inverse sensitivity mechanism: a value is the less likely, the more rows would have to change for it to be true."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, up
from sfumato.core.neighbours import Neighbours
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.choice.exponential import Exponential
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.quantile.asked import ByRate
from sfumato.mechanisms.quantile.ranks import GRAIN
from sfumato.mechanisms.quantile.statistic import MEDIAN, Count, Largest, Mean, Quantile, Statistic
from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise import Source
from sfumato.noise.plateaus import Plateaus, Runs, plateau_bounds

_NEAR = 170
_WRITTEN = 256


@final
@dataclass(frozen=True)
class InverseSensitivity(ByRate):
    """Lattice point t with probability proportional to exp(-rate * d(t)), d the rows to change until the answer is t.

    With `smooth`, d(t) is the least over the points at most that many steps from t: where few points are right, their
    neighbours are as good.

    Proof: Asi and Duchi 2020. If two neighbours' distances differ by at most D at every point (see each `Statistic`; the
    least over fixed points differs by no more), then all log-ratios of the weights lie in [-rate D, rate D] and the two
    sums of weights shift them all by one number: a bounded range of 2 rate D, by McSherry and Talwar 2007. The lattice is
    public, distances are whole multiples of a public grain, and the draw is exact: floats only decide what certified
    integers would decide alike (`Plateaus`).
    """

    size: int
    statistic: Statistic
    rate: Positive = Positive()
    smooth: int = 0
    by_group: bool = False

    def __post_init__(self) -> None:
        self._check()
        if isinstance(self.smooth, bool) or not isinstance(self.smooth, int) or not 0 <= self.smooth <= self.size:
            raise BadInput("a smoothing below 0, or wider than the lattice", hint="give a whole number of steps")

    def rounds(self, reach: Sensitivity) -> tuple[int, Fraction]:
        return 1, 2 * self.statistic.moved(reach)

    def one(self, tally: Tally, source: Source) -> int:
        return int(self._drawn(tally, 1, source)[0])

    def repeat(self, value: Tally | Sequence[Tally], count: int, source: Source) -> Sequence[int]:
        if not isinstance(value, Tally):
            return super().repeat(value, count, source)
        return self._drawn(value.inside(self.size), count, source)

    def _drawn(self, tally: Tally, count: int, source: Source) -> Sequence[int]:
        rate = self.rate / self.statistic.grains
        near = self._runs(tally, int(_NEAR / rate) + 1)
        drawn: Sequence[int] = Plateaus(rate, near, lambda: self._runs(tally, None)).sample(source, count).tolist()
        return drawn

    def _runs(self, tally: Tally, within: int | None) -> Runs:
        return self.statistic.runs(tally, self.size, self.smooth, within)

    def within(self, confidence: Number) -> float:
        """How many rows (weights) would have to change for the released point to be right, at this confidence, whatever
        the data: some point is at distance 1 or less, 2 smooth + 1 points around it too unless the lattice ends."""
        groups = math.ceil(Fraction(self.size, self.smooth + 1))
        return Exponential(groups, self.rate, GRAIN).within(confidence) + up(Fraction(1))

    def law(self, value: Tally | Sequence[Tally]) -> Law | None:
        if self.size > _WRITTEN or not isinstance(value, Tally):
            return None
        bits = 160
        runs = self._runs(value.inside(self.size), None)
        pairs = plateau_bounds(self.rate / self.statistic.grains, runs, 2 * bits)
        least, most = sum(low for low, _ in pairs), sum(high for _, high in pairs)
        weights: dict[Hashable, tuple[int, int]] = {}
        for start, length, (low, high) in zip(runs.starts.tolist(), runs.lengths.tolist(), pairs, strict=True):
            for t in range(start, start + length):
                weights[t] = ((low // length << bits) // most, -((-high // length << bits) // least))
        return Law(bits, weights)

    def audit_cases(self) -> Sequence[Case[Tally]]:
        """Where most points get further away and one gets nearer, or the other way round."""
        match self.statistic:
            case Mean():
                last = self.size - 1
                moved = Sensitivity.of_cells(2, 1, about=Neighbours.REPLACE)
                return (Case(Tally.of([0, last]), Tally.of([0, 0]), moved, tight=False),)
            case Quantile():
                return rank_cases(self.size, self.by_group)
            case _:
                one, last = Sensitivity.of(1), self.size - 1
                added = Case(Tally.of([last - 1]), Tally.of([last - 1, last]), one, tight=False)
                return (
                    *((Case(Tally.of([]), Tally.of([0]), one, tight=False),) if self.statistic == Count() else ()),
                    added,
                    Case(Tally.of([0, 0]), Tally.of([0, 0, last]), one, tight=False),
                    Case(Tally.of([]), Tally.of([0]), one, tight=False),
                )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(42, MEDIAN, 1),
            cls(42, Quantile(Fraction(2, 5)), 1, smooth=1),
            cls(9, Mean(), "1/2"),
            cls(12, Largest(), "1/2"),
            cls(12, Count(), "1/4"),
        )


def rank_cases(size: int, by_group: bool = False) -> Sequence[Case[Tally]]:
    """A row comes at the near end, or moves there: the long gap beyond the middle row and the short one move apart."""
    middle, last = max(1, size // 8), size - 1
    one, two = Sensitivity.of(1), Sensitivity.of_cells(2, 1, about=Neighbours.REPLACE)
    far = max(2, size // 2)
    return (
        Case(Tally.of([middle]), Tally.of([0, middle]), one, tight=False),
        Case(Tally.of([middle, last]), Tally.of([0, middle]), two, tight=False),
        Case(Tally.of([]), Tally.of([last]), one, tight=False),
        Case(Tally.of([0, far, far], [3, 1, 2]), Tally.of([0, far], [3, 4]), one, tight=False),
    )
