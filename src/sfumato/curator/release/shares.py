"""One budget divided among several products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from sfumato.accounting import Filter, PureFilter, ZcdpFilter
from sfumato.core.errors import Bug

_FINE = 10**6


def divided(budget: Filter, epsilon: Fraction, shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The price of each in epsilon, so that what is charged for all adds up to what `epsilon` alone is charged at most.

    Under a pure budget epsilons add, so each gets its part of epsilon. Under zCDP rhos add: each gets the largest
    epsilon, to a millionth of the whole, whose rho is at most its part of the whole's rho.
    """
    whole = sum(shares, Fraction(0))
    parts = [share / whole for share in shares]
    match budget:
        case PureFilter():
            return tuple(epsilon * part for part in parts)
        case ZcdpFilter():
            return tuple(_largest(budget, epsilon, part) for part in parts)
        case Filter():
            raise Bug("a budget of an unknown kind was opened")
        case _:
            assert_never(budget)


def _largest(budget: ZcdpFilter, epsilon: Fraction, part: Fraction) -> Fraction:
    if part == 1:
        return epsilon

    def rho(at: Fraction) -> Fraction:
        return ZcdpFilter(at, budget.delta, budget.conversion).rho_max

    most = rho(epsilon) * part
    low, high = 0, _FINE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rho(epsilon * Fraction(middle, _FINE)) <= most else (low, middle)
    if low == 0:
        raise Bug("a share of the budget is too small to be priced")
    return epsilon * Fraction(low, _FINE)
