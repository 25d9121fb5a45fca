"""What is measured of a histogram: whole-numbered rows, each with its own share of the noise, and the way back."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.number.lattice import INPUT_LIMIT

Floats = NDArray[np.float64]


class Strategy(ABC):
    """A public matrix A of whole numbers over the cells. Row r gets noise of `scales[codes[r]]` times the mechanism's.

    In what follows s is the scale of a row. All norms are exact fractions of whole numbers: a promise is made of them.
    Rows are computed modulo 2**64 throughout, or exactly throughout, in Python integers (`wraps`). Taking noisy rows modulo
    2**64 is post-processing, so there an overflow can spoil an answer and not a promise. Where both meet, cells are clamped to
    `limit` first, which moves no two further apart, so that nothing wraps before the exact part.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The cells along each axis."""

    @property
    @abstractmethod
    def scales(self) -> tuple[Fraction, ...]:
        """The scales that occur."""

    @property
    @abstractmethod
    def codes(self) -> NDArray[np.int64]:
        """For each row, where its scale is in `scales`."""

    @property
    @abstractmethod
    def absolute(self) -> Fraction:
        """The largest sum of |a|/s down a column: how far one unit in one cell moves the rows."""

    @property
    @abstractmethod
    def squared(self) -> Fraction:
        """The largest sum of a^2/s^2 down a column."""

    @property
    @abstractmethod
    def absolute_apart(self) -> Fraction:
        """At least `absolute`, and the sum of |a - a'|/s for any two columns: a unit that goes from one cell to another."""

    @property
    @abstractmethod
    def squared_apart(self) -> Fraction:
        """At least `squared`, and the sum of (a - a')^2/s^2 for any two columns."""

    @property
    def wraps(self) -> bool:
        """Whether rows are computed modulo 2**64; if not, they are exact for cells up to `limit`."""
        return True

    @property
    def limit(self) -> int:
        """Cells are clamped to plus and minus this."""
        return INPUT_LIMIT

    @abstractmethod
    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        """A times cells; the cells' axes come last, rows take their place."""

    @abstractmethod
    def estimate(self, rows: NDArray[Any]) -> Floats:
        """The cells that fit the rows best: least squares, each row weighing 1/s^2. A linear map L with L A = 1."""

    @abstractmethod
    def weights(self, query: NDArray[Any]) -> Floats:
        """The rows' weights in the estimate of `query . cells`: the transpose of `estimate`."""

    def moved_squared(self, l1: Fraction, l2_squared: Fraction) -> Fraction:
        """A bound on the sum of (a . d)^2/s^2 for any d of these norms: by the triangle inequality over the cells of d."""
        return l1 * l1 * self.squared

    @final
    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(np.prod(self.shape, dtype=np.int64))

    @final
    @property
    def row_scales(self) -> Floats:
        """The scale of each row, as floats."""
        return np.array([float(scale) for scale in self.scales])[self.codes]

    @property
    def summary(self) -> str:
        """A line for people; `str` is exact, and longer."""
        return str(self)

    @property
    def typical(self) -> Floats:
        """A cell that no other one errs more than, as the query that asks for it: here the worst of all, tried out."""
        worst, found = -1.0, np.zeros(self.shape)
        for place in np.ndindex(*self.shape):
            query = np.zeros(self.shape)
            query[place] = 1
            spread = float(((self.weights(query) * self.row_scales) ** 2).sum())
            if spread > worst:
                worst, found = spread, query
        return found


def name_of(*parts: object) -> str:
    """A short name that no other parameters have: certificates and the ledger's keys print strategies by it."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def checked_bins(bins: int) -> int:
    """A number of bins."""
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise BadInput("the number of bins is not 1 or more", hint="give a whole number of bins, such as 16")
    return bins


def first_cell(shape: tuple[int, ...]) -> Floats:
    """The query that asks for the first cell."""
    query = np.zeros(shape)
    query[(0,) * len(shape)] = 1
    return query
