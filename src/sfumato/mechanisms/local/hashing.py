"""Local hashing: answer about the bucket that a random public hash puts the truth in."""

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
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.proportions import Answers, Proportions, categories_of, proportions, several, variance
from sfumato.mechanisms.local.randomized_response import RandomizedResponse
from sfumato.mechanisms.local.ratio import BITS, ONE_ANSWER, growth
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, uniform_below

_PRIME = 2**31 - 1
_WRITTEN = 2000
"""The law is written down for up to this many reports."""


@final
@dataclass(frozen=True)
class LocalHashing(Mechanism[Answers, Any]):
    """Draw a hash into `buckets`, report it with the truth's bucket (probability `truth`) or another bucket, each as likely.

    Proof: Wang, Blocki, Li and Jha 2017 (OLH). The hash (a, b) is drawn whatever the truth is, so it tells nothing; given
    it, the rest is `RandomizedResponse` among the buckets, at the same price. Hashes are x -> (a x + b mod prime), cut into
    `buckets` nearly equal parts: for a and b uniform below the prime, two categories hash independently (Carter and Wegman
    1979), so another category is supported with a probability that is known exactly. A report has the length of three
    numbers, however many categories there are.
    """

    noise_field: ClassVar[str] = "truth"

    truth: Positive = Positive()
    categories: int = 2
    buckets: int = 2
    prime: int = _PRIME

    def __post_init__(self) -> None:
        several(self.categories)
        several(self.buckets)
        if not max(self.categories, self.buckets) <= self.prime <= _PRIME or not _is_prime(self.prime):
            raise BadInput(
                "hashes need a prime of at most 2**31 - 1, no smaller than the categories and the buckets",
                hint="leave the prime as it is, 2**31 - 1",
            )
        if self.truth <= Fraction(1, self.buckets):
            raise BadInput("the true bucket is no likelier than the others", hint="take a higher truth, or calibrate")
        _ = self._response

    @property
    def other(self) -> Fraction:
        """The probability that a report supports a category that is not the truth: sum over buckets of share * P(report)."""
        untrue = self._response.other
        return sum((s * (self.truth * s + untrue * (1 - s)) for s in self._shares), Fraction(0))

    @property
    def own(self) -> Fraction:
        """The probability that a report supports the truth."""
        return self.truth

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        return self._response.loss(sensitivity)

    def sample(self, value: Answers, source: Source) -> Any:
        """(a, b, bucket) for one answer; for an array of answers, one such row each."""
        truths = categories_of(value, self.categories)
        a, b = uniform_below(self.prime, (2, truths.size), source=source)
        reports = np.stack([a, b, self._response.sample(self._bucket(a * truths + b), source)], axis=1)
        return reports if np.ndim(value) else tuple(reports[0].tolist())

    def repeat(self, value: Answers, count: int, source: Source) -> Sequence[Any]:
        return [tuple(row) for row in self.sample(np.full(count, value, dtype=np.int64), source).tolist()]

    def within(self, confidence: Number) -> float:
        """A single report says almost nothing: it may name any other bucket."""
        return float(self.buckets - 1)

    def law(self, value: Answers) -> Law | None:
        if np.ndim(value) or self.prime**2 * self.buckets > _WRITTEN:
            return None
        weights: dict[Hashable, tuple[int, int]] = {}
        for a in range(self.prime):
            for b in range(self.prime):
                true = int(self._bucket(np.array(a * value + b)))
                for bucket in range(self.buckets):
                    chance = (self.truth if bucket == true else self._response.other) / self.prime**2 * 2**BITS
                    weights[a, b, bucket] = (math.floor(chance), math.ceil(chance))
        return Law(BITS, weights)

    def estimate(self, reports: NDArray[np.int64]) -> Proportions:
        """What share of people hold each category, from one row (a, b, bucket) per person."""
        rows = np.asarray(reports)
        limits = np.array([self.prime, self.prime, self.buckets])
        if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu" or ((rows < 0) | (rows >= limits)).any():
            raise BadInput(
                "a report is not a hash and a bucket", hint="each report is (a, b, bucket), as `sample` gives it"
            )
        a, hashed, bucket = rows.astype(np.int64).T
        supports = np.empty(self.categories, dtype=np.int64)
        for category in range(self.categories):
            supports[category] = np.count_nonzero(self._bucket(hashed) == bucket)
            hashed = (hashed + a) % self.prime
        return proportions(supports, len(rows), own=self.own, other=self.other)

    def variance(self, proportion: NDArray[np.float64], people: int) -> NDArray[np.float64]:
        """The variance of an estimated proportion, for people drawn at random from a large population."""
        return variance(proportion, people, own=self.own, other=self.other)

    def audit_cases(self) -> Sequence[Case[Answers]]:
        return (Case(0, 1, ONE_ANSWER, tight=False),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Small primes: with the usual one no two reports are alike, and an attacker who looks at labels sees nothing."""
        return (
            cls.calibrate(epsilon=1, categories=4, buckets=3, prime=5),
            cls("3/4", categories=3, buckets=2, prime=3),
        )

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The best number of buckets, e^epsilon + 1 rounded, unless it is given; the truth as often as epsilon allows."""
        best = max(2, round(min(growth(epsilon, sensitivity), Fraction(2**20)) + 1))
        buckets = int(public.pop("buckets", min(best, public.get("prime", _PRIME))))
        found = RandomizedResponse.calibrate(sensitivity=sensitivity, epsilon=epsilon, categories=buckets)
        return cls(found.truth, buckets=buckets, **public)

    @property
    def _response(self) -> RandomizedResponse:
        return RandomizedResponse(self.truth, self.buckets)

    @property
    def _shares(self) -> list[Fraction]:
        """The share of residues in each bucket: those x with floor(x buckets / prime) = bucket."""
        starts = [-(-bucket * self.prime // self.buckets) for bucket in range(self.buckets + 1)]
        return [Fraction(end - start, self.prime) for start, end in itertools.pairwise(starts)]

    def _bucket(self, hashed: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(hashed % self.prime * self.buckets // self.prime)


def _is_prime(n: int) -> bool:
    return n == _PRIME or (n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1)))
