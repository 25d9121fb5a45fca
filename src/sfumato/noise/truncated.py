"""The Laplace law on the integers, cut off at a public bound: noise that never exceeds it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final, overload

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, probability
from sfumato.core.interval import Bounds, exp_bounds
from sfumato.noise.categorical import uniform_block
from sfumato.noise.laplace import DiscreteLaplace, Geometric
from sfumato.noise.law import Integers, Size, checked_parameter, shape_of
from sfumato.noise.source import Source

_WIDEST = 1 << 61


@final
@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """P(Z = k) = a^|k| (1-a) / (1 + a - 2 a^(bound+1)) for |k| <= bound, a = exp(-1/scale); 0 beyond.

    Drawn by rejection: a wide bound from the whole Laplace law, a narrow one from the uniform law, where k is kept when a
    geometric draw is at least |k|. More than 6 of 10 proposals are kept, and how many are not says nothing about the result.
    """

    scale: Fraction
    bound: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_parameter(self.scale, name="scale"))
        if not 0 <= self.bound < _WIDEST:
            raise BadInput("a bound on noise is negative, or beyond 2**61 steps", hint="give a coarser grain")

    @property
    def reach(self) -> int:
        """The whole part of the scale, or the bound when that is less."""
        return min(int(self.scale), self.bound)

    def pmf_bounds(self, k: int, bits: int) -> Bounds:
        """`low <= P(Z = k) * 2**bits <= high`."""
        return self._share(k, k, bits)

    def tail_bounds(self, m: int, bits: int) -> Bounds:
        """`low <= P(Z >= m) * 2**bits <= high`."""
        return self._share(m, self.bound, bits)

    def within(self, confidence: Number) -> int:
        """The smallest t for which P(|Z| <= t) >= confidence is certain; never more than the bound."""
        miss = 1 - probability(confidence, name="confidence")
        bits = 128 + 2 * int(self.scale).bit_length() + miss.denominator.bit_length()
        low, high = -1, self.bound
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
        while done < count:
            kept = self._proposals(source, count - done)
            out[done : done + kept.size] = kept
            done += kept.size
        return out

    def _proposals(self, source: Source, count: int) -> Integers:
        if self.bound >= self.scale:
            proposed = DiscreteLaplace(self.scale).sample(source, count)
            return proposed[np.abs(proposed) <= self.bound]
        proposed = uniform_block(2 * self.bound + 1, count, source) - self.bound
        return proposed[Geometric(self.scale).sample(source, count) >= np.abs(proposed)]

    def _share(self, first: int, last: int, bits: int) -> Bounds:
        """Bounds of P(first <= Z <= last)."""
        first, last = max(first, -self.bound), min(last, self.bound)
        if first > last:
            return 0, 0
        if last <= 0:
            first, last = -last, -first
        if first < 0:
            left, right = self._share(1, -first, bits + 2), self._share(0, last, bits + 2)
            return left[0] + right[0] >> 2, -(-(left[1] + right[1]) >> 2)
        work = bits + 16 + 2 * int(self.scale).bit_length()
        one = 1 << work
        near, far, edge, step = (exp_bounds(-k / self.scale, work) for k in (first, last + 1, self.bound + 1, 1))
        total_low, total_high = one + step[0] - 2 * edge[1], one + step[1] - 2 * edge[0]
        low, high = max(0, near[0] - far[1]), near[1] - far[0]
        return (low << bits) // total_high, min(1 << bits, -((-high << bits) // total_low))
