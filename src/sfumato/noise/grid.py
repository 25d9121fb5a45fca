"""Reals on a public lattice: values are floored to whole steps of a power of two, and the noise is whole steps too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive
from sfumato.noise.gaussian import DiscreteGaussian
from sfumato.noise.laplace import DiscreteLaplace, Geometric
from sfumato.noise.law import Integers, Size
from sfumato.noise.source import Source

STEP_LIMIT = 2**62
"""Arrays of steps saturate here: clamping moves no two values apart, and leaves room to add noise."""

_FINE = 20


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """All whole multiples of `grain`, a power of two from 2**-900 to 2**900."""

    grain: Fraction

    def __post_init__(self) -> None:
        grain = positive(self.grain, name="grain")
        n, d = grain.numerator, grain.denominator
        if n & (n - 1) or d & (d - 1) or max(n, d).bit_length() > 901:
            raise BadInput(
                "a grain is not a power of two",
                hint="give a grain such as 1, '1/1024' or Fraction(1, 2**20): floats hold its multiples exactly",
            )
        object.__setattr__(self, "grain", grain)

    @classmethod
    def under(cls, scale: Number) -> Grid:
        """A grid about a million times finer than the noise."""
        exact = positive(scale, name="scale")
        exponent = exact.numerator.bit_length() - exact.denominator.bit_length() - 1 - _FINE
        return cls(Fraction(2) ** max(-900, min(900, exponent)))

    @overload
    def floor(self, value: float) -> int: ...
    @overload
    def floor(self, value: NDArray[Any]) -> Integers: ...
    def floor(self, value: float | NDArray[Any]) -> int | Integers:
        """The whole number of steps at or below each value: never rounded to nearest, which could move twice as far."""
        if not isinstance(value, np.ndarray):
            if not math.isfinite(value):
                raise _not_finite()
            return math.floor(Fraction(value) / self.grain)
        real = value.astype(np.float64)
        if not np.isfinite(real).all():
            raise _not_finite()
        # Scaling by a power of two is exact; where it overflows or vanishes, the clamp and the floor give what they should.
        with np.errstate(over="ignore", under="ignore"):
            steps = np.floor(np.ldexp(real, -self._exponent))
        steps = np.where((steps == 0) & (real < 0), -1.0, steps)
        inside = np.abs(steps) < float(STEP_LIMIT)
        return np.where(
            inside, np.where(inside, steps, 0).astype(np.int64), np.where(steps < 0, -STEP_LIMIT, STEP_LIMIT)
        )

    @overload
    def real(self, steps: int) -> float: ...
    @overload
    def real(self, steps: Integers) -> NDArray[np.float64]: ...
    def real(self, steps: int | Integers) -> float | NDArray[np.float64]:
        """Steps as floats: exact below 2**53 steps, rounded to nearest above (of the noisy sum: post-processing)."""
        if isinstance(steps, np.ndarray):
            return np.multiply(steps, float(self.grain), dtype=np.float64)
        return math.ldexp(float(steps), self._exponent)

    @property
    def _exponent(self) -> int:
        return self.grain.numerator.bit_length() - self.grain.denominator.bit_length()


@final
@dataclass(frozen=True, slots=True)
class OnGrid:
    """A law of the integers, in steps of a grid: what is drawn are exact multiples of the grain."""

    law: DiscreteLaplace | DiscreteGaussian | Geometric
    grid: Grid

    @classmethod
    def laplace(cls, scale: Number, grain: Number | None = None) -> OnGrid:
        """P(Z = k grain) proportional to exp(-|k| grain / scale)."""
        exact, grid = positive(scale, name="scale"), _grid(scale, grain)
        return cls(DiscreteLaplace(exact / grid.grain), grid)

    @classmethod
    def exponential(cls, scale: Number, grain: Number | None = None) -> OnGrid:
        """P(Z = k grain) proportional to exp(-k grain / scale), k >= 0."""
        exact, grid = positive(scale, name="scale"), _grid(scale, grain)
        return cls(Geometric(exact / grid.grain), grid)

    @classmethod
    def gaussian(cls, sigma: Number, grain: Number | None = None) -> OnGrid:
        """P(Z = k grain) proportional to exp(-(k grain)^2 / (2 sigma^2))."""
        exact, grid = positive(sigma, name="sigma"), _grid(sigma, grain)
        return cls(DiscreteGaussian((exact / grid.grain) ** 2), grid)

    @overload
    def sample(self, source: Source, size: None = None) -> float: ...
    @overload
    def sample(self, source: Source, size: Size) -> NDArray[np.float64]: ...
    @overload
    def sample(self, source: Source, size: Size | None) -> float | NDArray[np.float64]: ...
    def sample(self, source: Source, size: Size | None = None) -> float | NDArray[np.float64]:
        """One draw as a float, or a float64 array."""
        if size is None:
            return self.grid.real(self.law.sample(source))
        return self.grid.real(self.law.sample(source, size))

    def within(self, confidence: Number) -> float:
        """The smallest distance that holds the noise with this confidence."""
        return self.grid.real(self.law.within(confidence))


@overload
def floor_to_grid(value: float, grain: Number) -> int: ...
@overload
def floor_to_grid(value: NDArray[Any], grain: Number) -> Integers: ...
def floor_to_grid(value: float | NDArray[Any], grain: Number) -> int | Integers:
    """How many whole grains lie at or below each value."""
    return Grid(positive(grain, name="grain")).floor(value)


def _grid(scale: Number, grain: Number | None) -> Grid:
    return Grid.under(scale) if grain is None else Grid(positive(grain, name="grain"))


def _not_finite() -> BadInput:
    return BadInput("a value is not finite", hint="decide first what NaN and infinity count as, then clamp to a range")
