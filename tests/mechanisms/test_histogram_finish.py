"""After the noise, at no cost: projections, rounding, the bias they add, and distances between histograms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, linprog, minimize

from sfumato.core import BadInput
from sfumato.mechanisms import GaussianHistogram, LaplaceHistogram
from sfumato.mechanisms.histogram.finish import (
    bias_of,
    clipping_bias,
    cumulative,
    likeliest_of_total,
    monotone,
    non_negative,
    non_negative_of_total,
    of_total,
    rounded,
    wasserstein,
)
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.tree import Tree

DRAWS = np.random.default_rng()


def test_projections_are_the_nearest_points() -> None:
    """Against a general solver, on random estimates."""
    for _ in range(20):
        cells = DRAWS.normal(2, 5, size=6)
        total = float(DRAWS.uniform(0, 30))
        start = np.full(6, total / 6)
        known = {"type": "eq", "fun": lambda x, total=total: x.sum() - total}
        free = minimize(lambda x, c=cells: ((x - c) ** 2).sum(), start, constraints=[known], tol=1e-12).x
        assert np.allclose(of_total(cells, total), free, atol=1e-4)
        bounds = [(0, None)] * 6
        held = minimize(lambda x, c=cells: ((x - c) ** 2).sum(), start, bounds=bounds, constraints=[known], tol=1e-12).x
        found = non_negative_of_total(cells, total)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(total)
        assert np.allclose(found, held, atol=1e-3)


def test_the_likeliest_cells_change_least_in_sum() -> None:
    """Against a linear program: no cells of 0 or more with this total have a smaller sum of changes."""
    for _ in range(50):
        cells = DRAWS.normal(1, 4, size=5)
        total = float(DRAWS.uniform(0, 20))
        found = likeliest_of_total(cells, total)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(total)
        # Variables x and t >= |x - cells|; the sum of t is least.
        eye = np.eye(5)
        above = np.block([[eye, -eye], [-eye, -eye]])
        least = linprog(
            [0] * 5 + [1] * 5,
            above,
            np.concatenate([cells, -cells]),
            [[1] * 5 + [0] * 5],
            [total],
            bounds=[(0, None)] * 10,
        )
        assert np.abs(found - cells).sum() == pytest.approx(least.fun, abs=1e-7)


def test_monotone_cells_are_those_of_scipy() -> None:
    for _ in range(20):
        cells, weights = DRAWS.normal(size=30), DRAWS.uniform(0.5, 2, size=30)
        assert np.allclose(monotone(cells, weights=weights), isotonic_regression(cells, weights=weights).x)
        assert np.allclose(monotone(cells, falling=True), isotonic_regression(cells, increasing=False).x)
    assert (np.diff(cumulative(DRAWS.normal(size=50))) >= 0).all()


def test_rounding_errors_do_not_add_up() -> None:
    cells = DRAWS.uniform(0, 3, size=1000)
    whole = rounded(cells)
    assert whole.dtype == np.int64
    assert whole.min() >= 0
    assert np.abs(np.cumsum(whole) - np.cumsum(cells)).max() <= 0.5 + 1e-9
    assert rounded(np.array([[0.6, 0.6], [0.6, 0.2]])).tolist() == [[1, 0], [1, 0]]


def test_cutting_off_negative_counts_adds_the_stated_bias() -> None:
    """Estimates are unbiased; cut off, an empty cell reads sigma/sqrt(2 pi) too high, and 1000 of them 1000 times that."""
    mechanism = GaussianHistogram(Flat(1000), 4)
    empty = np.zeros(1000, dtype=np.int64)
    variance = mechanism.variance_of_range(0, 0)
    stated = clipping_bias(variance)
    assert stated == pytest.approx(4 / math.sqrt(2 * math.pi), rel=1e-3)
    # The mean of 10^6 cells has a deviation of 0.004 or less: 0.025 is six of them.
    assert float(bias_of(mechanism, empty, np.asarray, runs=1000).mean()) == pytest.approx(0, abs=0.025)
    assert float(bias_of(mechanism, empty, non_negative, runs=1000).mean()) == pytest.approx(stated, abs=0.025)
    assert float(bias_of(mechanism, empty + 4, non_negative, runs=1000).mean()) == pytest.approx(
        clipping_bias(variance, 4), abs=0.025
    )


def test_what_is_known_lowers_the_error() -> None:
    """A projection onto a convex set that holds the truth takes no estimate further from it: on every single draw."""
    mechanism = LaplaceHistogram(Tree.even(16, [4], [1, 1]), 3)
    truth = np.array([0, 0, 0, 1, 2, 3, 5, 8, 13, 13, 13, 14, 15, 15, 20, 40])
    for _ in range(200):
        seen = mechanism.release(truth, sensitivity=1).value
        before = float(((seen - truth) ** 2).sum())
        total = float(truth.sum())
        for finish in (
            non_negative,
            monotone,
            lambda v, t=total: of_total(v, t),
            lambda v, t=total: non_negative_of_total(v, t),
        ):
            assert float(((finish(seen) - truth) ** 2).sum()) <= before + 1e-9


def test_wasserstein_carries_mass_along_positions() -> None:
    """The order of bins counts, which scipy's function called on two lists of counts forgets."""
    assert wasserstein([1, 0, 0], [0, 0, 1]) == 2
    assert wasserstein([1, 0, 0], [0, 1, 0]) == 1
    assert wasserstein([2, 2], [5, 5]) == 0
    assert wasserstein([1, 0, 0], [0, 0, 1], positions=[0, 10, 30]) == 30
    from scipy.stats import wasserstein_distance

    one, other = DRAWS.integers(1, 50, size=(2, 16))
    places = np.cumsum(DRAWS.uniform(0.1, 3, size=16))
    assert wasserstein(one, other, places) == pytest.approx(wasserstein_distance(places, places, one, other))
    assert wasserstein_distance([1, 0, 0], [0, 0, 1]) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: non_negative([]),
        lambda: non_negative([float("nan")]),
        lambda: non_negative(["a"]),
        lambda: of_total([1.0], float("inf")),
        lambda: of_total([1.0], True),
        lambda: non_negative_of_total([1.0], -1),
        lambda: likeliest_of_total([1.0], -1),
        lambda: monotone([[1.0, 2.0]]),
        lambda: monotone([1.0, 2.0], weights=[1.0, 0.0]),
        lambda: monotone([1.0, 2.0], weights=[1.0]),
        lambda: clipping_bias(0),
        lambda: bias_of(LaplaceHistogram(Flat(2), 1), [1, 2], non_negative, runs=0),
        lambda: wasserstein([1, -1], [1, 1]),
        lambda: wasserstein([0, 0], [1, 1]),
        lambda: wasserstein([1, 1], [1, 1, 1]),
        lambda: wasserstein([1, 1], [1, 1], positions=[1, 0]),
    ],
)
def test_bad_input_is_refused_with_a_hint(make: object) -> None:
    with pytest.raises(BadInput) as caught:
        make()  # type: ignore[operator]
    assert caught.value.hint


def test_edges_of_projections() -> None:
    """One cell, a total of 0, and cells that all lie below."""
    assert non_negative_of_total([-5.0], 3).tolist() == [3]
    assert non_negative_of_total([-5.0, -4.0], 0).tolist() == [0, 0]
    assert likeliest_of_total([-5.0, -4.0], 0).tolist() == [0, 0]
    assert monotone([7.0]).tolist() == [7.0]
    assert all(monotone(p).tolist() == [2.0] * 3 for p in ([3.0, 2.0, 1.0],))
    assert sorted(itertools.chain(rounded([0.5]).tolist())) == [0]
