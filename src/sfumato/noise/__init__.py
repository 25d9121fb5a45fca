"""Where randomness comes from: exact noise on the integers, from a cryptographic source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, non_negative, positive, probability
from sfumato.noise.bernoulli import bernoulli_exp_of_ratio
from sfumato.noise.categorical import Categorical, Weighted, uniform_block
from sfumato.noise.coins import Coins, toss
from sfumato.noise.gaussian import DiscreteGaussian
from sfumato.noise.grid import Grid, OnGrid, floor_to_grid
from sfumato.noise.laplace import DiscreteLaplace, Geometric
from sfumato.noise.law import Integers, Law, Size, shape_of
from sfumato.noise.source import Source, SystemSource, system_source
from sfumato.noise.staircase import Staircase
from sfumato.noise.symmetric import Symmetric
from sfumato.noise.truncated import TruncatedLaplace

__all__ = [
    "Categorical",
    "Coins",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Geometric",
    "Grid",
    "Law",
    "OnGrid",
    "Source",
    "Staircase",
    "Symmetric",
    "SystemSource",
    "TruncatedLaplace",
    "Weighted",
    "bernoulli_exp",
    "categorical",
    "categorical_weights",
    "coins",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential",
    "floor_to_grid",
    "geometric",
    "system_source",
    "uniform_below",
]

Known = TypeVar("Known")


@lru_cache(maxsize=256, typed=True)
def _known(make: Callable[[Any], Known], parameter: Any) -> Known:
    return make(parameter)


def _law(make: Callable[[Any], Known], parameter: object) -> Known:
    """The law with this parameter; what cannot be hashed is no number, and is refused by the law."""
    try:
        result: Known = _known(make, parameter)
    except TypeError:
        result = make(parameter)
    return result


def _of_sigma(sigma: Number) -> DiscreteGaussian:
    return DiscreteGaussian(positive(sigma, name="sigma") ** 2)


@overload
def discrete_laplace(scale: Number, size: None = None, *, source: Source | None = None) -> int: ...
@overload
def discrete_laplace(scale: Number, size: Size, *, source: Source | None = None) -> Integers: ...
def discrete_laplace(scale: Number, size: Size | None = None, *, source: Source | None = None) -> int | Integers:
    """Noise with P(k) proportional to exp(-|k| / scale), exactly: an int, or an int64 array of `size`."""
    return _law(DiscreteLaplace, scale).sample(source or system_source(), size)


@overload
def discrete_gaussian(
    sigma: Number | None = None, size: None = None, *, variance: Number | None = None, source: Source | None = None
) -> int: ...
@overload
def discrete_gaussian(
    sigma: Number | None = None, *, size: Size, variance: Number | None = None, source: Source | None = None
) -> Integers: ...
@overload
def discrete_gaussian(
    sigma: Number | None, size: Size, *, variance: Number | None = None, source: Source | None = None
) -> Integers: ...
def discrete_gaussian(
    sigma: Number | None = None,
    size: Size | None = None,
    *,
    variance: Number | None = None,
    source: Source | None = None,
) -> int | Integers:
    """Noise with P(k) proportional to exp(-k^2 / (2 sigma^2)), exactly: an int, or an int64 array of `size`."""
    if (sigma is None) == (variance is None):
        raise BadInput("a Gaussian was asked with neither or both of sigma and variance", hint="give one of the two")
    law = _law(DiscreteGaussian, variance) if variance is not None else _law(_of_sigma, sigma)
    return law.sample(source or system_source(), size)


@overload
def geometric(scale: Number, size: None = None, *, source: Source | None = None) -> int: ...
@overload
def geometric(scale: Number, size: Size, *, source: Source | None = None) -> Integers: ...
def geometric(scale: Number, size: Size | None = None, *, source: Source | None = None) -> int | Integers:
    """P(k) proportional to exp(-k / scale) for k = 0, 1, 2, ..., exactly: an int, or an int64 array of `size`."""
    return _law(Geometric, scale).sample(source or system_source(), size)


exponential = geometric
"""The one-sided exponential law lives on the integers here; on a lattice for reals it is `OnGrid.exponential`."""


def bernoulli_exp(x: Number, *, source: Source | None = None) -> bool:
    """True with probability exp(-x), exactly, for a rational x of 0 or more."""
    exact = non_negative(x, name="x")
    return bernoulli_exp_of_ratio(exact.numerator, exact.denominator, source or system_source())


def coins(chance: Number, size: Size, *, source: Source | None = None) -> Coins:
    """An array of coins, each True with probability `chance`, exactly; a rational of 0 or more and below 1."""
    shape = shape_of(size)
    flat = toss(probability(chance, name="chance"), int(np.prod(shape, dtype=np.int64)), source or system_source())
    return flat.reshape(shape)


@overload
def categorical(
    scores: Sequence[int] | NDArray[Any], *, rate: Number, size: None = None, source: Source | None = None
) -> int: ...
@overload
def categorical(
    scores: Sequence[int] | NDArray[Any], *, rate: Number, size: Size, source: Source | None = None
) -> Integers: ...
def categorical(
    scores: Sequence[int] | NDArray[Any], *, rate: Number, size: Size | None = None, source: Source | None = None
) -> int | Integers:
    """An index i with probability proportional to exp(rate * scores[i]), exactly, for whole scores and a rational rate."""
    result: int | Integers = Categorical.of(scores, rate).sample(source or system_source(), size)
    return result


@overload
def categorical_weights(
    weights: Sequence[int] | NDArray[Any], *, size: None = None, source: Source | None = None
) -> int: ...
@overload
def categorical_weights(
    weights: Sequence[int] | NDArray[Any], *, size: Size, source: Source | None = None
) -> Integers: ...
def categorical_weights(
    weights: Sequence[int] | NDArray[Any], *, size: Size | None = None, source: Source | None = None
) -> int | Integers:
    """An index i with probability weights[i] / sum(weights), exactly, for whole weights of 0 or more."""
    result: int | Integers = Weighted.of(weights).sample(source or system_source(), size)
    return result


@overload
def uniform_below(n: int, size: None = None, *, source: Source | None = None) -> int: ...
@overload
def uniform_below(n: int, size: Size, *, source: Source | None = None) -> Integers: ...
def uniform_below(n: int, size: Size | None = None, *, source: Source | None = None) -> int | Integers:
    """A whole number from 0 to n - 1, each alike: an int, or an int64 array of `size`."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise BadInput("a uniform draw needs a whole bound of 1 or more", hint="give how many outcomes there are")
    stream = source or system_source()
    if size is None:
        return stream.below(int(n))
    if n > 1 << 63:
        raise BadInput("an array cannot hold numbers beyond 64 bits", hint="draw them one by one, without a size")
    shape = shape_of(size)
    return uniform_block(int(n), int(np.prod(shape, dtype=np.int64)), stream).reshape(shape)
