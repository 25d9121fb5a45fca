"""The staircase: the least noise that is pure, for one number and a promise that is not strict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

from sfumato.accounting import DiscreteLaplaceLoss, Loss, Pure
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import Value, copies, half_width, law_on_lattice, noisy, steps_of
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.noise import Source
from sfumato.noise import Staircase as Noise


@final
@dataclass(frozen=True)
class Staircase(Mechanism[Value, Any]):
    """Add Z to each cell, P(Z = k grains) proportional to exp(-rate level(|k|)), in levels of `width` grains, the first `rise`.

    Proof: Geng and Viswanath 2016 (optimal among pure mechanisms for one number), on the integers: level(k) is
    floor((k + width - rise) / width). When a cell moves by d steps, |k| moves by at most d, and the floors of two
    numbers that are d / width apart differ by at most ceil(d / width). The normaliser does not depend on the input. So a
    log-ratio is at most rate times the sum over cells of ceil(d_i / width), which is at most cells ceil(linf / width), and
    l1 (each d_i is 0 or at least 1), and l1 / width + cells. Reals are floored to the lattice first.
    """

    noise_field: ClassVar[str] = "rate"

    width: int
    rise: int
    rate: Positive = Positive()
    grain: Grain = Grain()

    def __post_init__(self) -> None:
        if any(isinstance(each, bool) or not isinstance(each, int) for each in (self.width, self.rise)):
            raise BadInput("a width or a rise is not a whole number of steps", hint="give 1 <= rise <= width")
        Noise(self.width, self.rise, self.rate)

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = steps_of(Sensitivity.of(sensitivity), self.grain)
        levels = levels_moved(reach, self.width)
        if levels == 0:
            return DiscreteLaplaceLoss(Fraction(1), Fraction(0), reach.about)
        return Pure(self.rate * levels, reach.about)

    def sample(self, value: Value, source: Source) -> Any:
        noise = Noise(self.width, self.rise, self.rate)
        return noisy(value, grain=self.grain, draw=lambda size: noise.sample(source, size))

    def within(self, confidence: Number) -> float:
        return half_width(Noise(self.width, self.rise, self.rate).within(confidence), self.grain)

    def law(self, value: Value) -> Law | None:
        return law_on_lattice(Noise(self.width, self.rise, self.rate), value, grain=self.grain)

    def repeat(self, value: Value, count: int, source: Source) -> Sequence[Any]:
        return self.sample(copies(value, count), source)  # type: ignore[no-any-return]

    def audit_cases(self) -> Sequence[Case[Value]]:
        """Moved by a whole level, and by one step more."""
        unit, whole = self.grain or Fraction(1), self.grain is None
        return tuple(
            Case(0, steps if whole else float(steps * unit), Sensitivity.of(steps * unit), tight=False)
            for steps in (self.width, self.width + 1)
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(5, 2, 1), cls(1, 1, 2), cls(4, 1, 2, grain="1/4"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """Levels as wide as the largest move of a cell, and the rise of least expected |Z|: width / (1 + e^(epsilon/2))."""
        target = positive(epsilon, name="epsilon")
        probability(delta, name="delta")
        grain = public.pop("grain", None)
        reach = steps_of(Sensitivity.of(sensitivity), cls(1, 1, 1, grain).grain)
        width = public.pop("width", None) or math.floor(reach.linf)
        if width == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        rate = target / levels_moved(reach, width)
        share = 1 / (1 + math.exp(min(700.0, float(rate) / 2)))
        rise = public.pop("rise", None) or max(1, min(width, round(width * share)))
        return cls(width=width, rise=rise, rate=rate, grain=grain, **public)


def levels_moved(reach: Sensitivity, width: int) -> int:
    """At least the sum over cells of ceil(d_i / width), for whole moves d_i."""
    bounds = [math.floor(reach.l1)]
    if reach.cells is not None:
        bounds += [
            reach.cells * math.ceil(math.floor(reach.linf) / Fraction(width)),
            int(reach.l1 // width) + reach.cells,
        ]
    return min(bounds)
