"""Grids and declared levels: the expected errors are those of the exact laws, the order of leaves is nobody's business."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from sfumato.core import Neighbours, Sensitivity
from sfumato.mechanisms import LaplaceHistogram
from sfumato.mechanisms.histogram.grid import choose_grid
from sfumato.mechanisms.histogram.levels import Reordered, choose_levels, node_variances
from sfumato.mechanisms.histogram.privelet import Haar
from sfumato.mechanisms.histogram.tree import Tree
from sfumato.mechanisms.histogram.workload import Bins, Prefixes, Ranges

PATHS = [("N", "a"), ("S", "c"), ("N", "b"), ("N", "a"), ("S", "c"), ("S", "d"), ("N", "a")]


def ranges(bins: int) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    places = np.arange(bins)
    return [((low <= places) & (places <= high)).astype(float) for low in range(bins) for high in range(low, bins)]


@pytest.mark.parametrize("promise", [{"epsilon": "0.02"}, {"rho": "0.0002"}])
def test_the_expected_error_of_a_grid_is_the_mean_over_its_questions(promise: Any) -> None:
    """Noise of a scale of 50 and more: discrete and continuous variances differ by less than a part in a thousand."""
    found = choose_grid((Ranges(9), Prefixes(6)), sensitivity=1, **promise)
    prefixes = [(np.arange(6) <= k).astype(float) for k in range(6)]
    for option in found.options:
        exact = [option.mechanism.variance(np.multiply.outer(x, y)) for x, y in product(ranges(9), prefixes)]
        assert option.variance == pytest.approx(float(np.mean(exact)), rel=2e-3)
        assert option.variance >= found.lower_bound * (1 - 1e-9)
    assert [o.variance for o in found.options] == sorted(o.variance for o in found.options)


def test_a_grid_leaves_out_what_could_not_hold_its_cells() -> None:
    small, large = (choose_grid((Ranges(64), Bins(2)), epsilon=1, most=most) for most in (2**30, 2**46))
    assert small.best.name == "best of each"
    assert large.best.name != "best of each"
    assert all(option.mechanism.strategy.limit >= 2**46 for option in large.options)


def test_node_variances_are_those_of_the_estimates() -> None:
    tree = Tree.declared(sorted(PATHS), ["1/2", "1/3", "1/6"])
    squares = [float(scale) ** 2 * 3 for scale in tree.level_scales]
    for starts, found in zip(tree.nest.starts, node_variances(tree, squares), strict=True):
        ends = [*starts[1:], tree.nest.leaves]
        for first, last, variance in zip(starts, ends, found, strict=True):
            query = np.zeros(tree.nest.leaves)
            query[first:last] = 1
            spread = (tree.weights(query) * tree.row_scales) ** 2 * 3
            assert variance == pytest.approx(float(spread.sum()))


@pytest.mark.parametrize("promise", [{"epsilon": "0.01"}, {"rho": "0.0001"}])
def test_levels_are_compared_on_all_their_nodes(promise: Any) -> None:
    found = choose_levels(PATHS, **promise)
    levels = [
        [np.array([float(path[:depth] == node) for path in PATHS]) for node in {path[:depth] for path in PATHS}]
        for depth in (1, 2)
    ]
    levels.append(list(np.eye(len(PATHS))))
    for option in found.options:
        exact = float(np.mean([np.mean([option.mechanism.variance(q) for q in queries]) for queries in levels]))
        assert option.variance == pytest.approx(exact, rel=1e-3)
    names = {option.name: option.variance for option in found.options}
    assert names["weighted tree"] <= names["tree"] * (1 + 1e-5), "but for the rounding of its shares"


def test_many_leaves_under_levels_are_better_off_with_a_tree() -> None:
    paths = [(f"r{i // 500}", f"d{i // 50}") for i in range(2000)]
    found = choose_levels(paths, epsilon=1)
    assert found.best.name != "flat"
    region = np.array([float(path[0] == "r0") for path in paths])
    flat = next(option for option in found.options if option.name == "flat")
    assert found.mechanism.variance(region) < flat.mechanism.variance(region) / 10


def test_reordered_is_the_same_strategy_for_other_places() -> None:
    inner, order = Haar(6), (3, 1, 5, 0, 2, 4)
    outer = Reordered(inner, order)
    cells = np.array([7, 1, 4, 0, 2, 9])
    moved = cells[list(order)]
    assert (outer.rows(cells) == inner.rows(moved)).all()
    assert (outer.estimate(outer.rows(cells)) == cells).all()
    for place in range(6):
        query = np.eye(6)[place]
        noisy = outer.rows(cells) + np.arange(outer.codes.size)
        assert float(outer.weights(query) @ noisy) == pytest.approx(float(outer.estimate(noisy)[place]))


def test_reordered_keeps_its_promise() -> None:
    strategy = Reordered(Tree.declared(sorted(PATHS)[:4]), (2, 0, 3, 1))
    mechanism = LaplaceHistogram(strategy, 2, one_cell=True)
    for about, reach in ((Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE, 2)):
        moved = Sensitivity(Fraction(reach), Fraction(1), Fraction(reach), about, reach)
        assert mechanism.loss(moved) == LaplaceHistogram(strategy.inner, 2, one_cell=True).loss(moved)
