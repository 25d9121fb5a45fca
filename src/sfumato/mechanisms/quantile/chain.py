"""The weights of joint quantiles on a chain of gaps: forward by prefix scans of positive terms, backward by exact choices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise import Source
from sfumato.noise.dyadic import Dyadic
from sfumato.noise.law import Integers
from sfumato.noise.powers import powers

Floats = NDArray[np.float64]

FLOOR_BITS = 128
"""All outputs together get this much weight, 2**-128, beside the weight exp(0) of one that is exactly right."""

_SPARE = 64
_CUT = 700
_ROW = 1 << 12


def outputs(points: int, count: int) -> int:
    """How many increasing lists of `count` points there are, repeats allowed."""
    return math.comb(points + count - 1, count)


def reach(points: int, count: int) -> int:
    """Nats beyond which a weight no longer counts: 2**-64 of what the floor gives each output."""
    return math.ceil((outputs(points, count).bit_length() + FLOOR_BITS + _SPARE) * math.log(2))


@final
@dataclass(frozen=True, eq=False)
class Step:
    """The gaps low ... low + len(errors) - 1 where quantile j may be: its rank error in each (times the denominator), and
    for k = 1, 2, ... the weight of all beginnings whose last k quantiles are there."""

    low: int
    errors: Integers
    weights: list[Floats]

    @property
    def all(self) -> Floats:
        total: Floats = np.sum(self.weights, axis=0)
        return total


@final
class Chain:
    """Gaps between the places of a tally, and quantiles a_j / b among them.

    An output o_1 <= ... <= o_m weighs exp(-rate * sum over j = 0 ... m of |e_(j+1) - e_j|), where e_j = b r(o_j) - a_j n, r(t)
    is the weight up to t, and e_0 = e_(m+1) = 0. Points between two neighbouring places have one rank: they are one gap.
    k quantiles in a gap of L points count C(L+k-1, k) lists.
    """

    def __init__(self, tally: Tally, points: int, tops: tuple[int, ...], bottom: int, rate: Fraction) -> None:
        self.points, self.tops, self.rate = points, tops, rate / bottom
        self.total = tally.total
        edges = np.concatenate([[0], tally.places, [points]])
        self.starts, self.lengths = edges[:-1], np.diff(edges)
        self.ranks = tally.below * bottom
        # Twice the largest error is at most the sum, since it begins and ends at 0.
        self.widest = int(reach(points, len(tops)) / (2 * self.rate)) + 1
        self.steps = self._forward()

    def _near(self, j: int) -> tuple[int, Integers]:
        centre = self.tops[j] * self.total
        low = int(np.searchsorted(self.ranks, centre - self.widest, side="left"))
        high = int(np.searchsorted(self.ranks, min(centre + self.widest, (1 << 63) - 1), side="right"))
        return low, self.ranks[low:high] - centre

    def _forward(self) -> list[Step]:
        low, errors = self._near(0)
        first = self._exp(errors) * self.lengths[low : low + errors.size]
        steps = [Step(low, errors, [first])]
        for j in range(1, len(self.tops)):
            before = steps[-1]
            low, errors = self._near(j)
            gap = (self.tops[j] - self.tops[j - 1]) * self.total
            lengths = self.lengths[low : low + errors.size]
            weights = [self._arrivals(before, low, errors, gap) * lengths]
            stay = float(self._exp(np.array([gap]))[0])
            start, end = max(low, before.low), min(low + errors.size, before.low + before.errors.size)
            for k, old in enumerate(before.weights, start=2):
                if start >= end:
                    break
                kept = np.zeros(errors.size)
                here, there = slice(start - low, end - low), slice(start - before.low, end - before.low)
                kept[here] = old[there] * stay * ((lengths[here] + float(k - 1)) / k)
                weights.append(kept)
            steps.append(Step(low, errors, weights))
        return steps

    def _arrivals(self, before: Step, low: int, errors: Integers, gap: int) -> Floats:
        """For each gap i the sum over gaps i' < i of weight(i') exp(-rate |e(i) - e'(i')|).

        Errors e' at or below e(i) lie in earlier gaps; they are a prefix. Those above it in earlier gaps are in (e, e + gap);
        cut at the multiples of `gap`, that is the end of one block and the beginning of the next: no sum is ever subtracted.
        """
        if gap == 0 or not before.errors.size or not errors.size:
            return np.zeros(errors.size)
        weight, x = before.all, before.errors
        up_x, down_x = self._both(x)
        up_y, down_y = self._both(errors)
        upto = np.searchsorted(x, errors, side="right")
        left = np.concatenate([[0.0], running(weight * up_x)])[upto] * down_y

        block_x, block_y = x // gap, errors // gap
        terms, ends = weight * down_x, np.empty(x.size)
        begins = np.empty(x.size)
        cuts = [0, *(np.flatnonzero(np.diff(block_x)) + 1).tolist(), x.size]
        for a, z in pairwise(cuts):
            begins[a:z] = running(terms[a:z])
            ends[a:z] = running(terms[a:z][::-1])[::-1]
        earlier = np.clip(low + np.arange(errors.size) - before.low, 0, x.size)
        first, last = np.minimum(upto, x.size - 1), np.maximum(earlier - 1, 0)
        right = np.where((upto < earlier) & (block_x[first] == block_y), ends[first], 0.0)
        right += np.where((upto < earlier) & (block_x[last] == block_y + 1), begins[last], 0.0)
        total: Floats = left + right * up_y
        return total

    def _exp(self, distances: Integers) -> Floats:
        return powers(self.rate, np.abs(distances), cut=_CUT)

    def _both(self, errors: Integers) -> tuple[Floats, Floats]:
        """exp(rate e) and exp(-rate e)."""
        small = self._exp(errors)
        return np.where(errors >= 0, 1 / small, small), np.where(errors >= 0, small, 1 / small)

    # ── backward ─────────────────────────────────────────────────────────────

    def draw(self, source: Source, count: int) -> list[list[int]]:
        """Points for each quantile; draws that have said the same so far go on together."""
        m, found = len(self.tops), [[0] * len(self.tops) for _ in range(count)]
        last = self.steps[-1]
        ending = self._exp(last.errors)
        weights = [each * ending for each in last.weights]
        picks = Dyadic.of(np.concatenate([*weights, [2.0**-FLOOR_BITS]])).sample(source, count)
        size = last.errors.size
        anywhere = picks == size * len(weights)
        for row in np.flatnonzero(anywhere).tolist():
            found[row] = sorted_points(self.points, m, source)
        rows = np.flatnonzero(~anywhere)
        todo = _grouped(m, last.low + picks[rows] % max(size, 1), picks[rows] // max(size, 1) + 1, rows)
        while todo:
            (j, gap), (repeats, members) = todo.pop()
            start, length = int(self.starts[gap]), int(self.lengths[gap])
            for row in members.tolist():
                found[row][j - repeats : j] = [start + t for t in sorted_points(length, repeats, source)]
            if j > repeats:
                before = self.steps[j - repeats - 1]
                error = int(self.ranks[gap]) - self.tops[j - repeats] * self.total
                size = min(before.errors.size, max(0, gap - before.low))
                way = self._exp(error - before.errors[:size])
                weights = [each[:size] * way for each in before.weights]
                picks = Dyadic.of(np.concatenate(weights)).sample(source, members.size)
                todo += _grouped(j - repeats, before.low + picks % size, picks // size + 1, members)
        return found


Group = tuple[tuple[int, int], tuple[int, Integers]]


def _grouped(j: int, gaps: Integers, repeats: Integers, rows: Integers) -> list[Group]:
    both = np.stack([gaps, repeats])
    kinds, place = np.unique(both, axis=1, return_inverse=True)
    place = place.reshape(-1)
    return [((j, int(gap)), (int(times), rows[place == i])) for i, (gap, times) in enumerate(kinds.T)]


def sorted_points(length: int, count: int, source: Source) -> list[int]:
    """A uniform increasing list of `count` points below `length`, repeats allowed.

    Proof: t_1 <= ... <= t_k below L and t_1 < t_2 + 1 < ... < t_k + k - 1 below L + k - 1 are one to one; sets are drawn by
    Floyd's method (Bentley and Floyd 1987).
    """
    if count == 1:
        return [source.below(length)]
    chosen: set[int] = set()
    for top in range(length - 1, length + count - 1):
        pick = source.below(top + 1)
        chosen.add(top if pick in chosen else pick)
    return [point - i for i, point in enumerate(sorted(chosen))]


def running(values: Floats) -> Floats:
    """Running sums, by rows of 4 096: of n positive terms within (4 096 + n / 4 096) 2**-53 of exact."""
    if values.size <= _ROW:
        return np.cumsum(values)
    rows = -(-values.size // _ROW)
    square = np.zeros(rows * _ROW)
    square[: values.size] = values
    square = np.cumsum(square.reshape(rows, _ROW), axis=1)
    square[1:] += np.cumsum(square[:-1, -1])[:, None]
    return square.reshape(-1)[: values.size]
