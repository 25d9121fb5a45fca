"""Ranged response: a number is answered by the public bin it lies in, or by another bin."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.mean import Mean, Numbers, numbers_of
from sfumato.mechanisms.local.proportions import Proportions, categories_of
from sfumato.mechanisms.local.randomized_response import RandomizedResponse
from sfumato.mechanisms.local.ratio import ONE_ANSWER
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source


@final
@dataclass(frozen=True)
class RangedResponse(Mechanism[Numbers, Any]):
    """Name the public bin of one's number with probability `truth`, else one of the other bins, each as likely.

    Proof: a person's bin is a function of that person's number and of public `edges`, so this is `RandomizedResponse` on
    the bin and costs the same. Edges taken from the answers would tell about them: they are fixed before anyone answers.
    A number beyond the edges counts in the outermost bin.
    """

    noise_field: ClassVar[str] = "truth"

    edges: tuple[float, ...]
    truth: Positive = Positive()

    def __post_init__(self) -> None:
        edges = tuple(float(fraction(edge, name="an edge")) for edge in self.edges)
        object.__setattr__(self, "edges", edges)
        if len(edges) < 3 or any(right <= left for left, right in itertools.pairwise(edges)):
            raise BadInput(
                "bins are missing or out of order: a question with one possible answer hides nothing",
                hint="give the edges of 2 or more bins, rising, such as (0, 20, 40, 65, 120)",
            )
        _ = self._response

    @property
    def midpoints(self) -> NDArray[np.float64]:
        edges = np.array(self.edges)
        return np.asarray((edges[:-1] + edges[1:]) / 2)

    @property
    def bias(self) -> float:
        """How far the estimated mean of numbers inside the edges can be off for want of finer bins: half the widest."""
        return float(max(np.diff(self.edges))) / 2

    def loss(self, sensitivity: Sensitivity | Number = 1) -> Loss:
        return self._response.loss(sensitivity)

    def sample(self, value: Numbers, source: Source) -> Any:
        bins = self._bins(value)
        answers = self._response.sample(bins, source)
        return answers.reshape(np.shape(value)) if np.ndim(value) else int(answers[0])

    def repeat(self, value: Numbers, count: int, source: Source) -> Sequence[Any]:
        return self.sample(np.full(count, value, dtype=np.float64), source)  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        """A single answer says almost nothing: it may be any other bin."""
        return math.nextafter(self.edges[-1] - self.edges[0], math.inf)

    def law(self, value: Numbers) -> Law | None:
        return None if np.ndim(value) else self._response.law(int(self._bins(value)[0]))

    def proportions(self, reports: NDArray[np.int64]) -> Proportions:
        """What share of people lie in each bin."""
        return self._response.estimate(reports)

    def estimate(self, reports: NDArray[np.int64]) -> Mean:
        """The mean of all numbers, each taken for the midpoint of its bin."""
        answers = categories_of(reports, len(self.edges) - 1)
        shares = self.proportions(answers).values
        error = math.sqrt(self._variance_of(np.bincount(answers, minlength=shares.size) / answers.size) / answers.size)
        return Mean(float(self.midpoints @ shares), error, self.bias)

    def variance(self, proportions: NDArray[np.float64], people: int) -> float:
        """The variance of the estimated mean, for people drawn at random from a population with these shares of the bins.

        A report y estimates the mean by (m_y - q sum of m) / (p - q), so its variance is that of m_y over (p - q)^2.
        """
        p, q = self.truth, self._response.other
        reported = float(q) + np.asarray(proportions) * float(p - q)
        return self._variance_of(reported) / people

    def audit_cases(self) -> Sequence[Case[Numbers]]:
        """One number lies in the first bin, the other in the last."""
        return (Case(self.edges[0], self.edges[-1], ONE_ANSWER, tight=len(self.edges) == 3),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls((0, 50, 100), "3/4"), cls.calibrate(epsilon=1, edges=(0, 20, 40, 65, 120)))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The truth as often as epsilon allows."""
        edges = tuple(public.get("edges", ()))
        bins = len(cls(edges, "1/2").edges) - 1
        found = RandomizedResponse.calibrate(sensitivity=sensitivity, epsilon=epsilon, categories=bins)
        return cls(edges, found.truth)

    @property
    def _response(self) -> RandomizedResponse:
        return RandomizedResponse(self.truth, len(self.edges) - 1)

    def _bins(self, value: Numbers) -> NDArray[np.int64]:
        return np.searchsorted(np.array(self.edges[1:-1]), numbers_of(value), side="right").astype(np.int64)

    def _variance_of(self, reported: NDArray[np.float64]) -> float:
        middle = self.midpoints
        gap = float(self.truth - Fraction(self._response.other))
        return float(middle**2 @ reported - (middle @ reported) ** 2) / gap**2
