"""Workloads and the strategies chosen for them: closed forms against matrices, exact errors, the known bars."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

from sfumato.core import BadInput, NotSupported, Sensitivity
from sfumato.mechanisms import GaussianHistogram, LaplaceHistogram
from sfumato.mechanisms.histogram.augmented import augmented, descend, mean_variance
from sfumato.mechanisms.histogram.compare import choose, floor_of, usual_fan_out
from sfumato.mechanisms.histogram.compare import mean_variance as mean_of
from sfumato.mechanisms.histogram.factored import factored
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.matrix import Matrix
from sfumato.mechanisms.histogram.nest import Nest
from sfumato.mechanisms.histogram.nominal import Nominal
from sfumato.mechanisms.histogram.privelet import Haar
from sfumato.mechanisms.histogram.refined import Grouped, Refined, refined
from sfumato.mechanisms.histogram.shares import best_levels
from sfumato.mechanisms.histogram.strategy import Strategy
from sfumato.mechanisms.histogram.tree import Tree
from sfumato.mechanisms.histogram.workload import Bins, Prefixes, Queries, Ranges, Workload


def table(workload: Workload) -> np.ndarray:
    """The workload as a matrix."""
    m = workload.bins
    match workload:
        case Bins():
            return np.eye(m)
        case Ranges():
            return np.array([[i <= k <= j for k in range(m)] for i in range(m) for j in range(i, m)], dtype=float)
        case Prefixes():
            return np.tri(m)
        case Queries():
            return workload.matrix
        case _:
            raise AssertionError(workload)


OWN = Queries([[1, 0, 2, 0, 0, -1, 0, 0.5, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0, 0, 3, 1]])
WORKLOADS = [Bins(11), Ranges(1), Ranges(11), Prefixes(11), OWN]


@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
def test_closed_forms_are_those_of_the_matrix(workload: Workload) -> None:
    rows = table(workload)
    m = workload.bins
    assert workload.count == len(rows)
    assert np.allclose(workload.gram(np.eye(m)), rows.T @ rows)
    assert np.allclose(workload.gram(np.arange(m, dtype=np.float64)), rows.T @ rows @ np.arange(m))
    assert np.allclose(workload.spread(), np.diag(rows.T @ rows))
    pairs = [(a, b) for a in range(m) for b in range(a, m + 1)]
    starts, stops = (np.array(ends, dtype=float) for ends in zip(*pairs, strict=True))
    inside = [float((rows[:, a:b].sum(axis=1) ** 2).sum()) for a, b in pairs]
    assert np.allclose(workload.overlaps(starts, stops), inside)
    assert workload.singular_sum() == pytest.approx(np.linalg.svd(rows, compute_uv=False).sum())


@pytest.mark.parametrize("workload", [Bins(11), Ranges(11), Prefixes(11), OWN], ids=str)
@pytest.mark.parametrize(
    "strategy",
    [
        Flat(11),
        Haar(11),
        Tree.even(11, [2, 4], [1, 2, 3]),
        Nominal(Nest(11, ((0, 4, 5),))),
        Matrix.identity_and(np.linspace(0, 1, 22).reshape(2, 11)),
        Matrix(np.eye(11) + np.tri(11) / 4),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [LaplaceHistogram, GaussianHistogram])
def test_mean_variances_are_exact(workload: Workload, strategy: Strategy, kind: type[LaplaceHistogram]) -> None:
    mechanism = kind(strategy, "1.3")
    each = [mechanism.variance(query) for query in table(workload)]
    assert mean_of(mechanism, workload) == pytest.approx(float(np.mean(each)), rel=1e-5)


def test_long_trees_are_summed_level_by_level() -> None:
    """The formula for many bins is that of rows, which are counted here."""
    from sfumato.mechanisms.histogram import compare

    tree = Tree.even(960, [8, 80], ["0.3", "0.3", "0.4"])
    mechanism = LaplaceHistogram.calibrate(strategy=tree, epsilon=1)
    noises = [mechanism.noise(scale).mean_square for scale in tree.scales]
    by_levels = compare._heard_by_levels(tree, noises, Ranges(960))
    assert by_levels / Ranges(960).count == pytest.approx(mean_of(mechanism, Ranges(960)), rel=1e-3)


@pytest.mark.parametrize("bins", [16, 64])
def test_the_lower_bound_of_the_known_table(bins: int) -> None:
    assert 2 * floor_of(Ranges(bins)) == pytest.approx({16: 5.9, 64: 10.4}[bins], rel=0.01)
    assert choose(Ranges(bins), epsilon="1/2").lower_bound == pytest.approx(8 * floor_of(Ranges(bins)))
    assert choose(Ranges(bins), rho="1/8", sensitivity=3).lower_bound == pytest.approx(36 * floor_of(Ranges(bins)))
    assert usual_fan_out(16) == 16
    assert usual_fan_out(256) == 16
    assert usual_fan_out(1024) == 32


def test_levels_are_found_in_milliseconds_and_their_variance_is_true() -> None:
    best_levels.cache_clear()
    started = time.perf_counter()
    levels = best_levels(Ranges(1024), "pure")
    took = time.perf_counter() - started
    assert took < 1, "some 30 ms, when nothing else runs"
    assert len(levels.counts) in {1, 2}
    tree = levels.tree(1024)
    assert tree.absolute == 1
    # Noise of scale 1000 is as good as continuous.
    wide = LaplaceHistogram.calibrate(strategy=tree, epsilon="1/1000")
    assert mean_of(wide, Ranges(1024)) / 1e6 == pytest.approx(levels.variance, rel=1e-3)


def test_descent_follows_its_gradient_and_goes_down() -> None:
    workload, draws = Ranges(24), np.random.default_rng()
    curve = mean_variance(workload, 3)
    point, step = draws.random((3, 24)), draws.normal(size=(3, 24))
    slope = (curve(point + 1e-6 * step)[0] - curve(point - 1e-6 * step)[0]) / 2e-6
    assert slope == pytest.approx(float((curve(point)[1] * step).sum()), rel=1e-4, abs=1e-5)
    assert descend(curve, point, 50)[0] < curve(point)[0]
    strategy = Matrix.identity_and(point)
    exact = mean_of(LaplaceHistogram.calibrate(strategy=strategy, epsilon="1/1000"), workload) / 1e6
    assert exact == pytest.approx(curve(point)[0], rel=1e-3)


def test_the_best_gaussian_strategy_is_near_the_bound() -> None:
    """Nothing is below the bound, and the fixed point is within 3 % of it on ranges and prefixes."""
    for workload in (Ranges(64), Prefixes(64)):
        found = GaussianHistogram.of_rho("1/2", strategy=factored(workload))
        low = floor_of(workload)
        assert low < mean_of(found, workload) < 1.06 * low
        assert found.loss(1).zcdp() is not None
    with pytest.raises(NotSupported):
        factored(Ranges(1025))


@pytest.mark.slow
def test_one_round_is_enough_for_many_bins() -> None:
    """At 300 bins, found in one round, the variance is still within 2 % of the bound."""
    found = GaussianHistogram.of_rho("1/2", strategy=factored(Ranges(300)))
    assert mean_of(found, Ranges(300)) < 1.02 * floor_of(Ranges(300))


def test_many_bins_are_refined_from_groups() -> None:
    """Groups under the best matrix and wavelets inside them are well below wavelets alone; groups ask what the bins do."""
    rows = table(Ranges(11))
    spread = np.repeat(np.eye(3), 4, axis=0)[:11] / 4
    assert np.allclose(Grouped(Ranges(11), 4).gram(np.eye(3)), spread.T @ rows.T @ rows @ spread)
    assert np.allclose(np.diag(spread.T @ rows.T @ rows @ spread), Grouped(Ranges(11), 4).spread())
    workload = Ranges(100)
    found = GaussianHistogram.of_rho("1/2", strategy=refined(workload))
    wavelets = GaussianHistogram.of_rho("1/2", strategy=Haar(100))
    assert floor_of(workload) < mean_of(found, workload) < 0.9 * mean_of(wavelets, workload)
    line = found.loss(1).zcdp()
    assert line is not None
    assert line[0] <= Fraction(1, 2)


@pytest.mark.slow
def test_many_bins_under_rho() -> None:
    """A quarter below wavelets at 4 096 bins, and within a seventh of the bound."""
    comparison = choose(Ranges(4096), rho="1/2")
    assert isinstance(comparison.mechanism.strategy, Refined)
    wavelets = next(option for option in comparison.options if option.name == "Privelet")
    assert comparison.best.variance < 0.75 * wavelets.variance
    assert comparison.lower_bound < comparison.best.variance < comparison.lower_bound * 8 / 7


@pytest.mark.parametrize(("bins", "bar"), [(16, 12.0), (128, 45.3)])
def test_the_bars_of_random_ranges(bins: int, bar: float) -> None:
    assert choose(Ranges(bins), epsilon=1).best.variance <= bar


@pytest.mark.slow
@pytest.mark.parametrize(("bins", "bar"), [(1024, 143.0), (4096, 261.0)])
def test_the_bars_of_many_bins(bins: int, bar: float) -> None:
    started = time.perf_counter()
    comparison = choose(Ranges(bins), epsilon=1)
    assert comparison.best.variance <= bar
    assert comparison.best.mechanism.loss(1).epsilon() == pytest.approx(1)
    assert time.perf_counter() - started < 60
    again = time.perf_counter()
    augmented(Ranges(bins))
    assert time.perf_counter() - again < 0.1, "it is kept"


def test_a_comparison_is_by_expected_error_and_says_so() -> None:
    flat = choose(Bins(1024), epsilon=1)
    assert isinstance(flat.mechanism.strategy, Flat)
    assert isinstance(choose(Ranges(16), epsilon=1).mechanism.strategy, Flat)
    comparison = choose(Ranges(64), epsilon="1/2", sensitivity=Sensitivity.of_cells(2))
    assert [option.variance for option in comparison.options] == sorted(
        option.variance for option in comparison.options
    )
    for option in comparison.options:
        assert option.mechanism.loss(Sensitivity.of_cells(2)).epsilon() <= 0.5 * (1 + 1e-12)
        assert option.name in str(comparison)
    assert "lower bound" in str(comparison)
    gaussian = choose(Prefixes(32), rho="1/8")
    for option in gaussian.options:
        line = option.mechanism.loss(1).zcdp()
        assert line is not None
        assert line[0] <= Fraction(1, 8)
    assert [option.name for option in choose(Ranges(1), epsilon=1).options] == ["flat"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ranges(0),
        lambda: Bins(-1),
        lambda: Prefixes(True),
        lambda: Queries([1, 2]),
        lambda: Queries([[float("inf")]]),
        lambda: Queries([["a"]]),
        lambda: choose(Ranges(4)),
        lambda: choose(Ranges(4), epsilon=1, rho=1),
        lambda: choose(Ranges(4), epsilon=-1),
        lambda: choose(Ranges(4), epsilon=1, sensitivity=0),
        lambda: choose(Ranges(4), rho=1, sensitivity=0),
        lambda: mean_of(LaplaceHistogram(Flat(3), 1), Ranges(4)),
    ],
)
def test_bad_input_is_refused_with_a_hint(make: object) -> None:
    with pytest.raises(BadInput) as caught:
        make()  # type: ignore[operator]
    assert caught.value.hint
