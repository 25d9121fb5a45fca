"""Equal rows set apart: each piece of weight moves by itself to a uniform point of its place, on a finer lattice."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.quantile.asked import ByRate, Points
from sfumato.mechanisms.quantile.tally import LARGEST_SIZE, Tally
from sfumato.noise import Source
from sfumato.noise.categorical import uniform_block
from sfumato.noise.law import Integers


class Jittering(ByRate):
    """Rounds of exponential mechanisms on a lattice `jitter` times as fine, where equal rows have been set apart."""

    jitter: int
    piece: int

    @abstractmethod
    def drawn(self, tally: Tally, source: Source, count: int) -> list[list[int]]:
        """`count` draws for one tally on the fine lattice, and their points there."""

    @property
    def points(self) -> int:
        return self.size * self.jitter

    @final
    def one(self, tally: Tally, source: Source) -> Points:
        return self._floored(jittered(tally, self.jitter, self.piece, source), source, 1)[0]

    @final
    def repeat(self, value: Tally | Sequence[Tally], count: int, source: Source) -> Sequence[Points]:
        """Draws whose few rows were moved alike are made together."""
        if not isinstance(value, Tally):
            return super().repeat(value, count, source)
        if self.jitter == 1:
            return self._floored(value.inside(self.size), source, count)
        places, each = pieces(value.inside(self.size), self.piece)
        if places.size > 4:
            return super().repeat(value, count, source)
        moved = places * self.jitter + uniform_block(self.jitter, count * places.size, source).reshape(count, -1)
        kinds, which = np.unique(moved, axis=0, return_inverse=True)
        found: list[Points] = [()] * count
        for i, where in enumerate(kinds):
            rows = np.flatnonzero(which.reshape(-1) == i)
            for row, points in zip(rows.tolist(), self._floored(Tally.of(where, each), source, rows.size), strict=True):
                found[row] = points
        return found

    def _floored(self, tally: Tally, source: Source, count: int) -> list[Points]:
        return [tuple(t // self.jitter for t in points) for points in self.drawn(tally, source, count)]

    def _check(self) -> None:
        super()._check()
        for number, name in ((self.jitter, "jitter"), (self.piece, "piece")):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise BadInput(f"{name} is not a whole number of 1 or more", hint="leave it out, or give 1")
        if self.size * self.jitter > LARGEST_SIZE:
            raise BadInput("the lattice is too fine", hint="jitter less, or give fewer points")


def jittered(tally: Tally, points: int, piece: int, source: Source) -> Tally:
    """The same weights on a lattice `points` times as fine.

    Proof that this keeps neighbours: let V1, V2, ... be uniform points, drawn whatever the data, for each place. A weight E
    there is laid down on V1 up to `piece`, then on V2, and so on. With w more at that place the same points carry all
    they did and w more in all: neighbours that differ by a weight w, added, still do, and l1 is what it was. Given the
    points, the mechanism that follows keeps its promise; on the average over them it keeps it too.
    """
    if points == 1:
        return tally
    places, each = pieces(tally, piece)
    moved = places * points + uniform_block(points, places.size, source)
    if places.size == tally.places.size:  # one piece in each place: still in order
        return Tally(moved, each)
    if each.min() == piece:  # rows of one weight need not be carried along while places are sorted
        apart = Tally.of_sorted(np.sort(moved, kind="stable"))
        return Tally(apart.places, apart.weights * piece)
    return Tally.of(moved, each)


def pieces(tally: Tally, piece: int) -> tuple[Integers, Integers]:
    """Each place as often as it has pieces, and their weights: full ones, then what is left."""
    counts = -(-tally.weights // piece)
    places = np.repeat(tally.places, counts)
    weights: NDArray[np.int64] = np.full(places.size, piece, dtype=np.int64)
    weights[np.cumsum(counts) - 1] = tally.weights - (counts - 1) * piece
    return places, weights


def together(rows: int, jitter: int, miss: float) -> int:
    """The most of `rows` pieces that stand on one point, with probability 1 - miss or more.

    Some c + 1 pieces of one place stand on one point with probability at most rows^(c+1) / ((c+1)! jitter^c).
    """
    c = 1
    while c < rows and math.log(rows) + c * math.log(rows / jitter) - math.lgamma(c + 2) > math.log(miss):
        c += 1
    return c
