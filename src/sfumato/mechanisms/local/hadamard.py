"""Hadamard response: one bit of a random row of a public matrix of signs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.proportions import Answers, Proportions, categories_of, several
from sfumato.mechanisms.local.ratio import BITS, ONE_ANSWER, growth, loss_of, rounded_down
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, coins, uniform_below

_WRITTEN = 1024
_LARGEST = 2**24


@final
@dataclass(frozen=True)
class HadamardResponse(Mechanism[Answers, Any]):
    """Draw a row of the Hadamard matrix, report it with the sign in the truth's column, flipped with probability 1 - truth.

    Proof: Bassily and Smith 2015; Acharya, Sun and Zhang 2019. The row is drawn whatever the
    truth is; given it, one of two signs is told with probability `truth`: epsilon = ln(truth / (1 - truth)). Any two columns
    of the matrix differ in exactly half of the rows, so the mean of the signs that a category predicts, times those that
    were reported, is (2 truth - 1) times the share of people who hold it.
    """

    noise_field: ClassVar[str] = "truth"

    truth: Positive = Positive()
    categories: int = 2

    def __post_init__(self) -> None:
        several(self.categories)
        if self.categories > _LARGEST:
            raise BadInput("there are more than 2**24 categories", hint="use LocalHashing, or group them")
        if not 1 / 2 < self.truth < 1:
            raise BadInput("the true sign is never or always likelier", hint="take a truth between 1/2 and 1")

    @property
    def rows(self) -> int:
        """How many rows the matrix has: the least power of two that is no smaller than the number of categories."""
        return 1 << (self.categories - 1).bit_length()

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        return loss_of(self.truth / (1 - self.truth), sensitivity)

    def sample(self, value: Answers, source: Source) -> Any:
        """(row, bit) for one answer, the bit being 1 for a minus sign; for an array of answers, one such pair each."""
        truths = categories_of(value, self.categories)
        rows = uniform_below(self.rows, truths.size, source=source)
        flips = coins(1 - self.truth, truths.size, source=source)
        reports = np.stack([rows, _minus(rows & truths) ^ flips], axis=1)
        return reports if np.ndim(value) else tuple(reports[0].tolist())

    def repeat(self, value: Answers, count: int, source: Source) -> Sequence[Any]:
        return [tuple(row) for row in self.sample(np.full(count, value, dtype=np.int64), source).tolist()]

    def within(self, confidence: Number) -> float:
        """A single report says almost nothing: its bit may be either."""
        return 1.0

    def law(self, value: Answers) -> Law | None:
        if np.ndim(value) or self.rows > _WRITTEN:
            return None
        weights: dict[Hashable, tuple[int, int]] = {}
        for row in range(self.rows):
            true = (row & int(value)).bit_count() & 1
            for bit in (0, 1):
                chance = (self.truth if bit == true else 1 - self.truth) / self.rows * 2**BITS
                weights[row, bit] = (math.floor(chance), math.ceil(chance))
        return Law(BITS, weights)

    def estimate(self, reports: NDArray[np.int64]) -> Proportions:
        """What share of people hold each category, from one pair (row, bit) per person."""
        pairs = np.asarray(reports)
        limits = np.array([self.rows, 2])
        if (
            pairs.ndim != 2
            or pairs.shape[1] != 2
            or pairs.dtype.kind not in "iu"
            or ((pairs < 0) | (pairs >= limits)).any()
        ):
            raise BadInput(
                "a report is not a row and a bit", hint=f"rows run from 0 to {self.rows - 1}, bits are 0 or 1"
            )
        if not len(pairs):
            raise BadInput("there are no reports", hint="collect at least one")
        sums = np.bincount(pairs[:, 0], weights=1.0 - 2.0 * pairs[:, 1], minlength=self.rows).astype(np.float64)
        gap = float(2 * self.truth - 1)
        values = _transform(sums)[: self.categories] / (len(pairs) * gap)
        return Proportions(values, np.sqrt(self.variance(np.clip(values, 0, 1), len(pairs))))

    def variance(self, proportion: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """The variance of an estimated proportion: each report says plus or minus 1/(2 truth - 1), and is right on average."""
        return np.asarray((float(1 / (2 * self.truth - 1)) ** 2 - proportion**2) / people)

    def audit_cases(self) -> Sequence[Case[Answers]]:
        return (Case(0, self.categories - 1, ONE_ANSWER, tight=False),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls.calibrate(epsilon=1, categories=6), cls("3/4", 2))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The true sign as often as epsilon allows: e^epsilon / (e^epsilon + 1), rounded down."""
        ratio = growth(epsilon, sensitivity)
        return cls(rounded_down(ratio / (ratio + 1)), int(public.get("categories", 2)))


def _minus(both: NDArray[np.int64]) -> NDArray[np.int64]:
    """1 where the entry of the matrix is -1: where row and column share an odd number of bits."""
    return (np.bitwise_count(both) & 1).astype(np.int64)


def _transform(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix times a vector, in n log n additions (Walsh and Hadamard)."""
    result, half = sums.copy(), 1
    while half < result.size:
        pairs = result.reshape(-1, 2, half)
        result = np.concatenate([pairs[:, :1] + pairs[:, 1:], pairs[:, :1] - pairs[:, 1:]], axis=1).reshape(-1)
        half *= 2
    return result
