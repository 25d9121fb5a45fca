"""Poisson subsampling: each unit takes part by a coin of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from sfumato.accounting.bounded import response_renyi, response_rho
from sfumato.accounting.gaussian import Gdp
from sfumato.accounting.laws import Curve, Direction, Law, Normals, Points, Rungs
from sfumato.accounting.loss import Loss, order_of, real, words
from sfumato.accounting.rounding import above, below, nothing
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import down, positive, up
from sfumato.core.neighbours import Neighbours, Relation

_LARGEST_SUM = 4096


@final
@dataclass(frozen=True, slots=True)
class Subsampled(Loss):
    """`loss` on a sample that each unit joins whole, with probability `rate`, by a fresh coin that stays secret.

    Proof: Zhu, Dong and Wang 2022, Theorem 11. Let P be the law with the unit in the sample, Q without it: removing the
    unit compares (1 - rate) Q + rate P with Q, adding it compares Q with that. For any set, with A = e^epsilon,
    (1 - rate) Q + rate P - A Q = rate (P - A' Q) where A' = 1 + (A - 1)/rate, and
    Q - A ((1 - rate) Q + rate P) = B (Q - (A rate/B) P) where B/rate = 1 - (A - 1)(1 - rate)/rate; no set makes the
    latter positive when B is not. Both are the curve of `loss` in the same direction, at another epsilon.
    Replacing one unit changes the sample's size too; the theorem does not speak of it, so it is refused.
    """

    loss: Loss
    rate: Fraction

    def __post_init__(self) -> None:
        if self.loss.about.relation is not Relation.ADD_REMOVE:
            raise NotSupported(
                f"Poisson subsampling was asked about other neighbours: {self.loss.about}",
                hint="state the sensitivity under add/remove; the size of a random sample is not public",
            )
        rate = positive(self.rate, name="sampling rate")
        if rate >= 1:
            raise BadInput("a sampling rate must be below 1", hint="use the loss itself when every unit takes part")
        object.__setattr__(self, "rate", rate)

    @property
    def about(self) -> Neighbours:
        return self.loss.about

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def failure(self) -> Fraction:
        return self.rate * self.loss.failure

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        return max(self.curve(direction, at) for direction in Direction)

    def curve(self, direction: Direction, epsilon: float) -> float:
        rate_up, rate_down = up(self.rate), down(self.rate)
        if epsilon == -math.inf:
            return 1.0
        match direction:
            case Direction.REMOVE:
                grown = _expm1(epsilon)
                grown = below(grown / (rate_up if grown > 0 else rate_down))
                if grown <= -1:
                    return nothing(epsilon)
                inner = below(math.log1p(grown)) if math.isfinite(grown) else epsilon
                within = self.loss.curve(direction, inner)
                return min(1.0, above(rate_up * within)) if within > 0 else 0.0
            case Direction.ADD:
                odds = (1 - self.rate) / self.rate
                grown = _expm1(epsilon)
                taken = below(grown * (down(odds) if grown > 0 else up(odds)))
                if taken >= 1:
                    return 0.0
                inner = below(epsilon - above(math.log1p(-taken)))
                within = self.loss.curve(direction, inner)
                return min(1.0, above(rate_up * above(1 - taken) * within, ulps=8)) if within > 0 else 0.0

    def law(self, direction: Direction) -> Law:
        match self.loss.law(direction):
            case Normals(mu=mu, rate=inner, ripple=ripple):
                return Normals(mu, up(self.rate * Fraction(inner)), direction, ripple)
            case Rungs(highest=highest, spacing=spacing, masses=masses, infinite=infinite):
                import numpy as np

                ratios = np.asarray(float(highest) - np.arange(len(masses)) * float(spacing), dtype=np.float64)
                return self._mixed(Points(ratios, masses, infinite), direction)
            case Points() as points:
                return self._mixed(points, direction)
            case Curve():
                return Curve(lambda epsilon: self.curve(direction, epsilon))

    def _mixed(self, points: Points, direction: Direction) -> Points:
        """The points of the sampled pair. Where the first law of `points` has no mass, the second may have some left."""
        import numpy as np

        rate = float(self.rate)
        stay = math.log1p(-rate)
        ratios, masses = points.ratios, points.masses
        match direction:
            case Direction.REMOVE:
                with np.errstate(divide="ignore"):
                    without = np.exp(np.minimum(np.log(masses) - ratios, 0.0))
                rest = (1 - rate) * max(0.0, 1.0 - float(without.sum())) + 1e-12
                return Points(
                    np.append(np.logaddexp(stay, math.log(rate) + ratios), stay),
                    np.append(((1 - rate) * without + rate * masses) * (1 + 1e-12), rest),
                    rate * points.infinite,
                )
            case Direction.ADD:
                return Points(
                    np.append(-np.logaddexp(stay, math.log(rate) - ratios), -stay),
                    np.append(masses, points.infinite),
                    0.0,
                )

    def renyi(self, order: float) -> float:
        """At most ln(1 + rate (e^((a - 1) D) - 1)) / (a - 1), since e^((a - 1) D) is convex in either law.

        Over Gaussian noise, Mironov, Talwar and Zhang 2019, Section 3.3, for whole orders; (a - 1) D is convex in a,
        which settles the orders between.
        """
        bounded = self.pure()
        ceiling = response_renyi(bounded[0], order) if bounded is not None else math.inf
        if self.loss.failure or math.isinf(order):
            return ceiling
        a = order_of(order)
        inner = self.loss.renyi(a)
        grown = _expm1((a - 1) * inner)
        spread = above(math.log1p(up(self.rate) * grown) / (a - 1), ulps=16) if math.isfinite(grown) else inner
        best = min(ceiling, inner, spread)
        if isinstance(self.loss, Gdp) and a <= _LARGEST_SUM:
            low, high = math.floor(a), math.ceil(a)
            at_low, at_high = self._moment(low), self._moment(high)
            between = at_low if low == high else (high - a) * at_low + (a - low) * at_high
            best = min(best, above(between / (a - 1), ulps=16))
        return best

    def _moment(self, order: int) -> float:
        """(order - 1) times the divergence: ln sum_k C(order, k) (1 - rate)^(order - k) rate^k e^((k^2 - k) mu^2 / 2)."""
        if order == 1:
            return 0.0
        assert isinstance(self.loss, Gdp)
        stay, join, half = math.log1p(-float(self.rate)), math.log(float(self.rate)), up(self.loss.mu**2) / 2
        logs = []
        for k in range(2, order + 1):
            x = (k * k - k) * half
            ways = math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
            logs.append(ways + (order - k) * stay + k * join + x + math.log(-math.expm1(-x)))
        top = max(logs)
        total = top + math.log(math.fsum(math.exp(term - top) for term in logs))
        # The exponents' rounding stays below 1e-9 for orders up to 4096.
        return (total if total > 40 else math.log1p(math.exp(total))) * (1 + 1e-9) + 1e-9 * min(
            1.0, math.exp(min(total, 0.0))
        )

    def zcdp(self) -> tuple[Fraction, Fraction] | None:
        """The line of `loss`: mixing in the other law lowers every divergence, but for large orders not by much."""
        bounded = self.pure()
        lines = [self.loss.zcdp(), None if bounded is None else (response_rho(bounded[0]), bounded[1])]
        return min((line for line in lines if line is not None), default=None)

    def pure(self) -> tuple[Fraction, Fraction] | None:
        """ln(1 + rate (e^epsilon - 1)), with rate times the failure (the two curves of the proof at that point)."""
        inner = self.loss.pure()
        if inner is None:
            return None
        if inner[0] == 0:
            return Fraction(0), self.failure
        bound, failure = inner
        grown = above(_expm1(up(bound)))
        if not math.isfinite(grown):
            return bound, self.rate * failure
        return min(bound, Fraction(above(math.log1p(above(up(self.rate) * grown))))), self.rate * failure

    def describe(self) -> Mapping[str, str]:
        return words("subsampled", self.about, rate=self.rate, loss=dict(self.loss.describe()))


def _expm1(x: float) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf
