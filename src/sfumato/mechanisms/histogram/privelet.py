"""Privelet (Xiao, Wang and Gehrke 2010): Haar wavelets of a histogram whose bins are ordered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.mechanisms.histogram.finish import non_negative, wasserstein
from sfumato.mechanisms.histogram.strategy import Floats, Strategy, checked_bins, first_cell
from sfumato.noise import Source


@final
@dataclass(frozen=True)
class Haar(Strategy):
    """The total, and at every halving the left half's sum minus the right half's: Haar wavelets, without fractions.

    A wavelet coefficient c of the paper, of weight W(c), is the row here divided by W(c): noise of scale / W(c) on the
    one is noise of `scale` on the other. Bins are padded with public zeros to a power of two, 2^l. A column has an entry
    1 or -1 in the total and at each of l halvings, so its sum is 1 + l. Two columns agree until the halving that parts
    them, where they differ by 2, and below it each has rows of its own: at most 2 + 2(l - 1), and 4 + 2(l - 1) squared.
    """

    bins: int

    def __post_init__(self) -> None:
        checked_bins(self.bins)

    @property
    def levels(self) -> int:
        """How often the bins are halved."""
        return (self.bins - 1).bit_length()

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.bins,)

    @property
    def scales(self) -> tuple[Fraction, ...]:
        return (Fraction(1),)

    @property
    def codes(self) -> NDArray[np.int64]:
        return np.zeros(1 << self.levels, dtype=np.int64)

    @property
    def absolute(self) -> Fraction:
        return Fraction(1 + self.levels)

    @property
    def squared(self) -> Fraction:
        return Fraction(1 + self.levels)

    @property
    def absolute_apart(self) -> Fraction:
        return Fraction(max(1, 2 * self.levels))

    @property
    def squared_apart(self) -> Fraction:
        return Fraction(2 + 2 * self.levels if self.levels else 1)

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        """The total, then the halves' differences, coarse to fine."""
        out = np.empty((*cells.shape[:-1], 1 << self.levels), dtype=cells.dtype)
        sums = _padded(cells, 1 << self.levels)
        while (size := sums.shape[-1]) > 1:
            left, right = sums[..., 0::2], sums[..., 1::2]
            np.subtract(left, right, out=out[..., size // 2 : size])
            sums = left + right
        out[..., :1] = sums
        return out

    def estimate(self, rows: NDArray[Any]) -> Floats:
        """Rows are as many as bins, so the least squares are the inverse: from a sum and a difference, two halves."""
        half = np.multiply(rows, 0.5, dtype=np.float64) if rows.dtype != object else rows.astype(np.float64) * 0.5
        sums = half[..., :1] * 2
        size = 1
        while size < rows.shape[-1]:
            wider = np.empty((*rows.shape[:-1], 2 * size))
            sums *= 0.5
            np.add(sums, half[..., size : 2 * size], out=wider[..., 0::2])
            np.subtract(sums, half[..., size : 2 * size], out=wider[..., 1::2])
            sums, size = wider, 2 * size
        return sums[..., : self.bins]

    def weights(self, query: NDArray[Any]) -> Floats:
        out = np.empty((*query.shape[:-1], 1 << self.levels))
        sums = _padded(np.asarray(query, dtype=np.float64), 1 << self.levels)
        while (size := sums.shape[-1]) > 1:
            left, right = sums[..., 0::2], sums[..., 1::2]
            out[..., size // 2 : size] = (left - right) / 2
            sums = (left + right) / 2
        out[..., :1] = sums
        return out

    @property
    def typical(self) -> Floats:
        return first_cell(self.shape)

    def __str__(self) -> str:
        return f"Haar {self.bins}"


def _padded(values: NDArray[Any], size: int) -> NDArray[Any]:
    if values.shape[-1] == size:
        return values
    out = np.zeros((*values.shape[:-1], size), dtype=values.dtype)
    out[..., : values.shape[-1]] = values
    return out


def pad_to_power_of_two(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """The values, then zeros up to a power of two."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0:
        raise BadInput("a histogram of one axis was expected", hint="give a list of one or more counts")
    return _padded(array, 1 << (array.size - 1).bit_length())


def haar_wavelet_transform(values: Sequence[float] | NDArray[Any]) -> Floats:
    """The coefficients of the paper: the mean, then half the difference of the halves' means, coarse to fine."""
    padded = pad_to_power_of_two(values)
    return Haar(padded.size).rows(padded.astype(np.float64)) / compute_whaar_weights(padded.size)


def compute_whaar_weights(num_coeffs: int) -> Floats:
    """The weight of each coefficient: the number of bins below it. Noise goes by its inverse, which note 002 turned around."""
    bins = checked_bins(num_coeffs)
    if bins & (bins - 1):
        raise BadInput("the number of coefficients is not a power of two", hint="pad the values first")
    level = np.concatenate([[0], *(np.full(1 << i, i) for i in range(bins.bit_length() - 1))])
    weights: Floats = bins / np.exp2(level)
    return weights


def inverse_haar_wavelet_transform(coeffs: Sequence[float] | NDArray[Any]) -> Floats:
    """The values that have these coefficients."""
    array = np.asarray(coeffs, dtype=np.float64)
    return Haar(array.size).estimate(array * compute_whaar_weights(array.size))


def add_laplace_noise(
    coeffs: Sequence[float] | NDArray[Any], epsilon: Number, *, source: Source | None = None
) -> Floats:
    """The coefficients of whole counts with the noise that keeps epsilon when one person comes or goes.

    The noise on a coefficient of weight W is of scale (1 + l)/(W epsilon) for 2^l bins: inversely proportional to W, and 1 + l
    times as wide as for one number, since a person in one bin moves 1 + l coefficients by 1/W each. It is the product's own
    release, seen as coefficients: whole-numbered noise on whole rows (see `Haar` and `LaplaceHistogram`).
    """
    from sfumato.mechanisms.histogram.laplace import LaplaceHistogram

    # Floored after adding a half, not rounded to even: a cell that moves by 1 moves by 1 here too, whatever it held.
    cells = np.floor(inverse_haar_wavelet_transform(coeffs) + 0.5).astype(np.int64)
    mechanism = LaplaceHistogram.calibrate(strategy=Haar(cells.size), epsilon=epsilon)
    return haar_wavelet_transform(mechanism.release(cells, 1, source=source).value)


def wasserstein_distance(u: Sequence[float] | NDArray[Any], v: Sequence[float] | NDArray[Any]) -> float:
    """How many bins mass is carried on average to turn histogram u into v: cells below 0 are cut off, both brought to total 1.

    It is about where the bins are. scipy's function of this name, called on two histograms, compares the lists of counts and
    does not change when bins are exchanged.
    """
    return wasserstein(non_negative(u), non_negative(v))
