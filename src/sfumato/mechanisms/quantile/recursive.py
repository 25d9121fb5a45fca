"""Many quantiles by halves: the middle one first, then those to its left among the rows to its left, and so on."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Self, final

import numpy as np

from sfumato.core.exact import Number, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.choice.exponential import Exponential
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.quantile.asked import Levels
from sfumato.mechanisms.quantile.independent import sharpened
from sfumato.mechanisms.quantile.inverse_sensitivity import rank_cases
from sfumato.mechanisms.quantile.jitter import Jittering, pieces, together
from sfumato.mechanisms.quantile.ranks import GRAIN, RankDistance
from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise import Source
from sfumato.noise.plateaus import plateau_bounds

_WRITTEN = 4096
_BITS = 192

Bounds = tuple[int, int]
Lists = dict[tuple[int, ...], Bounds]


@final
@dataclass(frozen=True)
class RecursiveQuantiles(Jittering):
    """The middle quantile q by its own exponential mechanism, which splits rows and points; each half likewise, with q' / q and
    (q' - q) / (1 - q). It takes `levels` = floor(log2 m) + 1 rounds for m quantiles. Rows are first moved apart (`jitter`).

    Proof: Kaplan, Schnapp and Stemmer 2022. What was chosen so far fixes public ranges, and a row is in one of them per
    level. There a weight w, added, moves the rank distance to q by at most max(q, 1-q) w (`Quantile`), hence a bounded
    range of 2 rate_q max(q, 1-q) w = rate w, rate_q = rate / (2 max(q, 1-q)). A unit's rows may lie in several ranges of a
    level: choices there are independent given the past, so their ranges add up to rate times the weight of all. Replacing
    takes away M and adds P with M + P <= l1, one after the other. So each level costs a range of rate l1, under both
    relations; levels follow each other. Jitter keeps neighbours (`jittered`), draws are exact (`Plateaus`).
    """

    size: int
    quantiles: Levels = Levels()
    rate: Positive = Positive()
    jitter: int = 1
    piece: int = 1
    by_group: bool = False

    def __post_init__(self) -> None:
        self._check()

    @property
    def levels(self) -> int:
        return len(self.quantiles).bit_length()

    def rounds(self, reach: Sensitivity) -> tuple[int, Fraction]:
        return self.levels, reach.l1

    def drawn(self, tally: Tally, source: Source, count: int) -> list[list[int]]:
        return self._draw(tally, 0, self.points, self.quantiles, source, count)

    def _draw(
        self, tally: Tally, low: int, high: int, levels: Sequence[Fraction], source: Source, count: int
    ) -> list[list[int]]:
        """Draws that chose the same point go on together."""
        if not levels or low >= high:
            return [[high - 1] * len(levels)] * count
        middle = levels[len(levels) // 2]
        chosen = _distance(tally, low, high, middle).draw(self.rate * sharpened(middle), source, count)
        left, right = _halves(levels)
        found: list[list[int]] = [[]] * count
        for point in np.unique(chosen).tolist():
            rows = np.flatnonzero(chosen == point)
            before = self._draw(tally, low, point + 1, left, source, rows.size)
            after = self._draw(tally, point + 1, high, right, source, rows.size)
            for row, one, two in zip(rows.tolist(), before, after, strict=True):
                found[row] = [*one, point, *two]
        return found

    def within(self, confidence: Number, *, rows: int = 1 << 20) -> float:
        """How far in rank (weight) each released point may be from its quantile, with this confidence for all at once,
        whatever the data, when there are at most `rows` pieces of weight.

        A choice errs by at most t with probability 1 - miss / (2 m), whatever was chosen before; a quantile's rank inherits at
        most the errors of the choices above it, and the rows that stand together with each.
        """
        miss = (1 - probability(confidence, name="confidence")) / 2
        slowest = self.rate / 2
        each = Exponential(self.points, slowest, GRAIN).within(1 - miss / len(self.quantiles))
        lump = together(rows, self.jitter, float(miss)) * self.piece
        return math.nextafter(self.levels * (each + lump) * (1 + 1e-12), math.inf)

    def law(self, value: Tally | Sequence[Tally]) -> Law | None:
        if not isinstance(value, Tally) or self.size > 64:
            return None
        places, each = pieces(value.inside(self.size), self.piece)
        shifts = self.jitter**places.size
        if (self.points) ** len(self.quantiles) * shifts > _WRITTEN:
            return None
        found: dict[Hashable, Bounds] = {}
        for shift in product(range(self.jitter), repeat=places.size):
            moved = Tally.of(places * self.jitter + np.array(shift, dtype=np.int64), each)
            for points, (low, high) in self._lists(moved, 0, self.points, self.quantiles).items():
                key = tuple(t // self.jitter for t in points)
                old = found.get(key, (0, 0))
                found[key] = old[0] + low // shifts, old[1] - (-high // shifts)
        return Law(_BITS, found)

    def _lists(self, tally: Tally, low: int, high: int, levels: Sequence[Fraction]) -> Lists:
        if not levels or low >= high:
            return {(high - 1,) * len(levels): (1 << _BITS, 1 << _BITS)}
        middle = levels[len(levels) // 2]
        runs = _distance(tally, low, high, middle).runs(None)
        pairs = plateau_bounds(self.rate * sharpened(middle) / middle.denominator, runs, 2 * _BITS)
        least, most = sum(a for a, _ in pairs), sum(b for _, b in pairs)
        left, right = _halves(levels)
        found: Lists = {}
        for start, length, (a, b) in zip(runs.starts.tolist(), runs.lengths.tolist(), pairs, strict=True):
            for t in range(start, start + length):
                chance = ((a // length << _BITS) // most, -((-b // length << _BITS) // least))
                before, after = self._lists(tally, low, t + 1, left), self._lists(tally, t + 1, high, right)
                for (one, p), (two, q) in product(before.items(), after.items()):
                    found[(*one, t, *two)] = (
                        chance[0] * p[0] * q[0] >> 2 * _BITS,
                        -(-chance[1] * p[1] * q[1] >> 2 * _BITS),
                    )
        return found

    def audit_cases(self) -> Sequence[Case[Tally]]:
        """A row comes at the far end, and what is best goes there, twice."""
        if len(self.quantiles) == 1:
            return rank_cases(self.size)
        left = Tally.of([self.size // 3, self.size - 2], [1, 2])
        right = Tally.of([self.size // 3, self.size - 2, self.size - 1], [1, 2, 1])
        return (Case(left, right, Sensitivity.of(1), tight=False), *rank_cases(self.size))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(42, "1/2", 1), cls(24, ["1/2", "3/4"], 1), cls(8, "1/2", 1, jitter=2))


def _distance(tally: Tally, low: int, high: int, level: Fraction) -> RankDistance:
    first, last = (int(i) for i in np.searchsorted(tally.places, [low, high], side="left"))
    return RankDistance(tally, low, high, first, last, level)


def _halves(levels: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """The quantiles left and right of the middle one, as quantiles of their own rows."""
    at = len(levels) // 2
    middle = levels[at]
    return [q / middle for q in levels[:at]], [(q - middle) / (1 - middle) for q in levels[at + 1 :]]
