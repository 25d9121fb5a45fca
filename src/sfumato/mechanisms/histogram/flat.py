"""The flat histogram: noise on every bin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.histogram.strategy import Floats, Strategy, checked_bins, first_cell


@final
@dataclass(frozen=True)
class Flat(Strategy):
    """Every bin is measured, and nothing else. Best for single bins, and for ranges of up to about 64 bins."""

    bins: int

    def __post_init__(self) -> None:
        checked_bins(self.bins)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.bins,)

    @property
    def scales(self) -> tuple[Fraction, ...]:
        return (Fraction(1),)

    @property
    def codes(self) -> NDArray[np.int64]:
        return np.zeros(self.bins, dtype=np.int64)

    @property
    def absolute(self) -> Fraction:
        return Fraction(1)

    @property
    def squared(self) -> Fraction:
        return Fraction(1)

    @property
    def absolute_apart(self) -> Fraction:
        return Fraction(min(2, self.bins))

    @property
    def squared_apart(self) -> Fraction:
        return Fraction(min(2, self.bins))

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        return cells

    def estimate(self, rows: NDArray[Any]) -> Floats:
        return np.asarray(rows, dtype=np.float64)

    def weights(self, query: NDArray[Any]) -> Floats:
        return np.asarray(query, dtype=np.float64)

    def moved_squared(self, l1: Fraction, l2_squared: Fraction) -> Fraction:
        return l2_squared

    @property
    def typical(self) -> Floats:
        return first_cell(self.shape)

    def __str__(self) -> str:
        return f"flat {self.bins}"
