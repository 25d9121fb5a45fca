"""Hierarchies: bins and sums over nested groups of them, each level with its own share of the noise."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive
from sfumato.mechanisms.histogram.nest import Nest
from sfumato.mechanisms.histogram.strategy import Floats, Strategy, checked_bins, name_of


@final
@dataclass(frozen=True)
class Tree(Strategy):
    """The sum over every node of every level of `nest`, the leaves' included, with noise of `level_scales` times the base.

    A leaf is in one node of each level, so a column's sum is that of 1/s over the levels. Two leaves are in different nodes
    of every level but those of a single node, if they part at the first: then all those rows move.

    The estimate is the best linear one (Hay, Rastogi, Miklau and Suciu 2010, here with unequal noise): upwards, each node's own
    row and its children's sum are averaged by their variances; downwards, what a parent knows better is shared among its
    children by theirs.
    """

    nest: Nest
    level_scales: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.level_scales) != len(self.nest.sizes):
            raise BadInput("levels and scales are not as many", hint="give a scale for each level, the leaves' last")
        object.__setattr__(self, "level_scales", tuple(positive(s, name="scale") for s in self.level_scales))

    @classmethod
    def even(cls, bins: int, counts: Sequence[int], shares: Sequence[Number]) -> Tree:
        """Levels of so many nodes above the bins; `shares` of the promise for each level, the bins' last."""
        parts = [positive(share, name="share") for share in shares]
        return cls(Nest.even(bins, counts), tuple(sum(parts) / part for part in parts))

    @classmethod
    def branching(cls, bins: int, fan_out: int) -> Tree:
        """H_b: every level of a tree in which each node has `fan_out` children, without the root; equal shares."""
        if isinstance(fan_out, bool) or not isinstance(fan_out, int) or fan_out < 2:
            raise BadInput("a node of a hierarchy has fewer than 2 children", hint="give a fan-out such as 16")
        widths: list[int] = []
        while (width := fan_out ** (len(widths) + 1)) < checked_bins(bins):
            widths.append(width)
        levels = tuple(tuple(range(0, bins, width)) for width in reversed(widths))
        return cls(Nest(bins, levels), (Fraction(len(levels) + 1),) * (len(levels) + 1))

    @classmethod
    def declared(cls, paths: Sequence[Sequence[Hashable]], shares: Sequence[Number] | None = None) -> Tree:
        """The levels that each leaf's path declares, such as (region, department) for each commune."""
        nest = Nest.of_paths(paths)
        parts = [positive(s, name="share") for s in shares or [1] * len(nest.sizes)]
        return cls(nest, tuple(sum(parts) / part for part in parts))

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.nest.leaves,)

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        return tuple(dict.fromkeys(self.level_scales))

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        places = [self.scales.index(scale) for scale in self.level_scales]
        return np.repeat(np.array(places, dtype=np.int64), self.nest.sizes)

    @property
    def absolute(self) -> Fraction:
        return sum((1 / s for s in self.level_scales), Fraction(0))

    @property
    def squared(self) -> Fraction:
        return sum((1 / (s * s) for s in self.level_scales), Fraction(0))

    @property
    def absolute_apart(self) -> Fraction:
        return max(self.absolute, sum((2 / s for s in self._parted), Fraction(0)))

    @property
    def squared_apart(self) -> Fraction:
        return max(self.squared, sum((2 / (s * s) for s in self._parted), Fraction(0)))

    @property
    def _parted(self) -> list[Fraction]:
        return [s for s, size in zip(self.level_scales, self.nest.sizes, strict=True) if size > 1]

    def moved_squared(self, l1: Fraction, l2_squared: Fraction) -> Fraction:
        """Level by level: the squares of sums are at most l1^2, and at most the nodes' width times l2^2 (Cauchy)."""
        widths = [int(np.diff(np.append(starts, self.nest.leaves)).max()) for starts in self.nest.starts]
        pairs = zip(self.level_scales, widths, strict=True)
        return sum((min(l1 * l1, width * l2_squared) / (s * s) for s, width in pairs), Fraction(0))

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        levels = [cells]
        for level in reversed(range(len(self.nest.levels))):
            levels.append(self.nest.gathered(level, levels[-1]))
        return np.concatenate(levels[::-1], axis=-1)

    def estimate(self, rows: NDArray[Any]) -> Floats:
        ends = np.cumsum(self.nest.sizes)
        known = np.split(np.asarray(rows, dtype=np.float64), ends[:-1], axis=-1)
        below: list[Floats] = []
        best = known[-1]
        for level in reversed(range(len(self.nest.levels))):
            below.append(best)
            own = self._passes[level][0]
            best = own * known[level] + (1 - own) * self.nest.gathered(level, best)
        for level, children in enumerate(reversed(below)):
            missing = best - self.nest.gathered(level, children)
            best = children + self._passes[level][1] * self.nest.spread(level, missing)
        return best

    @cached_property
    def _passes(self) -> list[tuple[Floats, Floats]]:
        """For each level above the leaves: how much a node's own row counts, and each child's share of what is missing."""
        squares = [float(s) ** 2 for s in self.level_scales]
        spread = np.full(self.nest.leaves, squares[-1])
        passes = []
        for level in reversed(range(len(self.nest.levels))):
            total = self.nest.gathered(level, spread)
            own = total / (total + squares[level])
            passes.append((own, spread / self.nest.spread(level, total)))
            spread = own * squares[level]
        return passes[::-1]

    def weights(self, query: NDArray[Any]) -> Floats:
        """S^-2 A (A' S^-2 A)^-1 query: the inverse is `estimate` of rows that are s^2 query at the leaves and 0 above."""
        rows = np.zeros((*query.shape[:-1], self.codes.size))
        rows[..., -self.nest.leaves :] = np.asarray(query) * float(self.level_scales[-1]) ** 2
        fitted: Floats = self.rows(self.estimate(rows)) / self.row_scales**2
        return fitted

    @property
    def typical(self) -> Floats:
        """The leaf of largest variance. Given its parent's, a child's is v - k^2 (V - Var(parent)): V the children's sum."""
        squares = [float(s) ** 2 for s in self.level_scales]
        ups = [np.full(self.nest.leaves, squares[-1])]
        for level in reversed(range(len(self.nest.levels))):
            ups.append(self._passes[level][0] * squares[level])
        spread = ups[-1]
        for level in range(len(self.nest.levels)):
            children = ups[len(self.nest.levels) - level - 1]
            total = self.nest.gathered(level, children)
            share = self._passes[level][1]
            spread = children - share**2 * self.nest.spread(level, total - spread)
        query = np.zeros(self.nest.leaves)
        query[int(np.argmax(spread))] = 1
        return query

    def __str__(self) -> str:
        return f"tree of {'-'.join(map(str, self.nest.sizes))} nodes, {name_of(self.nest.levels, self.level_scales)}"

    @property
    def summary(self) -> str:
        shares = [f"{float(1 / s / self.absolute):.3g}" for s in self.level_scales]
        return f"tree of {'-'.join(map(str, self.nest.sizes))} nodes, shares {' '.join(shares)}"
