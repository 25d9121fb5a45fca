"""Randomized response: tell the truth with a known probability, else another answer at random."""

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
from sfumato.mechanisms.local.proportions import Answers, Proportions, categories_of, proportions, several, variance
from sfumato.mechanisms.local.ratio import BITS, ONE_ANSWER, growth, loss_of
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, categorical_weights


@final
@dataclass(frozen=True)
class RandomizedResponse(Mechanism[Answers, Any]):
    """Answer the truth with probability `truth`, else one of the other categories, each as likely.

    Proof: Warner 1965 for two categories; Kairouz, Bonawitz and Ramage 2016 for more. Any answer has probability `truth`
    from those for whom it is true and q = (1 - truth)/(categories - 1) from all others, so whatever a person's two possible
    truths are, the ratio is at most max(truth/q, q/truth): epsilon = |ln(truth/q)|. The sensitivity counts the answers that
    one person gives; their reports are independent, so epsilons add.
    """

    noise_field: ClassVar[str] = "truth"

    truth: Positive = Positive()
    categories: int = 2

    def __post_init__(self) -> None:
        several(self.categories)
        if self.truth >= 1:
            raise BadInput("answering the truth for certain is not private", hint="take a truth below 1, such as 3/4")

    @property
    def other(self) -> Fraction:
        """The probability of each untrue answer."""
        return (1 - self.truth) / (self.categories - 1)

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        return loss_of(max(self.truth / self.other, self.other / self.truth), sensitivity)

    def sample(self, value: Answers, source: Source) -> Any:
        truths = categories_of(value, self.categories)
        answers = (truths + self._shifts(truths.size, source)) % self.categories
        return answers.reshape(np.shape(value)) if np.ndim(value) else int(answers[0])

    def repeat(self, value: Answers, count: int, source: Source) -> Sequence[Any]:
        return self.sample(np.full(count, value, dtype=np.int64), source)  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        """A single answer says almost nothing: it may be any other category."""
        return float(self.categories - 1)

    def law(self, value: Answers) -> Law | None:
        if np.ndim(value):
            return None
        chances = {y: self.truth if y == value else self.other for y in range(self.categories)}
        scaled = {y: p * 2**BITS for y, p in chances.items()}
        return Law(BITS, {y: (math.floor(p), math.ceil(p)) for y, p in scaled.items()})

    def estimate(self, reports: NDArray[np.int64]) -> Proportions:
        """What share of people hold each category: (share of reports - q) / (truth - q), unbiased."""
        answers = categories_of(reports, self.categories)
        counts = np.bincount(answers, minlength=self.categories)
        return proportions(counts, answers.size, own=self.truth, other=self.other)

    def variance(self, proportion: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """The variance of an estimated proportion, for people drawn at random from a large population."""
        return variance(proportion, people, own=self.truth, other=self.other)

    def audit_cases(self) -> Sequence[Case[Answers]]:
        return (Case(0, 1, ONE_ANSWER, tight=self.categories == 2),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls.calibrate(epsilon=1), cls("3/4"), cls("1/2", 6))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The truth as often as epsilon allows: e^epsilon / (e^epsilon + categories - 1), rounded down."""
        categories = int(public.get("categories", 2))
        ratio = growth(epsilon, sensitivity)
        truth = ratio / (ratio + categories - 1)
        # Coarse enough that the weights of all categories fit in 64 bits, where many answers are drawn at once.
        steps = 2 ** max(8, 60 - (categories - 1).bit_length())
        return cls(Fraction(math.floor(truth * steps), steps), categories)

    def _shifts(self, count: int, source: Source) -> NDArray[np.int64]:
        """How far each answer is turned around the circle of categories; 0 is the truth."""
        scale = math.lcm(self.truth.denominator, self.other.denominator)
        weights = [int(self.truth * scale)] + [int(self.other * scale)] * (self.categories - 1)
        return categorical_weights(weights, size=count, source=source)
