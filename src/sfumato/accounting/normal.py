"""The curve of two unit normal laws a distance mu apart, in floats that never understate it."""

from __future__ import annotations

import math

from sfumato.accounting.rounding import above, below

_ROOT_TWO = math.sqrt(2)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_FAR = 5.0
_TERMS = 40


def normal_delta(mu: float, epsilon: float) -> float:
    """At least Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle and Wang 2018, Theorem 8).

    Proof of the forms used: with density f, tail Q, Mills ratio R = Q/f, a = epsilon/mu - mu/2 and b = a + mu, it is
    Q(a) - e^epsilon Q(b) = Q(a) - f(a) R(b) = f(a) (R(a) - R(b)), because e^epsilon f(b) = f(a). R falls and is convex
    with R' = -(1 - xR), so it is also at most mu (f(a) - a Q(a)), which does not cancel when mu is tiny; that falls
    with a. Each form is taken at the ends of intervals that hold a and b.
    """
    ratio, half = epsilon / mu, mu / 2
    if math.isinf(ratio):
        return math.ulp(0.0) if ratio > 0 else 1.0
    slack = (abs(ratio) + half) * 2.0**-50
    a, far_a, b = ratio - half - slack, ratio - half + slack, ratio + half + slack
    if a >= _FAR:
        delta = _density_up(a) * above(_mills(a)[1] - _mills(b)[0])
    elif b >= _FAR:
        delta = _tail_up(a) - below(_density_down(max(abs(a), abs(far_a))) * _mills(b)[0])
    else:
        delta = _tail_up(a) - below(math.exp(epsilon)) * _tail_down(b)
    if a < _FAR:
        moment = a * (_tail_down(a) if a > 0 else _tail_up(a))
        delta = min(delta, mu * above(_density_up(a) - moment, ulps=8))
    return min(1.0, max(math.ulp(0.0), above(delta, ulps=8)))


def _tail_up(x: float) -> float:
    return above(0.5 * math.erfc(below(x / _ROOT_TWO, ulps=2)))


def _tail_down(x: float) -> float:
    return max(0.0, below(0.5 * math.erfc(above(x / _ROOT_TWO, ulps=2))))


def _density_up(x: float) -> float:
    return above(math.exp(-below(x * x, ulps=1) / 2), ulps=8) / _ROOT_TWO_PI


def _density_down(x: float) -> float:
    return max(0.0, below(math.exp(-above(x * x, ulps=1) / 2), ulps=8) / _ROOT_TWO_PI)


def _mills(x: float) -> tuple[float, float]:
    """Bounds of R(x) for x of 5 or more: consecutive convergents of Laplace's continued fraction enclose it."""
    even, odd = x, x + _TERMS / x
    for k in range(_TERMS - 1, 0, -1):
        even, odd = x + k / even, x + k / odd
    return below(min(1 / even, 1 / odd), ulps=12), above(max(1 / even, 1 / odd), ulps=12)
