"""The error of several releases of one histogram, pooled: the noises are independent, and each is heard by its weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.exact import Number, probability
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.histogram.gaussian import GaussianHistogram
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.mechanisms.histogram.laplace import LaplaceHistogram, chernoff


def within_of_pooled(
    mechanisms: Sequence[Mechanism[Any, Any]],
    parts: Sequence[Fraction],
    query: NDArray[Any] | None,
    confidence: Number,
) -> float:
    """The half-width of the error of `query . cells` (without one, of the worst cell) after estimates of one strategy are
    added up with these parts.

    Chernoff's bound takes any sum of independent noises: those of all releases are rows of one longer list, each row's weight
    multiplied by its release's part. Every release is rounded to 2^-20 by itself.
    """
    first = mechanisms[0]
    assert isinstance(first, Histogram)
    asked = np.asarray(first.strategy.typical if query is None else query, dtype=np.float64)
    miss = float(1 - probability(confidence, name="confidence"))
    if miss == 1:
        return 0.0
    if len(mechanisms) == 1 and parts[0] == 1:
        return first.within_of(asked.reshape(first.strategy.shape), confidence)
    spread = np.abs(first.strategy.weights(asked.reshape(first.strategy.shape))).ravel()
    own = first.strategy.row_scales
    sizes = np.concatenate([spread * float(part) for part in parts])
    rounding = float(np.abs(asked).sum()) / (1 << 21)
    if all(isinstance(each, LaplaceHistogram) for each in mechanisms):
        rates = np.concatenate([1 / (own * float(each.scale)) for each in mechanisms])  # type: ignore[attr-defined]
        return chernoff(sizes, rates, miss) * (1 + 1e-12) + rounding
    assert all(isinstance(each, GaussianHistogram) for each in mechanisms)
    sigmas = np.concatenate([own * float(each.sigma) for each in mechanisms])  # type: ignore[attr-defined]
    return math.sqrt(2 * math.log(2 / miss) * float(((sizes * sigmas) ** 2).sum())) * (1 + 1e-12) + rounding
