"""The loss of Laplace noise that was cut off at a public bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from sfumato.accounting.bounded import response_renyi, response_rho
from sfumato.accounting.loss import Loss, real, words
from sfumato.accounting.rounding import nothing
from sfumato.core.exact import non_negative, positive, up
from sfumato.core.interval import exp_bounds
from sfumato.core.neighbours import Neighbours

_MOST_BITS = 8192


@final
@dataclass(frozen=True, slots=True)
class TruncatedLaplaceLoss(Loss):
    """Integers, each with noise of probability proportional to a^|k| for |k| <= bound, a = e^(-1/scale), moved by `l1`.

    Proof: the noise is log-concave on the integers, so the proof of `DiscreteLaplaceLoss` holds word for word: one cell
    moved by all of `l1` has the largest delta at every epsilon, and its best sets are half-lines {k <= last}. With
    N(t) = P(Z <= t) up to a factor, delta is (N(last) - e^epsilon N(last - l1)) / N(bound), where `last` is the last k of
    log-ratio (|k - l1| - |k|)/scale above epsilon; the l1 lowest k have no counterpart and always count. They are the
    failure. Outside of it no ratio exceeds e^(l1/scale): that is (epsilon, delta), and `Approximate` says what it implies.
    """

    scale: Fraction
    bound: int
    l1: Fraction
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, name="scale"))
        object.__setattr__(self, "l1", Fraction(non_negative(self.l1, name="sensitivity") // 1))

    @property
    def failure(self) -> Fraction:
        return Fraction(0) if self.l1 == 0 else self._above(int(self.l1) - 1 - self.bound, None)

    @property
    def largest(self) -> Fraction:
        """The largest log-ratio outside of the failure; 0 when all is failure."""
        return self.l1 / self.scale if self.l1 <= 2 * self.bound else Fraction(0)

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if (math.isinf(at) and at < 0) or self.l1 == 0:
            return nothing(at)
        if at >= self.l1 / self.scale:
            return up(self.failure)
        exact = Fraction(at)
        last = self.bound
        if exact >= -self.l1 / self.scale:
            last = min(last, math.ceil((self.l1 - exact * self.scale) / 2) - 1)
        return up(self._above(max(last, int(self.l1) - 1 - self.bound), exact))

    def renyi(self, order: float) -> float:
        return response_renyi(self.largest, order)

    def zcdp(self) -> tuple[Fraction, Fraction]:
        return response_rho(self.largest), self.failure

    def pure(self) -> tuple[Fraction, Fraction]:
        return self.largest, self.failure

    def describe(self) -> Mapping[str, str]:
        return words("truncated-laplace", self.about, scale=self.scale, bound=self.bound, l1=self.l1)

    def _above(self, last: int, epsilon: Fraction | None) -> Fraction:
        """At least P(Z <= last) - e^epsilon P(Z <= last - l1), to a tiny fraction of the failure; None drops the second."""
        if last >= self.bound and epsilon is None:
            return Fraction(1)
        deep = math.ceil(Fraction(3, 2) * (self.bound + 1) / self.scale)
        bits = min(_MOST_BITS, 128 + deep + 2 * int(self.scale).bit_length())
        most, _ = self._up_to(last, bits)[::-1]
        if epsilon is not None:
            least, _ = self._up_to(last - int(self.l1), bits)
            most -= least * exp_bounds(epsilon, bits)[0] >> bits
        return min(Fraction(1), max(Fraction(0), Fraction(most, self._up_to(self.bound, bits)[0])))

    def _up_to(self, last: int, bits: int) -> tuple[int, int]:
        """Bounds of N(last): (1 - a) times the sum of a^|k| from -bound to last."""
        if last < -self.bound:
            return 0, 0
        last = min(last, self.bound)
        step, edge = exp_bounds(-1 / self.scale, bits), exp_bounds(-(self.bound + 1) / self.scale, bits)
        near = exp_bounds(-abs(last if last <= 0 else last + 1) / self.scale, bits)
        if last <= 0:
            return max(0, near[0] - edge[1]), near[1] - edge[0]
        one = 1 << bits
        return one + step[0] - edge[1] - near[1], one + step[1] - edge[0] - near[0]
