"""Laplace noise: on whole numbers, or on a lattice for reals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

from sfumato.accounting import DiscreteLaplaceLoss, Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import Value, copies, half_width, law_on_lattice, noisy, steps_of
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.noise import DiscreteLaplace, Source


@final
@dataclass(frozen=True)
class Laplace(Mechanism[Value, Any]):
    """Add Z to each cell, with P(Z = k grains) proportional to exp(-|k| grain / scale).

    Proof: Ghosh, Roughgarden and Sundararajan 2009 (after Dwork, McSherry, Nissim and Smith 2006). The cells' noises are
    independent, so for inputs x, y on the lattice the ratio of the probabilities of any output is
    exp(sum_i (|o_i - y_i| - |o_i - x_i|) grain / scale) <= exp(|x - y|_1 / scale), by the triangle inequality. The code
    floors reals to the lattice first; `Sensitivity.on_grid` counts how far apart floored neighbours can be. The whole
    profile delta(epsilon) is that of one cell moved by l1, which dominates every split of it over cells.
    """

    scale: Positive = Positive()
    grain: Grain = Grain()

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = steps_of(Sensitivity.of(sensitivity), self.grain)
        return DiscreteLaplaceLoss(scale=self._steps(), l1=reach.l1, about=reach.about)

    def sample(self, value: Value, source: Source) -> Any:
        law = DiscreteLaplace(self._steps())
        return noisy(value, grain=self.grain, draw=lambda size: law.sample(source, size))

    def within(self, confidence: Number) -> float:
        return half_width(DiscreteLaplace(self._steps()).within(confidence), self.grain)

    def law(self, value: Value) -> Law | None:
        return law_on_lattice(DiscreteLaplace(self._steps()), value, grain=self.grain)

    def repeat(self, value: Value, count: int, source: Source) -> Sequence[Any]:
        return self.sample(copies(value, count), source)  # type: ignore[no-any-return]

    def audit_cases(self) -> Sequence[Case[Value]]:
        return (Case(0, 1, Sensitivity.of(1)), Case(0, 3, Sensitivity.of(3)))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(scale=1), cls(scale="1/2"), cls(scale=10), cls(scale=2, grain="1/4"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """scale = l1 / epsilon, exactly. It is pure, so a delta is not needed; one that is given is left unspent."""
        probability(delta, name="delta")
        unit = cls(scale=1, **public)
        steps = steps_of(Sensitivity.of(sensitivity), unit.grain).l1 // 1
        if steps == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        return cls(scale=steps * (unit.grain or 1) / positive(epsilon, name="epsilon"), **public)

    def _steps(self) -> Fraction:
        return self.scale / (self.grain or 1)
