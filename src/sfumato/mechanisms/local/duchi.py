"""Duchi's mechanism: a number from -1 to 1 is answered by one of two numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.mean import STEPS, Mean, Numbers, checked_steps, mean_of, reports_of, steps_of
from sfumato.mechanisms.local.ratio import BITS, ONE_ANSWER, growth, loss_of
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, uniform_below

_FINE = 2**36


@final
@dataclass(frozen=True)
class Duchi(Mechanism[Numbers, Any]):
    """Report B with probability 1/2 + tilt t for a number t in [-1, 1], else -B, with B = 1/(2 tilt): unbiased.

    Proof: Duchi, Jordan and Wainwright 2018. Either report has a probability between 1/2 - tilt and 1/2 + tilt whatever t
    is: epsilon = ln((1 + 2 tilt) / (1 - 2 tilt)). Numbers are clamped to [-1, 1] and rounded to one of `steps` + 1 points,
    so that the probability is an exact fraction; each person does so alone, and any t may become any other.
    """

    noise_field: ClassVar[str] = "tilt"

    tilt: Positive = Positive()
    steps: int = STEPS

    def __post_init__(self) -> None:
        checked_steps(self.steps)
        if self.tilt >= Fraction(1, 2):
            raise BadInput("reports that follow the sign for certain are not private", hint="take a tilt below 1/2")
        if self._whole > 2**62:
            raise BadInput("the tilt is written too finely", hint="round it to a multiple of 2**-36")

    @property
    def answer(self) -> float:
        """The number that is reported, or its opposite: 1 / (2 tilt)."""
        return float(1 / (2 * self.tilt))

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        return loss_of((1 + 2 * self.tilt) / (1 - 2 * self.tilt), sensitivity)

    def sample(self, value: Numbers, source: Source) -> Any:
        at = steps_of(value, self.steps)
        n, d = self.tilt.numerator, self.tilt.denominator
        below = self.steps * d + 2 * n * (2 * at - self.steps)
        plus = uniform_below(self._whole, at.size, source=source) < below
        answers = np.where(plus, self.answer, -self.answer)
        return answers.reshape(np.shape(value)) if np.ndim(value) else float(answers[0])

    def repeat(self, value: Numbers, count: int, source: Source) -> Sequence[Any]:
        return self.sample(np.full(count, value, dtype=np.float64), source)  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        """A single report says almost nothing: it may lie at the other end."""
        return math.nextafter(self.answer + 1, math.inf)

    def law(self, value: Numbers) -> Law | None:
        if np.ndim(value):
            return None
        t = Fraction(2 * int(steps_of(value, self.steps)[0]), self.steps) - 1
        scaled = {sign * self.answer: (Fraction(1, 2) + sign * self.tilt * t) * 2**BITS for sign in (1, -1)}
        return Law(BITS, {answer: (math.floor(p), math.ceil(p)) for answer, p in scaled.items()})

    def estimate(self, reports: NDArray[np.float64]) -> Mean:
        """The mean of all numbers, clamped and rounded."""
        values = reports_of(reports, largest=self.answer)
        if values.size and float(np.abs(values).min()) != self.answer:
            raise BadInput("a report is not one that a client can send", hint="reports are the answer or its opposite")
        return mean_of(values, bias=1 / self.steps)

    def variance(self, t: float) -> float:
        """The variance of one report of t: B^2 - t^2."""
        return self.answer**2 - t**2

    def audit_cases(self) -> Sequence[Case[Numbers]]:
        return (Case(-1.0, 1.0, ONE_ANSWER),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls.calibrate(epsilon=1), cls("1/4", 8), cls.calibrate(epsilon=3, steps=1))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The largest tilt that epsilon allows: (e^epsilon - 1) / (2 (e^epsilon + 1)), rounded down."""
        ratio = growth(epsilon, sensitivity)
        tilt = Fraction(math.floor((ratio - 1) / (2 * (ratio + 1)) * _FINE), _FINE)
        if tilt == 0:
            raise BadInput("epsilon is too small to learn anything from", hint="take an epsilon of 1e-9 or more")
        return cls(tilt, int(public.get("steps", STEPS)))

    @property
    def _whole(self) -> int:
        return 2 * self.steps * self.tilt.denominator
