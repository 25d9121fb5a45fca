"""Quantiles: exact laws on small lattices in both directions and under both relations, ties, weights, groups, bad input."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from sfumato.accounting import Loss
from sfumato.audit.exact import hockey_stick
from sfumato.core import BadInput
from sfumato.core.neighbours import Neighbours
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import (
    HistogramMethod,
    IndependentQuantiles,
    InverseSensitivity,
    JointExponential,
    NoisySearch,
    RecursiveQuantiles,
    TreeQuantiles,
)
from sfumato.mechanisms.quantile.bars import around, rank_bar
from sfumato.mechanisms.quantile.chain import Chain, running, sorted_points
from sfumato.mechanisms.quantile.choose import choose
from sfumato.mechanisms.quantile.histogram_method import best_ratio
from sfumato.mechanisms.quantile.jitter import jittered
from sfumato.mechanisms.quantile.statistic import MEDIAN, Count, Largest, Mean, Quantile
from sfumato.mechanisms.quantile.tally import Lattice, Tally
from sfumato.mechanisms.quantile.tree import isotonic
from sfumato.noise import system_source
from sfumato.noise.dyadic import Dyadic

ONE = Sensitivity.of(1)
MOVED = Sensitivity.of_cells(2, 1, about=Neighbours.REPLACE)
DECILES = [f"0.{i}" for i in range(1, 10)]


def tallies(size: int, most: int) -> list[Tally]:
    """Every tally of at most so many rows."""
    return [
        Tally.of(list(rows))
        for count in range(most + 1)
        for rows in itertools.combinations_with_replacement(range(size), count)
    ]


def neighbours(size: int, most: int) -> list[tuple[Tally, Tally, Sensitivity]]:
    """Every pair that differs by one row, added or replaced."""
    found = []
    for rest in tallies(size, most - 1):
        rows = np.repeat(rest.places, rest.weights).tolist()
        for x in range(size):
            found.append((rest, Tally.of([*rows, x]), ONE))
            found += [(Tally.of([*rows, x]), Tally.of([*rows, y]), MOVED) for y in range(x)]
    return found


@cache
def known(mechanism: Any, places: tuple[int, ...], weights: tuple[int, ...]) -> Any:
    return mechanism.law(Tally.of(places, weights))


def broken(loss: Loss, mechanism: Any, left: Tally, right: Tally) -> bool:
    """Whether some delta(epsilon) is exceeded for certain, in either direction."""
    one, other = (known(mechanism, *(tuple(each.tolist()) for each in (t.places, t.weights))) for t in (left, right))
    whole = Fraction(loss.epsilon())
    return any(
        float(hockey_stick(a, b, epsilon)[0]) > loss.delta(float(epsilon)) * (1 + 1e-12)
        for a, b in ((one, other), (other, one))
        for epsilon in (Fraction(0), whole / 2, whole)
    )


SMALL: list[Any] = [
    InverseSensitivity(4, MEDIAN, 1),
    InverseSensitivity(4, Quantile(Fraction(4, 5)), 1),
    InverseSensitivity(4, Quantile(Fraction(0)), 1, smooth=1),
    InverseSensitivity(4, Largest(), 1),
    InverseSensitivity(4, Largest(), 1, smooth=1),
    InverseSensitivity(4, Count(), 1, smooth=1),
    IndependentQuantiles(4, ["1/5", "1/2"], 1),
    JointExponential(4, ["1/4", "1/2"], 1),
    JointExponential(4, [0, "1/2", 1], 1),
    JointExponential(3, ["1/3"], 1, jitter=2),
    RecursiveQuantiles(4, ["1/4", "1/2"], 1),
    RecursiveQuantiles(3, ["3/5"], 1, jitter=2),
    HistogramMethod(4, 4, "1/2", 1, 1),
    HistogramMethod(4, 3, "4/5", 1, "5/4"),
    NoisySearch(4, 4, ["1/2", "4/5"], 1),
    TreeQuantiles(4, 2, 2, ["1/3", "2/3"], "1/2"),
]


@pytest.mark.parametrize("mechanism", SMALL, ids=repr)
def test_no_pair_of_small_tables_costs_more_than_is_charged(mechanism: Any) -> None:
    """All neighbours with up to three rows, both relations, both directions, exactly."""
    rows = 2 if getattr(mechanism, "jitter", 1) > 1 or hasattr(mechanism, "bins") else 3
    for left, right, moved in neighbours(mechanism.size, rows):
        assert not broken(mechanism.loss(moved), mechanism, left, right), (left.places, right.places, moved)


def test_the_mean_of_replaced_rows_costs_what_is_charged() -> None:
    for smooth in (0, 1):
        mechanism = InverseSensitivity(5, Mean(), 1, smooth=smooth)
        for left, right, moved in neighbours(5, 3):
            if moved is MOVED:
                assert not broken(mechanism.loss(moved), mechanism, left, right)
    with pytest.raises(BadInput):
        InverseSensitivity(5, Mean(), 1).loss(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [IndependentQuantiles, JointExponential, RecursiveQuantiles, HistogramMethod, NoisySearch]
)
def test_weights_cost_as_much_as_they_weigh(kind: Any) -> None:
    """A unit with two rows of weights 2 and 1 on any two points; the price of l1 = 3."""
    mechanism: Any
    if kind is HistogramMethod:
        mechanism = kind(4, 4, "1/4", 2, 1)
    else:
        mechanism = kind(4, 4, ["1/4", "1/2"], 2) if kind is NoisySearch else kind(4, ["1/4", "1/2"], "1/2")
    for rest in tallies(4, 1):
        for x, y in itertools.product(range(4), repeat=2):
            places, weights = [*rest.places.tolist(), x, y], [*rest.weights.tolist(), 2, 1]
            assert not broken(mechanism.loss(3), mechanism, rest, Tally.of(places, weights))


def test_half_the_price_would_be_a_lie() -> None:
    """The worst of these pairs reaches well over half of what is charged: the test above can fail."""
    for mechanism in (
        InverseSensitivity(8, MEDIAN, 2),
        JointExponential(8, ["1/2"], 1),
        RecursiveQuantiles(8, "1/2", 2),
    ):
        half = mechanism.loss(Fraction(1, 2))
        assert any(broken(half, mechanism, left, right) for left, right, moved in neighbours(8, 2) if moved is ONE)


def worst(mechanism: Any, left: Tally, right: Tally) -> float:
    """The largest log-ratio of any outcome."""
    one, other = mechanism.law(left), mechanism.law(right)
    ratios = [np.log(one.weights[t][0] / other.weights[t][0]) for t in one.weights]
    return float(max(np.abs(ratios)))


def test_prices_are_reached() -> None:
    """Eight tenths of the price, or more of it, would be a lie: long gaps move one way, the short one the other."""
    added = Tally.of([1], [10]), Tally.of([1, 63], [10, 1])
    replaced = Tally.of([0, 1], [1, 10]), Tally.of([1, 63], [10, 1])
    makers: list[Any] = [
        InverseSensitivity(64, Quantile(Fraction(4, 5)), "1/8"),
        IndependentQuantiles(64, "4/5", "1/8"),
        JointExponential(64, "4/5", "1/8"),
    ]
    for mechanism in makers:
        for pair, moved in ((added, ONE), (replaced, MOVED)):
            assert 0.95 < worst(mechanism, *pair) / mechanism.loss(moved).epsilon() <= 1
    assert 0.95 < worst(RecursiveQuantiles(64, "4/5", "1/8"), *added) * 8 <= 1
    several = JointExponential(64, ["1/4", "3/4"], "1/8")
    pair = Tally.of([1], [5]), Tally.of([0, 1], [1, 5])
    assert 0.77 < worst(several, *pair) / several.loss(1).epsilon() <= 1
    # By group, one group loses the row and another gains it: both ratios are paid for.
    grouped = IndependentQuantiles(64, "4/5", "1/8", by_group=True)
    assert 0.95 < 2 * worst(makers[1], *added) / grouped.loss(MOVED).epsilon() <= 1


def test_by_group_a_unit_may_move_from_one_to_another() -> None:
    """Two groups drawn independently: the worst pair of (leaves one, enters the other) within the stated price."""
    each = JointExponential(4, ["1/3"], 1)
    grouped = JointExponential(4, ["1/3"], 1, by_group=True)
    price = grouped.loss(MOVED)
    assert price.about == Neighbours.REPLACE
    most = Fraction(0)
    for left, right, moved in neighbours(4, 2):
        if moved is ONE:
            a, b = each.law(left), each.law(right)
            assert a is not None
            assert b is not None
            ratios = [Fraction(a.weights[t][0], b.weights[t][1]) for t in a.weights]
            most = max(most, max(ratios), 1 / min(ratios))
    assert 2 * np.log(float(most)) <= price.epsilon()
    tables = [Tally.of([1, 2]), Tally.of([])]
    answers = grouped.sample(tables, system_source())
    assert len(answers) == 2
    assert all(0 <= t < 4 for points in answers for t in points)
    with pytest.raises(BadInput):
        grouped.sample(tables[0], system_source())


# ── what is drawn ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("levels", [["1/2"], ["1/4", "1/2"], [0, "1/3", "2/3", 1]])
def test_the_chain_weighs_every_list_as_stated(levels: list[Any]) -> None:
    """Forward sums against the sum over all lists, with overlapping windows, repeats in a gap and no rows at all."""
    for tally in (
        Tally.of([]),
        Tally.of([2]),
        Tally.of([0, 3, 3, 5]),
        Tally.of([1, 1, 1]),
        Tally.of([4, 5, 6], [5, 1, 2]),
    ):
        size, rate = 7, Fraction(1, 3)
        mechanism = JointExponential(size, levels, rate)
        chain = Chain(tally, size, *_wholes(mechanism), rate)
        last = chain.steps[-1]
        total = float((last.all * chain._exp(last.errors)).sum())
        upto = np.searchsorted(tally.places, np.arange(size), side="right")
        ranks = tally.below[upto]
        exact = 0.0
        for points in itertools.combinations_with_replacement(range(size), len(levels)):
            errors = [
                0.0,
                *(float(ranks[t] - q * tally.total) for t, q in zip(points, mechanism.quantiles, strict=True)),
                0.0,
            ]
            exact += float(np.exp(-float(rate) * sum(abs(b - a) for a, b in itertools.pairwise(errors))))
        assert total == pytest.approx(exact, rel=1e-12)


def _wholes(mechanism: JointExponential) -> tuple[tuple[int, ...], int]:
    from sfumato.mechanisms.quantile.asked import wholes

    return wholes(mechanism.quantiles)


def test_each_step_back_is_within_the_certified_error() -> None:
    """The law of what is drawn, from the very floats it is drawn by, against the stated law in integers: far within eta."""
    mechanism = JointExponential(9, ["1/4", "1/2", "3/4"], "1/2")
    tally = Tally.of([1, 1, 4, 6, 7])
    law = mechanism.law(tally)
    assert law is not None
    chain = Chain(tally, 9, *_wholes(mechanism), Fraction(1, 2))
    found: dict[Any, Fraction] = {}
    for points, chance in _paths(chain):
        found[points] = found.get(points, Fraction(0)) + chance
    for each, (low, high) in law.weights.items():
        stated = Fraction(low + high, 2 << law.bits)
        assert abs(found[each] / stated - 1) < mechanism.slack / 64


def _paths(chain: Chain) -> list[tuple[tuple[int, ...], Fraction]]:
    """Every list with the exact probability of the choices that lead to it, the floor left out (2**-128)."""

    def exact(weights: list[Any]) -> list[list[Fraction]]:
        rows = [[Fraction(x) for x in each.tolist()] for each in weights]
        total = sum(sum(row) for row in rows)
        return [[x / total for x in row] for row in rows]

    def back(j: int, step: Any, weights: list[Any], limit: int) -> Any:
        for k, row in enumerate(exact(weights), start=1):
            for i, chance in enumerate(row[:limit]):
                if not chance:
                    continue
                gap = step.low + i
                start, length = int(chain.starts[gap]), int(chain.lengths[gap])
                spots = list(itertools.combinations_with_replacement(range(start, start + length), k))
                befores = [((), Fraction(1))]
                if j > k:
                    before = chain.steps[j - k - 1]
                    error = int(chain.ranks[gap]) - chain.tops[j - k] * chain.total
                    size = min(before.errors.size, max(0, gap - before.low))
                    way = chain._exp(error - before.errors[:size])
                    befores = list(back(j - k, before, [each[:size] * way for each in before.weights], size))
                for beginning, first in befores:
                    for spot in spots:
                        yield (*beginning, *spot), first * chance / len(spots)

    last = chain.steps[-1]
    ending = chain._exp(last.errors)
    return list(back(len(chain.tops), last, [each * ending for each in last.weights], last.errors.size))


def test_choices_by_floats_are_exact_and_scans_do_not_subtract() -> None:
    """Weights 300 orders of magnitude apart; three thirds within 7 standard deviations (false alarm 1e-11)."""
    draws = Dyadic.of(np.array([1e-300, 0.0, 1.0, 1.0, 1.0])).sample(system_source(), 30_000)
    counts = np.bincount(draws, minlength=5)
    assert counts[:2].tolist() == [0, 0]
    assert (abs(counts[2:] - 10_000) < 7 * 82).all()
    values = np.random.default_rng().random(3 * 4096 + 5) * 10.0 ** np.arange(-150, 3 * 4096 + 5 - 150, 1).clip(
        -150, 150
    )
    assert np.allclose(running(values), np.cumsum(values), rtol=1e-12, atol=0)
    for bad in ([], [0.0], [-1.0, 2.0], [float("inf")]):
        with pytest.raises(BadInput):
            Dyadic.of(np.array(bad))


def test_an_undecided_number_goes_on_in_whole_numbers() -> None:
    """A uniform number that falls on a threshold is settled exactly: 1/3 in binary never ends."""
    from sfumato.testing.scripted import ScriptedSource

    third = int("01" * 32, 2)
    weights = Dyadic.of(np.array([1.0, 2.0]))
    assert weights.sample(ScriptedSource([third, 0]), 1)[0] == 0
    assert weights.sample(ScriptedSource([third, (1 << 64) - 1]), 1)[0] == 1


@pytest.mark.parametrize("weights", [[6, 3], [3, 3], [7, 2], [1, 1]])
def test_pieces_stay_in_their_place_and_keep_their_weight(weights: list[int]) -> None:
    tally = Tally.of([1, 4], weights)
    for _ in range(20):
        apart = jittered(tally, 8, 3, system_source())
        assert (np.diff(apart.places) > 0).all()
        for place, weight in zip([1, 4], weights, strict=True):
            here = apart.places // 8 == place
            assert apart.weights[here].sum() == weight
            assert here.sum() <= -(-weight // 3)


def test_multisets_are_uniform() -> None:
    """All 10 lists of 3 of 3 points; chi-square beyond 60 with 9 degrees of freedom has probability 1.5e-9."""
    draws = [tuple(sorted_points(3, 3, system_source())) for _ in range(10_000)]
    lists = list(itertools.combinations_with_replacement(range(3), 3))
    counts = np.array([draws.count(each) for each in lists])
    assert counts.sum() == 10_000
    assert ((counts - 1000) ** 2 / 1000).sum() < 63


# ── inverse sensitivity ──────────────────────────────────────────────────────


def reachable(rows: list[int], size: int, f: Any) -> dict[int, int]:
    """For each answer the least number of rows to replace, by trying every table."""
    found: dict[int, int] = {}
    for other in itertools.product(range(size), repeat=len(rows)):
        away = sum(a != b for a, b in zip(rows, other, strict=True))
        found[f(other)] = min(away, found.get(f(other), len(rows)))
    return found


def _distances(statistic: Any, rows: list[int], size: int, smooth: int = 0) -> list[Fraction]:
    runs = statistic.runs(Tally.of(rows), size, smooth, None)
    points = np.repeat(runs.distances, runs.lengths)
    assert points.size == size
    assert (np.repeat(runs.starts, runs.lengths) <= np.arange(size)).all()
    return [Fraction(int(d), statistic.grains) for d in points]


@pytest.mark.parametrize("rows", [[0, 0, 1, 4], [3], [2, 2, 2], [0, 4, 4, 4]])
def test_distances_are_what_brute_force_finds(rows: list[int]) -> None:
    """The length of note 003: the rows to replace until the answer is t."""
    size = 5
    for f, statistic in ((max, Largest()), (lambda x: sum(x) // len(x), Mean())):
        brute = reachable(rows, size, f)
        assert _distances(statistic, rows, size) == [brute[t] for t in range(size)]
        for smooth in (1, 2):
            expected: list[Any] = [min(brute[s] for s in range(size) if abs(s - t) <= smooth) for t in range(size)]
            assert _distances(statistic, rows, size, smooth) == expected
    for q in (Fraction(1, 5), Fraction(1, 2), Fraction(1)):
        found = _distances(Quantile(q), rows, size)
        n = len(rows)
        for t in range(size):
            below, upto = sum(x < t for x in rows), sum(x <= t for x in rows)
            assert found[t] == max(0, below - q * n, q * n - upto)
        for smooth in (1, 3):
            expected = [min(found[s] for s in range(size) if abs(s - t) <= smooth) for t in range(size)]
            assert _distances(Quantile(q), rows, size, smooth) == expected


# ── the right answer ─────────────────────────────────────────────────────────


def rank_error(rows: Any, points: Any, levels: Any) -> float:
    """How far outside of the rows below and up to each point its quantile lies, the worst of them, over n."""
    ordered = np.sort(rows)
    target = np.array([float(Fraction(q)) for q in levels]) * len(ordered)
    below, upto = np.searchsorted(ordered, points, "left"), np.searchsorted(ordered, points, "right")
    return float(np.maximum(0, np.maximum(below - target, target - upto)).max() / len(ordered))


@pytest.mark.parametrize("kind", [IndependentQuantiles, JointExponential, RecursiveQuantiles])
def test_with_ties_the_answer_becomes_the_true_quantile(kind: Any) -> None:
    """Counts of 0 ... 20, each decile well inside one value at n = 10^5: every release is exactly right (1e-12)."""
    rows = np.repeat(
        np.arange(21), [1000, 3000, 6500, 11000, 14000, 15000, 14500, 12000, 9000, 6000, 3500] + [450] * 10
    )
    lattice = Lattice.whole(0, 20)
    fine = {} if kind is IndependentQuantiles else {"jitter": 1 << 24}
    mechanism = kind.calibrate(size=lattice.size, quantiles=DECILES, epsilon=2, **fine)
    for _ in range(5):
        points = mechanism.sample(lattice.tally(rows), system_source())
        assert rank_error(rows, points, DECILES) == 0


@pytest.mark.parametrize("kind", [IndependentQuantiles, JointExponential, RecursiveQuantiles])
def test_one_value_repeated_and_nothing_at_all(kind: Any) -> None:
    fine = {} if kind is IndependentQuantiles else {"jitter": 1 << 12}
    mechanism = kind.calibrate(size=1 << 20, quantiles=DECILES, epsilon=1, **fine)
    assert set(mechanism.sample(Tally.of([777], [50_000]), system_source())) == {777}
    empty = mechanism.sample(Tally.of([]), system_source())
    assert len(empty) == 9
    assert list(empty) == sorted(empty)
    # All rows outside of the bounds count at the ends.
    assert set(mechanism.sample(Tally.of([-5], [50_000]), system_source())) == {0}
    assert set(mechanism.sample(Tally.of([1 << 40], [50_000]), system_source())) == {(1 << 20) - 1}
    alone = kind(1, DECILES, 1)
    assert alone.sample(Tally.of([0, 0]), system_source()) == (0,) * 9


@pytest.mark.parametrize("kind", [IndependentQuantiles, JointExponential, RecursiveQuantiles])
def test_within_holds_for_all_quantiles_at_once(kind: Any) -> None:
    """Packed rows on a wide lattice; at a confidence of 0.9, 60 releases miss at most 6 times, plus 7 standard deviations."""
    fine = {} if kind is IndependentQuantiles else {"jitter": 1 << 8}
    mechanism = kind.calibrate(size=1 << 24, quantiles=["0.2", "0.5", "0.8"], epsilon="0.5", **fine)
    rows = np.arange(5000) + 70_000
    half = mechanism.within("0.9") / rows.size
    missed = sum(
        rank_error(rows, mechanism.sample(Tally.of(rows), system_source()), mechanism.quantiles) > half
        for _ in range(60)
    )
    assert missed <= 6 + 7 * 2.4


def test_calibration_spends_what_is_given_and_no_more() -> None:
    for kind in (IndependentQuantiles, JointExponential, RecursiveQuantiles):
        for moved in (ONE, MOVED, Sensitivity.of(1 << 20)):
            for by_group in (False, True):
                made = kind.calibrate(
                    size=1 << 20, quantiles=DECILES, epsilon="0.7", sensitivity=moved, by_group=by_group
                )
                spent = made.loss(moved).pure()
                assert spent is not None
                assert spent[0] == Fraction(7, 10)
    pure = IndependentQuantiles.calibrate(size=99, quantiles=DECILES, epsilon="0.5")
    approximate = IndependentQuantiles.calibrate(size=99, quantiles=DECILES, epsilon="0.5", delta="1e-3")
    assert approximate.rate > pure.rate
    assert approximate.loss(1).zcdp() is not None


@pytest.mark.parametrize(
    "levels", [[], ["1.2"], [-1], ["0.5", "0.5"], ["0.9", "0.1"], ["x"], [float("nan")], [Fraction(1, 2**41)]]
)
def test_senseless_quantiles_are_refused(levels: Any) -> None:
    for kind in (IndependentQuantiles, JointExponential, RecursiveQuantiles):
        with pytest.raises(BadInput) as caught:
            kind(10, levels, 1)
        assert caught.value.hint


def test_senseless_lattices_and_tallies_are_refused() -> None:
    makers: list[Any] = [
        lambda: IndependentQuantiles(0, "0.5", 1),
        lambda: IndependentQuantiles(True, "0.5", 1),
        lambda: JointExponential(10, "0.5", 1, jitter=0),
        lambda: RecursiveQuantiles(10, "0.5", 1, piece=0),
        lambda: JointExponential(1 << 50, "0.5", 1, jitter=1 << 20),
        lambda: JointExponential(1 << 40, DECILES, 1, jitter=1 << 20),
        lambda: InverseSensitivity(10, MEDIAN, 1, smooth=-1),
        lambda: InverseSensitivity(1 << 30, Count(), 1).sample(Tally.of([1]), system_source()),
        lambda: Lattice.of(1, 1),
        lambda: Lattice.of(0, 1).tally(np.array(["a"])),
        lambda: Tally.of([0.5]),  # type: ignore[list-item]
        lambda: Tally.of([1, 2], [1]),
        lambda: Tally.of([1], [-1]),
        lambda: IndependentQuantiles(10, "0.5", 1).sample([Tally.of([1])], system_source()),
    ]
    for make in makers:
        with pytest.raises(BadInput) as caught:
            make()
        assert caught.value.hint


def test_rows_become_places_each_by_itself() -> None:
    lattice = Lattice.of(0, 10, points=20)
    tally = lattice.tally(np.array([-3.0, 0.26, 0.49, 9.99, 10.0, np.inf, np.nan, 5.0]))
    assert tally.places.tolist() == [0, 10, 19]
    assert tally.weights.tolist() == [3, 1, 3]
    assert lattice.values([0, 10, 19]) == (0.0, 5.0, 9.5)
    assert Lattice.whole(-1, 3).tally(np.array([-1, 3, 9, -7])).places.tolist() == [0, 4]
    assert Tally.of([3, 1, 3], [2, 0, 5]).weights.tolist() == [7]


# ── on edges, on trees ───────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [HistogramMethod, NoisySearch])
def test_the_corrected_histogram_method(kind: Any) -> None:
    """Edges begin at a, the edge that crosses is named, the end when none does, and the deciles come sorted."""
    lattice = Lattice.of(100, 200, points=1 << 20)
    more = {"ratio": best_ratio()} if kind is HistogramMethod else {}
    mechanism = kind.calibrate(size=lattice.size, quantiles=DECILES, bins=100, epsilon=50, **more)
    rows = np.random.default_rng().uniform(100, 200, 20_000)
    points = mechanism.sample(lattice.tally(rows), system_source())
    assert list(points) == sorted(points)
    values = np.array(lattice.values(points))
    exact = np.quantile(rows, np.arange(1, 10) / 10)
    assert (values > exact - 0.2).all()
    assert (values < exact + 1.2).all()
    assert all(abs(v - round(v)) < 1e-3 for v in values)
    assert set(mechanism.sample(Tally.of([]), system_source())) <= set(mechanism._edges.tolist())
    one = kind.calibrate(size=lattice.size, quantiles="0.5", bins=1, epsilon=1, **more)
    assert one.sample(lattice.tally(rows), system_source()) == (lattice.size,)
    assert mechanism.sample(Tally.of([lattice.size + 5], [5000]), system_source()) == (lattice.size,) * 9


def test_too_few_bins_cannot_be_right() -> None:
    """Counterexample to the note's theorem: three bins, the median of uniform rows; no edge lies within 0.1 of it."""
    lattice = Lattice.of(0, 1, points=3 << 20)
    mechanism = HistogramMethod.calibrate(size=lattice.size, quantiles="0.5", bins=3, epsilon=1, ratio=best_ratio())
    tally = lattice.tally(np.random.default_rng().random(100_000))
    values = {lattice.values(mechanism.sample(tally, system_source()))[0] for _ in range(50)}
    assert all(abs(v - 0.5) > 0.1 for v in values)


def test_one_sided_noise_and_the_best_split_err_less() -> None:
    """Mean rank errors of nine deciles over 60 runs, n = 1000 of 100 bins: 33 against 50 ranks in the published measurement.

    Here the even split of two-sided noise is replaced by its own worst part: the ratio 1/4 spends most on the line.
    """
    rows = np.sort(np.random.default_rng().random(1000))
    tally = Lattice.of(0, 1, points=100).tally(rows)

    def error(ratio: Any) -> float:
        mechanism = HistogramMethod.calibrate(size=100, quantiles=DECILES, bins=100, epsilon=1, ratio=ratio)
        left = np.append(tally.below, 0)
        total = 0.0
        for _ in range(60):
            points = mechanism.sample(tally, system_source())
            ranks = [left[np.searchsorted(tally.places, t)] for t in points]
            total += float(np.mean(np.abs(np.array(ranks) - np.arange(1, 10) * 100)))
        return total / 60

    best = error(best_ratio())
    assert best < 40
    assert best < 0.8 * error("1/4")


def test_within_holds_on_edges_and_trees() -> None:
    """At a confidence of 0.9, 50 releases miss at most 5 times, plus 7 standard deviations."""
    rows = np.random.default_rng().integers(0, 4096, 3000)
    tally = Tally.of(rows)
    makers: list[Any] = [
        HistogramMethod.calibrate(size=4096, quantiles=["0.2", "0.5"], bins=4096, epsilon=1, ratio=best_ratio()),
        NoisySearch.calibrate(size=4096, quantiles=["0.2", "0.5"], bins=4096, epsilon=1),
        TreeQuantiles.calibrate(size=4096, quantiles=["0.2", "0.5"], bins=256, fan_out=4, epsilon=1),
    ]
    for mechanism in makers:
        half, missed = mechanism.within("0.9"), 0
        assert half < 1500
        for _ in range(50):
            for q, t in zip(mechanism.quantiles, mechanism.sample(tally, system_source()), strict=True):
                low, high = (t // 16 * 16, t // 16 * 16 + 16) if isinstance(mechanism, TreeQuantiles) else (t - 1, t)
                below, upto = np.count_nonzero(rows < low), np.count_nonzero(rows < high)
                missed += max(0.0, below - float(q) * 3000, float(q) * 3000 - upto) > half
        assert missed <= 5 + 7 * 2.2


def test_isotonic_regression_is_the_nearest_rising_line() -> None:
    from scipy.optimize import isotonic_regression

    for _ in range(20):
        values = np.random.default_rng().normal(size=50).cumsum()
        assert np.allclose(isotonic(values), isotonic_regression(values).x)
    assert isotonic(np.array([3.0, 2.0, 1.0])).tolist() == [2.0, 2.0, 2.0]


# ── which one, and how far off ───────────────────────────────────────────────


def test_choose_goes_by_rows_width_and_number() -> None:
    def kind(**asked: Any) -> str:
        return type(choose(**{"size": 1 << 30, "quantiles": DECILES, "rows": 10_000, "epsilon": 1, **asked})).__name__

    assert kind() == "JointExponential"
    assert kind(quantiles="0.5") == "IndependentQuantiles"
    assert kind(rows=1000, epsilon="0.1") == "TreeQuantiles"
    assert kind(rows=10**7) == "RecursiveQuantiles"
    assert kind(quantiles=[Fraction(i, 100) for i in range(1, 100)]) == "RecursiveQuantiles"
    assert kind(sensitivity=Sensitivity.of(1 << 20), piece=1 << 20) == "JointExponential"
    for relation in (ONE, MOVED):
        made = choose(size=101, quantiles=DECILES, rows=5000, epsilon="0.5", sensitivity=relation, by_group=True)
        spent = made.loss(relation).pure()
        assert spent is not None
        assert spent[0] <= Fraction(1, 2)
    with pytest.raises(BadInput):
        choose(size=101, quantiles=DECILES, rows=-1, epsilon=1)


def test_a_bar_in_ranks_says_what_it_speaks_of() -> None:
    mechanism = choose(size=1 << 20, quantiles=["0.25", "0.5"], rows=10_000, epsilon=1)
    sample = rank_bar(mechanism, rows=10_000)
    population = rank_bar(mechanism, rows=10_000, of="population")
    assert (sample.of, population.of) == ("sample", "population")
    assert 0 < sample.half < population.half < 0.05
    assert rank_bar(mechanism, rows=100).half > sample.half
    with pytest.raises(BadInput):
        rank_bar(mechanism, rows=0)


def test_neighbours_paid_for_make_a_bar_in_values() -> None:
    """At a confidence of 0.9 the sample median lies outside in at most 4 of 40 releases, plus 7 standard deviations."""
    rows = np.random.default_rng().normal(size=20_000)
    lattice = Lattice.of(-10, 10, points=1 << 20)
    tally, median = lattice.tally(rows), float(np.median(rows))
    asked = around("0.5", "0.02")
    mechanism = choose(size=lattice.size, quantiles=asked, rows=20_000, epsilon=1)
    assert rank_bar(mechanism, rows=20_000, confidence="0.9").half <= 0.02
    missed = 0
    for _ in range(40):
        low, _, high = lattice.values(mechanism.sample(tally, system_source()))
        missed += not low <= median <= high + 20 / lattice.size
        assert high - low < 0.3
    assert missed <= 4 + 7 * 2
    assert around(0, "0.1") == (Fraction(0), Fraction(1, 10))
    with pytest.raises(BadInput):
        around("1.5", "0.1")
