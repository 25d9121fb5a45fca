"""Renyi divergences beside sums over outcomes, dp-accounting and OpenDP."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

from sfumato.accounting import (
    Approximate,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    Gdp,
    Loss,
    Pair,
    Pure,
    Subsampled,
    Zcdp,
)
from sfumato.core.errors import BadInput
from sfumato.core.sensitivity import Sensitivity

ONE = Fraction(1)
ORDERS = (1.0, 1.1, 2.0, 3.5, 8.0, 40.0)


def divergence(first: list[float], second: list[float], order: float) -> float:
    if order == 1:
        return math.fsum(p * math.log(p / q) for p, q in zip(first, second, strict=True) if p > 0)
    logs = [order * math.log(p) + (1 - order) * math.log(q) for p, q in zip(first, second, strict=True) if p > 0]
    top = max(logs)
    return (top + math.log(math.fsum(math.exp(x - top) for x in logs))) / (order - 1)


@pytest.mark.parametrize("order", ORDERS)
def test_discrete_laplace_and_gaussian(order: float) -> None:
    for scale, l1 in ((2.0, 1), (1.0, 3), (5.0, 4)):
        places = range(-300, 300)
        first = [math.exp(-abs(x) / scale) for x in places]
        second = [math.exp(-abs(x - l1) / scale) for x in places]
        total = math.fsum(first)
        truth = divergence([p / total for p in first], [q / total for q in second], order)
        claimed = DiscreteLaplaceLoss(Fraction(scale), Fraction(l1)).renyi(order)
        assert claimed >= truth - 1e-12
        assert claimed <= truth * 1.01 + 1e-8
    places = range(-25, 25)
    first = [math.exp(-x * x / 2) for x in places]
    second = [math.exp(-((x - 1) ** 2) / 2) for x in places]
    total = math.fsum(first)
    truth = divergence([p / total for p in first], [q / total for q in second], min(order, 8.0))
    assert DiscreteGaussianLoss(ONE, Sensitivity.of(1)).renyi(min(order, 8.0)) >= truth - 1e-12


@pytest.mark.parametrize("order", ORDERS)
def test_randomized_response_and_pairs(order: float) -> None:
    yes = math.e / (1 + math.e)
    truth = divergence([yes, 1 - yes], [1 - yes, yes], order)
    assert truth - 1e-12 <= Pure(ONE).renyi(order) <= truth * 1.01 + 1e-9
    p, q = [0.7, 0.2, 0.1], [0.2, 0.3, 0.5]
    truth = max(divergence(p, q, order), divergence(q, p, order))
    assert truth - 1e-12 <= Pair.of([*p[:2], 0.1], q).renyi(order) <= truth * 1.01 + 1e-9


def test_sampled_gaussians_beside_dp_accounting() -> None:
    from dp_accounting import dp_event
    from dp_accounting.rdp import rdp_privacy_accountant

    orders = [1.5, 2.0, 3.0, 4.5, 8.0, 32.0, 64.0]
    for sigma, rate in ((1.0, 0.01), (0.7, 0.2), (4.0, 0.001)):
        accountant = rdp_privacy_accountant.RdpAccountant(orders)
        accountant.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)))
        loss = Subsampled(Gdp(1 / Fraction(str(sigma))), Fraction(str(rate)))
        for order, theirs in zip(orders, accountant._rdp, strict=True):
            claimed = loss.renyi(order)
            if math.isinf(theirs):  # its series for orders between whole ones did not converge
                continue
            assert claimed >= theirs * (1 - 1e-9)
            # Between whole orders ours is a chord, which is above theirs.
            assert claimed <= theirs * (1 + (1e-6 if order == int(order) else 0.35)) + 1e-12


@pytest.mark.parametrize(
    "loss",
    [
        Pure(Fraction(1, 2)),
        Approximate(ONE, Fraction(1, 10**6)),
        DiscreteLaplaceLoss(Fraction(3), Fraction(2)),
        DiscreteGaussianLoss(Fraction(4), Sensitivity.of_cells(3)),
        Gdp(Fraction(2, 3)),
        Zcdp(Fraction(1, 9)),
        Pair.of(["0.5", "0.5"], ["0.25", "0.75"]),
        Subsampled(Gdp(ONE), Fraction(1, 7)),
        Subsampled(DiscreteLaplaceLoss(Fraction(3), Fraction(2)), Fraction(1, 7)),
        Pure(Fraction(1, 2)) * 2 + Gdp(ONE),
        Subsampled(Gdp(ONE), Fraction(1, 7)).group(2),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_orders_rise_and_lines_lie_above(loss: Loss) -> None:
    values = [loss.renyi(order) for order in (*ORDERS, math.inf)]
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(values))
    line, bounded = loss.zcdp(), loss.pure()
    assert line is not None
    if loss.failure == line[1]:
        assert all(v <= float(line[0]) * max(o, 1 + 2**-9) * (1 + 1e-9) for v, o in zip(values, ORDERS, strict=False))
    if bounded is not None:
        assert values[-1] == pytest.approx(float(bounded[0]))
    with pytest.raises(BadInput):
        loss.renyi(0.5)
    with pytest.raises(BadInput):
        loss.renyi(math.nan)


def test_concentrated_losses_beside_opendp() -> None:
    """OpenDP's conversion of rho to (epsilon, delta) is the same theorem; its Gaussian on integers has the same rho."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space: Any = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    for sigma in (0.5, 2.0, 30.0):
        gaussian: Any = dp.m.make_gaussian(space[0], space[1], scale=sigma)
        rho = gaussian.map(3)
        loss = DiscreteGaussianLoss(Fraction(str(sigma)) ** 2, Sensitivity.of(3))
        assert float(loss.rho) == pytest.approx(rho, rel=1e-12)
        converted: Any = dp.c.make_zCDP_to_approxDP(gaussian)
        curve = converted.map(3)
        for delta in (1e-9, 1e-6, 1e-3):
            theirs = curve.epsilon(delta)
            assert Zcdp(loss.rho).epsilon(delta) == pytest.approx(theirs, rel=1e-4)
            assert loss.epsilon(delta) <= theirs * (1 + 1e-6)
    laplace: Any = dp.m.make_laplace(space[0], space[1], scale=2.5)
    assert float(DiscreteLaplaceLoss(Fraction(5, 2), Fraction(3)).epsilon()) == pytest.approx(laplace.map(3), rel=1e-12)
