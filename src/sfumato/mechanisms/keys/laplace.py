"""Private keys by Laplace noise: the groups that are told come with their noisy numbers of units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from sfumato.accounting import DiscreteLaplaceLoss, Failing, Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.keys.held import Held, Kept, alone_told, known, law_of, least_threshold, passing
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import DiscreteLaplace, Source


@final
@dataclass(frozen=True)
class LaplaceKeys(Mechanism[Held, Kept]):
    """Add discrete Laplace noise to the number of units of every group that has one; tell those of `threshold` or more.

    Proof: Korolova, Kenthapadi, Mishra and Ntoulas 2009, on the integers and without their overlap of the two terms. Let
    unit u come; it enters at most c groups, by at most d each, l1 together. Groups in which another unit is too are examined
    with and without u: their noisy numbers are the Laplace mechanism's, and the threshold looks at nothing else. Groups in
    which u is alone are examined only with u: each is told with p = P(d + Z >= threshold) at most, independently, so none
    is with (1 - p)^c at least. Given that none is, both outputs are those of the common groups; `Failing` says what an event
    of mass 1 - (1 - p)^c leaves of the Laplace loss. Under replace c counts the groups of the old rows and of the new ones, so
    either neighbour's event has no more mass. p is the certified tail at threshold - d: a count of 1 needs noise of
    threshold - 1 only, and with P(Z >= threshold) the failure is understated e^(1/scale) times.
    """

    threshold: int
    scale: Positive = Positive()

    def __post_init__(self) -> None:
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int) or self.threshold < 1:
            raise BadInput("the threshold is not a whole number of 1 or more", hint="give a threshold such as 50")

    @property
    def told(self) -> bool:
        """Whether groups come with their noisy numbers."""
        return True

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        inner = DiscreteLaplaceLoss(self.scale, reach.l1, reach.about)
        return Failing(inner, alone_told(self._noise, self.threshold, reach))

    def sample(self, value: Held, source: Source) -> Kept:
        return passing(value, self.threshold, self._noise, source)[0]

    def repeat(self, value: Held, count: int, source: Source) -> Sequence[Kept]:
        return passing(value, self.threshold, self._noise, source, count)

    def within(self, confidence: Number) -> float:
        """The half-width of the number of a group, before it is known to have passed."""
        return float(self._noise.within(confidence))

    def law(self, value: Held) -> Law | None:
        return law_of(value, self.threshold, self._noise, counted=True) if self.scale <= 4 else None

    def audit_cases(self) -> Sequence[Case[Held]]:
        t = self.threshold
        return (
            Case({"a": t}, {"a": t + 1}, Sensitivity.of(1), tight=False),
            Case({}, {"a": 1}, Sensitivity.of(1), tight=False),
            Case({"a": t}, {"a": t + 1, "b": 1}, Sensitivity.of_cells(2), tight=False),
            Case({}, {"a": 1, "b": 1}, Sensitivity.of_cells(2), tight=False),
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(5, 1), cls(2, "1/2"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: int
    ) -> Self:
        """scale = l1 / epsilon, and the lowest threshold whose failure is at most delta."""
        target, mass = promised(epsilon, delta)
        reach = Sensitivity.of(sensitivity)
        if public:
            raise BadInput(
                "the threshold follows from epsilon and delta", hint="leave it out, or construct the mechanism"
            )
        if reach.l1 < 1:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        scale = Fraction(reach.l1 // 1) / target
        return cls(least_threshold(known(DiscreteLaplace, scale), reach, mass), scale)

    @property
    def _noise(self) -> DiscreteLaplace:
        noise: DiscreteLaplace = known(DiscreteLaplace, self.scale)
        return noise


def promised(epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    """A promise that a threshold can keep, read and checked."""
    target, mass = positive(epsilon, name="epsilon"), probability(delta, name="delta")
    if mass == 0:
        raise BadInput(
            "groups that only one person may be in cannot be told at a delta of 0", hint="give a delta such as '1e-6'"
        )
    return target, mass
