"""Inverse-CDF tables: a lookup for most draws, as many more random digits as it takes for the others."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import factorial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.interval import exp_bounds
from sfumato.noise.ladder import Decay, Integers, Places, Thresholds, Uniform, brim, decays, ladder
from sfumato.noise.source import Source

TABLE_BITS = 160
"""Thresholds in a cached table lie within intervals of about 2**-TABLE_BITS."""

_WIDEST = 6  # columns are widened until the scale in columns is below 2**_WIDEST
_BLOCK = 1 << 16
_MARGIN = 2.0**-40
_TAYLOR = [(-1) ** n / factorial(n) for n in range(16, -1, -1)]


@final
class Table:
    """A law ready to be drawn in blocks.

    A draw looks up 16 random bits in `guide`; where these do not decide, 48 more are searched among the thresholds; where
    these do not decide either, thresholds are computed as finely as it takes. With columns wider than one, the uniform
    position inside the column is added to the column's near end.

    Proof (columns): Z is h-th column on a side, mirrored by the one's complement (Z or -1 - Z), so |Z| lies in
    [width h, width (h+1)] and its weight in [E_(h+1), E_h]. The outcome "(h, side), sure" is the rectangle below E_(h+1).
    The others make the caps between E_(h+1) and E_h: given a uniform Y in (0, 1), h with E_(h+1) < Y <= E_h has the cap's
    share, and Y is then uniform in its height; accepting when Y < exp(-q(|Z|)) leaves exactly the area under the weights.
    A rejected draw starts afresh, so its time says nothing about the value that is finally taken. A scale is at least 32
    columns long, so the exponents inside one column span less than 1/2 as far as 64 digits reach.
    """

    def __init__(self, law: Decay) -> None:
        self.law = law
        self.shift = max(0, law.reach.bit_length() - _WIDEST)
        self.width = 1 << self.shift
        self.sure = Thresholds(ladder(law, self.width, TABLE_BITS))
        self.values = self._values()
        self.guide, self.open = self._guide()

    def _values(self) -> Integers:
        """What each outcome of the ladder stands for; with columns, the outcome 0 stands for nothing."""
        index = np.arange(self.sure.size, dtype=np.int64)
        if self.width > 1:
            index -= 1
        if not self.law.mirrored:
            return index << self.shift
        near = np.where(index & 1, ~(index >> 1), index >> 1) if self.width > 1 else self._unfold(index)
        return np.where(near < 0, ~(~near << self.shift), near << self.shift)

    @staticmethod
    def _unfold(index: Integers) -> Integers:
        """0, 1, 2, 3, 4, ... as 0, -1, 1, -2, 2, ..."""
        return np.where(index & 1, -((index + 1) >> 1), index >> 1)

    def _guide(self) -> tuple[NDArray[Any], int]:
        least, decided = self.sure.least, self.sure.decided
        if self.width > 1:
            decided = decided & (least > 0)
        values = self.values[np.where(decided, least, 0)]
        largest = int(np.abs(values).max()) + self.width
        kind = next(k for k in (np.int16, np.int32, np.int64) if largest < np.iinfo(k).max)
        sentinel = int(np.iinfo(kind).min)
        guide: NDArray[Any] = np.where(decided, values, sentinel).astype(kind)
        return guide, sentinel

    @cached_property
    def caps(self) -> Thresholds:
        return Thresholds(brim(self.law, self.width, TABLE_BITS))

    @cached_property
    def heights(self) -> NDArray[np.float64]:
        """E_h in units of 2**-64, to a relative 2**-52, as far down as one such unit."""
        lows, _ = decays(self.law, self.width, TABLE_BITS, TABLE_BITS - 64)
        return np.array([low / (1 << (TABLE_BITS - 64)) for low in lows])

    # ── drawing ──────────────────────────────────────────────────────────────

    def fill(self, out: Integers, source: Source) -> None:
        """Overwrite a contiguous array with independent draws."""
        size = min(out.size, _BLOCK)
        digits = np.empty((size + 3) // 4, dtype=np.uint64)
        found = np.empty(size, dtype=self.guide.dtype)
        lane = lane_of(self.shift)
        position = np.empty(-(-size * lane.itemsize // 8), dtype=np.uint64)
        places, heads = [], []
        for start in range(0, out.size, _BLOCK):
            block = out[start : start + _BLOCK]
            count = block.size
            source.fill(digits)
            head = digits.view(np.uint16)[:count]
            looked_up = self.guide.take(head, out=found[:count], mode="clip")
            opened = np.flatnonzero(looked_up == self.open)
            if self.width == 1:
                block[:] = looked_up
            else:
                source.fill(position)
                tail = position.view(lane)[:count]
                tail &= lane.type(self.width - 1)
                np.bitwise_xor(looked_up, tail, out=block, casting="unsafe")
            places.append(opened + start)
            heads.append(head[opened])
        if places:
            self._refine(out, np.concatenate(places), np.concatenate(heads), source)

    def _refine(self, out: Integers, places: Places, heads: NDArray[np.uint16], source: Source) -> None:
        """Settle the draws that 16 bits left open; where there are columns, `out` still holds their positions."""
        words = source.words(places.size) >> np.uint64(16) | heads.astype(np.uint64) << np.uint64(48)
        outcome, undecided = self.sure.find(words)
        for place in undecided:
            outcome[place] = self._settle(words[place], source)
        if self.width == 1:
            out[places] = self._value_of(outcome)
            return
        position = out[places] ^ self.open
        out[places] = self._value_of(outcome) ^ position
        unsure = outcome == 0
        places = places[unsure]
        value, accepted = self._caps(position[unsure], source)
        out[places] = value
        again = places[~accepted]
        if again.size:
            fresh = np.empty(again.size, dtype=np.int64)
            self.fill(fresh, source)
            out[again] = fresh

    def _value_of(self, outcome: Integers) -> Integers:
        """The value of each outcome; those past the table's end are spelt out."""
        inside = outcome < self.values.size
        values = self.values[np.where(inside, outcome, 0)]
        for place in np.flatnonzero(~inside):
            values[place] = self._far(int(outcome[place]))
        return values

    def _far(self, outcome: int) -> int:
        index = outcome - (self.width > 1)
        if not self.law.mirrored:
            return _saturated(index << self.shift)
        if self.width == 1:
            return _saturated(-((index + 1) >> 1) if index & 1 else index >> 1)
        near = _saturated((index >> 1) << self.shift)
        return ~near if index & 1 else near

    def _settle(self, word: np.uint64, source: Source) -> int:
        """The outcome of a word that 64 bits do not decide."""
        uniform = Uniform(int(word), 64)
        steps = self.sure.ladder
        while True:
            uniform = uniform.reveal(steps.bits, source)
            found = steps.find(uniform)
            if found is not None:
                return found
            steps = ladder(self.law, self.width, 2 * steps.bits)

    def _caps(self, position: Integers, source: Source) -> tuple[Integers, NDArray[np.bool_]]:
        """Draws from the caps: the value proposed at each position, and whether it is accepted."""
        words = source.words(position.size)
        sign = np.zeros(position.size, dtype=np.int64)
        if self.law.mirrored:
            sign -= (source.words(position.size) & np.uint64(1)).astype(np.int64)
        column, undecided = self.caps.find(words)
        column[undecided] = 0
        value = (column << self.shift | position) ^ sign
        past = (position - sign).astype(np.float64)
        near = (column << self.shift).astype(np.float64)
        linear, square = float(self.law.linear), float(self.law.square)
        weight = self.heights[column] * _exp_minus(past * (linear + square * (2 * near + past)))
        level = (~words).astype(np.float64)
        accepted = level + 1 <= weight * (1 - _MARGIN)
        doubtful = ~accepted & (level < weight * (1 + _MARGIN))
        doubtful[undecided] = True
        for place in np.flatnonzero(doubtful):
            value[place], accepted[place] = self._cap(words[place], int(position[place]), bool(sign[place]), source)
        return value, accepted

    def _cap(self, word: np.uint64, position: int, negative: bool, source: Source) -> tuple[int, bool]:
        """One draw from a cap in exact arithmetic; Y = 1 - uniform."""
        uniform = Uniform(int(word), 64)
        steps = self.caps.ladder
        while True:
            uniform = uniform.reveal(steps.bits, source)
            column = steps.find(uniform)
            if column is not None:
                break
            steps = brim(self.law, self.width, 2 * steps.bits)
        x = (column << self.shift) + position
        distance = x + negative
        exponent = -(self.law.linear * distance + self.law.square * distance * distance)
        value = _saturated(x)
        bits = uniform.bits
        while True:
            low, high = exp_bounds(exponent, bits)
            level = (1 << bits) - uniform.seen
            if level <= low:
                return (~value if negative else value), True
            if level - 1 >= high:
                return 0, False
            bits *= 2
            uniform = uniform.reveal(bits, source)


def lane_of(width: int) -> np.dtype[Any]:
    """The narrowest integers that hold `width` < 64 bits."""
    return np.dtype(next(k for k in (np.uint8, np.uint16, np.uint32, np.int64) if width <= np.iinfo(k).bits))


def _saturated(value: int) -> int:
    return max(-(2**63) + 1, min(2**63 - 1, value))


def _exp_minus(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-t) for 0 <= t <= 1, within a relative 2**-42.

    Proof: the Taylor polynomial of degree 16 leaves at most 1/17! < 2**-48, and exp(-t) > 2**-2. Evaluating it needs only
    that + and * are rounded to nearest (IEEE 754): 32 operations and 17 rounded coefficients on numbers below 3.
    """
    result = np.full_like(t, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        result *= t
        result += coefficient
    return result


@lru_cache(maxsize=16)
def table(law: Decay) -> Table:
    """The table of a law, built once."""
    return Table(law)
