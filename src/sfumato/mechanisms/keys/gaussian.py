"""Private keys by Gaussian noise: lower thresholds where one unit may be in several groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

from sfumato.accounting import DiscreteGaussianLoss, Failing, Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.keys.held import Held, Kept, alone_told, known, law_of, least_threshold, passing
from sfumato.mechanisms.keys.laplace import promised
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.gaussian import Gaussian
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import DiscreteGaussian, Source


@final
@dataclass(frozen=True)
class GaussianKeys(Mechanism[Held, Kept]):
    """Add discrete Gaussian noise to the number of units of every group that has one; tell those of `threshold` or more.

    Proof: that of `LaplaceKeys`, word for word, the common groups being answered by the Gaussian mechanism; p is the certified
    tail of the discrete law, not of the continuous one. (Swanberg, Desfontaines and Haney 2023 do the same for the latter.)
    """

    noise_field: ClassVar[str] = "sigma"

    threshold: int
    sigma: Positive = Positive()

    def __post_init__(self) -> None:
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int) or self.threshold < 1:
            raise BadInput("the threshold is not a whole number of 1 or more", hint="give a threshold such as 50")

    @property
    def told(self) -> bool:
        """Whether groups come with their noisy numbers."""
        return True

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        return Failing(DiscreteGaussianLoss(self.sigma**2, reach), alone_told(self._noise, self.threshold, reach))

    def sample(self, value: Held, source: Source) -> Kept:
        return passing(value, self.threshold, self._noise, source)[0]

    def repeat(self, value: Held, count: int, source: Source) -> Sequence[Kept]:
        return passing(value, self.threshold, self._noise, source, count)

    def within(self, confidence: Number) -> float:
        """The half-width of the number of a group, before it is known to have passed."""
        return float(self._noise.within(confidence))

    def law(self, value: Held) -> Law | None:
        return law_of(value, self.threshold, self._noise, counted=True) if self.sigma <= 4 else None

    def audit_cases(self) -> Sequence[Case[Held]]:
        t = self.threshold
        return (
            Case({"a": t + 8}, {"a": t + 9}, Sensitivity.of(1), tight=False),
            Case({}, {"a": 1}, Sensitivity.of(1), tight=False),
            Case({"a": t}, {"a": t + 1, "b": 1}, Sensitivity.of_cells(2), tight=False),
            Case({}, {"a": 1, "b": 1}, Sensitivity.of_cells(2), tight=False),
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(9, 1), cls(12, "3/2"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: int
    ) -> Self:
        """Half of delta for the curve of the noise, and half for the threshold."""
        target, mass = promised(epsilon, delta)
        reach = Sensitivity.of(sensitivity)
        if public:
            raise BadInput(
                "the threshold follows from epsilon and delta", hint="leave it out, or construct the mechanism"
            )
        sigma = Gaussian.calibrate(sensitivity=reach, epsilon=target, delta=mass / 2).sigma
        return cls(least_threshold(known(DiscreteGaussian, sigma**2), reach, mass / 2), sigma)

    @classmethod
    def within_mass(cls, sensitivity: Sensitivity, sigma: Fraction, mass: Fraction) -> Self:
        """Given noise, with the lowest threshold whose failure is at most `mass`: for budgets that count rho."""
        return cls(least_threshold(known(DiscreteGaussian, sigma**2), sensitivity, mass), sigma)

    @property
    def _noise(self) -> DiscreteGaussian:
        noise: DiscreteGaussian = known(DiscreteGaussian, self.sigma**2)
        return noise
