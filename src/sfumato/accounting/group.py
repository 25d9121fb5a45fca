"""Tables that differ by several units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from sfumato.accounting.bounded import Approximate, DiscreteLaplaceLoss, Pure, response_rho
from sfumato.accounting.compose import Composed, compose
from sfumato.accounting.gaussian import DiscreteGaussianLoss, Gdp
from sfumato.accounting.loss import Loss, order_of, real, words
from sfumato.accounting.rounding import above, exp_up, turned
from sfumato.accounting.zcdp import Zcdp, line_of
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import up
from sfumato.core.neighbours import Neighbours, Relation
from sfumato.core.sensitivity import Sensitivity


@final
@dataclass(frozen=True, slots=True)
class Group(Loss):
    """`loss`, about tables that differ by up to `size` units, where no closed form is known.

    Proof: walk from one table to the other, one unit at a time: P(S) <= e^x P1(S) + d <= ... with d = delta(x) and
    x = epsilon/size, so delta(x) (1 + e^x + ... + e^((size - 1) x)) bounds the curve; for a largest ratio likewise.
    What holds at a smaller epsilon holds too. zCDP grows with the square (Bun and Steinke 2016, Proposition 1.9). With
    a failure, only the walk is used.
    """

    loss: Loss
    size: int

    def __post_init__(self) -> None:
        if self.loss.failure and (self.loss.pure() is None or self.failure >= 1):
            raise NotSupported(
                "nothing is known of this loss for a group of that size",
                hint="protect a larger unit in the policy, so that the group is one unit",
            )

    @property
    def about(self) -> Neighbours:
        return self.loss.about

    @property
    def failure(self) -> Fraction:
        bounded = self.loss.pure()
        if self.loss.failure == 0 or bounded is None:
            return Fraction(0)
        return _walked(bounded[1], bounded[0], self.size)

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if math.isinf(at):
            return 1.0 if at < 0 else up(self.failure)
        if at < 0:
            return turned(at, self.delta(-at))
        bounded = self.loss.pure()
        if bounded is not None and at >= self.size * bounded[0]:
            return up(self.failure)
        walked = min(self._walk(at), self._walk(0.0))
        line = line_of(self)
        return walked if line is None else min(walked, line.delta(at))

    def _walk(self, epsilon: float) -> float:
        step = epsilon / self.size
        try:
            steps = above(math.fsum(math.exp(i * step) for i in range(self.size)), ulps=4 * self.size)
        except OverflowError:
            return 1.0
        each = self.loss.delta(math.nextafter(step, -math.inf) if step > 0 else 0.0)
        return min(1.0, above(each * steps)) if each > 0 else 0.0

    def renyi(self, order: float) -> float:
        a = order_of(order)
        bounded, line = self.pure(), self.zcdp()
        ceiling = math.inf if bounded is None else up(bounded[0])
        return ceiling if line is None or math.isinf(a) else min(ceiling, above(a * up(line[0])))

    def zcdp(self) -> tuple[Fraction, Fraction] | None:
        bounded = self.pure()
        known = [] if bounded is None else [(response_rho(bounded[0]), bounded[1])]
        line = self.loss.zcdp()
        if line is not None and self.loss.failure == 0 == line[1]:
            known.append((line[0] * self.size**2, Fraction(0)))
        return min(known, default=None)

    def pure(self) -> tuple[Fraction, Fraction] | None:
        bounded = self.loss.pure()
        return None if bounded is None else (bounded[0] * self.size, self.failure)

    def describe(self) -> Mapping[str, str]:
        return words("group", self.about, size=self.size, loss=dict(self.loss.describe()))


def group(loss: Loss, size: int) -> Loss:
    """`loss` about tables that differ by up to `size` units, in closed form where there is one."""
    if size < 1:
        raise BadInput("a group must have at least one unit", hint="give a size of 1 or more")
    if size == 1:
        return loss
    if loss.about.relation is Relation.SECRETS:
        raise NotSupported(
            "a Pufferfish promise is about secrets, and has no groups of units",
            hint="name the group's secret, and price it",
        )
    match loss:
        case Pure(bound=bound, about=about):
            return Pure(bound * size, about)
        case Approximate(bound=bound, failure=failure, about=about):
            walked = _walked(failure, bound, size)
            return Approximate(bound * size, walked, about) if walked < 1 else Group(loss, size)
        case Gdp(mu=mu, about=about):
            return Gdp(mu * size, about)
        case Zcdp(rho=rho, failure=failure, about=about) if failure == 0:
            return Zcdp(rho * size**2, Fraction(0), about)
        case DiscreteLaplaceLoss(scale=scale, l1=l1, about=about):
            return DiscreteLaplaceLoss(scale, l1 * size, about)
        case DiscreteGaussianLoss(variance=variance, sensitivity=s):
            cells = None if s.cells is None else s.cells * size
            return DiscreteGaussianLoss(
                variance, Sensitivity(s.l1 * size, s.linf * size, s.l2_squared * size**2, s.about, cells)
            )
        case Composed(parts=parts):
            return compose(part for loss, times in parts for part in [group(loss, size)] * times)
        case _:
            return Group(loss, size)


def _walked(failure: Fraction, bound: Fraction, size: int) -> Fraction:
    """failure (1 + e^bound + ... + e^((size - 1) bound)), rounded up; 1 when it is no longer a probability."""
    total = math.fsum(exp_up(i * bound) for i in range(size))
    return min(Fraction(1), failure * Fraction(above(total))) if math.isfinite(total) else Fraction(1)
