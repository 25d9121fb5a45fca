"""Groups by name with how many units hold each, and what the thresholds of private keys share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, Protocol

import numpy as np

from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.interval import Bounds
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import clamped_step
from sfumato.noise import Source

Held = Mapping[str, int]
"""Groups that some unit is in, by name, and how many units are. A group of nobody is not there."""

Kept = tuple[tuple[str, int], ...]
"""Groups that are told, in the order of their names, and their noisy numbers of units."""

_BITS = 256
_LARGEST = 1 << 62
_DIGITS = 12
_MANY = 128


class Noise(Protocol):
    """An integer law with certified tails."""

    def tail_bounds(self, m: int, bits: int) -> Bounds: ...
    def pmf_bounds(self, k: int, bits: int) -> Bounds: ...
    def sample(self, source: Source, size: Any) -> Any: ...


def reach_of(sensitivity: Sensitivity) -> tuple[int, int]:
    """By how much one unit changes the number of a group, and in how many groups at most."""
    linf = int(sensitivity.linf)
    groups = int(sensitivity.l1) if sensitivity.cells is None else min(sensitivity.cells, int(sensitivity.l1))
    return linf, groups


def at_least_one(chance: Fraction, times: int) -> Fraction:
    """1 - (1 - chance)^times, rounded up to a decimal that can be read; where times are many, times * chance, which is no less.

    Such a power has thousands of digits, and a threshold is searched through many of them.
    """
    if times > _MANY:
        return upward(min(Fraction(1), times * chance))
    return upward(1 - (1 - chance) ** times)


def upward(mass: Fraction) -> Fraction:
    """The least decimal of twelve digits that is not below a mass."""
    if mass <= 0:
        return Fraction(0)
    digits = Context(prec=_DIGITS, rounding=ROUND_UP)
    rounded = Fraction(digits.divide(Decimal(mass.numerator), Decimal(mass.denominator)))
    return min(Fraction(1), rounded if rounded >= mass else Fraction(1))


def alone_told(noise: Noise, threshold: int, sensitivity: Sensitivity) -> Fraction:
    """The probability that a group is told in which one unit is alone, in one of its groups at least."""
    linf, groups = reach_of(sensitivity)
    if linf == 0 or groups == 0:
        return Fraction(0)
    return at_least_one(Fraction(noise.tail_bounds(threshold - linf, _BITS)[1], 1 << _BITS), groups)


def least_threshold(noise: Noise, sensitivity: Sensitivity, mass: Fraction) -> int:
    """The lowest threshold at which a unit that is alone in its groups is betrayed with probability at most `mass`."""

    def kept(threshold: int) -> bool:
        return alone_told(noise, threshold, sensitivity) <= mass

    high = 1
    while not kept(high):
        high *= 2
        if high > _LARGEST:
            raise NotSupported("no threshold keeps the promise", hint="ask for a larger delta or epsilon")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def held(value: Held) -> tuple[list[str], Any]:
    """Names in their order, and their numbers."""
    if not isinstance(value, Mapping):
        raise BadInput("groups are not a mapping", hint="give {name: number of units}")
    names = sorted(value)
    counts = np.fromiter((clamped_step(value[name], None) for name in names), dtype=np.int64, count=len(names))
    if names and int(counts.min()) < 1:
        raise BadInput("a group of nobody was listed", hint="leave out groups without a unit: they are never examined")
    return names, np.minimum(counts, _LARGEST)


def passing(value: Held, threshold: int, noise: Noise, source: Source, count: int = 1) -> list[Kept]:
    """`count` draws: the groups whose noisy number reaches the threshold."""
    names, counts = held(value)
    noisy = np.asarray(noise.sample(source, (count, len(names)))).clip(-_LARGEST, _LARGEST) + counts
    drawn = []
    for row in noisy:
        places = np.flatnonzero(row >= threshold)
        drawn.append(tuple((names[place], int(row[place])) for place in places.tolist()))
    return drawn


def law_of(value: Held, threshold: int, noise: Noise, *, counted: bool) -> Law | None:
    """The law of what is told, group by group, for one or two groups and noise that dies out soon."""
    names, counts = held(value)
    if len(names) > 2:
        return None
    bits = 192
    each: list[list[tuple[tuple[Any, ...], Bounds]]] = []
    rest = 0
    for name, exact in zip(names, counts.tolist(), strict=True):
        told = _told_of(name, exact, threshold, noise, bits) if counted else None
        low, high = noise.tail_bounds(threshold - exact, bits)
        silent: tuple[tuple[Any, ...], Bounds] = ((), ((1 << bits) - high, (1 << bits) - low))
        if told is None:
            each.append([silent, ((name,), (low, high))])
            continue
        outcomes, beyond = told
        rest += beyond
        each.append([silent, *(((one,), pair) for one, pair in outcomes)])
    weights: dict[Any, Bounds] = {}
    for parts in product(*each):
        low = math.prod(pair[0] for _, pair in parts) >> bits * max(0, len(parts) - 1)
        high = -(-math.prod(pair[1] for _, pair in parts) >> bits * max(0, len(parts) - 1))
        weights[tuple(one for told, _ in parts for one in told)] = (low, high)
    return Law(bits, weights if each else {(): (1 << bits, 1 << bits)}, rest)


def _told_of(
    name: str, exact: int, threshold: int, noise: Noise, bits: int
) -> tuple[list[tuple[tuple[str, int], Bounds]], int]:
    found, count = [], threshold
    while count < exact or noise.pmf_bounds(count - exact, bits)[1] >> (bits - 96):
        found.append(((name, count), noise.pmf_bounds(count - exact, bits)))
        count += 1
    return found, noise.tail_bounds(count - exact, bits)[1]


@lru_cache(maxsize=64)
def known(make: Any, *parameters: Any) -> Any:
    """A law, made once for its parameters: tables of noise are kept with it."""
    return make(*parameters)
