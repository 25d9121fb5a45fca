"""Unary encodings: one bit per category, each flipped with a known probability."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.proportions import Answers, Proportions, categories_of, proportions, several, variance
from sfumato.mechanisms.local.ratio import BITS, ONE_ANSWER, growth, loss_of, rounded_down, rounded_up
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, coins

_WRITTEN = 10
"""Up to this many categories the law is written down: 2**10 outcomes."""


@final
@dataclass(frozen=True)
class UnaryEncoding(Mechanism[Answers, Any]):
    """Report one bit per category: the true one is set with probability `kept`, each other with probability `invented`.

    Proof: Erlingsson, Pihur and Korolova 2014 (basic RAPPOR); Wang, Blocki, Li and Jha 2017 for `kept` = 1/2. The bits are
    independent, and two truths differ in two of them: the ratio of the probabilities of a report is a product of two
    factors, each largest when it speaks for its truth, p/q and (1-q)/(1-p) with p = kept > q = invented. So
    epsilon = ln(p (1-q) / (q (1-p))). `calibrate` fixes p = 1/2, which has the least variance for rare categories;
    `symmetric` flips all bits alike. The sensitivity counts the answers that one person gives.
    """

    noise_field: ClassVar[str] = "invented"

    kept: Positive = Positive()
    invented: Positive = Positive()
    categories: int = 2

    def __post_init__(self) -> None:
        several(self.categories)
        if not self.invented < self.kept < 1:
            raise BadInput(
                "the true bit must be set more often than the others, and not always",
                hint="take invented below kept below 1, or calibrate",
            )

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        p, q = self.kept, self.invented
        return loss_of(p * (1 - q) / (q * (1 - p)), sensitivity)

    def sample(self, value: Answers, source: Source) -> Any:
        """A tuple of bits for one answer; for an array of answers, one row of bits each."""
        truths = categories_of(value, self.categories)
        bits = coins(self.invented, (truths.size, self.categories), source=source).view(np.uint8)
        bits[np.arange(truths.size), truths] = coins(self.kept, truths.size, source=source)
        return bits if np.ndim(value) else tuple(bits[0].tolist())

    def repeat(self, value: Answers, count: int, source: Source) -> Sequence[Any]:
        return [tuple(row) for row in self.sample(np.full(count, value, dtype=np.int64), source).tolist()]

    def within(self, confidence: Number) -> float:
        """A single report says almost nothing: it may set any bit."""
        return 1.0

    def law(self, value: Answers) -> Law | None:
        if np.ndim(value) or self.categories > _WRITTEN:
            return None
        chances = [self.kept if i == value else self.invented for i in range(self.categories)]
        weights: dict[Hashable, tuple[int, int]] = {}
        for bits in itertools.product((0, 1), repeat=self.categories):
            exact = math.prod(p if bit else 1 - p for p, bit in zip(chances, bits, strict=True))
            scaled = Fraction(exact) * 2**BITS
            weights[bits] = (math.floor(scaled), math.ceil(scaled))
        return Law(BITS, weights)

    def estimate(self, reports: NDArray[Any]) -> Proportions:
        """What share of people hold each category, from one row of bits per person."""
        bits = np.asarray(reports)
        if bits.ndim != 2 or bits.shape[1] != self.categories or bits.dtype.kind not in "iub" or (bits > 1).any():
            raise BadInput("a report is not a row of bits", hint=f"each report has {self.categories} bits, 0 or 1")
        return proportions(bits.sum(axis=0, dtype=np.int64), len(bits), own=self.kept, other=self.invented)

    def variance(self, proportion: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """The variance of an estimated proportion, for people drawn at random from a large population."""
        return variance(proportion, people, own=self.kept, other=self.invented)

    def audit_cases(self) -> Sequence[Case[Answers]]:
        return (Case(0, 1, ONE_ANSWER, tight=False),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls.calibrate(epsilon=1, categories=4), cls.symmetric(epsilon=1, categories=3))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The optimised encoding: bits invented with probability 1/(e^epsilon + 1), rounded up; another `kept` may be given."""
        p = positive(public.get("kept", "1/2"), name="kept")
        if p >= 1:
            raise BadInput("keeping the true bit for certain is not private", hint="take kept = 1/2")
        q = p / (p + growth(epsilon, sensitivity) * (1 - p))
        return cls(p, rounded_up(q), int(public.get("categories", 2)))

    @classmethod
    def symmetric(cls, *, epsilon: Number, categories: int, sensitivity: Sensitivity | Number = 1) -> Self:
        """Every bit flipped alike: kept with probability e^(epsilon/2) / (e^(epsilon/2) + 1), rounded down."""
        half = growth(positive(epsilon, name="epsilon") / 2, sensitivity)
        p = rounded_down(half / (half + 1))
        return cls(p, 1 - p, categories)
