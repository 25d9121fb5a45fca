"""What the laws of integer noise share: how they are drawn, and how sizes are read."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Final, SupportsIndex, final, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive
from sfumato.core.interval import Bounds
from sfumato.noise.source import Source
from sfumato.noise.tables import table

Integers = NDArray[np.int64]
Size = SupportsIndex | Sequence[SupportsIndex]

LARGEST: Final = 2**63 - 1
"""Arrays saturate at plus and minus this. Single draws are Python integers and do not."""

_FEW = 48  # below this many draws a table is not worth its making
_WIDE = 1 << 52  # beyond this scale arrays are drawn one by one, and saturate noticeably
_MOST = 1 << 32
_BITS = 4096


class Law(ABC):
    """Integer noise with weights exp(-linear x - square x^2) at distance x from 0: on both sides, or on one.

    The law drawn is the law stated, exactly: there is no rounding, no truncation and no float probability. Arrays are
    int64 and saturate at plus and minus 2**63 - 1, which has probability below 2**-2900 at scales up to 2**52.
    """

    @property
    @abstractmethod
    def linear(self) -> Fraction: ...

    @property
    @abstractmethod
    def square(self) -> Fraction: ...

    @property
    @abstractmethod
    def mirrored(self) -> bool: ...

    @property
    @abstractmethod
    def reach(self) -> int:
        """The whole part of the scale."""

    @property
    @abstractmethod
    def mean_square(self) -> float:
        """The expected square of the noise, for display (double precision, not certified)."""

    @abstractmethod
    def draw(self, source: Source) -> int:
        """One draw, without a table; its time does not depend on its value."""

    @abstractmethod
    def pmf_bounds(self, k: int, bits: int) -> Bounds:
        """`low <= P(Z = k) * 2**bits <= high`."""

    @abstractmethod
    def tail_bounds(self, m: int, bits: int) -> Bounds:
        """`low <= P(Z >= m) * 2**bits <= high`."""

    @abstractmethod
    def within(self, confidence: Number) -> int:
        """The smallest t with P(|Z| <= t) >= confidence, certified."""

    @final
    @property
    def tabled(self) -> bool:
        """Whether arrays come from a table; beyond that scale draws are made one by one."""
        return self.reach <= _WIDE

    @final
    def block(self, source: Source, count: int) -> Integers:
        """`count` draws at once."""
        out = np.empty(count, dtype=np.int64)
        if count < _FEW or not self.tabled:
            for i in range(count):
                out[i] = max(-LARGEST, min(LARGEST, self.draw(source)))
        else:
            table(self).fill(out, source)
        return out

    @overload
    def sample(self, source: Source, size: None = None) -> int: ...
    @overload
    def sample(self, source: Source, size: Size) -> Integers: ...
    @overload
    def sample(self, source: Source, size: Size | None) -> int | Integers: ...
    @final
    def sample(self, source: Source, size: Size | None = None) -> int | Integers:
        """One draw as an int, or an int64 array of that size."""
        if size is None:
            return source.one(self)
        shape = shape_of(size)
        return self.block(source, prod(shape)).reshape(shape)


def shape_of(size: Size) -> tuple[int, ...]:
    """A size as numpy's shapes: whole numbers, none negative, no more than 2**32 draws in all."""
    wanted = BadInput(
        "a size is not a whole number of draws", hint="give a size such as 1000 or (10, 3), or None for one draw"
    )
    try:
        parts = tuple(map(operator.index, size)) if isinstance(size, Sequence) else (operator.index(size),)
    except TypeError:
        raise wanted from None
    if isinstance(size, bool | str) or min(parts, default=0) < 0:
        raise wanted
    if prod(parts) > _MOST:
        raise BadInput("more than 2**32 draws were asked at once", hint="draw them in several blocks")
    return parts


def checked_parameter(value: Number, *, name: str) -> Fraction:
    """A positive parameter, of a length that arithmetic can bear."""
    result = positive(value, name=name)
    if max(result.numerator.bit_length(), result.denominator.bit_length()) > _BITS:
        raise BadInput(f"{name} is written with more than {_BITS} bits", hint=f"round {name} to fewer digits")
    return result
