"""From noisy reports back to how often each category is true, with standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput

Answers = int | NDArray[np.int64]
"""One answer, or one per person: a category from 0 to categories - 1."""


@final
@dataclass(frozen=True, slots=True)
class Proportions:
    """Unbiased estimates of how often each category is true, with their standard errors."""

    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]

    def on_simplex(self) -> NDArray[np.float64]:
        """The nearest proportions that are not negative and sum to one: no price, no longer unbiased.

        Wang and Carreira-Perpinan 2013, Algorithm 1: one number is taken off all of them, and negatives become 0.
        """
        falling = np.sort(self.values)[::-1]
        excess = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
        positive: NDArray[np.float64] = np.maximum(self.values - excess[np.flatnonzero(falling > excess)[-1]], 0)
        return positive


def proportions(supports: NDArray[Any], people: int, *, own: Fraction, other: Fraction) -> Proportions:
    """A report supports a category with probability `own` if it is the truth, else with probability `other`."""
    if own == other:
        raise BadInput("uniform answers carry no information", hint="take another probability of the truth")
    each = np.ones(supports.shape)
    return proportions_of_each(supports, people, own=float(own) * each, other=float(other) * each)


def proportions_of_each(
    supports: NDArray[Any], people: int, *, own: NDArray[np.float64], other: NDArray[np.float64]
) -> Proportions:
    """The same with probabilities that depend on the category: (share - other) / (own - other), unbiased."""
    if people == 0:
        raise BadInput("there are no reports", hint="collect at least one")
    gap = own - other
    values = (supports / people - other) / gap
    mean = other + np.clip(values, 0, 1) * gap
    return Proportions(values, np.sqrt(mean * (1 - mean) / people) / np.abs(gap))


def variance(proportion: NDArray[np.float64], people: int, *, own: Fraction, other: Fraction) -> NDArray[np.float64]:
    """The variance of an estimated proportion, for people drawn at random from a large population.

    Whether a report supports the category is a Bernoulli draw of mean m = other + proportion (own - other).
    """
    gap = float(own - other)
    mean = float(other) + proportion * gap
    return np.asarray(mean * (1 - mean) / (people * gap**2))


def categories_of(value: Answers, categories: int) -> NDArray[np.int64]:
    """The answers as whole numbers from 0 to categories - 1, in one dimension."""
    try:
        answers = np.asarray(value).reshape(-1)
    except ValueError:  # rows of different lengths
        answers = np.array([None])
    if answers.dtype.kind not in "iu" or (answers.size and not (answers.min() >= 0 and answers.max() < categories)):
        raise BadInput("an answer is not one of the categories", hint=f"answers run from 0 to {categories - 1}")
    return answers.astype(np.int64)


def several(categories: int) -> None:
    """Refuse a domain that hides nothing."""
    if isinstance(categories, bool) or not isinstance(categories, int) or categories < 2:
        raise BadInput("a question with one possible answer hides nothing", hint="give 2 or more categories")
