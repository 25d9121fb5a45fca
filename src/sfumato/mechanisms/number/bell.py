"""Densities on an open interval, as whole weights on the lattice points inside: the bells of bounded noise."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Literal

from sfumato.core.errors import BadInput
from sfumato.core.interval import exp_bounds, exp_of_ratio

Family = Literal["power1", "power2", "double"]
"""exp(-(1 - x^2)^-p) for p 1 or 2, or exp(-exp(1 / (1 - x^2))), on -1 < x < 1 (Dagan and Kur 2022)."""

FAMILIES: tuple[Family, ...] = ("power1", "power2", "double")
MOST_STEPS = 1 << 17
_TOTAL = 61
_BITS = 96


@lru_cache(maxsize=16)
def bell(family: Family, radius: Fraction) -> tuple[int, ...]:
    """Whole weights for 0, 1, 2, ... steps, all below `radius` steps, that sum (on both sides) to less than 2**62.

    The density is rounded down to a whole multiple of a tiny unit, and down further where that is needed to be log-concave;
    where it is below the unit the support ends. This is a law of its own: what it costs is computed from these weights.
    """
    if radius > MOST_STEPS:
        raise BadInput(
            f"a radius of more than {MOST_STEPS} steps was asked",
            hint="give a coarser grain, such as a sixteenth of the sensitivity",
        )
    last = -(-radius.numerator // radius.denominator) - 1
    unit = _TOTAL - (2 * last + 1).bit_length()
    weights = [1 << unit]
    for k in range(1, last + 1):
        weight = _height(family, k, radius) >> (_BITS - unit)
        if k > 1:
            weight = min(weight, weights[-1] * weights[-1] // weights[-2])
        if weight < 1:
            break
        weights.append(weight)
    return tuple(weights)


def _height(family: Family, k: int, radius: Fraction) -> int:
    """At most density(k / radius) / density(0), times 2**_BITS; the inverse of 1 - x^2 is p/q."""
    n, d = radius.numerator, radius.denominator
    p, q = n * n, n * n - (k * d) ** 2
    match family:
        case "power1":
            return exp_of_ratio(q - p, q, _BITS)[0]
        case "power2":
            return exp_of_ratio(q * q - p * p, q * q, _BITS)[0]
        case "double":
            if p > 64 * q:
                return 0
            excess = exp_of_ratio(p, q, _BITS)[1] - exp_of_ratio(1, 1, _BITS)[0]
            return exp_bounds(Fraction(-excess, 1 << _BITS), _BITS)[0]
