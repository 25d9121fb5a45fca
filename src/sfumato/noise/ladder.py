"""Certified thresholds of a law, and how a uniform number of which only the first digits are known falls between them.

A law here has weights exp(-linear x - square x^2) at x = 0, 1, 2, ..., on one side or mirrored.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.interval import exp_bounds
from sfumato.noise.source import Source

GUARD = 56
"""Digits that sums are computed with beyond those that are kept."""

_SPARE = GUARD - 16  # weights are listed until 2**-16 of a unit that is kept
_HEADS = 1 << 16
_ALL = (1 << 64) - 1

Integers = NDArray[np.int64]
Places = NDArray[np.intp]
Words = NDArray[np.uint64]


class Decay(Protocol):
    """Weights exp(-q(x)), q(x) = linear x + square x^2, at the distances x = 0, 1, 2, ... from the peak."""

    @property
    def linear(self) -> Fraction: ...
    @property
    def square(self) -> Fraction: ...
    @property
    def mirrored(self) -> bool: ...
    @property
    def reach(self) -> int:
        """The whole part of the scale."""
        ...

    def __hash__(self) -> int: ...


@final
@dataclass(frozen=True, slots=True)
class Uniform:
    """A uniform number in [0, 1) of which the first `bits` binary digits are known: [seen, seen + 1) / 2**bits."""

    seen: int
    bits: int

    def reveal(self, bits: int, source: Source) -> Uniform:
        """The same number, known to at least `bits` digits."""
        more = bits - self.bits
        return self if more <= 0 else Uniform(self.seen << more | source.bits(more), bits)


@final
@dataclass(frozen=True, slots=True)
class Ladder:
    """Cumulative probabilities of outcomes 0, 1, 2, ...: threshold i lies in [low[i], high[i]] / 2**bits.

    Outcome i is taken when the uniform number is at or above threshold i - 1 and below threshold i; outcomes past the end
    weigh less than a few units together.
    """

    bits: int
    low: list[int]
    high: list[int]

    def find(self, uniform: Uniform) -> int | None:
        """The outcome, or None when `bits` digits of the uniform number do not decide it."""
        i = bisect_right(self.low, uniform.seen)
        return None if i == len(self.low) or (i and uniform.seen < self.high[i - 1]) else i


@lru_cache(maxsize=4)
def decays(law: Decay, width: int, bits: int, spare: int = 8) -> tuple[list[int], list[int]]:
    """Bounds of exp(-q(width h)), h = 0, 1, 2, ..., as integers over 2**bits, until they fall below 2**(spare - bits).

    Proof: q(width (h+1)) - q(width h) = first + h bend, so each weight is the last one times a ratio, and each ratio the
    last one times exp(-bend); products of enclosures, floored and ceiled, enclose the product.
    """
    first = law.linear * width + law.square * width * width
    bend = 2 * law.square * width * width
    ratio_low, ratio_high = exp_bounds(-first, bits)
    bend_low, bend_high = exp_bounds(-bend, bits)
    low = high = 1 << bits
    lows, highs = [low], [high]
    while high >> spare:
        low = low * ratio_low >> bits
        high = -(-high * ratio_high >> bits)
        lows.append(low)
        highs.append(high)
        if bend:
            ratio_low = ratio_low * bend_low >> bits
            ratio_high = -(-ratio_high * bend_high >> bits)
    return lows, highs


def ladder(law: Decay, width: int, bits: int) -> Ladder:
    """The thresholds of the outcomes weighing [first, E_1, E_1, E_2, E_2, ...] (once each on one side), E_h = exp(-q(width h)).

    Columns one wide are the law itself: first = E_0. Wider columns keep what is sure below their lowest point; what is
    not sure, 1 on each side in all (the sum of E_h - E_(h+1)), comes first and is settled by rejection.
    Proof of the tail: q is convex and q(0) = 0, so E_(n+j) <= E_n E_1^j and the weights from n on are below E_n / (1 - E_1).
    """
    work = bits + GUARD
    lows, highs = decays(law, width, work, _SPARE)
    sides = 2 if law.mirrored else 1
    one = 1 << work
    first = one * (2 if law.mirrored and width > 1 else 1)
    rest = -(-highs[-1] * one // (one - highs[1])) + 1
    total_low = first + sides * sum(lows[1:])
    total_high = first + sides * (sum(highs[1:]) + rest)
    inverse_low = (1 << (2 * work)) // total_high
    inverse_high = -(-(1 << (2 * work)) // total_low)
    shift = 2 * work - bits
    below, above = first, first
    low, high = [below * inverse_low >> shift], [-(-above * inverse_high >> shift)]
    enough = (1 << bits) - 1
    for weight_low, weight_high in zip(lows[1:], highs[1:], strict=True):
        for _ in range(sides):
            below += weight_low
            above += weight_high
            low.append(below * inverse_low >> shift)
            high.append(-(-above * inverse_high >> shift))
        if low[-1] >= enough:
            break
    return Ladder(bits, low, high)


def brim(law: Decay, width: int, bits: int) -> Ladder:
    """The columns as levels: threshold h is 1 - exp(-q(width (h+1)))."""
    lows, highs = decays(law, width, bits + GUARD, _SPARE)
    one = 1 << (bits + GUARD)
    return Ladder(
        bits,
        [(one - high) >> GUARD for high in highs[1:]],
        [-(-(one - low) >> GUARD) for low in lows[1:]],
    )


@final
class Thresholds:
    """A ladder as sorted 64-bit words: fast to search, and honest about the few words that do not decide.

    For each value of a word's first 16 bits, `least` thresholds lie below all words that begin so. Where no other threshold
    touches them the outcome is `decided`; mostly there is one; where there are more it is `crowded`.
    """

    def __init__(self, steps: Ladder) -> None:
        self.ladder = steps
        cut = steps.bits - 64
        # Thresholds past the first that falls into the last word are not needed: that word always stays open.
        self.size = min(len(steps.low), bisect_left(steps.low, _ALL << cut) + 1)
        first = np.array([low >> cut for low in steps.low[: self.size]], dtype=np.uint64)
        last = np.array([min(max(0, -(-high >> cut) - 1), _ALL) for high in steps.high[: self.size]], dtype=np.uint64)
        start = np.arange(_HEADS, dtype=np.uint64) << np.uint64(48)
        end = start | np.uint64((1 << 48) - 1)
        least = np.searchsorted(last, start, side="left")
        between = np.searchsorted(first, end, side="right") - least
        self.first, self.last = np.append(first, np.uint64(_ALL)), np.append(last, np.uint64(_ALL))
        self.least = least.astype(np.int32)
        self.decided = (between == 0) & (least < self.size)
        self.crowded = between > 1

    def find(self, words: Words) -> tuple[Integers, Places]:
        """The outcome of each word, and the places of those that stay open."""
        heads = (words >> np.uint64(48)).astype(np.intp)
        outcome = self.least[heads].astype(np.int64)
        outcome += self.first[outcome] <= words
        many = np.flatnonzero(self.crowded[heads])
        outcome[many] = np.searchsorted(self.first[: self.size], words[many], side="right")
        touching = self.last[outcome - 1] >= words
        touching &= outcome > 0
        touching |= outcome >= self.size
        return outcome, np.flatnonzero(touching)
