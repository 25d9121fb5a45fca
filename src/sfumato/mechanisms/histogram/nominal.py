"""Privelet for categories under a hierarchy (Xiao, Wang and Gehrke 2010, section 5): a node beside its siblings' mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.histogram.nest import Nest
from sfumato.mechanisms.histogram.strategy import Floats, Strategy, name_of


@final
@dataclass(frozen=True)
class Nominal(Strategy):
    """The total, and for every node of f siblings f times its sum minus their sum, with noise of 2f - 2 times the base.

    This is the nominal wavelet transform times its weights: coefficient "sum minus the siblings' mean", weight f/(2f - 2). One
    unit moves its own node's row by f - 1 and its f - 1 siblings' by 1: 1/2 + 1/2 on each level, so a column's sum is
    1 + the number of levels. Its squares are (f - 1)^2 + (f - 1) over (2f - 2)^2. Two columns differ by at most two such moves
    on each level where they part, and not in the total; an only child's row is 0 and moves nothing. Siblings' rows add up to 0:
    taking their mean off is the least-squares fit, since other rows say nothing about their differences.
    """

    nest: Nest

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.nest.leaves,)

    @cached_property
    def _siblings(self) -> tuple[NDArray[np.int64], ...]:
        """For each level, how many siblings each node has, itself included."""
        top = np.full(self.nest.sizes[0], self.nest.sizes[0], dtype=np.int64)
        return (top, *(np.repeat(counts, counts) for counts in self.nest.children))

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(max(1, 2 * int(f) - 2)) for f in self._fans)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        return np.searchsorted(self._fans, np.concatenate([[1], *self._siblings]))

    @cached_property
    def _fans(self) -> NDArray[np.int64]:
        return np.unique(np.concatenate([[1], *self._siblings]))

    @property
    def _levels(self) -> int:
        return sum(bool((siblings > 1).any()) for siblings in self._siblings)

    @property
    def absolute(self) -> Fraction:
        return Fraction(1 + self._levels)

    @property
    def squared(self) -> Fraction:
        """On each level f/(4 (f - 1)), which is largest for the fewest siblings."""
        least = (int(siblings[siblings > 1].min()) for siblings in self._siblings if (siblings > 1).any())
        return 1 + sum((Fraction(f, 4 * (f - 1)) for f in least), Fraction(0))

    @property
    def absolute_apart(self) -> Fraction:
        return max(self.absolute, Fraction(2 * self._levels))

    @property
    def squared_apart(self) -> Fraction:
        """The squares of a difference are at most twice those of both columns, without the total."""
        return max(self.squared, 4 * (self.squared - 1))

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        sums = [cells]
        for level in reversed(range(len(self.nest.levels))):
            sums.append(self.nest.gathered(level, sums[-1]))
        sums.reverse()
        total = sums[0].sum(axis=-1, keepdims=True)
        parents = [total, *sums[:-1]]
        rows = [total]
        for level, (own, parent) in enumerate(zip(sums, parents, strict=True)):
            rows.append(self._siblings[level] * own - self._given(level, parent))
        return np.concatenate(rows, axis=-1)

    def _given(self, level: int, parent: NDArray[Any]) -> NDArray[Any]:
        """The parent's value, for each node of this level."""
        if level == 0:
            return np.repeat(parent, self.nest.sizes[0], axis=-1)
        return self.nest.spread(level - 1, parent)

    def _gathered(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        if level == 0:
            return np.asarray(values.sum(axis=-1, keepdims=True))
        return self.nest.gathered(level - 1, values)

    def estimate(self, rows: NDArray[Any]) -> Floats:
        known = np.split(np.asarray(rows, dtype=np.float64), np.cumsum([1, *self.nest.sizes[:-1]]), axis=-1)
        best = known[0]
        for level, own in enumerate(known[1:]):
            siblings = self._siblings[level]
            apart = own - self._given(level, self._gathered(level, own)) / siblings
            best = (self._given(level, best) + apart) / siblings
        return best

    def weights(self, query: NDArray[Any]) -> Floats:
        parts: list[Floats] = []
        asked = np.asarray(query, dtype=np.float64)
        for level in reversed(range(len(self.nest.sizes))):
            siblings = self._siblings[level]
            shared = asked / siblings
            above = self._gathered(level, shared)
            parts.append(shared - self._given(level, above) / siblings)
            asked = above
        return np.concatenate([asked, *parts[::-1]], axis=-1)

    def __str__(self) -> str:
        return f"nominal wavelets of {'-'.join(map(str, self.nest.sizes))} nodes, {name_of(self.nest.levels)}"
