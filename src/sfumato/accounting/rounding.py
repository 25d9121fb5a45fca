"""Floats that err on a known side: what a loss says about a cost is never below the truth.

The C library's exp, expm1, log, log1p, sqrt and erfc are taken to be within 4 units in the last place.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.core.exact import down, up

ULP = 2.0**-52


def above(value: float, *, ulps: float = 4) -> float:
    """A float not below anything within `ulps` units in the last place of `value`."""
    return value if math.isinf(value) else math.nextafter(value + abs(value) * (ulps * ULP), math.inf)


def below(value: float, *, ulps: float = 4) -> float:
    """A float not above anything within `ulps` units in the last place of `value`."""
    return value if math.isinf(value) else math.nextafter(value - abs(value) * (ulps * ULP), -math.inf)


def exp_up(exponent: Fraction) -> float:
    """At least e^exponent."""
    try:
        return above(math.exp(up(exponent)))
    except OverflowError:
        return math.inf


def exp_down(exponent: Fraction) -> float:
    """At most e^exponent, and not negative."""
    try:
        return max(0.0, below(math.exp(down(exponent))))
    except OverflowError:
        return math.nextafter(math.inf, 0.0)


def rise(exponent: Fraction) -> float:
    """At least 1 - e^(-exponent), for an exponent of 0 or more."""
    return min(1.0, above(-math.expm1(-up(exponent)))) if exponent > 0 else 0.0


def nothing(epsilon: float) -> float:
    """delta of two equal laws, and of any two at a very negative epsilon: 1 - e^epsilon, or 0."""
    return min(1.0, above(-math.expm1(epsilon))) if epsilon < 0 else 0.0


def with_failure(failure: Fraction, rest: float) -> float:
    """delta when the curve `rest` holds outside of an event of mass `failure`, which may show everything."""
    if rest <= 0 or failure == 0:
        return up(failure) if rest <= 0 else rest
    return min(1.0, up(failure + (1 - failure) * Fraction(rest)))


def turned(epsilon: float, opposite: float) -> float:
    """delta at a negative epsilon, from `opposite`, that of the swapped laws at -epsilon: complements of sets swap them.

    P(S) - e^epsilon Q(S) = 1 - e^epsilon + e^epsilon (Q(T) - e^-epsilon P(T)), T being everything outside S.
    """
    return min(1.0, above(-math.expm1(epsilon) + math.exp(epsilon) * opposite, ulps=12))
