"""Junction trees: which sets of columns hold a graphical model, and how they hang together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

Columns = tuple[int, ...]


@final
@dataclass(frozen=True)
class Junction:
    """Cliques, each after its parent: what a clique shares with any earlier one lies in its separator from its parent."""

    shape: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    """The place of each clique's parent; -1 for the first."""

    @classmethod
    def of(cls, shape: Sequence[int], sets: Iterable[Columns]) -> Junction:
        """A tree with a clique around each of the sets; columns in no set stand alone.

        Columns are eliminated, each time the one whose neighbourhood has fewest cells, then the maximal cliques are joined by
        a spanning tree of the widest separators, which is what makes it a junction tree (Jensen and Jensen 1994).
        """
        found: list[int] = []
        for clique in eliminated(tuple(shape), sets):
            if not any(clique & other == clique for other in found):
                found.append(clique)
        cliques = [tuple(i for i in range(len(shape)) if clique >> i & 1) for clique in found]
        first = max(range(len(cliques)), key=lambda i: math.prod(shape[j] for j in cliques[i]))
        left = set(range(len(cliques))) - {first}
        order, parents = [first], [-1]
        while left:
            _, child, place = max(
                ((found[order[p]] & found[c]).bit_count(), -c, p) for c in left for p in range(len(order))
            )
            order.append(-child)
            parents.append(place)
            left.remove(-child)
        return cls(tuple(shape), tuple(cliques[i] for i in order), tuple(parents))

    @cached_property
    def separators(self) -> tuple[Columns, ...]:
        """What each clique shares with its parent."""
        return tuple(
            () if parent < 0 else tuple(sorted(set(clique) & set(self.cliques[parent])))
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    def home(self, columns: Iterable[int]) -> int | None:
        """The smallest clique that holds all of these columns."""
        wanted = set(columns)
        holding = [i for i, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(holding, key=lambda i: self.size(self.cliques[i]), default=None)

    def size(self, columns: Iterable[int]) -> int:
        """How many cells a table over these columns has."""
        return math.prod(self.shape[i] for i in columns)

    @property
    def cells(self) -> int:
        return sum(self.size(clique) for clique in self.cliques)


def eliminated(shape: tuple[int, ...], sets: Iterable[Columns]) -> list[int]:
    """Each column's neighbourhood, itself included, when its turn comes, as bits."""
    beside = [1 << i for i in range(len(shape))]
    for columns in sets:
        bits = sum(1 << i for i in columns)
        for i in columns:
            beside[i] |= bits
    weight = [math.log(bins) for bins in shape]
    left, turns = list(range(len(shape))), []
    while left:
        turn = min(left, key=lambda i: _weight(beside[i], weight))
        around = beside[turn]
        turns.append(around)
        left.remove(turn)
        rest = around & ~(1 << turn)
        for i in left:
            if rest >> i & 1:
                beside[i] = (beside[i] | rest) & ~(1 << turn)
    return turns


def cells_of(shape: tuple[int, ...], sets: Iterable[Columns]) -> float:
    """About how many cells the tree over these sets has: small cliques inside others are counted too."""
    weight = [math.log(bins) for bins in shape]
    return sum(math.exp(_weight(clique, weight)) for clique in eliminated(shape, sets))


def _weight(bits: int, weight: list[float]) -> float:
    total = 0.0
    while bits:
        low = bits & -bits
        total += weight[low.bit_length() - 1]
        bits ^= low
    return total
