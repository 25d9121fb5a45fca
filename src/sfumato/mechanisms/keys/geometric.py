"""Private keys and nothing else: noise of two geometric halves, cut off where a unit alone would be betrayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from sfumato.accounting import Approximate, Loss, TruncatedLaplaceLoss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.keys.held import Held, at_least_one, known, law_of, passing, reach_of
from sfumato.mechanisms.keys.laplace import promised
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.truncated_laplace import TruncatedLaplace as Single
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, TruncatedLaplace

Names = tuple[str, ...]


@final
@dataclass(frozen=True)
class GeometricKeys(Mechanism[Held, Names]):
    """Tell the groups whose number of units exceeds `bound` after noise P(Z = k) ~ e^(-|k|/scale), |k| <= bound.

    Proof: Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 4: truncated geometric noise and this threshold select as well
    as any rule that is as private. A group of nobody never passes, as bound + 1 is out of reach, so whether such groups are
    examined makes no difference: what is told is post-processing of the `TruncatedLaplace` mechanism on all groups that there
    could be. One that moves by d is told with the loss (d/scale, m), m the mass of the d lowest steps, and the groups are
    independent: such a pair is simulated by a coin that shows everything with m and by randomized response otherwise (Kairouz,
    Oh and Viswanath 2015), so c groups that move by l1 together have the loss (l1/scale, 1 - (1 - m)^c).
    """

    bound: int
    scale: Positive = Positive()

    def __post_init__(self) -> None:
        if isinstance(self.bound, bool) or not isinstance(self.bound, int) or self.bound < 1:
            raise BadInput("the bound is not a whole number of 1 or more", hint="give a bound such as 50")

    @property
    def told(self) -> bool:
        """Whether groups come with their noisy numbers."""
        return False

    @property
    def threshold(self) -> int:
        """What a noisy number has to reach."""
        return self.bound + 1

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        linf, groups = reach_of(reach)
        if linf == 0 or groups == 0:
            return TruncatedLaplaceLoss(self.scale, self.bound, Fraction(0), reach.about)
        one = TruncatedLaplaceLoss(self.scale, self.bound, Fraction(linf), reach.about)
        moved = Fraction(reach.l1 // 1)
        return Approximate(moved / self.scale, at_least_one(one.failure, groups), reach.about)

    def sample(self, value: Held, source: Source) -> Names:
        return self.repeat(value, 1, source)[0]

    def repeat(self, value: Held, count: int, source: Source) -> Sequence[Names]:
        drawn = passing(value, self.threshold, self._noise, source, count)
        return [tuple(name for name, _ in kept) for kept in drawn]

    def within(self, confidence: Number) -> float:
        """How far from the threshold a group is told or withheld by chance."""
        return float(self._noise.within(confidence))

    def law(self, value: Held) -> Law | None:
        return law_of(value, self.threshold, self._noise, counted=False)

    def audit_cases(self) -> Sequence[Case[Held]]:
        return (
            Case({"a": self.bound}, {"a": self.bound + 1}, Sensitivity.of(1), tight=False),
            Case({"a": 1}, {"a": 2}, Sensitivity.of(1), tight=False),
            Case({}, {"a": 1}, Sensitivity.of(1), tight=False),
            Case({"a": 2 * self.bound}, {"a": 2 * self.bound + 1}, Sensitivity.of(1), tight=False),
            Case({"a": 1}, {"a": 2, "b": 1}, Sensitivity.of_cells(2), tight=False),
            Case({}, {"a": 1, "b": 1}, Sensitivity.of_cells(2), tight=False),
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(4, 1), cls(9, 2))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: int
    ) -> Self:
        """scale = l1 / epsilon, and the lowest bound whose failure is at most delta."""
        target, mass = promised(epsilon, delta)
        reach = Sensitivity.of(sensitivity)
        if public:
            raise BadInput("the bound follows from epsilon and delta", hint="leave it out, or construct the mechanism")
        if reach.l1 < 1:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        linf, groups = reach_of(reach)
        scale = Fraction(reach.l1 // 1) / target
        start = Single.calibrate(sensitivity=linf, epsilon=linf / scale, delta=mass / groups)
        bound = int(start.bound)
        while cls(bound, scale).loss(reach).failure > mass:
            bound += 1
        return cls(bound, scale)

    @property
    def _noise(self) -> TruncatedLaplace:
        noise: TruncatedLaplace = known(TruncatedLaplace, self.scale, self.bound)
        return noise
