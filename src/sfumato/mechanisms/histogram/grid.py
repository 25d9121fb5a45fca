"""Which histogram for several axes at once: one strategy for each axis, compared on all questions that combine theirs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.histogram.compare import Comparison, Option, floor_of, mean_variance, strategies
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.gaussian import GaussianHistogram
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.mechanisms.histogram.laplace import LaplaceHistogram
from sfumato.mechanisms.histogram.privelet import Haar
from sfumato.mechanisms.histogram.product import Product, privelet_plus
from sfumato.mechanisms.histogram.shares import Currency
from sfumato.mechanisms.histogram.strategy import Strategy
from sfumato.mechanisms.histogram.workload import Workload

_FINE = Fraction(1 << 20)
"""Noise so wide that the variance of the discrete law is that of the continuous one."""


def choose_grid(
    workloads: Sequence[Workload],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Sensitivity | Number = 1,
    one_cell: bool = False,
    most: int = 0,
) -> Comparison:
    """Strategies for a grid, compared on the products of one question of each axis. `most` is the largest cell expected.

    Rows, scales and least squares of a product are products, so with continuous noise the mean variance is one too: the
    square of the scale, times each axis's mean variance at scale 1. The scale is l1 (or l2) times the product of the axes'
    norms, so the best strategy of each axis by itself makes the best product. Strategies whose exact rows could not hold
    `most` in a cell are left out.
    """
    if (epsilon is None) == (rho is None):
        raise BadInput("a promise was asked with neither or both of epsilon and rho", hint="give one of the two")
    currency: Currency = "pure" if rho is None else "zcdp"
    reach = Sensitivity.of(sensitivity)
    flat = [_Scored(Flat(each.bins), each, currency) for each in workloads]
    found = [[_Scored(strategy, each, currency) for _, strategy in strategies(each, currency)] for each in workloads]
    best = [min(options, key=lambda option: option.error) for options in found]
    wrapping = [min((o for o in options if o.strategy.wraps), key=lambda option: option.error) for options in found]
    waves = [each.axis(Haar(w.bins)) for each, w in zip(flat, workloads, strict=True)]
    plus = privelet_plus([Haar(w.bins) for w in workloads]).axes
    candidates = {
        "flat": flat,
        "best of each": best,
        "trees": wrapping,
        "Privelet": waves,
        "Privelet+": [each.axis(axis) for each, axis in zip(flat, plus, strict=True)],
    }
    options: dict[Product, Option] = {}
    for name, scored in candidates.items():
        strategy = Product(tuple(each.strategy for each in scored))
        if strategy.limit < most or strategy in options:
            continue
        mechanism: Histogram
        if rho is not None:
            mechanism = GaussianHistogram.of_rho(rho, sensitivity=reach, strategy=strategy, one_cell=one_cell)
            square = mechanism.sigma**2
        else:
            assert epsilon is not None
            mechanism = LaplaceHistogram.calibrate(
                sensitivity=reach, epsilon=epsilon, strategy=strategy, one_cell=one_cell
            )
            square = 2 * mechanism.scale**2
        options[strategy] = Option(name, mechanism, float(square) * prod(each.at_one for each in scored))
    ranked = sorted(options.values(), key=lambda option: option.variance)
    first = next(option for option in ranked if option.name == "flat")
    unit = first.variance / prod(each.at_one for each in flat)
    return Comparison(tuple(workloads), tuple(ranked), unit * prod(map(floor_of, workloads)))


class _Scored:
    """A strategy on one axis: the mean variance at a scale of 1, and what that becomes for a given promise."""

    def __init__(self, strategy: Strategy, workload: Workload, currency: Currency) -> None:
        self.strategy, self.workload, self.currency = strategy, workload, currency
        noisy = LaplaceHistogram(strategy, _FINE) if currency == "pure" else GaussianHistogram(strategy, _FINE)
        self.at_one = mean_variance(noisy, workload) / float(_FINE) ** 2 / (2 if currency == "pure" else 1)
        self.error = self.at_one * float(strategy.absolute**2 if currency == "pure" else strategy.squared)

    def axis(self, strategy: Strategy) -> _Scored:
        return self if strategy == self.strategy else _Scored(strategy, self.workload, self.currency)
