"""The hybrid mechanism: the piecewise one with a public probability, else Duchi's."""

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
from sfumato.core.exact import Number, fraction, positive
from sfumato.core.interval import exp_bounds
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.duchi import Duchi
from sfumato.mechanisms.local.mean import STEPS, Mean, Numbers, mean_of, numbers_of, reports_of
from sfumato.mechanisms.local.piecewise import Piecewise
from sfumato.mechanisms.local.ratio import BITS, ONE_ANSWER
from sfumato.noise import Source, coins

_THRESHOLD = Fraction(61, 100)
"""Below this epsilon the piecewise mechanism never helps (Wang and others 2019)."""


@final
@dataclass(frozen=True)
class Hybrid(Mechanism[Numbers, Any]):
    """With probability `share` report by `piecewise`, else by `duchi`.

    Proof: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin and Yu 2019. Which of the two reports is drawn without looking at the
    number, and each keeps its own promise, so the mixture keeps the weaker of the two. Both are unbiased, so it is too, and
    its variance is the mixture of theirs.
    """

    noise_field: ClassVar[str] = "share"

    share: Fraction
    piecewise: Piecewise
    duchi: Duchi

    def __post_init__(self) -> None:
        share = fraction(self.share, name="share")
        if not 0 <= share <= 1:
            raise BadInput("a share is not a probability", hint="give a share from 0 to 1, or calibrate")
        object.__setattr__(self, "share", share)

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        """The larger of the two."""
        return max(
            (each.loss(sensitivity) for each in (self.piecewise, self.duchi)), key=lambda loss: loss.pure() or ()
        )

    def sample(self, value: Numbers, source: Source) -> Any:
        numbers = numbers_of(value)
        first = coins(self.share, numbers.size, source=source) if self.share < 1 else np.full(numbers.size, True)
        answers = np.where(first, self.piecewise.sample(numbers, source), self.duchi.sample(numbers, source))
        return answers.reshape(np.shape(value)) if np.ndim(value) else float(answers[0])

    def repeat(self, value: Numbers, count: int, source: Source) -> Sequence[Any]:
        return self.sample(np.full(count, value, dtype=np.float64), source)  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        """A single report says almost nothing: it may lie at the other end."""
        return math.nextafter(self._largest + 1, math.inf)

    def law(self, value: Numbers) -> Law | None:
        one, other = self.piecewise.law(value), self.duchi.law(value)
        if one is None or other is None:
            return None
        weights: dict[Hashable, tuple[int, int]] = {}
        for law, share in ((one, self.share), (other, 1 - self.share)):
            for outcome, (low, high) in law.weights.items():
                least, most = weights.get(outcome, (0, 0))
                weights[outcome] = (least + math.floor(low * share), most + math.ceil(high * share))
        return Law(BITS, weights)

    def estimate(self, reports: NDArray[np.float64]) -> Mean:
        """The mean of all numbers, clamped and rounded."""
        return mean_of(reports_of(reports, largest=self._largest), bias=1 / min(self.piecewise.steps, self.duchi.steps))

    def variance(self, t: float) -> float:
        """The variance of one report of t."""
        return float(self.share) * self.piecewise.variance(t) + float(1 - self.share) * self.duchi.variance(t)

    def audit_cases(self) -> Sequence[Case[Numbers]]:
        return (Case(-1.0, 1.0, ONE_ANSWER, tight=False),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls.calibrate(epsilon=1, steps=64),
            cls.calibrate(epsilon=2, steps=16),
            cls.calibrate(epsilon="1/2", steps=32),
        )

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """Piecewise with probability 1 - e^(-epsilon/2) from epsilon 0.61 on; Duchi's alone below."""
        steps = int(public.get("steps", STEPS))
        piecewise = Piecewise.calibrate(sensitivity=sensitivity, epsilon=epsilon, steps=steps)
        duchi = Duchi.calibrate(sensitivity=sensitivity, epsilon=epsilon, steps=steps)
        each = positive(epsilon, name="epsilon") / math.ceil(Sensitivity.of(sensitivity).l1)
        share = 1 - Fraction(exp_bounds(-each / 2, 60)[1], 2**60) if each > _THRESHOLD else Fraction(0)
        return cls(share, piecewise, duchi)

    @property
    def _largest(self) -> float:
        return max(self.piecewise.largest, self.duchi.answer)
