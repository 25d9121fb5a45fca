"""Losses with a largest ratio: pure, approximate, and the discrete Laplace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from sfumato.accounting.laws import Direction, Law, Rungs
from sfumato.accounting.loss import Loss, order_of, real, words
from sfumato.accounting.rounding import above, below, exp_down, exp_up, nothing, rise, with_failure
from sfumato.core.exact import down, non_negative, positive, probability, up
from sfumato.core.neighbours import Neighbours

_MOST_RUNGS = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Pure(Loss):
    """No outcome becomes more than e^bound times as likely.

    Proof: among all such pairs of laws, randomized response (probabilities e^bound : 1) has the largest delta at every
    epsilon (Kairouz, Oh and Viswanath 2015, Theorem 2.2 with delta = 0); its curve is what `delta` returns.
    """

    bound: Fraction
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", positive(self.bound, name="epsilon"))

    @property
    def failure(self) -> Fraction:
        return Fraction(0)

    def delta(self, epsilon: float) -> float:
        return _response_delta(self.bound, real(epsilon))

    def renyi(self, order: float) -> float:
        return response_renyi(self.bound, order)

    def zcdp(self) -> tuple[Fraction, Fraction]:
        return response_rho(self.bound), Fraction(0)

    def pure(self) -> tuple[Fraction, Fraction]:
        return self.bound, Fraction(0)

    def law(self, direction: Direction) -> Law:
        return _response_law(self.bound, Fraction(0))

    def describe(self) -> Mapping[str, str]:
        return words("pure", self.about, epsilon=self.bound)


@final
@dataclass(frozen=True, slots=True)
class Approximate(Loss):
    """(epsilon, delta): no set of outcomes has P(S) > e^bound Q(S) + failure. All that is known of many mechanisms.

    Proof: such a pair of laws is simulated from one that shows the secret with probability `failure` and is randomized
    response otherwise (Kairouz, Oh and Viswanath 2015, Theorem 2.2); so all curves here are those of that pair.
    """

    bound: Fraction
    failure: Fraction
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", positive(self.bound, name="epsilon"))
        object.__setattr__(self, "failure", probability(self.failure, name="delta"))

    def delta(self, epsilon: float) -> float:
        return with_failure(self.failure, _response_delta(self.bound, real(epsilon)))

    def renyi(self, order: float) -> float:
        return response_renyi(self.bound, order)

    def zcdp(self) -> tuple[Fraction, Fraction]:
        return response_rho(self.bound), self.failure

    def pure(self) -> tuple[Fraction, Fraction]:
        return self.bound, self.failure

    def law(self, direction: Direction) -> Law:
        return _response_law(self.bound, self.failure)

    def describe(self) -> Mapping[str, str]:
        return words("approximate", self.about, epsilon=self.bound, delta=self.failure)


@final
@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLoss(Loss):
    """Integers, each with noise of probability proportional to e^(-|x|/scale), moved by `l1` in all.

    Proof: take any set S of outcomes and move one coordinate by one step. On each line along that coordinate, the
    Neyman-Pearson lemma says that the mass u of S falls to no less than f(u), where f is the trade-off of a half-line
    moved by one step (the noise is log-concave, so half-lines are the best tests); f is convex, so by Jensen the same
    holds after averaging over lines. Repeating, l1 steps spread over any cells leave at least f(f(...f(u))), and for
    half-lines of one cell this is an equality. So one cell moved by `l1` has the largest delta at every epsilon, and
    `delta` is its exact sum. Sensitivities are those of integers: a fractional `l1` is floored.
    """

    scale: Fraction
    l1: Fraction
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, name="scale"))
        object.__setattr__(self, "l1", Fraction(non_negative(self.l1, name="sensitivity") // 1))

    @property
    def failure(self) -> Fraction:
        return Fraction(0)

    @property
    def largest(self) -> Fraction:
        """The largest log-ratio."""
        return self.l1 / self.scale

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if math.isinf(at) or at < -self.largest:
            return nothing(at)
        gap = self.largest - Fraction(at)
        if gap <= 0:
            return 0.0
        # The best half-line ends at `last`, the largest x with (l1 - 2x)/scale > epsilon. Summed over it, with
        # a = e^(-1/scale): delta (1 + a) = (1 - e^-gap) + a (1 - e^(-last/scale)) (1 - e^-(gap - (last + 1)/scale)).
        last = math.ceil(gap * self.scale / 2) - 1
        inside = rise(last / self.scale) * rise(gap - (last + 1) / self.scale) * exp_up(-1 / self.scale)
        return min(1.0, above((rise(gap) + inside) / (1 + exp_down(-1 / self.scale))))

    def renyi(self, order: float) -> float:
        general = response_renyi(self.largest, order)
        if math.isinf(order) or self.l1 == 0:
            return general
        # Sum of P^order Q^(1 - order) by the places where the ratio is constant, e^(k l1/scale) taken out.
        # A relative error of 1e-12 in the sum is far more than its handful of operations can make.
        k = order_of(order) - 1
        step, reach = 1 / float(self.scale), float(self.largest)
        fall = (2 * k + 1) * step
        middle = -math.expm1(-step) * math.exp(-fall) * -math.expm1(-fall * (float(self.l1) - 1)) / -math.expm1(-fall)
        total = (1 + middle + math.exp(-reach * (2 * k + 1))) / (1 + math.exp(-step))
        return min(general, max(0.0, reach * (1 + 1e-14) + (math.log(total) + 1e-12) / k))

    def zcdp(self) -> tuple[Fraction, Fraction]:
        return response_rho(self.largest), Fraction(0)

    def pure(self) -> tuple[Fraction, Fraction]:
        return self.largest, Fraction(0)

    def law(self, direction: Direction) -> Law:
        """The rungs (l1 - 2x)/scale for x from 0 to l1: tails at both ends, one place each between."""
        if not 0 < self.l1 <= _MOST_RUNGS:
            return Loss.law(self, direction)
        import numpy as np

        rate = 1 / self.scale
        first, between = 1 / (1 + exp_down(-rate)), rise(rate) / (1 + exp_down(-rate))
        x = np.arange(int(self.l1) + 1, dtype=np.float64)
        masses = between * np.exp(-x * down(rate))
        masses[0], masses[-1] = first, first * exp_up(-self.largest)
        return Rungs(self.largest, 2 * rate, masses * (1 + 1e-12), 0.0)

    def describe(self) -> Mapping[str, str]:
        return words("discrete-laplace", self.about, scale=self.scale, l1=self.l1)


def _response_delta(bound: Fraction, epsilon: float) -> float:
    """Randomized response with ratio e^bound: (e^bound - e^epsilon)/(e^bound + 1) between -bound and bound."""
    if math.isinf(epsilon) or epsilon < -bound:
        return nothing(epsilon)
    gap = bound - Fraction(epsilon)
    return min(1.0, above(rise(gap) / below(1 + exp_down(-bound), ulps=1))) if gap > 0 else 0.0


def _response_law(bound: Fraction, failure: Fraction) -> Rungs:
    import numpy as np

    yes = 1 / (1 + exp_down(-bound))
    masses = np.array([yes, yes * exp_up(-bound)]) * ((1 + 1e-14) * up(1 - failure))
    return Rungs(bound, 2 * bound, masses, up(failure))


def response_renyi(bound: Fraction, order: float) -> float:
    """The divergence of randomized response, which no pair of laws with the same largest ratio exceeds."""
    top = up(bound)
    if math.isinf(order):
        return top
    k = order_of(order) - 1
    # (e^(k bound) p + e^(-k bound) (1 - p)) with p = 1/(1 + e^-bound), e^(k bound) taken out; see DiscreteLaplaceLoss.
    total = (1 + math.exp(-top * (2 * k + 1))) / (1 + math.exp(-top))
    exact = top * (1 + 1e-14) + (math.log(total) + 1e-12) / k
    return max(0.0, above(min(top, exact, (k + 1) * up(response_rho(bound))), ulps=16))


def response_rho(bound: Fraction) -> Fraction:
    """Bun and Steinke 2016, Proposition 3.3: epsilon^2/2; and no divergence exceeds epsilon."""
    return min(bound * bound / 2, bound)
