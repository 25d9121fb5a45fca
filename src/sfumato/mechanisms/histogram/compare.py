"""Which histogram for a workload: the expected error of each strategy, exactly, the least first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.histogram.augmented import augmented
from sfumato.mechanisms.histogram.factored import MOST_BINS, factored
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.gaussian import GaussianHistogram
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.mechanisms.histogram.laplace import LaplaceHistogram
from sfumato.mechanisms.histogram.matrix import Matrix
from sfumato.mechanisms.histogram.privelet import Haar
from sfumato.mechanisms.histogram.refined import refined
from sfumato.mechanisms.histogram.shares import Currency, best_levels
from sfumato.mechanisms.histogram.strategy import Strategy
from sfumato.mechanisms.histogram.tree import Tree
from sfumato.mechanisms.histogram.workload import Bins, Workload

_DESCENDED = 4096
_REFINED = 1 << 14
_ROW_BY_ROW = 1 << 14
_AT_ONCE = 256


@final
@dataclass(frozen=True, slots=True)
class Option:
    """A histogram that keeps the promise; `variance` is that of a question of the workload, on average."""

    name: str
    mechanism: Histogram
    variance: float


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """The options, the least variance first. No strategy with continuous noise is below `lower_bound` (Li and Miklau 2013),
    where that is known; 0 where it is not."""

    workload: Workload | tuple[Workload, ...] | str
    options: tuple[Option, ...]
    lower_bound: float

    @property
    def best(self) -> Option:
        return self.options[0]

    @property
    def mechanism(self) -> Histogram:
        """The mechanism of the best option."""
        return self.best.mechanism

    @property
    def about(self) -> str:
        """The workload in words."""
        return " by ".join(map(str, self.workload if isinstance(self.workload, tuple) else (self.workload,)))

    def __str__(self) -> str:
        return self.shown()

    def shown(self, *, scale: float = 1.0, french: bool = False) -> str:
        """A line for each option, the best first; a cell's unit is `scale` of what people count."""
        rest = (
            (" ; erreur quadratique attendue", "borne basse", "pour un bruit continu")
            if french
            else ("; expected squared error", "lower bound", "for continuous noise")
        )
        square = scale**2
        lines, bound = [f"{self.about}{rest[0]}"], self.lower_bound / square
        lines += [
            f"  {each.name:14} {each.variance / square:10.5g}   {each.mechanism.strategy.summary}"
            for each in self.options
        ]
        return "\n".join([*lines, f"  {rest[1]:14} {bound:10.5g}   {rest[2]}"] if bound else lines)


def choose(
    workload: Workload,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Sensitivity | Number = 1,
    one_cell: bool = False,
    most: int = 0,
) -> Comparison:
    """Every strategy at this epsilon (Laplace noise) or rho (Gaussian noise), compared on the workload before any is run.

    It depends on the workload and the promise only, never on rows. Strategies found by descent are kept for next time;
    those whose rows could not hold `most` in a cell are left out.
    """
    if (epsilon is None) == (rho is None):
        raise BadInput("a promise was asked with neither or both of epsilon and rho", hint="give one of the two")
    reach = Sensitivity.of(sensitivity)
    currency: Currency = "pure" if rho is None else "zcdp"

    def kept(strategy: Strategy) -> Histogram:
        if rho is not None:
            return GaussianHistogram.of_rho(rho, sensitivity=reach, strategy=strategy, one_cell=one_cell)
        assert epsilon is not None
        return LaplaceHistogram.calibrate(sensitivity=reach, epsilon=epsilon, strategy=strategy, one_cell=one_cell)

    options = []
    for name, strategy in strategies(workload, currency):
        if strategy.limit < most:
            continue
        mechanism = kept(strategy)
        options.append(Option(name, mechanism, mean_variance(mechanism, workload)))
    options.sort(key=lambda option: option.variance)
    unit = (
        2 * (reach.l1 // 1) ** 2 / positive(epsilon, name="epsilon") ** 2
        if epsilon is not None
        else _square(reach, rho)
    )
    return Comparison(workload, tuple(options), float(unit) * floor_of(workload))


def _square(reach: Sensitivity, rho: Any) -> Fraction:
    return Fraction(reach.l2_squared // 1) / (2 * positive(rho, name="rho"))


def floor_of(workload: Workload) -> float:
    """(sum of singular values)^2/(m n): what a strategy with columns of length 1 cannot go below (Li and Miklau 2013)."""
    return workload.singular_sum() ** 2 / (workload.bins * workload.count)


def strategies(workload: Workload, currency: Currency) -> Iterator[tuple[str, Strategy]]:
    """What is worth trying on one axis."""
    bins = workload.bins
    yield "flat", Flat(bins)
    if bins == 1:
        return
    yield "Privelet", Haar(bins)
    yield "hierarchy", Tree.branching(bins, usual_fan_out(bins))
    if isinstance(workload, Bins):
        return
    levels = best_levels(workload, currency)
    if levels.counts:
        yield "weighted tree", levels.tree(bins)
    if currency == "pure" and bins <= _DESCENDED:
        yield "descent", augmented(workload)
    if currency == "zcdp" and bins <= MOST_BINS:
        yield "factored", factored(workload)
    if currency == "zcdp" and MOST_BINS < bins <= _REFINED:
        yield "refined", refined(workload)


def usual_fan_out(bins: int) -> int:
    """The b that minimises (b - 1) h^3 - 2 (b + 1) h^2/3 over trees of h levels (Qardaji, Yang and Li 2013, equation 3)."""

    def error(fan_out: int) -> float:
        height = 1
        while fan_out**height < bins:
            height += 1
        return (fan_out - 1) * height**3 - 2 * (fan_out + 1) * height**2 / 3

    return min(range(2, max(3, min(bins, 1024) + 1)), key=error)


def mean_variance(mechanism: Histogram, workload: Workload) -> float:
    """The exact mean over the workload of the estimates' variances: each row's noise, as often as questions hear it."""
    strategy = mechanism.strategy
    if strategy.shape != (workload.bins,):
        raise BadInput("a workload has other bins than the histogram", hint="ask about the histogram's own bins")
    noises = [mechanism.noise(scale).mean_square for scale in strategy.scales]
    match strategy:
        case Flat():
            heard = noises[0] * float(workload.spread().sum())
        case Matrix():
            heard = noises[0] * strategy.trace(workload.gram, workload.spread()) / 4.0**20
        case Haar():
            heard = noises[0] * _heard_by_halves(strategy, workload)
        case Tree() if strategy.size > _ROW_BY_ROW:
            heard = _heard_by_levels(strategy, noises, workload)
        case _:
            heard = _heard_by_rows(strategy, np.array(noises), workload)
    return heard / workload.count


def _heard_by_halves(strategy: Haar, workload: Workload) -> float:
    """A difference of halves L and R of s bins is 1/s of each bin, up and down: 2 L'GL + 2 R'GR less the block's own."""
    padded = 1 << strategy.levels

    def blocks(count: int) -> Any:
        edges = np.minimum(np.arange(count + 1, dtype=np.float64) * (padded // count), workload.bins)
        return workload.overlaps(edges[:-1], edges[1:])

    whole = blocks(1)
    heard = float(whole[0]) / padded**2
    count = 1
    while count < padded:
        halves = blocks(2 * count)
        heard += float((2 * (halves[0::2] + halves[1::2]) - whole).sum()) / (padded // count) ** 2
        whole, count = halves, 2 * count
    return heard


def _heard_by_levels(strategy: Tree, noises: list[float], workload: Workload) -> float:
    """Level by level, for nodes of nearly equal width: the sum of T/g of `best_levels`."""
    seen, parts, before = 0.0, [], 0.0
    for scale, starts in zip(strategy.level_scales, strategy.nest.starts, strict=True):
        edges = np.append(starts, workload.bins).astype(np.float64)
        reached = float((workload.overlaps(edges[:-1], edges[1:]) / np.diff(edges)).sum())
        precision = 1 / noises[strategy.scales.index(scale)]
        parts.append((reached - before, precision * workload.bins / len(starts)))
        before = reached
    heard = 0.0
    for weight, precision in reversed(parts):
        seen += precision
        heard += weight / seen
    return heard


def _heard_by_rows(strategy: Strategy, noises: Any, workload: Workload) -> float:
    """Row by row: the estimate of one row alone, squared through the workload."""
    rows, heard = strategy.codes.size, 0.0
    for first in range(0, rows, _AT_ONCE):
        some = np.arange(first, min(first + _AT_ONCE, rows))
        alone = np.zeros((some.size, rows))
        alone[np.arange(some.size), some] = 1
        estimates = strategy.estimate(alone).T
        heard += float(noises[strategy.codes[some]] @ (estimates * workload.gram(estimates)).sum(axis=0))
    return heard
