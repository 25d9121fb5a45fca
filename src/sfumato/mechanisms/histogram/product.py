"""Several axes at once: every row of one axis with every row of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.nominal import Nominal
from sfumato.mechanisms.histogram.privelet import Haar
from sfumato.mechanisms.histogram.strategy import Floats, Strategy
from sfumato.mechanisms.number.lattice import INPUT_LIMIT


@final
@dataclass(frozen=True)
class Product(Strategy):
    """The Kronecker product of one strategy an axis: rows, scales and norms multiply, and so do the least squares.

    A column of the product is the product of one column of each axis, so sums of |a|/s and of a^2/s^2 down it multiply.
    """

    axes: tuple[Strategy, ...]

    def __post_init__(self) -> None:
        if not self.axes or any(len(axis.shape) != 1 for axis in self.axes):
            raise BadInput("a grid is made of strategies of one axis each", hint="give one strategy for each axis")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.shape[0] for axis in self.axes)

    @cached_property
    def _outer(self) -> tuple[tuple[Fraction, ...], NDArray[np.int64]]:
        scales: tuple[Fraction, ...] = (Fraction(1),)
        codes = np.zeros(1, dtype=np.int64)
        for axis in self.axes:
            pairs = [a * b for a in scales for b in axis.scales]
            codes = (codes[:, None] * len(axis.scales) + axis.codes[None, :]).ravel()
            distinct = tuple(dict.fromkeys(pairs))
            codes = np.array([distinct.index(pair) for pair in pairs], dtype=np.int64)[codes]
            scales = distinct
        return scales, codes

    @property
    def scales(self) -> tuple[Fraction, ...]:
        return self._outer[0]

    @property
    def codes(self) -> NDArray[np.int64]:
        return self._outer[1]

    @property
    def wraps(self) -> bool:
        return all(axis.wraps for axis in self.axes)

    @property
    def limit(self) -> int:
        """The weights of a row add up to at most 2 m^2 along an axis of m bins, which nominal wavelets come near."""
        if self.wraps:
            return min(axis.limit for axis in self.axes)
        return INPUT_LIMIT // prod(2 * bins * bins for bins in self.shape)

    @property
    def absolute(self) -> Fraction:
        return _product(axis.absolute for axis in self.axes)

    @property
    def squared(self) -> Fraction:
        return _product(axis.squared for axis in self.axes)

    @property
    def absolute_apart(self) -> Fraction:
        """Two columns are at most twice as far apart as one of them is long."""
        if len(self.axes) == 1:
            return self.axes[0].absolute_apart
        return 2 * self.absolute

    @property
    def squared_apart(self) -> Fraction:
        if len(self.axes) == 1:
            return self.axes[0].squared_apart
        return self.squared * (2 if self._flat else 4)

    @property
    def _flat(self) -> bool:
        return all(isinstance(axis, Flat) for axis in self.axes)

    def moved_squared(self, l1: Fraction, l2_squared: Fraction) -> Fraction:
        return l2_squared if self._flat else l1 * l1 * self.squared

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        out = self._along(cells, lambda axis, values: axis.rows(values))
        return out.reshape((*cells.shape[: cells.ndim - len(self.axes)], -1))

    def estimate(self, rows: NDArray[Any]) -> Floats:
        inner = rows.reshape((*rows.shape[:-1], *(axis.codes.size for axis in self.axes)))
        return self._along(inner, lambda axis, values: axis.estimate(values))

    def weights(self, query: NDArray[Any]) -> Floats:
        out = self._along(query, lambda axis, values: axis.weights(values))
        return out.reshape((*query.shape[: query.ndim - len(self.axes)], -1))

    def _along(self, values: NDArray[Any], apply: Callable[[Strategy, NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        for i, axis in enumerate(self.axes):
            place = i - len(self.axes)
            values = np.moveaxis(apply(axis, np.moveaxis(values, place, -1)), -1, place)
        return values

    @property
    def typical(self) -> Floats:
        """Errors multiply, so the worst cell is where each axis has its worst."""
        query = np.ones(())
        for axis in self.axes:
            query = np.multiply.outer(query, axis.typical)
        return query

    def __str__(self) -> str:
        return " x ".join(f"({axis})" for axis in self.axes)


def _product(values: Any) -> Fraction:
    result = Fraction(1)
    for value in values:
        result *= value
    return result


def privelet_plus(axes: Sequence[Haar | Nominal]) -> Product:
    """Privelet+ (Xiao, Wang and Gehrke 2010, section 6): an axis is transformed only where that pays.

    An axis of m bins is left as it is if m <= P^2 H, where P is the sum of a column and H bounds the spread of a range:
    (2 + log2 m)/2 for ordered bins, 4 under a hierarchy. Ordered bins are transformed from 2^10 on.
    """
    return Product(tuple(Flat(axis.shape[0]) if _small(axis) else axis for axis in axes))


def _small(axis: Haar | Nominal) -> bool:
    spread = Fraction(2 + axis.levels, 2) if isinstance(axis, Haar) else Fraction(4)
    return axis.shape[0] <= axis.absolute**2 * spread
