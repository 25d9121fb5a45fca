"""Concentrated differential privacy: a line above all Renyi divergences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from sfumato.accounting.loss import Loss, order_of, real, words
from sfumato.accounting.rounding import above, nothing, turned, with_failure
from sfumato.core.exact import positive, probability, up
from sfumato.core.neighbours import Neighbours


@final
@dataclass(frozen=True, slots=True)
class Zcdp(Loss):
    """Outside of an event of mass `failure`, the Renyi divergence of every order is at most rho times the order.

    Proof: `line_delta` is Canonne, Kamath and Steinke 2020, Proposition 12, and the failure is added as in
    Bun and Steinke 2016, Definition 8.1.
    """

    rho: Fraction
    failure: Fraction = Fraction(0)
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, name="rho"))
        object.__setattr__(self, "failure", probability(self.failure, name="failure"))

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if math.isinf(at):
            return with_failure(self.failure, nothing(at))
        rho = up(self.rho)
        return with_failure(self.failure, line_delta(rho, at) if at >= 0 else turned(at, line_delta(rho, -at)))

    def renyi(self, order: float) -> float:
        return math.inf if math.isinf(order) else above(order_of(order) * up(self.rho))

    def zcdp(self) -> tuple[Fraction, Fraction]:
        return self.rho, self.failure

    def pure(self) -> None:
        return None

    def describe(self) -> Mapping[str, str]:
        return words("zcdp", self.about, rho=self.rho, failure=self.failure)


def line_of(loss: Loss) -> Zcdp | None:
    """What is left of a loss when only its line is kept; None when it has none, or one that says nothing."""
    line = loss.zcdp()
    return None if line is None or line[0] == 0 or line[1] >= 1 else Zcdp(*line, loss.about)


def line_delta(rho: float, epsilon: float) -> float:
    """The least over orders a = 1 + x of e^((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1), for an epsilon of 0 or more.

    Its logarithm is x ((1 + x) rho - epsilon) - x ln(1 + 1/x) - ln(1 + x), whose derivative
    (1 + 2x) rho - epsilon - ln(1 + 1/x) grows with x. Any x gives a bound, so the bisection need not be exact.
    """
    low, high = -600.0, 600.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        x = math.exp(middle)
        low, high = (middle, high) if (1 + 2 * x) * rho - epsilon < math.log1p(1 / x) else (low, middle)
    x = math.exp(high)
    exponent = x * ((1 + x) * rho - epsilon) - x * math.log1p(1 / x) - math.log1p(x)
    slack = 2.0**-49 * (x * ((1 + x) * rho + epsilon) + 1 + math.log1p(x))
    if exponent + slack >= 0:
        return 1.0
    return max(math.ulp(0.0), min(1.0, above(math.exp(exponent + slack))))
