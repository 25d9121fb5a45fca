"""The best tree for a workload: which levels to measure, and how much of the promise each of them gets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, final

import numpy as np

from sfumato.mechanisms.histogram.strategy import Floats
from sfumato.mechanisms.histogram.tree import Tree
from sfumato.mechanisms.histogram.workload import Workload

Currency = Literal["pure", "zcdp"]
"""What noise costs: shares of epsilon add up (Laplace noise), or shares of rho (Gaussian noise)."""

_FANS = (*range(2, 17), 18, 20, 24, 28, 32, 40, 48, 64)
_FIRST = (*range(2, 33), *range(34, 65, 2), 72, 80, 96, 112, 128, 160, 192, 224, 256)
_BEAM = 48
_ROUNDS = 80
_FINE = 1 << 20


@final
@dataclass(frozen=True)
class Levels:
    """Numbers of nodes above the bins, the shares of all levels, and the mean variance at epsilon 1 or rho 1/2."""

    counts: tuple[int, ...]
    shares: tuple[float, ...]
    variance: float

    def tree(self, bins: int) -> Tree:
        """The tree, its shares rounded to multiples of 2^-20."""
        return Tree.even(bins, self.counts, [Fraction(max(1, round(share * _FINE)), _FINE) for share in self.shares])


@lru_cache(maxsize=256)
def best_levels(workload: Workload, currency: Currency, most_nodes: int | None = None) -> Levels:
    """The least mean variance among chains of levels of equal nodes; those above the bins have `most_nodes` in all.

    Sums over nodes of equal width share their eigenvectors: contrasts between siblings of one level, which finer levels see,
    a level of width w as w times its precision, and coarser levels do not. So the mean variance is a sum over levels of T/g, T
    the workload's weight on the level's contrasts, g the sum of w times precision from there down. Shares are found by
    p <- p (p dg)^(1/3), normalised, exact for one level alone and settled after some tens of rounds; all chains at once. For
    pure promises two or three levels are left with weight, and one more is tried only while it gains.
    """
    bins, traces = workload.bins, _Traces(workload)
    most = bins * 2 if most_nodes is None else most_nodes
    best = _solved(traces, [()], currency)[0]
    chains: list[tuple[int, ...]] = [(n,) for n in _FIRST if 2 * n <= bins]
    while chains:
        found = _solved(traces, [chain for chain in chains if sum(chain) <= most] or [()], currency)
        if found[0].variance >= best.variance * (1 - 1e-3):
            break
        best = found[0]
        wide = _FIRST if len(chains[0]) == 1 else ()
        grown = [each.counts for each in (found if wide else found[:_BEAM])]
        chains = [(*chain, chain[-1] * fan) for chain in grown if chain for fan in _FANS if 2 * chain[-1] * fan <= bins]
    return best


@final
class _Traces:
    """How much of a workload lies in sums over n nodes of equal width, per question; each n is computed once."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.known: dict[int, float] = {}

    def __getitem__(self, nodes: int) -> float:
        if nodes not in self.known:
            edges = np.arange(nodes + 1, dtype=np.float64)
            edges = np.floor(edges * (self.workload.bins / nodes) + 1e-9)
            starts, stops = edges[:-1], edges[1:]
            self.known[nodes] = float(
                (self.workload.overlaps(starts, stops) / (stops - starts)).sum() / self.workload.count
            )
        return self.known[nodes]


def _solved(traces: _Traces, chains: list[tuple[int, ...]], currency: Currency) -> list[Levels]:
    """All chains of one length, the best first."""
    bins = traces.workload.bins
    nodes = [(*chain, bins) for chain in chains]
    reached = np.array([[traces[n] for n in chain] for chain in nodes])
    weights = np.maximum(np.diff(reached, axis=1, prepend=0.0), 0.0)
    widths = bins / np.array(nodes, dtype=np.float64)
    power = 2 if currency == "pure" else 1
    shares = np.full(widths.shape, 1 / widths.shape[1])
    for _ in range(_ROUNDS):
        pull = shares**power * widths * np.cumsum(weights / _seen(widths, shares**power) ** 2, axis=1)
        shares = shares ** (power / (power + 1)) * pull ** (1 / (power + 1))
        shares /= shares.sum(axis=1, keepdims=True)
    totals = (weights / _seen(widths, shares**power)).sum(axis=1) * (2 if currency == "pure" else 1)
    order = np.argsort(totals, kind="stable")
    return [Levels(chains[i], tuple(_kept(shares[i], power)), float(totals[i])) for i in order]


def _seen(widths: Floats, precision: Floats) -> Floats:
    """For each level, the sum of width times precision from it down to the bins."""
    seen: Floats = np.cumsum((widths * precision)[:, ::-1], axis=1)[:, ::-1]
    return seen


def _kept(shares: Floats, power: int) -> list[float]:
    """Shares of epsilon; those of rho become shares whose squares they are."""
    own = shares if power == 2 else np.sqrt(shares)
    return [float(share) for share in own / own.sum()]
