"""Gaussian noise: on whole numbers, or on a lattice for reals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

from sfumato.accounting import DiscreteGaussianLoss, Loss, classical_gaussian_sigma
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import Value, copies, half_width, law_on_lattice, noisy, steps_of
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.noise import DiscreteGaussian, Source


@final
@dataclass(frozen=True)
class Gaussian(Mechanism[Value, Any]):
    """Add Z to each cell, with P(Z = k grains) proportional to exp(-(k grain)^2 / (2 sigma^2)).

    Proof: Canonne, Kamath and Steinke 2020, Theorem 4 (zCDP with rho = l2^2 / (2 sigma^2), the cells being independent) and
    Theorem 7 (one cell: delta(epsilon) is the exact difference of two tails, the likelihood ratio being monotone). The law
    is on a lattice, so it is not Gaussian differential privacy: its profile exceeds the continuous one, by up to 0.118 at
    sigma 1/2. The code floors reals to the lattice first; `Sensitivity.on_grid` counts how far apart floored neighbours are.
    """

    noise_field: ClassVar[str] = "sigma"

    sigma: Positive = Positive()
    grain: Grain = Grain()

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = steps_of(Sensitivity.of(sensitivity), self.grain)
        return DiscreteGaussianLoss(self._steps() ** 2, reach)

    def sample(self, value: Value, source: Source) -> Any:
        law = DiscreteGaussian(self._steps() ** 2)
        return noisy(value, grain=self.grain, draw=lambda size: law.sample(source, size))

    def within(self, confidence: Number) -> float:
        return half_width(DiscreteGaussian(self._steps() ** 2).within(confidence), self.grain)

    def law(self, value: Value) -> Law | None:
        return law_on_lattice(DiscreteGaussian(self._steps() ** 2), value, grain=self.grain)

    def repeat(self, value: Value, count: int, source: Source) -> Sequence[Any]:
        return self.sample(copies(value, count), source)  # type: ignore[no-any-return]

    def audit_cases(self) -> Sequence[Case[Value]]:
        return (Case(0, 1, Sensitivity.of(1)), Case(0, 3, Sensitivity.of(3)))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(sigma="3.7"), cls(sigma="1/2"), cls(sigma=2, grain="1/4"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        if fraction(delta, name="delta") == 0:
            raise BadInput("Gaussian noise cannot promise delta 0", hint="give a delta such as '1e-6', or use Laplace")
        return super().calibrate(sensitivity=sensitivity, epsilon=epsilon, delta=delta, **public)

    @classmethod
    def classical(cls, *, sensitivity: Number = 1, epsilon: Number, delta: Number) -> Self:
        """The textbook sigma, sqrt(2 ln(1.25/delta)) l2/epsilon, for comparison; proved only for epsilon below 1."""
        return cls(sigma=classical_gaussian_sigma(sensitivity=sensitivity, epsilon=epsilon, delta=delta))

    def _steps(self) -> Fraction:
        return self.sigma / (self.grain or 1)
