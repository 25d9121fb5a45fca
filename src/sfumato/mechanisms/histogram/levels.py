"""Histograms over declared levels: regions, departments, communes. Totals agree, and each level has its share of the noise."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.histogram.compare import Comparison, Option
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.gaussian import GaussianHistogram
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.mechanisms.histogram.laplace import LaplaceHistogram
from sfumato.mechanisms.histogram.strategy import Floats, Strategy, name_of
from sfumato.mechanisms.histogram.tree import Tree

_FINE = 1 << 20
_STEPS = (0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.4, 2.0)
_ROUNDS = 30


@final
@dataclass(frozen=True)
class Reordered(Strategy):
    """A strategy over the same cells in another order: cell i of the inner one is cell `order[i]` of this one.

    Its matrix is the inner one with its columns permuted, so its rows, scales and all norms are the same.
    """

    inner: Strategy
    order: tuple[int, ...]

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(self.inner.size)) or len(self.inner.shape) != 1:
            raise BadInput("an order does not name each cell once", hint="give a permutation of one axis")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner.shape

    @property
    def scales(self) -> tuple[Fraction, ...]:
        return self.inner.scales

    @property
    def codes(self) -> NDArray[np.int64]:
        return self.inner.codes

    @property
    def absolute(self) -> Fraction:
        return self.inner.absolute

    @property
    def squared(self) -> Fraction:
        return self.inner.squared

    @property
    def absolute_apart(self) -> Fraction:
        return self.inner.absolute_apart

    @property
    def squared_apart(self) -> Fraction:
        return self.inner.squared_apart

    @property
    def wraps(self) -> bool:
        return self.inner.wraps

    @property
    def limit(self) -> int:
        return self.inner.limit

    def moved_squared(self, l1: Fraction, l2_squared: Fraction) -> Fraction:
        return self.inner.moved_squared(l1, l2_squared)

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        return self.inner.rows(cells[..., self._order])

    def estimate(self, rows: NDArray[Any]) -> Floats:
        return self._back(self.inner.estimate(rows))

    def weights(self, query: NDArray[Any]) -> Floats:
        return self.inner.weights(np.asarray(query)[..., self._order])

    @property
    def typical(self) -> Floats:
        return self._back(self.inner.typical)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.array(self.order, dtype=np.int64)

    def _back(self, cells: Floats) -> Floats:
        out = np.empty_like(cells)
        out[..., self._order] = cells
        return out

    def __str__(self) -> str:
        return f"{self.inner}, in the order {name_of(self.order)}"

    @property
    def summary(self) -> str:
        return self.inner.summary


def choose_levels(
    paths: Sequence[Sequence[Hashable]],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    sensitivity: Sensitivity | Number = 1,
    one_cell: bool = False,
) -> Comparison:
    """Strategies for the nodes of every level, the leaves' too, each level as important as any other. `paths`: each leaf's
    ancestors, coarse to fine, in any order of the leaves.

    Flat; a tree of equal shares; and shares found by trying a level's up and down while the exact mean variance falls. A tree's
    node variances come from two passes over it.
    """
    if (epsilon is None) == (rho is None):
        raise BadInput("a promise was asked with neither or both of epsilon and rho", hint="give one of the two")
    reach = Sensitivity.of(sensitivity)
    order = tuple(sorted(range(len(paths)), key=lambda i: tuple(map(str, paths[i]))))
    base = Tree.declared([paths[i] for i in order])
    depth, leaves = len(base.nest.sizes), base.nest.leaves

    def kept(strategy: Strategy) -> Histogram:
        placed = strategy if order == tuple(range(leaves)) else Reordered(strategy, order)
        if rho is not None:
            return GaussianHistogram.of_rho(rho, sensitivity=reach, strategy=placed, one_cell=one_cell)
        assert epsilon is not None
        return LaplaceHistogram.calibrate(sensitivity=reach, epsilon=epsilon, strategy=placed, one_cell=one_cell)

    def weighted(shares: Sequence[float]) -> Tree:
        whole = [Fraction(max(1, round(_FINE * share / sum(shares))), _FINE) for share in shares]
        return Tree(base.nest, tuple(sum(whole) / share for share in whole))

    def error(mechanism: Histogram, tree: Tree | None) -> float:
        """The mean variance of a node, on average over the levels."""
        noises = {scale: mechanism.noise(scale).mean_square for scale in mechanism.strategy.scales}
        sizes = base.nest.sizes
        if tree is None:
            return noises[Fraction(1)] * float(np.mean([leaves / size for size in sizes]))
        squares = [noises[scale] for scale in tree.level_scales]
        return float(np.mean([each.mean() for each in node_variances(tree, squares)]))

    def of(shares: Sequence[float]) -> float:
        tree = weighted(shares)
        return error(kept(tree), tree)

    best = _descended(of, [1.0] * depth)
    found = [("flat", None), ("tree", base), ("weighted tree", weighted(best))]
    options = []
    for name, tree in found:
        mechanism = kept(Flat(leaves) if tree is None else tree)
        options.append(Option(name, mechanism, error(mechanism, tree)))
    options.sort(key=lambda option: option.variance)
    sizes = ", ".join(map(str, base.nest.sizes))
    return Comparison(f"a node of any level, of {sizes} nodes", tuple(options), 0.0)


def _descended(error: Callable[[Sequence[float]], float], shares: list[float]) -> list[float]:
    least = error(shares)
    for _ in range(_ROUNDS):
        before = least
        for level in range(len(shares)):
            for step in _STEPS:
                tried = [share * (step if i == level else 1.0) for i, share in enumerate(shares)]
                found = error(tried)
                if found < least:
                    least, shares = found, tried
        if least > before * (1 - 1e-4):
            break
    return shares


def node_variances(tree: Tree, squares: Sequence[float]) -> list[Floats]:
    """The variance of every node's estimate, level by level, coarse to fine; `squares` are the levels' noise variances.

    Upwards a node's row and its children's sum are averaged by their variances. Downwards a child's is v - k^2 (V - Var of its
    parent), where V is the children's sum and k the child's share of what is missing.
    """
    nest, levels = tree.nest, len(tree.nest.sizes)
    ups = [np.full(nest.leaves, squares[-1])]
    for level in reversed(range(levels - 1)):
        total = nest.gathered(level, ups[0])
        ups.insert(0, total * squares[level] / (total + squares[level]))
    found = [ups[0]]
    for level in range(levels - 1):
        children = ups[level + 1]
        total = nest.gathered(level, children)
        share = children / nest.spread(level, total)
        found.append(children - share**2 * nest.spread(level, total - found[-1]))
    return found
