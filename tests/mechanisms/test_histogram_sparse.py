"""Sparse domains and marginals: the law of the flat histogram at the price of what is told; tables that agree.

False alarms: each statistical test here errs with probability 1e-9 or less.
"""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.core import BadInput, Sensitivity
from sfumato.mechanisms import GaussianHistogram, LaplaceHistogram, SparseHistogram
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.marginals import Marginals
from sfumato.mechanisms.histogram.product import Product
from sfumato.noise import DiscreteLaplace, system_source


def fits(seen: dict[object, int], law: dict[object, float], runs: int) -> bool:
    """Chi-square at a false-alarm rate of 1e-9; thin outcomes pooled."""
    thick = {key: p * runs for key, p in law.items() if p * runs >= 20}
    rest = runs - sum(thick.values())
    score = sum((seen.get(key, 0) - mean) ** 2 / mean for key, mean in thick.items())
    others = sum(count for key, count in seen.items() if key not in thick)
    if rest >= 5:
        score += (others - rest) ** 2 / rest
    return bool(chi2.sf(score, len(thick)) > 1e-9)


# ── sparse domains ───────────────────────────────────────────────────────────


def test_the_law_is_that_of_the_flat_histogram_with_a_threshold() -> None:
    """Which cells of 6 are told, two of them held, over 40 000 draws: each passes on its own, with its own chance."""
    mechanism, runs = SparseHistogram(6, 3, "3/2"), 40_000
    held = {1: 2, 4: 5}
    noise, one = DiscreteLaplace(Fraction(3, 2)), 1 << 64
    chance = [sum(noise.tail_bounds(3 - held.get(cell, 0), 64)) / 2 / one for cell in range(6)]
    law: dict[object, float] = {
        kept: float(np.prod([p if k else 1 - p for p, k in zip(chance, kept, strict=True)]))
        for kept in product((False, True), repeat=6)
    }
    seen: dict[object, int] = {}
    counts: list[int] = []
    for each in mechanism.repeat(held, runs, system_source()):
        told = dict(each)
        counts += [count for cell, count in told.items() if cell in {0, 2, 3, 5}]
        kept = tuple(cell in told for cell in range(6))
        seen[kept] = seen.get(kept, 0) + 1
    assert fits(seen, law, runs)
    # The counts of empty cells that pass: the tail of the noise, from the threshold on.
    tail = sum(noise.tail_bounds(3, 64)) / 2 / one
    values: dict[object, float] = {k: sum(noise.pmf_bounds(k, 64)) / 2 / one / tail for k in range(3, 60)}
    assert min(counts) == 3
    assert fits({k: counts.count(k) for k in set(counts)}, values, len(counts))


def test_a_huge_domain_costs_what_it_tells() -> None:
    mechanism = SparseHistogram.calibrate(domain=1 << 60, epsilon=1)
    assert mechanism.false_cells <= 1
    assert mechanism.loss(1).epsilon() == 1
    held = {i * 10**9: 1000 for i in range(100)}
    started = time.perf_counter()
    told = dict(mechanism.release(held, sensitivity=1).value)
    assert time.perf_counter() - started < 5
    assert set(held) <= set(told)
    assert mechanism.within("0.99") >= mechanism.threshold - 1
    twice = SparseHistogram.calibrate(domain=100, epsilon=1, sensitivity=Sensitivity.of_cells(2), threshold=9)
    assert twice.scale == 2
    assert twice.threshold == 9


def test_places_skip_the_held_cells() -> None:
    """With all noise passing (a threshold of 1, half of the time), every empty cell comes up and no held one twice."""
    mechanism = SparseHistogram(8, 1, 1)
    seen: set[int] = set()
    for _ in range(400):
        told = [cell for cell, _ in mechanism.sample({0: -1000, 3: -1000, 7: -1000}, system_source())]
        assert told == sorted(set(told))
        seen |= set(told)
    assert seen == {1, 2, 4, 5, 6}


# ── marginals ────────────────────────────────────────────────────────────────


def tables_of(grid: tuple[int, ...], asked: list[tuple[int, ...]], marginals: Marginals) -> list[np.ndarray]:
    return [
        marginals.query_of(table, place) for table in asked for place in product(*(range(grid[axis]) for axis in table))
    ]


@pytest.mark.parametrize("currency", ["pure", "zcdp"])
def test_marginals_are_least_squares_and_beat_the_flat_grid(currency: str) -> None:
    grid = (4, 3, 5)
    asked: list[tuple[int, ...]] = [(0,), (1,), (2,)]
    found = Marginals.best(grid, asked, currency)  # type: ignore[arg-type]
    cells = DRAWS.integers(0, 100, size=grid)
    assert np.allclose(found.estimate(found.rows(cells)), cells)
    units = np.eye(60, dtype=np.int64).reshape(60, *grid)
    matrix = found.rows(units).T / found.row_scales[:, None]
    assert np.abs(matrix).sum(axis=0) == pytest.approx(float(found.absolute))
    assert (matrix**2).sum(axis=0) == pytest.approx(float(found.squared))
    pairs = [matrix[:, i] - matrix[:, j] for i in range(60) for j in range(i)]
    assert max(np.abs(pair).sum() for pair in pairs) == pytest.approx(float(found.absolute_apart))
    assert max((pair**2).sum() for pair in pairs) == pytest.approx(float(found.squared_apart))
    rows = DRAWS.normal(size=found.codes.size)
    expected = np.linalg.lstsq(matrix, rows / found.row_scales, rcond=None)[0]
    assert np.allclose(found.estimate(rows).ravel(), expected)
    query = DRAWS.normal(size=grid)
    assert float((found.estimate(rows) * query).sum()) == pytest.approx(float(found.weights(query) @ rows))

    def mean(strategy: Marginals | Product) -> float:
        made = (
            LaplaceHistogram.calibrate(strategy=strategy, epsilon=1)
            if currency == "pure"
            else GaussianHistogram.of_rho("1/2", strategy=strategy)
        )
        return float(np.mean([made.variance(q) for q in tables_of(grid, asked, found)]))

    assert mean(found) < mean(Product((Flat(4), Flat(3), Flat(5)))) * 0.8


DRAWS = np.random.default_rng()


def test_moves_stay_below_the_promise_of_marginals() -> None:
    found = Marginals((3, 4), ((), (0,), (0, 1)), (Fraction(3), Fraction(2), Fraction(6)))
    for d in [np.ones((3, 4), dtype=np.int64), *DRAWS.integers(-2, 3, size=(100, 3, 4))]:
        rows = found.rows(d) / found.row_scales
        l1, square = Fraction(int(np.abs(d).sum())), Fraction(int((d * d).sum()))
        assert np.abs(rows).sum() <= float(l1 * found.absolute) * (1 + 1e-9)
        assert (rows**2).sum() <= float(found.moved_squared(l1, square)) * (1 + 1e-9)


def test_marginals_of_one_release_agree() -> None:
    found = Marginals.best((6, 5), [(0,), (1,)])
    value = LaplaceHistogram.calibrate(strategy=found, epsilon=1).release(np.full((6, 5), 10), sensitivity=1).value
    assert value.sum(axis=0).sum() == value.sum(axis=1).sum()


@pytest.mark.parametrize(
    "make",
    [
        lambda: SparseHistogram(0, 1, 1),
        lambda: SparseHistogram(10, 0, 1),
        lambda: SparseHistogram(True, 1, 1),
        lambda: SparseHistogram(1 << 60, 1, 1),
        lambda: SparseHistogram(10, 1, 1).release({10: 1}, sensitivity=1),
        lambda: SparseHistogram(10, 1, 1).release({-1: 1}, sensitivity=1),
        lambda: SparseHistogram(10, 1, 1).release([1, 2], sensitivity=1),  # type: ignore[arg-type]
        lambda: SparseHistogram(10, 1, 1).release({1: 0.5}, sensitivity=1),  # type: ignore[dict-item]
        lambda: SparseHistogram.calibrate(epsilon=1),
        lambda: SparseHistogram.calibrate(domain=10, epsilon=1, sensitivity=0),
        lambda: Marginals((2, 3), ((0,),), (Fraction(1),)),
        lambda: Marginals((2, 3), ((0, 1), (1, 0)), (Fraction(1), Fraction(1))),
        lambda: Marginals((2, 3), ((0, 1),), ()),
        lambda: Marginals.best((2, 3), []),
        lambda: Marginals.best((2, 3), [(2,)]),
        lambda: Marginals.best((2, 3), [(0,)]).query_of((0,), (2,)),
        lambda: Marginals.best((2, 3), [(0,)]).query_of((0,), (1, 1)),
    ],
)
def test_bad_input_is_refused_with_a_hint(make: object) -> None:
    with pytest.raises(BadInput) as caught:
        make()  # type: ignore[operator]
    assert caught.value.hint
