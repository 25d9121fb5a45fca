"""How much noise a promise needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from sfumato.accounting.gaussian import Gdp
from sfumato.accounting.loss import Loss
from sfumato.accounting.rounding import above
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import Number, down, positive, probability, sqrt_up, up

_DIGITS = 6
_LEAST, _MOST = Fraction(1, 10**18), Fraction(10**18)


def calibrate(
    loss_of: Callable[[Fraction], Loss],
    *,
    epsilon: Number,
    delta: Number = 0,
    start: Number = 1,
    digits: int = _DIGITS,
) -> Fraction:
    """The smallest noise parameter of `digits` significant decimal digits found to keep (epsilon, delta).

    More noise must cost less for the result to be the smallest; that it keeps the promise is checked on the very loss.
    """
    bound, slack = positive(epsilon, name="epsilon"), probability(delta, name="delta")
    low = high = positive(start, name="start")

    def kept(parameter: Fraction) -> bool:
        return keeps(loss_of(parameter), bound, slack)

    if kept(high):
        while kept(low) and low > _LEAST:
            low, high = low / 4, low
    else:
        while not kept(high):
            low, high = high, high * 4
            if high > _MOST:
                raise NotSupported(
                    "no amount of this noise keeps the promise",
                    hint="ask for a delta above 0, or for a mechanism whose noise has heavier tails",
                )
    decade = Fraction(10) ** math.floor(math.log10(high))
    if low < decade < high:
        low, high = (low, decade) if kept(decade) else (decade, high)
    grain = Fraction(10) ** (math.floor(math.log10(low)) - digits + 1)
    few, many = low // grain, -(-high // grain)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if kept(middle * grain) else (middle, many)
    while not kept(many * grain):
        many += 1
    return many * grain


def keeps(loss: Loss, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the loss is (epsilon, delta), in exact numbers where it has a largest ratio."""
    bounded = loss.pure()
    if bounded is not None and bounded[0] <= epsilon and bounded[1] <= delta:
        return True
    return delta > 0 and loss.delta(down(epsilon)) <= delta


def gaussian_sigma(sensitivity: Number, *, epsilon: Number, delta: Number, digits: int = _DIGITS) -> Fraction:
    """The standard deviation of continuous Gaussian noise for an l2 sensitivity (Balle and Wang 2018, Algorithm 1)."""
    reach = positive(sensitivity, name="sensitivity")
    if probability(delta, name="delta") == 0:
        raise BadInput("Gaussian noise keeps no promise with a delta of 0", hint="give a delta such as '1e-6'")
    return calibrate(lambda sigma: Gdp(reach / sigma), epsilon=epsilon, delta=delta, start=reach, digits=digits)


def classical_gaussian_sigma(sensitivity: Number, *, epsilon: Number, delta: Number) -> Fraction:
    """sqrt(2 ln(1.25/delta)) sensitivity / epsilon, rounded up (Dwork and Roth 2014, Theorem A.1), for epsilon below 1.

    Kept for comparison: `gaussian_sigma` needs less noise, and is right at any epsilon.
    """
    bound, slack = positive(epsilon, name="epsilon"), probability(delta, name="delta")
    if bound >= 1:
        raise BadInput(
            "the classical formula of Gaussian noise is proved for an epsilon below 1 only",
            hint="use gaussian_sigma, which is exact at any epsilon",
        )
    if slack == 0:
        raise BadInput("Gaussian noise keeps no promise with a delta of 0", hint="give a delta such as '1e-6'")
    squared = Fraction(above(2 * above(math.log(up(Fraction(5, 4) / slack)))))
    return sqrt_up(squared) * positive(sensitivity, name="sensitivity") / bound
