"""Marginals of a grid: tables over some of its axes, each with its own share of the noise, made to agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import positive
from sfumato.mechanisms.histogram.shares import Currency
from sfumato.mechanisms.histogram.strategy import Floats, Strategy, checked_bins, first_cell, name_of

Axes = tuple[int, ...]
_LEAST = Fraction(1, 64)
_FINE = 1 << 20
_MOST_AXES = 10
_ROUNDS = 200


@final
@dataclass(frozen=True)
class Marginals(Strategy):
    """The table over each of `tables`' axes, with noise of `table_scales` times the base; one of them has all axes.

    A cell is in one row of each table, so a column's sum is that of 1/s. Two cells that differ along every axis are in
    different rows of all tables but the total. The parts of a table that depend on just the axes T, and average to 0 along each
    of them, are common eigenvectors of all tables: a table over S with T in S sees them w_S times, the number of cells in its
    rows. Least squares divide each part by the sum of w_S/s^2 (McKenna, Miklau, Hay and Machanavajjhala 2018: OPT_M).
    """

    grid: tuple[int, ...]
    tables: tuple[Axes, ...]
    table_scales: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        for bins in self.grid:
            checked_bins(bins)
        every = tuple(range(len(self.grid)))
        known = all(table == tuple(sorted(set(table))) and set(table) <= set(every) for table in self.tables)
        if not self.grid or len(self.grid) > _MOST_AXES or not known or len(set(self.tables)) < len(self.tables):
            raise BadInput(
                "tables are not over the grid's axes", hint="list each table's axes in order, such as (0, 2)"
            )
        if every not in self.tables or len(self.tables) != len(self.table_scales):
            raise BadInput("the table of all axes, or a scale, is missing", hint="give every table a scale")
        object.__setattr__(self, "table_scales", tuple(positive(s, name="scale") for s in self.table_scales))

    @classmethod
    def best(cls, grid: Sequence[int], asked: Sequence[Sequence[int]], currency: Currency = "pure") -> Marginals:
        """The shares of least mean variance over all cells of the tables asked for, by the updates of `best_levels`.

        Any tables may be measured. The one of all axes keeps at least 1/64, so that every cell has an estimate.
        """
        shape, wanted = tuple(grid), {tuple(sorted(set(table))) for table in asked}
        axes = range(len(shape))
        if not wanted or not all(set(table) <= set(axes) for table in wanted) or len(shape) > _MOST_AXES:
            raise BadInput("tables are not over the grid's axes", hint="list each table's axes, such as (0, 2)")
        parts = [part for size in range(len(shape) + 1) for part in combinations(axes, size)]
        sees = np.array([[_width(shape, table) * (set(part) <= set(table)) for table in parts] for part in parts])
        weights = np.array([prod(shape[i] - 1 for i in part) for part in parts], dtype=np.float64)
        weights *= sees[:, [parts.index(table) for table in sorted(wanted)]].sum(axis=1)
        power = 2 if currency == "pure" else 1
        shares = np.full(len(parts), 1 / len(parts))
        for _ in range(_ROUNDS):
            pull = shares**power * (sees.T @ (weights / (sees @ shares**power) ** 2))
            shares = shares ** (power / (power + 1)) * pull ** (1 / (power + 1))
            shares = np.maximum(shares / shares.sum(), 1e-9)
        own = shares if power == 2 else np.sqrt(shares)
        own = np.maximum(own / own.sum(), [0.0] * (len(parts) - 1) + [float(_LEAST)])
        kept = [
            (part, Fraction(round(float(s) * _FINE), _FINE)) for part, s in zip(parts, own, strict=True) if s > 1e-4
        ]
        whole = sum((share for _, share in kept), Fraction(0))
        return cls(shape, tuple(part for part, _ in kept), tuple(whole / share for _, share in kept))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.grid

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        return tuple(dict.fromkeys(self.table_scales))

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        places = [self.scales.index(scale) for scale in self.table_scales]
        return np.repeat(np.array(places, dtype=np.int64), self._sizes)

    @cached_property
    def _sizes(self) -> list[int]:
        return [prod(self.grid[i] for i in table) for table in self.tables]

    @property
    def absolute(self) -> Fraction:
        return sum((1 / s for s in self.table_scales), Fraction(0))

    @property
    def squared(self) -> Fraction:
        return sum((1 / (s * s) for s in self.table_scales), Fraction(0))

    @property
    def absolute_apart(self) -> Fraction:
        return max(self.absolute, sum((2 / s for s in self._parted), Fraction(0)))

    @property
    def squared_apart(self) -> Fraction:
        return max(self.squared, sum((2 / (s * s) for s in self._parted), Fraction(0)))

    @property
    def _parted(self) -> list[Fraction]:
        return [s for s, size in zip(self.table_scales, self._sizes, strict=True) if size > 1]

    def moved_squared(self, l1: Fraction, l2_squared: Fraction) -> Fraction:
        """Table by table, as a tree's levels."""
        pairs = zip(self.tables, self.table_scales, strict=True)
        return sum((min(l1 * l1, _width(self.grid, t) * l2_squared) / (s * s) for t, s in pairs), Fraction(0))

    def _away(self, table: Axes) -> tuple[int, ...]:
        """The axes that a table sums over, counted from the end."""
        return tuple(i - len(self.grid) for i in range(len(self.grid)) if i not in table)

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        lead = cells.shape[: cells.ndim - len(self.grid)]
        return np.concatenate([cells.sum(axis=self._away(t)).reshape((*lead, -1)) for t in self.tables], axis=-1)

    def estimate(self, rows: NDArray[Any]) -> Floats:
        return self._solved(self._lifted(np.asarray(rows, dtype=np.float64)))

    def _lifted(self, rows: Floats) -> Floats:
        """A' S^-2 rows: each row's number, given to all of its cells."""
        lead = rows.shape[:-1]
        total = np.zeros((*lead, *self.grid))
        parts = np.split(rows, np.cumsum(self._sizes)[:-1], axis=-1)
        for table, scale, part in zip(self.tables, self.table_scales, parts, strict=True):
            shape = tuple(bins if i in table else 1 for i, bins in enumerate(self.grid))
            total += part.reshape((*lead, *shape)) / float(scale) ** 2
        return total

    def _solved(self, right: Floats) -> Floats:
        """(A' S^-2 A)^-1 of it: axis by axis into means and what is left, each part divided by how often it is seen."""
        total = np.zeros(right.shape)
        for size in range(len(self.grid) + 1):
            for part in combinations(range(len(self.grid)), size):
                seen = sum(
                    _width(self.grid, table) / float(scale) ** 2
                    for table, scale in zip(self.tables, self.table_scales, strict=True)
                    if set(part) <= set(table)
                )
                piece = right
                for i in range(len(self.grid)):
                    mean = piece.mean(axis=i - len(self.grid), keepdims=True)
                    piece = piece - mean if i in part else mean
                total += piece / seen
        return total

    def weights(self, query: NDArray[Any]) -> Floats:
        weights: Floats = self.rows(self._solved(np.asarray(query, dtype=np.float64))) / self.row_scales**2
        return weights

    def query_of(self, table: Sequence[int], place: Sequence[int]) -> Floats:
        """The query that asks for one cell of a table over these axes."""
        if len(table) != len(place) or not all(0 <= i < len(self.grid) for i in table):
            raise BadInput("a table's cell is not one place for each of its axes", hint="give as many places as axes")
        query = np.zeros(self.grid)
        where: list[Any] = [slice(None)] * len(self.grid)
        for axis, at in zip(table, place, strict=True):
            if not 0 <= at < self.grid[axis]:
                raise BadInput("a place lies outside of its axis", hint="count bins from 0")
            where[axis] = at
        query[tuple(where)] = 1
        return query

    @property
    def typical(self) -> Floats:
        return first_cell(self.grid)

    def __str__(self) -> str:
        return f"marginals of {'x'.join(map(str, self.grid))}, {name_of(self.tables, self.table_scales)}"

    @property
    def summary(self) -> str:
        named = ("".join(map(str, table)) or "total" for table in self.tables)
        shares = (f"{float(1 / s / self.absolute):.3g}" for s in self.table_scales)
        return f"marginals of {'x'.join(map(str, self.grid))}: " + ", ".join(
            f"{name} {share}" for name, share in zip(named, shares, strict=True)
        )


def _width(grid: tuple[int, ...], table: Axes) -> int:
    """How many cells a row of the table sums up."""
    return prod(bins for i, bins in enumerate(grid) if i not in table)
