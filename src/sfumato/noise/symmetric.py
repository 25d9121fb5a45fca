"""A symmetric law on the integers given by its own whole weights: what is drawn is what is written, to the last bit."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import final, overload

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, probability
from sfumato.core.interval import Bounds
from sfumato.noise.categorical import Weighted
from sfumato.noise.law import Integers, Size
from sfumato.noise.source import Source


@final
@dataclass(frozen=True)
class Symmetric:
    """P(Z = k) = weights[|k|] / (weights[0] + 2 (weights[1] + weights[2] + ...)), exactly; 0 past the last weight."""

    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.weights or min(self.weights) < 1:
            raise BadInput(
                "a law has no weights, or one below 1", hint="give whole weights of 1 or more for 0, 1, 2, ..."
            )

    @property
    def reach(self) -> int:
        """The largest distance from 0."""
        return len(self.weights) - 1

    @cached_property
    def _law(self) -> Weighted:
        return Weighted.of((*self.weights[:0:-1], *self.weights))

    @cached_property
    def _outward(self) -> list[int]:
        """Sums of the weights at distances 0, 1, ... on one side, 0 left out: _outward[t] is P(0 < Z <= t) unscaled."""
        return list(accumulate(self.weights[1:], initial=0))

    @property
    def _total(self) -> int:
        return self.weights[0] + 2 * self._outward[-1]

    def pmf_bounds(self, k: int, bits: int) -> Bounds:
        """`low <= P(Z = k) * 2**bits <= high`."""
        return self._scaled(self.weights[abs(k)] if abs(k) <= self.reach else 0, bits)

    def tail_bounds(self, m: int, bits: int) -> Bounds:
        """`low <= P(Z >= m) * 2**bits <= high`."""
        side = self._outward[-1]
        far = min(abs(m - (m > 0)), self.reach)
        return self._scaled(side - self._outward[far] if m > 0 else side + self.weights[0] + self._outward[far], bits)

    def within(self, confidence: Number) -> int:
        """The smallest t with P(|Z| <= t) >= confidence."""
        wanted = Fraction(probability(confidence, name="confidence") * self._total - self.weights[0]) / 2
        return bisect_left(self._outward, wanted)

    @overload
    def sample(self, source: Source, size: None = None) -> int: ...
    @overload
    def sample(self, source: Source, size: Size) -> Integers: ...
    @overload
    def sample(self, source: Source, size: Size | None) -> int | Integers: ...
    def sample(self, source: Source, size: Size | None = None) -> int | Integers:
        """One draw as an int, or an int64 array of that size."""
        drawn: int | Integers = self._law.sample(source, size) - self.reach
        return drawn

    def _scaled(self, weight: int, bits: int) -> Bounds:
        return (weight << bits) // self._total, -((-weight << bits) // self._total)
