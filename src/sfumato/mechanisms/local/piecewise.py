"""The piecewise mechanism: a number from -1 to 1 is answered by one near it more often than by one far from it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.interval import sqrt_bounds
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.mean import STEPS, Mean, Numbers, checked_steps, mean_of, reports_of, steps_of
from sfumato.mechanisms.local.ratio import BITS, ONE_ANSWER, growth, loss_of, rounded_down
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, coins, uniform_below

_WRITTEN = 2000
"""The law is written down for up to this many places."""


@final
@dataclass(frozen=True)
class Piecewise(Mechanism[Numbers, Any]):
    """Report one of `steps` + `window` places; the `window` of them from the number's own step on are `ratio` times as likely.

    Proof: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu 2019, on a lattice. Whatever the number is, the window holds
    equally many places, so all probabilities have one denominator: a place has probability ratio / (window ratio + steps)
    inside and 1 / (window ratio + steps) outside. No place is more than `ratio` times as likely under one number as under
    another: epsilon = ln(ratio). The mean of the reported place is a straight line in the number's step, hence an unbiased
    report. `window` is public and only sets the variance; e^(-epsilon/2) steps is best.
    """

    noise_field: ClassVar[str] = "ratio"

    ratio: Positive = Positive()
    window: int = 1
    steps: int = STEPS

    def __post_init__(self) -> None:
        checked_steps(self.steps)
        if isinstance(self.window, bool) or not isinstance(self.window, int) or not 1 <= self.window <= 2**25:
            raise BadInput("a window is no whole number of places", hint="give 1 to 2**25 places, or calibrate")
        if self.ratio <= 1:
            raise BadInput("places near the number are no likelier than others", hint="take a ratio above 1")

    @property
    def largest(self) -> float:
        """No report lies further from 0."""
        return float(self._reals(np.array([self.steps + self.window - 1]))[0])

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        return loss_of(self.ratio, sensitivity)

    def sample(self, value: Numbers, source: Source) -> Any:
        at = steps_of(value, self.steps)
        near = coins(self._inside, at.size, source=source)
        inside = at + uniform_below(self.window, at.size, source=source)
        outside = uniform_below(self.steps, at.size, source=source)
        outside += self.window * (outside >= at)
        answers = self._reals(np.where(near, inside, outside))
        return answers.reshape(np.shape(value)) if np.ndim(value) else float(answers[0])

    def repeat(self, value: Numbers, count: int, source: Source) -> Sequence[Any]:
        return self.sample(np.full(count, value, dtype=np.float64), source)  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        """A single report says almost nothing: it may lie at the other end."""
        return math.nextafter(self.largest + 1, math.inf)

    def law(self, value: Numbers) -> Law | None:
        places = self.steps + self.window
        if np.ndim(value) or places > _WRITTEN:
            return None
        at = int(steps_of(value, self.steps)[0])
        one = 2**BITS / (self.window * self.ratio + self.steps)
        weights: dict[Hashable, tuple[int, int]] = {}
        for place, real in enumerate(self._reals(np.arange(places)).tolist()):
            chance = one * (self.ratio if at <= place < at + self.window else 1)
            weights[real] = (math.floor(chance), math.ceil(chance))
        return Law(BITS, weights)

    def estimate(self, reports: NDArray[np.float64]) -> Mean:
        """The mean of all numbers, clamped and rounded."""
        return mean_of(reports_of(reports, largest=self.largest), bias=1 / self.steps)

    def variance(self, t: float) -> float:
        """The variance of one report of t, exactly on the lattice: squares summed over the places."""
        at, places = int(steps_of(t, self.steps)[0]), self.steps + self.window
        total = self.window * self.ratio + self.steps

        def moment(power: int) -> Fraction:
            everywhere, near = _powers(places, power), _powers(at + self.window, power) - _powers(at, power)
            return (everywhere + (self.ratio - 1) * near) / total

        spread = moment(2) - moment(1) ** 2
        return float(spread * (2 / (self.steps * self._slope)) ** 2)

    def audit_cases(self) -> Sequence[Case[Numbers]]:
        return (Case(-1.0, 1.0, ONE_ANSWER, tight=False),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls.calibrate(epsilon=1, steps=64), cls(3, 5, 12), cls.calibrate(epsilon=3, steps=256))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The ratio that epsilon allows, rounded down, and the window of least variance for it."""
        steps = int(public.get("steps", STEPS))
        checked_steps(steps)
        ratio = rounded_down(growth(epsilon, sensitivity))
        best = max(1, round(steps / Fraction(sqrt_bounds(ratio, BITS)[0], 2**BITS)))
        return cls(ratio, int(public.get("window", best)), steps)

    @property
    def _inside(self) -> Fraction:
        """The probability that a report lies in the window."""
        return self.window * self.ratio / (self.window * self.ratio + self.steps)

    @property
    def _slope(self) -> Fraction:
        """How many places the mean report moves when the number moves by a step."""
        return self.window * (self.ratio - 1) / (self.window * self.ratio + self.steps)

    def _reals(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The unbiased report of each place: symmetric about the middle one, 2/(steps slope) apart."""
        return np.asarray((2 * places - (self.steps + self.window - 1)) * float(1 / (self.steps * self._slope)))


def _powers(n: int, power: int) -> int:
    """The sum of x^power for x from 0 to n - 1."""
    return n * (n - 1) // 2 if power == 1 else (n - 1) * n * (2 * n - 1) // 6
