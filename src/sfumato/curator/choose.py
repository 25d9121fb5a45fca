"""Which mechanism answers what: integer Laplace noise under a pure budget, integer Gaussian noise under zCDP."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, assert_never

from sfumato.accounting import Filter, PureFilter, ZcdpFilter
from sfumato.core.errors import Bug
from sfumato.core.exact import sqrt_up
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import Gaussian, Laplace, Mechanism


def choose(
    sensitivities: tuple[Sensitivity, ...], epsilon: Fraction, budget: Filter
) -> tuple[Mechanism[Any, Any], ...]:
    """One mechanism for each statistic; each has the same share of the price.

    Equal shares minimise the sum of variances when the answers matter in proportion to their own sensitivity.
    """
    parts = len(sensitivities)
    match budget:
        case PureFilter():
            return tuple(Laplace(scale=each.l1 * parts / epsilon) for each in sensitivities)
        case ZcdpFilter():
            rho = ZcdpFilter(epsilon, budget.delta, budget.conversion).rho_max
            return tuple(Gaussian(sigma=sqrt_up(each.l2_squared * parts / (2 * rho))) for each in sensitivities)
        case Filter():
            raise Bug("a budget of an unknown kind was opened")
        case _:
            assert_never(budget)
