"""Laplace noise that never exceeds a public bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

from sfumato.accounting import Loss, TruncatedLaplaceLoss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import Value, copies, half_width, law_on_lattice, noisy, steps_of
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.noise import Source
from sfumato.noise import TruncatedLaplace as Noise


@final
@dataclass(frozen=True)
class TruncatedLaplace(Mechanism[Value, Any]):
    """Add Z to each cell, with P(Z = k grains) proportional to exp(-|k| grain / scale) where |Z| <= bound, and 0 beyond.

    Proof: Geng, Ding, Guo and Kumar 2020, on the integers. Where two neighbours' laws overlap, their ratio is that of the
    Laplace mechanism, at most exp(l1 / scale): the normaliser is the same. What does not overlap is the mass of the l1
    lowest steps, and that is delta (several cells: the noise is log-concave, so one cell moved by all of l1 is worst, see
    `TruncatedLaplaceLoss`). The code floors reals to the lattice first, as `Laplace` does, and draws by rejection, so that
    the law is the stated one exactly. For one number and a delta above 0 this is the least noise that has a hard limit.
    """

    scale: Positive = Positive()
    bound: Positive = Positive()
    grain: Grain = Grain()

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = steps_of(Sensitivity.of(sensitivity), self.grain)
        noise = self._noise()
        return TruncatedLaplaceLoss(noise.scale, noise.bound, reach.l1, reach.about)

    def sample(self, value: Value, source: Source) -> Any:
        noise = self._noise()
        return noisy(value, grain=self.grain, draw=lambda size: noise.sample(source, size))

    def within(self, confidence: Number) -> float:
        """Never more than the bound (and one grain, for the flooring of reals)."""
        return half_width(self._noise().within(confidence), self.grain)

    @property
    def limit(self) -> float:
        """What the error of one cell never exceeds."""
        return half_width(self._noise().bound, self.grain)

    def law(self, value: Value) -> Law | None:
        return law_on_lattice(self._noise(), value, grain=self.grain)

    def repeat(self, value: Value, count: int, source: Source) -> Sequence[Any]:
        return self.sample(copies(value, count), source)  # type: ignore[no-any-return]

    def audit_cases(self) -> Sequence[Case[Value]]:
        return (Case(0, 1, Sensitivity.of(1)), Case(0, 3, Sensitivity.of(3)))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(scale=1, bound=12), cls(scale=3, bound=2), cls(scale=2, bound=9, grain="1/4"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """scale = l1 / epsilon, and the lowest bound whose failure is at most delta.

        The lowest l1 steps weigh (a^(A + 1 - l1) - a^(A + 1)) / (1 + a - 2 a^(A + 1)), where A is the bound: the A from
        floats, about scale ln(1 + (e^epsilon - 1) / (2 delta)), is moved until exact arithmetic agrees.
        """
        target, mass = positive(epsilon, name="epsilon"), probability(delta, name="delta")
        if mass == 0:
            raise BadInput(
                "noise with a bound cannot promise delta 0", hint="give a delta such as '1e-6', or use Laplace"
            )
        if public.pop("bound", None) is not None:
            raise BadInput("the bound follows from epsilon and delta", hint="leave it out, or construct the mechanism")
        unit = cls(scale=1, bound=1, **public)
        reach = steps_of(Sensitivity.of(sensitivity), unit.grain)
        steps = reach.l1 // 1
        if steps == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        scale = steps / target

        def kept(bound: int) -> bool:
            return TruncatedLaplaceLoss(scale, bound, reach.l1, reach.about).failure <= mass

        bound, step = math.ceil(scale * Fraction(_log1p_ratio(float(target), float(mass)))), 1
        while not kept(bound):
            bound, step = bound + step, 2 * step
        low = max(-1, bound - 2 * step - 2)
        while low >= 0 and kept(low):
            low, step = max(-1, low - step), 2 * step
        while bound - low > 1:
            middle = (bound + low) // 2
            low, bound = (low, middle) if kept(middle) else (middle, bound)
        grain = unit.grain or Fraction(1)
        return cls(scale=scale * grain, bound=max(1, bound) * grain, **public)

    def _noise(self) -> Noise:
        grain = self.grain or 1
        return Noise(self.scale / grain, int(self.bound / grain))


def _log1p_ratio(epsilon: float, delta: float) -> float:
    """ln(1 + (e^epsilon - 1) / (2 delta)), without overflow."""
    excess = math.expm1(epsilon) if epsilon < 700 else math.inf
    return math.log1p(excess / (2 * delta)) if math.isfinite(excess / (2 * delta)) else epsilon - math.log(2 * delta)
