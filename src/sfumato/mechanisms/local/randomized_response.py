"""Randomized response: tell the truth with a known probability, else another answer at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss, Pure
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive
from sfumato.core.interval import exp_bounds, log_bounds
from sfumato.core.neighbours import Neighbours
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, categorical_weights

Answers = int | NDArray[np.int64]
"""One answer, or one per person: a category from 0 to categories - 1."""

_BITS = 96


@final
@dataclass(frozen=True, slots=True)
class Proportions:
    """Unbiased estimates of how often each category is true, with their standard errors."""

    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]


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
        if self.categories < 2:
            raise BadInput("a question with one possible answer hides nothing", hint="give 2 or more categories")
        if self.truth >= 1:
            raise BadInput("answering the truth for certain is not private", hint="take a truth below 1, such as 3/4")

    @property
    def other(self) -> Fraction:
        """The probability of each untrue answer."""
        return (1 - self.truth) / (self.categories - 1)

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        reach = Sensitivity.of(sensitivity, about=Neighbours.REPLACE)
        ratio = max(self.truth / self.other, self.other / self.truth)
        return Pure(math.ceil(reach.l1) * _log_up(ratio), about=reach.about)

    def sample(self, value: Answers, source: Source) -> Any:
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in "iu" or ((value < 0) | (value >= self.categories)).any():
                raise self._unknown()
            return (value + self._shifts(value.size, source).reshape(value.shape)) % self.categories
        if isinstance(value, bool | np.bool_) or not 0 <= int(value) < self.categories or int(value) != value:
            raise self._unknown()
        return int((int(value) + self._shifts(1, source)[0]) % self.categories)

    def repeat(self, value: Answers, count: int, source: Source) -> Sequence[Any]:
        return self.sample(np.full(count, value, dtype=np.int64), source)  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        """A single answer says almost nothing: it may be any other category."""
        return float(self.categories - 1)

    def law(self, value: Answers) -> Law | None:
        if isinstance(value, np.ndarray):
            return None
        chances = {y: self.truth if y == value else self.other for y in range(self.categories)}
        scaled = {y: p * 2**_BITS for y, p in chances.items()}
        return Law(_BITS, {y: (math.floor(p), math.ceil(p)) for y, p in scaled.items()})

    def estimate(self, reports: NDArray[np.int64]) -> Proportions:
        """What share of people hold each category: (share of reports - q) / (truth - q), unbiased."""
        if self.truth == self.other:
            raise BadInput("uniform answers carry no information", hint="take another probability of the truth")
        if reports.size == 0:
            raise BadInput("there are no reports", hint="collect at least one")
        if ((reports < 0) | (reports >= self.categories)).any():
            raise self._unknown()
        people, q, gap = reports.size, float(self.other), float(self.truth - self.other)
        shares = np.bincount(reports, minlength=self.categories) / people
        values = (shares - q) / gap
        return Proportions(values, np.sqrt(self.variance(np.clip(values, 0, 1), people)))

    def variance(self, proportion: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """The variance of an estimated proportion, for people drawn at random from a large population.

        Each report is a Bernoulli draw of mean m = q + proportion (truth - q).
        """
        q, gap = float(self.other), float(self.truth - self.other)
        mean = q + proportion * gap
        return mean * (1 - mean) / (people * gap**2)

    def audit_cases(self) -> Sequence[Case[Answers]]:
        return (Case(0, 1, Sensitivity.of(1, about=Neighbours.REPLACE), tight=self.categories == 2),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls.calibrate(epsilon=1), cls("3/4"), cls("1/2", 6))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The truth as often as epsilon allows: e^epsilon / (e^epsilon + categories - 1), rounded down."""
        categories = int(public.get("categories", 2))
        answers = math.ceil(Sensitivity.of(sensitivity).l1)
        if answers == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public answer needs no mechanism")
        growth = Fraction(exp_bounds(positive(epsilon, name="epsilon") / answers, _BITS)[0], 2**_BITS)
        truth = growth / (growth + categories - 1)
        # Coarse enough that the weights of all categories fit in 64 bits, where many answers are drawn at once.
        steps = 2 ** max(8, 60 - (categories - 1).bit_length())
        return cls(Fraction(math.floor(truth * steps), steps), categories)

    def _shifts(self, count: int, source: Source) -> NDArray[np.int64]:
        """How far each answer is turned around the circle of categories; 0 is the truth."""
        scale = math.lcm(self.truth.denominator, self.other.denominator)
        weights = [int(self.truth * scale)] + [int(self.other * scale)] * (self.categories - 1)
        return categorical_weights(weights, size=count, source=source)

    def _unknown(self) -> BadInput:
        return BadInput("an answer is not one of the categories", hint=f"answers run from 0 to {self.categories - 1}")


def _log_up(ratio: Fraction) -> Fraction:
    return Fraction(log_bounds(ratio, _BITS)[1], 2**_BITS)
