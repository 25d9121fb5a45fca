"""Quantiles on the edges of equal bins: how much stands left of each edge, found once for all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss, Pure
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.neighbours import Neighbours, Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.quantile.asked import OnLattice, Points
from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise import Source

Bounds = tuple[int, int]

BITS = 160
_WRITTEN = 4096


class OnEdges(OnLattice):
    """Each quantile q is the first of the edges 1 ... bins at which w(left of it) - q n is found to be 0 or more.

    Edge i is the lattice point ceil(i size / bins); the last is `size`, the end of the lattice.
    """

    noise_field: ClassVar[str] = "scale"

    quantiles: Any
    bins: int
    scale: Any

    @abstractmethod
    def first(self, above: NDArray[Any], q: Fraction, count: int, source: Source) -> NDArray[np.int64]:
        """`count` draws of the index of an edge, or `bins` for none; `above` is w - q n at each edge, times q's denominator."""

    @abstractmethod
    def chances(self, above: list[int], q: Fraction) -> list[Bounds] | None:
        """The law of `first`, from the first edge to none."""

    @abstractmethod
    def each(self, reach: Sensitivity, q: Fraction) -> Fraction:
        """What one quantile costs at a scale of 1."""

    @final
    def price(self, reach: Sensitivity) -> Loss:
        return Pure(sum((self.each(reach, q) for q in self.quantiles), Fraction(0)) / self.scale, reach.about)

    @final
    def one(self, tally: Tally, source: Source) -> Points:
        return self._drawn(tally, 1, source)[0]

    @final
    def repeat(self, value: Tally | Sequence[Tally], count: int, source: Source) -> Sequence[Points]:
        if not isinstance(value, Tally):
            return super().repeat(value, count, source)
        return self._drawn(value.inside(self.size), count, source)

    def _drawn(self, tally: Tally, count: int, source: Source) -> list[Points]:
        left, edges = self._left(tally), np.append(self._edges, self.size)
        columns = [edges[self.first(self._above(left, tally.total, q), q, count, source)] for q in self.quantiles]
        return [tuple(row) for row in np.sort(np.stack(columns, axis=1), axis=1).tolist()]

    @property
    def _edges(self) -> NDArray[np.int64]:
        if self.bins < 1 << 20 and self.size < 1 << 40:
            return np.asarray(-(-np.arange(1, self.bins + 1) * self.size // self.bins), dtype=np.int64)
        return np.array([-(-i * self.size // self.bins) for i in range(1, self.bins + 1)], dtype=np.int64)

    def _left(self, tally: Tally) -> NDArray[np.int64]:
        left: NDArray[np.int64] = tally.below[np.searchsorted(tally.places, self._edges, side="left")]
        return left

    def _above(self, left: NDArray[Any], total: int, q: Fraction) -> NDArray[Any]:
        wide = q.denominator * (total + 1) >= 1 << 61
        above: NDArray[Any] = (left.astype(object) if wide else left) * q.denominator - q.numerator * total
        limited: NDArray[np.int64] = np.clip(above, -(1 << 61), 1 << 61).astype(np.int64)
        return limited

    @final
    def law(self, value: Tally | Sequence[Tally]) -> Law | None:
        if not isinstance(value, Tally) or (self.bins + 1) ** len(self.quantiles) > _WRITTEN:
            return None
        tally = value.inside(self.size)
        left, edges = self._left(tally), np.append(self._edges, self.size).tolist()
        laws = [self.chances(self._above(left, tally.total, q).tolist(), q) for q in self.quantiles]
        found: dict[Hashable, Bounds] = {}
        for places in product(range(self.bins + 1), repeat=len(laws)):
            low = high = 1 << BITS
            for each, i in zip(laws, places, strict=True):
                if each is None:
                    return None
                low, high = low * each[i][0] >> BITS, -(-high * each[i][1] >> BITS)
            key = tuple(sorted(edges[i] for i in places))
            old = found.get(key, (0, 0))
            found[key] = old[0] + low, old[1] + high
        return Law(BITS, found)

    def audit_cases(self) -> Sequence[Case[Tally]]:
        """A row comes at the far end, moves there, or is the only one."""
        last, one = self.size - 1, Sensitivity.of(1)
        moved = Sensitivity.of_cells(2, 1, about=Neighbours.REPLACE)
        return (
            Case(Tally.of([0, 0]), Tally.of([0, 0, last]), one, tight=False),
            Case(Tally.of([0, 0]), Tally.of([0, last]), moved, tight=False),
            Case(Tally.of([]), Tally.of([0]), one, tight=False),
        )

    def _check(self) -> None:
        super()._check()
        if isinstance(self.bins, bool) or not isinstance(self.bins, int) or not 1 <= self.bins <= self.size:
            raise BadInput("there is no bin, or more bins than points", hint="give 1 to as many bins as points")

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The scale that spends exactly epsilon; it is pure, so a delta is left unspent."""
        target = positive(epsilon, name="epsilon")
        probability(delta, name="delta")
        made: Any = cls
        price = made(scale=1, **public).loss(sensitivity).pure()
        if price[0] == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public answer needs no mechanism")
        result: Self = made(scale=price[0] / target, **public)
        return result


def rises(reach: Sensitivity, q: Fraction) -> Fraction:
    """The most by which w(left of an edge) - q n rises or falls between neighbours.

    A weight added moves it by -q w or (1 - q) w; under replace, P <= l1/2 added and M <= l1/2 taken away raise it by
    (1 - q) P + q M <= l1/2 at most.
    """
    return reach.l1 / 2 if reach.about.relation is Relation.REPLACE else max(q, 1 - q) * reach.l1
