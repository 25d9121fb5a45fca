"""The staircase law on the integers: Laplace's in blocks as wide as the sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final, overload

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, probability
from sfumato.core.interval import Bounds, exp_bounds
from sfumato.noise.categorical import uniform_block
from sfumato.noise.laplace import Geometric
from sfumato.noise.law import LARGEST, Integers, Size, checked_parameter, shape_of
from sfumato.noise.source import Source

_SELDOM = Fraction(1, 1 << 12)
_WIDEST = 1 << 40


@final
@dataclass(frozen=True, slots=True)
class Staircase:
    """P(Z = k) proportional to b^level(|k|), level(k) = floor((k + width - rise) / width), b = exp(-rate).

    |Z| = width G + J has weight b^G for J < rise and b^(G + 1) for rise <= J < width. So G is geometric and J uniform, kept
    when it is below the rise or else with probability b; a fair sign, and a negative zero is drawn again. How many proposals
    are not kept says nothing about the result.
    """

    width: int
    rise: int
    rate: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", checked_parameter(self.rate, name="rate"))
        if not 1 <= self.rise <= self.width < _WIDEST:
            raise BadInput("the rise is not between 1 and the width", hint="give 1 <= rise <= width, in whole steps")
        if Fraction(self.rise, self.width) < _SELDOM and self.rate > 8:
            raise BadInput("this staircase is too steep to be drawn", hint="give a higher rise, or a coarser grain")

    @property
    def reach(self) -> int:
        """The whole part of the scale of the blocks, in steps."""
        return int(self.width * max(Fraction(1), 1 / self.rate))

    def pmf_bounds(self, k: int, bits: int) -> Bounds:
        """`low <= P(Z = k) * 2**bits <= high`."""
        work = bits + 32 + self.reach.bit_length()
        low, high = exp_bounds(-self._level(abs(k)) * self.rate, work)
        return self._over_total((low << work, high << work), work, bits)

    def tail_bounds(self, m: int, bits: int) -> Bounds:
        """`low <= P(Z >= m) * 2**bits <= high`."""
        if m <= 0:
            low, high = self.tail_bounds(1 - m, bits)
            return (1 << bits) - high, (1 << bits) - low
        work = bits + 32 + self.reach.bit_length()
        return self._over_total(self._weight_from(m, work), work, bits)

    def within(self, confidence: Number) -> int:
        """The smallest t for which P(|Z| <= t) >= confidence is certain."""
        miss = 1 - probability(confidence, name="confidence")
        bits = 128 + miss.denominator.bit_length()
        low, high = -1, 1
        while 2 * self.tail_bounds(high + 1, bits)[1] > miss * (1 << bits):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            covered = 2 * self.tail_bounds(middle + 1, bits)[1] <= miss * (1 << bits)
            low, high = (low, middle) if covered else (middle, high)
        return high

    @overload
    def sample(self, source: Source, size: None = None) -> int: ...
    @overload
    def sample(self, source: Source, size: Size) -> Integers: ...
    @overload
    def sample(self, source: Source, size: Size | None) -> int | Integers: ...
    def sample(self, source: Source, size: Size | None = None) -> int | Integers:
        """One draw as an int, or an int64 array of that size."""
        if size is None:
            return int(self._block(source, 1)[0])
        shape = shape_of(size)
        return self._block(source, int(np.prod(shape, dtype=np.int64))).reshape(shape)

    def _block(self, source: Source, count: int) -> Integers:
        out = np.empty(count, dtype=np.int64)
        done = 0
        blocks = Geometric(1 / self.rate)
        while done < count:
            missing = count - done
            inside = uniform_block(self.width, missing, source)
            kept = (inside < self.rise) | (blocks.sample(source, missing) >= 1)
            magnitude = np.minimum(blocks.sample(source, missing), LARGEST // self.width - 1) * self.width + inside
            negative = uniform_block(2, missing, source)
            kept &= (magnitude > 0) | (negative == 0)
            drawn = (magnitude * (1 - 2 * negative))[kept]
            out[done : done + drawn.size] = drawn
            done += drawn.size
        return out

    def _level(self, k: int) -> int:
        return (k + self.width - self.rise) // self.width

    def _weight_from(self, m: int, work: int) -> Bounds:
        """Bounds over 2**(2 work) of the sum of b^level(k), k >= m >= 0: what is left of m's block, then all others."""
        level, one = self._level(m), 1 << work
        left = level * self.width + self.rise - m
        here, after, b = (exp_bounds(-n * self.rate, work) for n in (level, level + 1, 1))
        low = (left * here[0] << work) + (self.width * after[0] << (2 * work)) // (one - b[0])
        high = (left * here[1] << work) - (-(self.width * after[1] << (2 * work)) // (one - b[1]))
        return low, high

    def _over_total(self, weight: Bounds, work: int, bits: int) -> Bounds:
        total = self._weight_from(0, work)
        zero = 1 << (2 * work)
        low, high = 2 * total[0] - zero, 2 * total[1] - zero
        return (weight[0] << bits) // high, -((-weight[1] << bits) // low)
