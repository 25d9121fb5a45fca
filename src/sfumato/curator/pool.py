"""Two or more noisy copies of the same exact integers, pooled into better ones, with the law of what noise remains."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.exact import Number, probability
from sfumato.mechanisms import Gaussian, GaussianHistogram, Laplace, LaplaceHistogram, Mechanism
from sfumato.mechanisms.histogram.pooled import within_of_pooled

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CELLS = 4000


def weights(mechanisms: tuple[Mechanism[Any, Any], ...]) -> tuple[Fraction, ...]:
    """Inverse variances, to four digits, adding up to one: the least variance that unbiased pooling can have."""
    raw = [1 / _scale(each) ** 2 for each in mechanisms]
    whole = [round(10_000 * each / sum(raw)) for each in raw]
    return tuple(Fraction(each, sum(whole)) for each in whole)


def pooled(vectors: tuple[NDArray[np.int64], ...], parts: tuple[Fraction, ...]) -> NDArray[np.int64]:
    """The weighted mean of the released vectors, floored to integers."""
    down = math.lcm(*(part.denominator for part in parts))
    sums = [
        sum(int(part * down) * int(v) for part, v in zip(parts, values, strict=True))
        for values in zip(*vectors, strict=True)
    ]
    return np.array([total // down for total in sums], dtype=np.int64)


def within(mechanisms: tuple[Mechanism[Any, Any], ...], parts: tuple[Fraction, ...], confidence: Number) -> float:
    """A half-width that the pooled noise respects with this confidence.

    Each scaled noise is rounded to a common step, with the probabilities of the continuous law of the same scale; the
    rounded laws are convolved. Roundings add at most half a step each, the discrete laws half an integer each, and the
    floor of the mean one: all are added to the width, which is therefore never too small.
    """
    sure = float(probability(confidence, name="confidence"))
    scales = [float(part * _scale(each)) for part, each in zip(parts, mechanisms, strict=True)]
    step = max(scales) * 30 / _CELLS
    law = np.ones(1)
    for mechanism, scale in zip(mechanisms, scales, strict=True):
        law = np.convolve(law, _rounded(mechanism, scale, step))
    centre = law.size // 2
    folded = np.concatenate([law[centre : centre + 1], law[centre + 1 :] + law[:centre][::-1]])
    steps = int(np.searchsorted(np.cumsum(folded), sure + 1e-9))
    slack = step * len(mechanisms) / 2 + sum(float(part) for part in parts) / 2 + 1
    return steps * step + slack


def histograms(
    mechanisms: tuple[Mechanism[Any, Any], ...], copies: tuple[list[Fraction], ...], confidence: Number
) -> tuple[list[Fraction], Fraction]:
    """Releases of one histogram, cell by cell, and the half-width of a cell.

    Under one strategy every cell's variance is the same multiple of each release's noise, so that the weights of `weights`
    are the best for every question at once, and what agreed before agrees still. Under several strategies no weights
    are, and the surest release stands alone.
    """
    if len({mechanism.strategy for mechanism in mechanisms}) > 1:  # type: ignore[attr-defined]
        best = min(range(len(mechanisms)), key=lambda place: mechanisms[place].within(confidence))
        return copies[best], Fraction(mechanisms[best].within(confidence))
    parts = weights(mechanisms)
    mixed = [
        sum((p * x for p, x in zip(parts, cells, strict=True)), Fraction(0)) for cells in zip(*copies, strict=True)
    ]
    return mixed, Fraction(within_of_pooled(mechanisms, parts, None, confidence))


def _rounded(mechanism: Mechanism[Any, Any], scale: float, step: float) -> NDArray[np.float64]:
    """The probabilities of every multiple of `step`, the tails at the ends."""
    edges = (np.arange(-_CELLS, _CELLS) + 0.5) * step
    match mechanism:
        case Laplace():
            below = np.where(edges < 0, 0.5 * np.exp(-np.abs(edges) / scale), 1 - 0.5 * np.exp(-np.abs(edges) / scale))
        case _:
            below = np.array([0.5 * math.erfc(-edge / scale / math.sqrt(2)) for edge in edges])
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def _scale(mechanism: Mechanism[Any, Any]) -> Fraction:
    match mechanism:
        case Laplace() | Gaussian() | LaplaceHistogram() | GaussianHistogram():
            amount: Fraction = getattr(mechanism, mechanism.noise_field)
            return amount
        case _:
            raise TypeError("only added noise can be pooled")
