"""Nested partitions of ordered leaves: what trees of every kind are laid over."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.histogram.strategy import checked_bins

Indices = NDArray[np.int64]


@final
@dataclass(frozen=True)
class Nest:
    """Levels from coarse to fine, above the leaves. Each lists where its nodes start, among `leaves` leaves in order."""

    leaves: int
    levels: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        checked_bins(self.leaves)
        above: set[int] = {0}
        for starts in (*self.levels, tuple(range(self.leaves))):
            if not starts or starts[0] != 0 or list(starts) != sorted(set(starts)) or starts[-1] >= self.leaves:
                raise BadInput("a level does not part the leaves", hint="list rising starts, the first of them 0")
            if not above <= set(starts):
                raise BadInput(
                    "a level cuts a node of a finer level in two", hint="order the levels from coarse to fine"
                )
            above = set(starts)

    @classmethod
    def even(cls, leaves: int, counts: Sequence[int]) -> Nest:
        """Levels of so many nodes each, as equal in width as they can be; each count divides the next."""
        for count, finer in zip(counts, [*counts[1:], 0], strict=True):
            if not 1 <= count <= leaves or finer % count:
                raise BadInput(
                    "levels of these sizes are not nested", hint="let each count divide the next, up to the leaves"
                )
        return cls(leaves, tuple(tuple(k * leaves // count for k in range(count)) for count in counts))

    @classmethod
    def of_paths(cls, paths: Sequence[Sequence[Hashable]]) -> Nest:
        """From each leaf's ancestors, coarse to fine: ("Brittany", "Finistere") and so on. A node's leaves are together."""
        depths = {len(path) for path in paths}
        if len(depths) != 1:
            raise BadInput("leaves lie at different depths", hint="give every leaf as many ancestors, or none at all")
        levels = []
        for depth in range(1, depths.pop() + 1):
            names = [tuple(path[:depth]) for path in paths]
            starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
            if len(set(names)) != len(starts):
                raise BadInput("the leaves of one node are not together", hint="sort the leaves by their ancestors")
            levels.append(tuple(starts))
        return cls(len(paths), tuple(levels))

    @cached_property
    def starts(self) -> tuple[Indices, ...]:
        """Every level's starts, the leaves' last."""
        return (*(np.array(level, dtype=np.int64) for level in self.levels), np.arange(self.leaves, dtype=np.int64))

    @cached_property
    def children(self) -> tuple[Indices, ...]:
        """For each level but the last, how many nodes of the next one lie in each node."""
        pairs = zip(self.starts, self.starts[1:], strict=False)
        return tuple(np.diff(np.searchsorted(fine, np.append(coarse, self.leaves))) for coarse, fine in pairs)

    @cached_property
    def firsts(self) -> tuple[Indices, ...]:
        """For each level but the last, which node of the next one is each node's first."""
        return tuple(np.cumsum(counts) - counts for counts in self.children)

    def gathered(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        """Sums over each node of `level`, of values on the next finer level."""
        return np.add.reduceat(values, self.firsts[level], axis=-1)

    def spread(self, level: int, values: NDArray[Any]) -> NDArray[Any]:
        """Each node's value, given to its children."""
        return np.repeat(values, self.children[level], axis=-1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has, the leaves' last."""
        return tuple(level.size for level in self.starts)
