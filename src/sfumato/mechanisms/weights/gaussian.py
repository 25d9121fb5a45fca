"""Importance weights with a delta: Gaussian noise on every coordinate of the tilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, final

from sfumato.accounting import DiscreteGaussianLoss, Loss, calibrate
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.mechanisms.weights.laplace import flat_example, square_example
from sfumato.mechanisms.weights.reference import Reference
from sfumato.mechanisms.weights.weighting import Weighting
from sfumato.noise import DiscreteGaussian


@final
@dataclass(frozen=True)
class GaussianWeights(Weighting):
    """The tilt in steps, plus Z on each coordinate with P(Z = k) proportional to exp(-(k grain)^2 / (2 sigma^2)).

    Proof: as `LaplaceWeights`, priced by `DiscreteGaussianLoss` from the steps' Euclidean norm, which is what the fit bounds:
    it needs less noise than Laplace from about a dozen coordinates on (sqrt(2 d) against some 5, at a delta of 1e-6).
    """

    noise_field: ClassVar[str] = "sigma"

    reference: Reference
    size: Positive = Positive()
    penalty: Positive = Positive()
    tolerance: Positive = Positive()
    sigma: Positive = Positive()
    grain: Grain = Grain()

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        return DiscreteGaussianLoss((self.sigma / self.step) ** 2, self.steps(sensitivity))

    @property
    def noise(self) -> DiscreteGaussian:
        return DiscreteGaussian((self.sigma / self.step) ** 2)

    @classmethod
    def quietest(cls, steps: Sensitivity, epsilon: Number, delta: Number, grain: Fraction) -> Number:
        if fraction(delta, name="delta") == 0:
            raise BadInput(
                "Gaussian noise cannot promise delta 0", hint="give a delta such as '1e-6', or use LaplaceWeights"
            )
        sigma = calibrate(
            lambda amount: DiscreteGaussianLoss(amount**2, steps),
            epsilon=epsilon,
            delta=delta,
            start=max(Fraction(1), steps.linf),
        )
        return sigma * grain

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(flat_example(), 3200, "3/4000", "1/10000000", "1/4", "1/64"),
            cls(square_example(), 3200, "3/4000", "1/10000000", "1/8", "1/32"),
        )
