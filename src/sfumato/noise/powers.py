"""exp(-rate * k) for many whole k at once, as floats whose error is certified and depends on no libm."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.core.interval import exp_bounds

_DIGIT = 10


def powers(rate: Fraction, distances: NDArray[np.int64], *, cut: int) -> NDArray[np.float64]:
    """exp(-rate k) within a relative 2**-49 for whole k >= 0; 0 from exp(-cut) on, for a cut of at most 700.

    Proof: a product of at most 7 table entries, one for every ten bits of k, each the float next to a number known to 100
    bits and more; none is below exp(-700), so no product of them that is kept leaves the range of full precision.
    """
    far = math.ceil(cut / rate)
    near = np.minimum(distances, min(far, (1 << 63) - 1))
    weights: NDArray[np.float64] = np.where(near < far, 1.0, 0.0)
    for level, entries in enumerate(_digit_tables(rate, cut)):
        weights *= entries[(near >> (_DIGIT * level)) & ((1 << _DIGIT) - 1)]
    return weights


@lru_cache(maxsize=16)
def _digit_tables(rate: Fraction, cut: int) -> list[NDArray[np.float64]]:
    """Level by level, exp(-rate * digit * 2**(10 level)), rounded from enclosures of 192 bits below exp(-cut)."""
    far = min(math.ceil(cut / rate), (1 << 63) - 1)
    return [
        _table(rate * (1 << (_DIGIT * level)), min(1 << _DIGIT, (far >> (_DIGIT * level)) + 1), cut)
        for level in range((far.bit_length() + _DIGIT - 1) // _DIGIT)
    ]


def _table(rate: Fraction, count: int, cut: int) -> NDArray[np.float64]:
    bits = 192 + math.ceil(1.45 * cut)
    ratio, weight, result = exp_bounds(-rate, bits)[0], 1 << bits, np.zeros(1 << _DIGIT)
    for digit in range(count):
        result[digit] = weight / (1 << bits)
        weight = weight * ratio >> bits
    return result
