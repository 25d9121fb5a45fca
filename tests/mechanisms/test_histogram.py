"""Histograms: exact norms against brute force, least squares against numpy's, exact errors, promises, bad input.

False alarms: each statistical test here errs with probability 1e-9 or less.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato.accounting import Zcdp
from sfumato.audit.exact import hockey_stick
from sfumato.core import BadInput, Neighbours, Sensitivity
from sfumato.mechanisms import GaussianHistogram, LaplaceHistogram
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.matrix import Matrix
from sfumato.mechanisms.histogram.nest import Nest
from sfumato.mechanisms.histogram.nominal import Nominal
from sfumato.mechanisms.histogram.privelet import (
    Haar,
    add_laplace_noise,
    compute_whaar_weights,
    haar_wavelet_transform,
    inverse_haar_wavelet_transform,
    pad_to_power_of_two,
    wasserstein_distance,
)
from sfumato.mechanisms.histogram.product import Product, privelet_plus
from sfumato.mechanisms.histogram.refined import Refined
from sfumato.mechanisms.histogram.strategy import Strategy
from sfumato.mechanisms.histogram.tree import Tree
from sfumato.noise import system_source

REPLACE = Neighbours.REPLACE
PATHS = [("north", "a"), ("north", "a"), ("north", "b"), ("south", "c"), ("south", "d"), ("south", "d"), ("east", "e")]

STRATEGIES: list[Strategy] = [
    Flat(1),
    Flat(7),
    Haar(1),
    Haar(2),
    Haar(16),
    Haar(11),
    Tree.even(12, [2, 6], ["1/4", "1/4", "1/2"]),
    Tree.even(11, [1, 3], ["0.2", "0.3", "0.5"]),
    Tree.branching(16, 4),
    Tree.branching(10, 3),
    Tree.declared(PATHS, [1, 2, 3]),
    Nominal(Nest(5)),
    Nominal(Nest.of_paths(PATHS)),
    Product((Haar(4), Flat(3))),
    Product((Tree.even(6, [2], [1, 2]), Nominal(Nest(3)))),
    Refined(12, Tree.even(3, [1], [1, 2]), 2, Fraction(3, 2), Fraction(4, 3)),
    Refined(11, Matrix(np.tri(3)), 2, Fraction(3, 2), Fraction(4, 3)),
    Matrix.identity_and(np.linspace(0, 1, 14).reshape(2, 7)),
    Matrix([[1, 0.5, 0], [0, 1, -2.5], [0.125, 0, 1], [1, 1, 1]]),
]
names = pytest.mark.parametrize("strategy", STRATEGIES, ids=str)


def matrix_of(strategy: Strategy) -> np.ndarray:
    """The strategy's rows, one unit at a time."""
    units = np.eye(strategy.size, dtype=np.int64).reshape(strategy.size, *strategy.shape)
    return np.stack([strategy.rows(unit) for unit in units], axis=1)


def columns(strategy: Strategy) -> list[list[Fraction]]:
    scales = [strategy.scales[int(code)] for code in strategy.codes]
    return [[int(a) / s for a, s in zip(column, scales, strict=True)] for column in matrix_of(strategy).T]


def weigh(strategy: Strategy) -> np.ndarray:
    return matrix_of(strategy).astype(np.float64) / strategy.row_scales[:, None]


# ── norms ────────────────────────────────────────────────────────────────────


@names
def test_norms_are_those_of_the_columns(strategy: Strategy) -> None:
    """`absolute` and `squared` are reached by a column; the distances bound every pair, and single columns."""
    found = columns(strategy)
    ones = [sum(map(abs, column), Fraction(0)) for column in found]
    twos = [sum((a * a for a in column), Fraction(0)) for column in found]
    assert max(ones) == strategy.absolute
    assert max(twos) <= strategy.squared
    if not isinstance(strategy, Nominal):
        assert max(twos) == strategy.squared
    pairs = [[a - b for a, b in zip(*pair, strict=True)] for pair in itertools.combinations(found, 2)]
    assert max([*ones, *(sum(map(abs, pair), Fraction(0)) for pair in pairs)]) <= strategy.absolute_apart
    assert max([*twos, *(sum((a * a for a in pair), Fraction(0)) for pair in pairs)]) <= strategy.squared_apart


@pytest.mark.parametrize("bins", [2, 4, 16, 256])
def test_generalised_sensitivity_of_haar_wavelets(bins: int) -> None:
    """1 + log2 m when a unit comes or goes, from every bin; 2 log2 m when it changes bin, not the paper's 2 + 2 log2 m."""
    levels = bins.bit_length() - 1
    found = columns(Haar(bins))
    assert {sum(map(abs, column), Fraction(0)) for column in found} == {Fraction(1 + levels)}
    apart = max(sum(abs(a - b) for a, b in zip(found[0], other, strict=True)) for other in found[1:])
    assert apart == 2 * levels == Haar(bins).absolute_apart or levels == 0
    replace = Sensitivity(Fraction(2), Fraction(1), Fraction(2), REPLACE, 2)
    assert LaplaceHistogram(Haar(bins), 4, one_cell=True).loss(replace).epsilon() == pytest.approx(2 * levels / 4)
    assert LaplaceHistogram(Haar(bins), 4).loss(replace).epsilon() == pytest.approx(2 * (1 + levels) / 4)


@names
def test_the_price_is_of_the_norms(strategy: Strategy) -> None:
    """One unit in one cell, and two cells of three units each: epsilon and rho by hand, whatever the rows' scales."""
    one, more = Sensitivity.of(1), Sensitivity.of_cells(2, 3)
    laplace, gaussian = LaplaceHistogram(strategy, 5), GaussianHistogram(strategy, 5)
    assert laplace.loss(one).epsilon() == pytest.approx(float(strategy.absolute / 5))
    assert laplace.loss(more).epsilon() == pytest.approx(float(6 * strategy.absolute / 5))
    rho, of_more = gaussian.loss(one).zcdp(), gaussian.loss(more).zcdp()
    assert rho is not None
    assert of_more is not None
    assert rho[0] == strategy.squared / 50
    assert of_more[0] == min(strategy.moved_squared(Fraction(6), Fraction(18)), 36 * strategy.squared) / 50


@names
def test_moves_of_any_sensitivity_stay_below_the_promise(strategy: Strategy) -> None:
    """Random moves of cells, and the worst unit ones: sums of |a . d|/s and of squares never pass what the loss says."""
    draws = np.random.default_rng()
    scaled = weigh(strategy)
    moves = [draws.integers(-2, 3, size=strategy.size) * (draws.random(strategy.size) < p) for p in draws.random(200)]
    for d in [np.ones(strategy.size, dtype=np.int64), *moves]:
        l1, linf, l2_squared = (Fraction(int(x)) for x in (np.abs(d).sum(), np.abs(d).max(), (d * d).sum()))
        moved = Sensitivity(l1, linf, l2_squared)
        laplace = LaplaceHistogram(strategy, 3)
        gaussian = GaussianHistogram(strategy, 3)
        rows = scaled @ d
        assert np.abs(rows).sum() <= float(laplace._moved(moved)) * (1 + 1e-9)
        assert (rows**2).sum() <= float(gaussian._moved_squared(moved)) * (1 + 1e-9)


def test_a_weighted_histogram_is_priced_by_its_own_sensitivity() -> None:
    """Cells scaled by 2^20, a unit in up to 3 of them: nothing is assumed to be 1."""
    whole = 1 << 20
    reach = Sensitivity(Fraction(3 * whole), Fraction(whole), Fraction(3 * whole * whole), cells=3)
    for strategy in (Flat(8), Haar(8), Tree.even(8, [2], [1, 2])):
        found = LaplaceHistogram.calibrate(sensitivity=reach, epsilon=1, strategy=strategy)
        assert found.scale == 3 * whole * strategy.absolute
        assert found.loss(reach).epsilon() == pytest.approx(1)
    assert GaussianHistogram(Flat(8), whole).loss(reach).zcdp() == (Fraction(3, 2), Fraction(0))


# ── least squares ────────────────────────────────────────────────────────────


@names
def test_estimates_are_the_weighted_least_squares(strategy: Strategy) -> None:
    """Haar wavelets take the padding for bins, and are inverted as they are."""
    rows = np.random.default_rng().integers(-50, 50, size=(3, strategy.codes.size))
    if isinstance(strategy, Haar | Refined):
        wide = Haar(strategy.codes.size) if isinstance(strategy, Haar) else replace(strategy, bins=12)
        if isinstance(wide, Haar) or strategy.size == 11:
            assert np.allclose(wide.rows(wide.estimate(rows)).astype(np.float64), rows)
            return
    expected = np.linalg.lstsq(weigh(strategy), (rows / strategy.row_scales).T, rcond=None)[0].T
    assert np.allclose(strategy.estimate(rows).reshape(3, -1), expected, atol=1e-8)


@names
def test_without_noise_the_cells_come_back(strategy: Strategy) -> None:
    cells = np.random.default_rng().integers(-(10**9), 10**9, size=strategy.shape)
    assert np.allclose(strategy.estimate(strategy.rows(cells)), cells, atol=1e-3)


@names
def test_weights_are_the_transpose_of_the_estimate(strategy: Strategy) -> None:
    draws = np.random.default_rng()
    query, rows = draws.normal(size=strategy.shape), draws.normal(size=strategy.codes.size)
    left, right = (strategy.estimate(rows) * query).sum(), strategy.weights(query) @ rows
    assert left == pytest.approx(right, rel=1e-7, abs=1e-9)


def test_large_cells_do_not_overflow_a_matrix() -> None:
    strategy = Matrix.identity_and(np.full((1, 4), 0.7))
    cells = np.array([2**60, -(2**60), 12345, 2**59 + 1])
    exact = [sum(int(w) * int(c) for w, c in zip(strategy.dense[0].tolist(), cells.tolist(), strict=True))]
    assert strategy.rows(cells)[4:].tolist() == exact


@pytest.mark.parametrize(
    "strategy",
    [
        *STRATEGIES,
        Refined(30, Matrix(np.tri(2)), 4, Fraction(1), Fraction(1)),
        Product((Haar(4), Matrix(np.tri(3)))),
        Product((Matrix(np.tri(3)), Nominal(Nest(4)))),
        Product((Matrix(np.tri(2)), Matrix.identity_and(np.ones((1, 2))))),
        Product((Nominal(Nest(5)), Refined(8, Matrix(np.tri(2)), 2, Fraction(1), Fraction(1)))),
    ],
    ids=str,
)
def test_huge_cells_move_rows_no_further_than_small_ones(strategy: Strategy) -> None:
    """At and around the limits, a unit more in a cell moves rows by a column, exactly or modulo 2**64: no wrap leaks."""
    mechanism = LaplaceHistogram(strategy, 1)
    found = matrix_of(strategy)
    for edge in (2**63 - 2, 2**62, 2**61 - 3, -(2**61), strategy.limit - 1, -strategy.limit, strategy.limit // 3):
        cells = np.full(strategy.shape, edge, dtype=np.int64)
        for i, place in enumerate(np.ndindex(*strategy.shape)):
            more = cells.copy()
            more[place] += 1
            before, after = (strategy.rows(mechanism._cells(each)).astype(object) for each in (cells, more))
            moved = [int(b) - int(a) for a, b in zip(before, after, strict=True)]
            if strategy.wraps:
                moved = [(m + 2**63) % 2**64 - 2**63 for m in moved]
            assert moved in ([int(a) for a in found[:, i]], [0] * len(moved))


@pytest.mark.parametrize(
    "strategy",
    [
        Haar(8),
        Refined(16, Matrix(np.tri(2)), 3, Fraction(1), Fraction(1)),
        Product((Haar(8), Matrix(np.tri(3)))),
        Product((Nominal(Nest(8)), Refined(8, Matrix(np.tri(2)), 2, Fraction(1), Fraction(1)))),
    ],
    ids=str,
)
def test_sums_at_the_edge_of_64_bits_move_by_a_column(strategy: Strategy) -> None:
    """Eight cells that sum to 2^63 - 1, and one unit more: where rows are exact, nothing may have wrapped before."""
    mechanism = LaplaceHistogram(strategy, 1)
    cells = np.zeros(strategy.shape, dtype=np.int64)
    cells[:4], cells[4] = 2**61 - 1, 3
    more = cells.copy()
    more[5] += 1
    before, after = (strategy.rows(mechanism._cells(each)).astype(object) for each in (cells, more))
    moved = [int(b) - int(a) for a, b in zip(before, after, strict=True)]
    if strategy.wraps:
        moved = [(m + 2**63) % 2**64 - 2**63 for m in moved]
    assert moved == [int(a) for a in strategy.rows(more - cells)]


def test_wrapped_rows_come_back_in_the_estimate() -> None:
    """Sums beyond 64 bits wrap: the answer is spoilt, and the noise and the price are as always."""
    tree = Tree.even(4, [1], [1, 1])
    assert tree.rows(np.full(4, 2**61))[0] == -(2**63)


# ── errors ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [
        (LaplaceHistogram, Haar(16)),
        (LaplaceHistogram, Tree.even(11, [1, 3], ["0.2", "0.3", "0.5"])),
        pytest.param(LaplaceHistogram, Nominal(Nest.of_paths(PATHS)), marks=pytest.mark.slow),
        pytest.param(
            LaplaceHistogram, Matrix.identity_and(np.linspace(0, 1, 14).reshape(2, 7)), marks=pytest.mark.slow
        ),
        pytest.param(GaussianHistogram, Tree.even(11, [1, 3], ["0.2", "0.3", "0.5"]), marks=pytest.mark.slow),
        pytest.param(
            GaussianHistogram,
            Refined(11, Matrix(np.tri(3)), 2, Fraction(3, 2), Fraction(4, 3)),
            marks=pytest.mark.slow,
        ),
    ],
    ids=str,
)
def test_exact_errors_are_those_of_draws(kind: type[LaplaceHistogram], strategy: Strategy) -> None:
    """Any bin, range and total within 3 % of simulation. A mean of 250 000 squares, each of deviation sqrt(5)
    at most, errs by 3 % with probability below 1e-10."""
    mechanism = kind(strategy, "1.7")
    bins, runs = strategy.size, 250_000
    draws = np.array(mechanism.repeat(np.zeros(bins, dtype=np.int64), runs, system_source()))
    for first, last in ((0, 0), (bins - 1, bins - 1), (1, bins // 2), (0, bins - 1)):
        seen = float((draws[:, first : last + 1].sum(axis=1) ** 2).mean())
        assert seen == pytest.approx(mechanism.variance_of_range(first, last), rel=0.03)
        for confidence in ("0.9", "0.99"):
            outside = (
                np.abs(draws[:, first : last + 1].sum(axis=1)) > mechanism.within_of_range(first, last, confidence)
            ).sum()
            miss = (1 - float(confidence)) * runs
            assert outside <= miss + 6.2 * miss**0.5


@names
def test_the_stated_cell_is_the_worst(strategy: Strategy) -> None:
    mechanism = LaplaceHistogram(strategy, 5)
    cells = np.eye(strategy.size).reshape(strategy.size, *strategy.shape)
    worst = max(mechanism.variance(cell) for cell in cells)
    assert mechanism.variance(strategy.typical) == pytest.approx(worst, rel=0.02)


def test_the_known_table_of_average_errors() -> None:
    """MECHANISMS' table at epsilon 1, continuous noise: Privelet 37.8, H_4 16.7, flat 12.0 at 16 bins; 5 % for the lattice."""

    def mean(strategy: Strategy) -> float:
        mechanism = LaplaceHistogram.calibrate(strategy=strategy, epsilon=1)
        bins = strategy.size
        return float(np.mean([mechanism.variance_of_range(i, j) for i in range(bins) for j in range(i, bins)]))

    assert mean(Haar(16)) == pytest.approx(37.8, rel=0.01)
    assert mean(Tree.branching(16, 4)) == pytest.approx(16.7, rel=0.03)
    assert mean(Flat(16)) == pytest.approx(11.05, rel=0.005)
    assert mean(Haar(64)) == pytest.approx(102.2, rel=0.01)
    assert mean(Tree.branching(64, 8)) == pytest.approx(37.1, rel=0.03)


# ── promises, exactly ────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "strategy", [Tree.even(2, [1], ["1/2", "1/2"]), Tree.even(2, [1], ["2/5", "3/5"]), Nominal(Nest(2))]
)
def test_all_neighbours_keep_the_promise_exactly(strategy: Strategy) -> None:
    """The exact law of all rows, both bins and the change of bin, under replacement too."""
    mechanism = LaplaceHistogram(strategy, "1/5", one_cell=True)
    cells = {name: np.array(pair) for name, pair in {"none": (0, 0), "left": (1, 0), "right": (0, 1)}.items()}
    laws = {name: mechanism.law_of_rows(value) for name, value in cells.items()}
    replace = Sensitivity(Fraction(2), Fraction(1), Fraction(2), REPLACE, 2)
    for one, other, reach in (("none", "left", 1), ("none", "right", 1), ("left", "right", replace)):
        loss = mechanism.loss(reach)
        for epsilon in (
            Fraction(0),
            Fraction(1),
            Fraction(loss.epsilon()) * Fraction(99, 100),
            Fraction(loss.epsilon()),
        ):
            for pair in ((one, other), (other, one)):
                left, right = laws[pair[0]], laws[pair[1]]
                assert left is not None
                assert right is not None
                assert float(hockey_stick(left, right, epsilon)[0]) <= loss.delta(float(epsilon)) * (1 + 1e-9)


def test_unequal_gaussian_rows_promise_rho() -> None:
    """The exact law of rows is within the zCDP curve; and not within half of it."""
    mechanism = GaussianHistogram(Tree.even(2, [1], ["2/5", "3/5"]), "1/2")
    loss = mechanism.loss(1)
    assert isinstance(loss, Zcdp)
    assert loss.rho == (Fraction(4, 25) + Fraction(9, 25)) * 2
    left, right = mechanism.law_of_rows([0, 0]), mechanism.law_of_rows([1, 0])
    assert left is not None
    assert right is not None
    half = Zcdp(loss.rho / 2)
    reached = [(float(hockey_stick(left, right, Fraction(e))[0]), float(e)) for e in (0, 1, 2, 3, 4)]
    assert all(delta <= loss.delta(e) for delta, e in reached)
    assert any(delta > half.delta(e) for delta, e in reached)


# ── Privelet's functions ─────────────────────────────────────────────────────


def test_the_functions_of_the_note() -> None:
    padded = pad_to_power_of_two([3, 1, 4, 1, 5])
    assert padded.tolist() == [3, 1, 4, 1, 5, 0, 0, 0]
    coefficients = haar_wavelet_transform(padded)
    assert coefficients[0] == padded.mean()
    assert coefficients[1] == (padded[:4].mean() - padded[4:].mean()) / 2
    assert coefficients[-4:].tolist() == [1, 1.5, 2.5, 0]
    assert inverse_haar_wavelet_transform(coefficients).tolist() == padded.tolist()
    assert compute_whaar_weights(8).tolist() == [8, 8, 4, 4, 2, 2, 2, 2]
    moved = np.stack([haar_wavelet_transform(unit) for unit in np.eye(16)], axis=1)
    assert (compute_whaar_weights(16) @ np.abs(moved)).tolist() == [5.0] * 16
    for wrong in ([], [[1, 2]]):
        with pytest.raises(BadInput):
            pad_to_power_of_two(wrong)
    with pytest.raises(BadInput, match="power of two"):
        compute_whaar_weights(12)


def test_noise_goes_by_the_inverse_of_the_weight() -> None:
    """The mean squares of 4000 draws, standard error 3.5 %, are within 30 % of the law's at each coefficient: it fails with
    probability below 1e-9."""
    cells = [3, 1, 4, 1, 5, 9, 2, 6]
    exact, weights = haar_wavelet_transform(cells), compute_whaar_weights(8)
    source = system_source()
    drawn = np.array([add_laplace_noise(exact, 1, source=source) - exact for _ in range(4000)])
    squares = (drawn**2).mean(axis=0) * weights**2
    law = LaplaceHistogram.calibrate(strategy=Haar(8), epsilon=1).noise(Fraction(1)).mean_square
    assert squares == pytest.approx(np.full(8, law), rel=0.3)


def test_distances_know_where_bins_are() -> None:
    """All mass from the first of four bins to the last is carried three bins; noise below 0 is no mass."""
    assert wasserstein_distance([5, 0, 0, 0], [0, 0, 0, 7]) == 3
    assert wasserstein_distance([5, 0, 0, 0], [2, -3, 0, 0]) == 0
    assert wasserstein_distance([1, 1], [3, 1]) == 0.25


def test_privelet_plus_leaves_small_axes_alone() -> None:
    """With powers of two the transform pays from 2^10 bins on; education's 16 stay as they are."""
    kept = privelet_plus([Haar(16), Haar(512), Haar(1024), Nominal(Nest(30)), Nominal(Nest(10))])
    assert [type(axis) for axis in kept.axes] == [Flat, Flat, Haar, Nominal, Flat]


# ── declared levels ──────────────────────────────────────────────────────────


def test_two_axes_are_a_grid() -> None:
    """Any rectangle's exact variance within 4 % of draws, under a product of strategies; sums of the cells agree."""
    grid = Product((Haar(4), Tree.even(6, [2], [1, 2])))
    mechanism = LaplaceHistogram.calibrate(strategy=grid, epsilon=1)
    draws = np.array(mechanism.repeat(np.zeros((4, 6), dtype=np.int64), 150_000, system_source())).reshape(-1, 4, 6)
    for rows, columns_ in ((slice(0, 1), slice(0, 1)), (slice(1, 3), slice(0, 4)), (slice(0, 4), slice(0, 6))):
        rectangle = np.zeros((4, 6))
        rectangle[rows, columns_] = 1
        seen = float((draws[:, rows, columns_].sum(axis=(1, 2)) ** 2).mean())
        assert seen == pytest.approx(mechanism.variance(rectangle), rel=0.04)
    assert mechanism.release(np.full((4, 6), 10), sensitivity=1).value.shape == (4, 6)


def test_totals_of_declared_levels_agree() -> None:
    """A region is the sum of its departments and of its communes, to the last digit; each level has bars of its own."""
    tree = Tree.declared(PATHS)
    mechanism = LaplaceHistogram.calibrate(strategy=tree, epsilon=1)
    cells = mechanism.release([5, 6, 7, 8, 9, 10, 11], sensitivity=1).value
    departments = np.add.reduceat(cells, tree.nest.starts[1])
    regions = np.add.reduceat(departments, tree.nest.firsts[0])
    assert regions.sum() == cells.sum()
    assert regions[0] == cells[:3].sum()
    assert mechanism.variance_of_range(0, 2) < 3 * mechanism.variance_of_range(2, 2)


# ── bad input ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "make",
    [
        lambda: Flat(0),
        lambda: Haar(-3),
        lambda: Haar(True),
        lambda: Tree.branching(16, 1),
        lambda: Tree.even(16, [3, 4], [1, 1, 1]),
        lambda: Tree.even(16, [2], [1]),
        lambda: Tree.even(16, [2], [0, 1]),
        lambda: Nest(4, ((0, 2), (0, 1))),
        lambda: Nest(4, ((1, 2),)),
        lambda: Nest(4, ((0, 4),)),
        lambda: Nest.of_paths([("a",), ("b",), ("a",)]),
        lambda: Nest.of_paths([("a",), ("b", "c")]),
        lambda: Product(()),
        lambda: Product((Product((Flat(2), Flat(2))),)),
        lambda: Refined(20, Flat(3), 2, Fraction(1), Fraction(1)),
        lambda: Refined(12, Flat(3), 0, Fraction(1), Fraction(1)),
        lambda: Matrix([[1, 1]]),
        lambda: Matrix([1, 2]),
        lambda: Matrix([[float("nan"), 1]]),
        lambda: Matrix([["a", "b"]]),
        lambda: Matrix([[1, 1]], [0, 1]),
        lambda: Matrix(np.full((1, 1 << 13), 64.0), np.ones(1 << 13)),
        lambda: LaplaceHistogram(Flat(3), 1).release([1, 2], sensitivity=1),
        lambda: LaplaceHistogram(Flat(3), 1).release([0.5, 1, 2], sensitivity=1),
        lambda: LaplaceHistogram(Flat(3), 1).variance([1, 0]),
        lambda: LaplaceHistogram(Flat(3), 1).variance_of_range(2, 1),
        lambda: LaplaceHistogram(Flat(3), 1).variance_of_range(0, 3),
        lambda: LaplaceHistogram(Product((Flat(2), Flat(2))), 1).variance_of_range(0, 1),
        lambda: LaplaceHistogram.calibrate(strategy=Flat(3), epsilon=1, sensitivity=0),
        lambda: GaussianHistogram.calibrate(strategy=Flat(3), epsilon=1),
    ],
)
def test_bad_input_is_refused_with_a_hint(make: object) -> None:
    with pytest.raises(BadInput) as caught:
        make()  # type: ignore[operator]
    assert caught.value.hint
