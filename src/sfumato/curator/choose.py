"""Which mechanism answers what: integer Laplace noise under a pure budget, integer Gaussian noise under zCDP.

Quantiles are found by exponential mechanisms, or read off a noisy tree, whichever errs less.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, assert_never

from sfumato.accounting import Filter, PureFilter, ZcdpFilter
from sfumato.core.errors import Bug
from sfumato.core.exact import sqrt_up
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import Gaussian, Laplace, Mechanism
from sfumato.queries.plan import Ranked

if TYPE_CHECKING:
    from sfumato.mechanisms.histogram.axis import Kind
    from sfumato.mechanisms.histogram.compare import Comparison
    from sfumato.queries.bounded import Bounded

_FINE = 10**9


def choose(
    bounded: Bounded, epsilon: Fraction, budget: Filter, *, at: int = 1000, workload: Kind = "bins"
) -> tuple[Mechanism[Any, Any], ...]:
    """One mechanism for each statistic; each has the same share of the price.

    Equal shares minimise the sum of variances when the answers matter in proportion to their own sensitivity. Groups are
    taken to have `at` rows where the policy says nothing of the table's size: only accuracy depends on it. For another
    workload than bins, counts and sums are released together, by the strategy that errs least on it.
    """
    if workload != "bins":
        return tuple(each.mechanism for each in comparisons(bounded, epsilon, budget, workload))
    parts = len(bounded.sensitivities)
    pairs = zip(bounded.tally.statistics, bounded.sensitivities, strict=True)
    match budget:
        case PureFilter():
            return tuple(
                _quantiles(each, reach, bounded, epsilon / parts, at)
                if isinstance(each, Ranked)
                else Laplace(scale=reach.l1 * parts / epsilon)
                for each, reach in pairs
            )
        case ZcdpFilter():
            rho = ZcdpFilter(epsilon, budget.delta, budget.conversion).rho_max / parts
            return tuple(
                _quantiles_of_rho(each, reach, bounded, rho, budget, at)
                if isinstance(each, Ranked)
                else Gaussian(sigma=sqrt_up(reach.l2_squared / (2 * rho)))
                for each, reach in pairs
            )
        case Filter():
            raise Bug("a budget of an unknown kind was opened")
        case _:
            assert_never(budget)


def comparisons(bounded: Bounded, epsilon: Fraction, budget: Filter, workload: Kind) -> tuple[Comparison, ...]:
    """For each statistic the strategies that were compared on the workload, the best first."""
    from sfumato.curator.axes import compared

    parts = len(bounded.sensitivities)
    promise: dict[str, Fraction] = {"epsilon": epsilon / parts}
    if isinstance(budget, ZcdpFilter):
        promise = {"rho": ZcdpFilter(epsilon, budget.delta, budget.conversion).rho_max / parts}
    pairs = zip(bounded.tally.statistics, bounded.sensitivities, strict=True)
    return tuple(compared(bounded, each, reach, workload, **promise) for each, reach in pairs)


def _quantiles(
    statistic: Ranked, reach: Sensitivity, bounded: Bounded, epsilon: Fraction, at: int
) -> Mechanism[Any, Any]:
    from sfumato.mechanisms.quantile.choose import choose as best

    return best(
        size=statistic.top + 1,
        quantiles=statistic.at,
        rows=bounded.rows // bounded.size or at,
        epsilon=epsilon,
        sensitivity=reach,
        piece=bounded.whole,
        by_group=bounded.size > 1,
    )


def _quantiles_of_rho(
    statistic: Ranked, reach: Sensitivity, bounded: Bounded, rho: Fraction, budget: Filter, at: int
) -> Mechanism[Any, Any]:
    """The largest epsilon, to nine digits, whose loss costs no more than `rho`: what it costs grows like its square."""
    epsilon = math.sqrt(8 * rho)
    for _ in range(40):
        found = _quantiles(statistic, reach, bounded, Fraction(math.floor(epsilon * _FINE), _FINE), at)
        cost = float(budget.cost(found.loss(reach)).amount / rho)
        if 1 - 1e-5 <= cost <= 1:
            return found
        epsilon *= math.sqrt((1 - 1e-6) / cost)
    while budget.cost(found.loss(reach)).amount > rho:  # where the choice goes back and forth between two mechanisms
        epsilon *= 0.99
        found = _quantiles(statistic, reach, bounded, Fraction(math.floor(epsilon * _FINE), _FINE), at)
    return found
