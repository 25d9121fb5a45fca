"""The loss of choices: all log-ratios lie in one interval, wherever it sits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from sfumato.accounting.loss import Loss, order_of, real, words
from sfumato.accounting.rounding import above, below, nothing, rise
from sfumato.core.exact import down, non_negative, up
from sfumato.core.neighbours import Neighbours


@final
@dataclass(frozen=True, slots=True)
class BoundedRange(Loss):
    """For any two neighbours the log-ratios of all outcomes lie in an interval of length `width`, which contains 0.

    Proof: with L the ratio and [t - w, t] the interval, delta(e) is the mean of (L - e^e)+ under a law where L has mean 1.
    That is convex in L, so two points at the ends are worst: (1 - e^(t-w)) (1 - e^(e-t)) / (1 - e^-w), and the best t is
    (e + w)/2: delta(e) = (1 - e^((e-w)/2))^2 / (1 - e^-w) (Dong, Durfee and Rogers 2020). For the Renyi curve let
    K(s) = ln E L^s: K(0) = K(1) = 0 and K'' <= w^2/4 (a variable in an interval of length w, under any tilt), so
    K(a) <= a (a - 1) w^2/8, that is rho = w^2/8 (Cesar and Rogers 2021, Lemma 3.2); a quarter of what pure loss has.
    """

    width: Fraction
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", non_negative(self.width, name="epsilon"))

    @property
    def failure(self) -> Fraction:
        return Fraction(0)

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if self.width == 0 or math.isinf(at) or at < -self.width:
            return nothing(at)
        gap = self.width - Fraction(at)
        if gap <= 0:
            return 0.0
        # 1 - e^-w, rounded down: expm1 keeps its digits when the width is small.
        whole = below(-math.expm1(-down(self.width)))
        return min(1.0, above(rise(gap / 2) ** 2 / whole, ulps=8))

    def renyi(self, order: float) -> float:
        top = up(self.width)
        return top if math.isinf(order) else min(top, above(order_of(order) * up(self.width**2 / 8)))

    def zcdp(self) -> tuple[Fraction, Fraction]:
        return min(self.width**2 / 8, self.width), Fraction(0)

    def pure(self) -> tuple[Fraction, Fraction]:
        return self.width, Fraction(0)

    def describe(self) -> Mapping[str, str]:
        return words("bounded-range", self.about, epsilon=self.width)
