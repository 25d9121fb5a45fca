"""Noise of any symmetric log-concave law on the lattice, priced from its own probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

from sfumato.accounting import DiscreteLaplaceLoss, Loss, ShiftedLoss
from sfumato.core.errors import NotSupported
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import Value, copies, half_width, law_on_lattice, noisy, steps_of
from sfumato.mechanisms.parameter import Grain
from sfumato.noise import Source, Symmetric


@final
@dataclass(frozen=True)
class LatticeNoise(Mechanism[Value, Any]):
    """Add Z to each cell, with P(Z = k grains) = weights[|k|] / total, for whole weights at 0, 1, 2, ... that you give.

    A density of your own, tabulated: it need not be exact, only its weights count, for they are both drawn and priced.

    Proof: `ShiftedLoss`. It wants weights[i]^2 >= weights[i - 1] weights[i + 1], and refuses others; then one cell moved by
    all of l1 has the largest delta at every epsilon, which is summed in whole numbers. Reals are floored to the lattice
    first.
    """

    noise_field: ClassVar[str] = "weights"

    weights: tuple[int, ...]
    grain: Grain = Grain()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(int(weight) for weight in self.weights))
        ShiftedLoss(self.weights, 1)

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = steps_of(Sensitivity.of(sensitivity), self.grain)
        steps = math.floor(reach.l1)
        if steps == 0:
            return DiscreteLaplaceLoss(Fraction(1), Fraction(0), reach.about)
        return ShiftedLoss(self.weights, steps, reach.about)

    def sample(self, value: Value, source: Source) -> Any:
        return noisy(value, grain=self.grain, draw=lambda size: self._noise.sample(source, size))

    def within(self, confidence: Number) -> float:
        return half_width(self._noise.within(confidence), self.grain)

    def law(self, value: Value) -> Law | None:
        return law_on_lattice(self._noise, value, grain=self.grain)

    def repeat(self, value: Value, count: int, source: Source) -> Sequence[Any]:
        return self.sample(copies(value, count), source)  # type: ignore[no-any-return]

    def audit_cases(self) -> Sequence[Case[Value]]:
        unit = self.grain or Fraction(1)
        return tuple(
            Case(0, times if self.grain is None else float(times * unit), Sensitivity.of(times * unit))
            for times in (1, 2)
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls((30, 24, 15, 6, 1)), cls((81, 54, 36, 24, 16, 8, 2), grain="1/2"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """Refused: a list of weights has no one number to search."""
        positive(epsilon, name="epsilon")
        probability(delta, name="delta")
        raise NotSupported(
            "weights do not follow from epsilon",
            hint="construct LatticeNoise(weights) and read its loss; widen, repeat",
        )

    @cached_property
    def _noise(self) -> Symmetric:
        return Symmetric(self.weights)
