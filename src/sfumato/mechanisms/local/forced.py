"""Forced response: keep the true answer with a known probability, else draw one from a public law."""

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
from sfumato.mechanisms.local.proportions import Answers, Proportions, categories_of, proportions_of_each, several
from sfumato.mechanisms.local.ratio import BITS, ONE_ANSWER, growth, loss_of, rounded_down
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, categorical_weights, coins


@final
@dataclass(frozen=True)
class ForcedResponse(Mechanism[Answers, Any]):
    """Keep the true answer with probability `keep`, else give one drawn from a public law with these whole `weights`.

    Proof: with t = keep and g the public law, an answer y has probability t + (1-t) g(y) from those for whom it is true and
    (1-t) g(y) from all others. The ratio is largest for the rarest answer: epsilon = ln(1 + t / ((1-t) min g)). An answer
    that the public law never gives would betray whoever gives it, so all weights are above 0. The public law must not
    come from the answers themselves. The sensitivity counts the answers that one person gives.
    """

    noise_field: ClassVar[str] = "keep"

    keep: Positive = Positive()
    weights: tuple[int, ...] = (1, 1)

    def __post_init__(self) -> None:
        weights = tuple(self.weights)
        if any(isinstance(w, bool) or not isinstance(w, int) for w in weights):
            raise BadInput("the weights of a public law are not whole numbers", hint="give weights such as (2, 1, 1)")
        object.__setattr__(self, "weights", weights)
        several(len(weights))
        if min(weights) <= 0:
            raise BadInput(
                "the public law never gives one of the answers: whoever gives it tells the truth",
                hint="give every category a weight of 1 or more",
            )
        if self.keep >= 1:
            raise BadInput("keeping the truth for certain is not private", hint="keep it with a probability below 1")

    @property
    def public(self) -> tuple[Fraction, ...]:
        """The probability of each category in the public law."""
        total = sum(self.weights)
        return tuple(Fraction(weight, total) for weight in self.weights)

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        return loss_of(1 + self.keep / ((1 - self.keep) * min(self.public)), sensitivity)

    def sample(self, value: Answers, source: Source) -> Any:
        truths = categories_of(value, len(self.weights))
        kept = coins(self.keep, truths.size, source=source)
        answers = np.where(kept, truths, categorical_weights(self.weights, size=truths.size, source=source))
        return answers.reshape(np.shape(value)) if np.ndim(value) else int(answers[0])

    def repeat(self, value: Answers, count: int, source: Source) -> Sequence[Any]:
        return self.sample(np.full(count, value, dtype=np.int64), source)  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        """A single answer says almost nothing: it may be any other category."""
        return float(len(self.weights) - 1)

    def law(self, value: Answers) -> Law | None:
        if np.ndim(value):
            return None
        chances = [(1 - self.keep) * g + (self.keep if i == value else 0) for i, g in enumerate(self.public)]
        return Law(BITS, {i: (math.floor(p * 2**BITS), math.ceil(p * 2**BITS)) for i, p in enumerate(chances)})

    def estimate(self, reports: NDArray[np.int64]) -> Proportions:
        """What share of people hold each category: (share of reports - (1 - keep) public) / keep, unbiased."""
        answers = categories_of(reports, len(self.weights))
        counts = np.bincount(answers, minlength=len(self.weights))
        return proportions_of_each(counts, answers.size, own=self._own, other=self._other)

    def variance(self, proportion: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """The variance of the estimated proportion of each category, in their order, for people drawn at random."""
        mean = self._other + proportion * (self._own - self._other)
        return np.asarray(mean * (1 - mean) / (people * float(self.keep) ** 2))

    def audit_cases(self) -> Sequence[Case[Answers]]:
        """The rarest answer is true, or another one."""
        rarest = self.weights.index(min(self.weights))
        return (Case(rarest, 1 if rarest == 0 else 0, ONE_ANSWER, tight=False),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls("1/2", (1, 1)), cls("1/4", (1, 2, 5)), cls.calibrate(epsilon=1, weights=(3, 2, 2)))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The truth as often as epsilon allows: t/(1-t) = (e^epsilon - 1) min g, rounded down."""
        weights = tuple(public.get("weights", (1, 1)))
        rarest = min(cls("1/2", weights).public)
        odds = (growth(epsilon, sensitivity) - 1) * rarest
        return cls(rounded_down(odds / (1 + odds)), weights)

    @property
    def _own(self) -> NDArray[np.float64]:
        return self._other + float(self.keep)

    @property
    def _other(self) -> NDArray[np.float64]:
        return np.array([float((1 - self.keep) * g) for g in self.public])
