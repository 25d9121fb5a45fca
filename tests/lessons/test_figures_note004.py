"""The figures of note 004: known values, and measured ones within bounds whose false-alarm rate is stated."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sfumato.core.neighbours import Relation
from sfumato.lessons import (
    citrouilles,
    composition,
    exponentiel,
    histogramme,
    laplace,
    mallory,
    moyennage,
    patients,
    questions,
    sensibilite,
    voisines,
)
from sfumato.mechanisms import Exponential
from sfumato.noise import system_source


def test_the_distances_of_the_note() -> None:
    found = {name: voisines.histogram(name) for name in voisines.TABLES}
    assert found["D1"] == (1, 2, 1, 0, 1)
    assert [int(voisines.between(found["D1"], found[name]).l1) for name in ("D2", "D3", "D4")] == [4, 1, 3]
    assert voisines.replacements(found["D1"], found["D2"]) == 2
    assert voisines.replacements(found["D1"], found["D3"]) is None


@pytest.mark.slow
def test_the_product_prints_the_sensitivities_of_the_note() -> None:
    questions = (sensibilite.BLUE, sensibilite.COLOURS, sensibilite.TALL)
    reaches = [sensibilite.both(sql) for sql in questions]
    assert [added.stated.l1 for added, _ in reaches] == [1, 1, 2]
    assert [replaced.stated.l1 for _, replaced in reaches] == [1, 2, 2]
    for pair in reaches:
        assert [each.tried for each in pair] == [each.stated.l1 for each in pair]
    loose = sensibilite.Reach(sensibilite.TWO_SUMS, Relation.ADD_REMOVE)
    assert loose.tried == 1
    assert loose.stated.l1 == 2


def test_the_ratio_is_never_above_the_promise() -> None:
    """Over every output of the exact law, for the prices that the lesson shows."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(2)):
        most, outputs = laplace.largest_ratio(epsilon)
        assert most == pytest.approx(float(epsilon), abs=1e-9)
        assert outputs > 30


@pytest.mark.slow
def test_blind_noise_tells_the_months_apart() -> None:
    """At epsilon 1 noise of scale 1 never bridges 500 $ (probability e^-500 each). With the product's noise the guess is right
    in about 0.61 of 4000 draws: 0.55 to 0.67 fails with probability below 1e-12 (Hoeffding: 2 exp(-2 4000 0.06^2) = 6e-13)."""
    source, epsilon = system_source(), Fraction(1)
    assert laplace.guessed(*(laplace.blind(mean, epsilon, source) for mean in laplace.MEANS))[0] == 1
    staff = (mallory.JANUARY, [*mallory.JANUARY, mallory.MALLORY])
    found, _, _ = laplace.guessed(*(laplace.aware(salaries, epsilon, source) for salaries in staff))
    assert found == pytest.approx(0.61, abs=0.06)


@pytest.mark.slow
def test_clipping_lifts_an_empty_bin_by_half_the_scale() -> None:
    """At epsilon 0.01 each bin's bias is the mean of 400 of max(0, Z), of mean 50 and deviation 87; over three empty bins its
    standard error is 2.5. 30 to 70 is eight of them: below 1e-11. Unfinished estimates: 4.1 of error, ±40 is nearly ten."""
    ways = histogramme.finished(Fraction(1, 100), system_source())
    empty = histogramme.counted() == 0
    assert empty.sum() == 3
    assert float(ways["clipped"][0][:, empty].mean()) == pytest.approx(50, abs=20)
    assert float(ways["raw"][0][:, empty].mean()) == pytest.approx(0, abs=40)
    assert float(abs(ways["total"][0].sum(axis=1) - ways["raw"][0].sum(axis=1)).max()) < 1e-6


def test_edges_from_the_data_move_thousands() -> None:
    assert histogramme.moved_by(histogramme.NEWCOMER) > 3000
    assert histogramme.moved_by(40) == 1


@pytest.mark.slow
def test_the_best_attack_gains_what_the_promise_allows() -> None:
    """Right in 1/(1 + e^-1) = 0.7311 of 20 000: ±0.025 fails with probability below 1e-10 (Hoeffding)."""
    assert histogramme.detective(Fraction(1), system_source())[0] == pytest.approx(0.7311, abs=0.025)


def test_the_probabilities_of_the_nationalities() -> None:
    mechanism = Exponential.calibrate(candidates=4, epsilon=2)
    found = exponentiel.chances(mechanism, exponentiel.COUNTS)
    assert found == pytest.approx([0.696, 0.256, 0.035, 0.013], abs=5e-4)
    assert [f"{chance:.2f}" for chance in found] == ["0.70", "0.26", "0.03", "0.01"]
    assert all(math.isnan(each) for each in exponentiel.note_formula(exponentiel.LARGE, Fraction(2)))
    assert exponentiel.chances(mechanism, exponentiel.LARGE)[0] == pytest.approx(1)
    red = exponentiel.chances(Exponential.calibrate(candidates=5, epsilon=2), exponentiel.EYES)[0]
    assert 0.001 < red < 0.002


def test_at_one_dollar_all_four_buy() -> None:
    market = citrouilles.Market()
    revenue = {price: int(market.revenue[price - 1]) for price, _ in citrouilles.PRINTED}
    assert revenue == {100: 400, 300: 300, 301: 301, 302: 0}
    assert market.best == 100


@pytest.mark.slow
def test_one_buyer_moves_no_revenue_by_more_than_the_list_allows() -> None:
    """And with 400 buyers the choice keeps 95 % of the best revenue: its mean of 2000 is 0.996, with deviation below 0.01."""
    import numpy as np

    alone = citrouilles.Market().revenue
    for offer in (1, 100, 301, 400, 1000):
        prices = np.arange(1, citrouilles.MOST + 1)
        gain = prices * (offer >= prices)
        assert 0 <= gain.min() <= gain.max() <= citrouilles.MOST
        assert (alone + gain >= alone).all()
    many = citrouilles.Market(100)
    assert float(many.earned(citrouilles.chosen(many, Fraction(1), system_source())).mean()) > 0.95


@pytest.mark.slow
def test_the_mean_errs_by_the_root_and_costs_the_sum() -> None:
    """At epsilon 0.1 the mean of 1000 answers errs by 0.447 (root mean square over 400 rounds, itself nearly normal): ±30 %
    is eight standard errors of 3.6 %, below 1e-13."""
    asked = moyennage.count(moyennage.SQL, Fraction(1, 10))
    assert moyennage.true(asked) == 245
    assert moyennage.deviation(asked) == pytest.approx(2**0.5 * 10, rel=1e-3)
    assert moyennage.averaged(asked, system_source())[1000].y == pytest.approx(0.447, rel=0.3)
    assert (asked.preview.loss * 1000).epsilon(0) == pytest.approx(100)


@pytest.mark.slow
def test_insisting_on_a_session_brings_one_answer_for_one_price() -> None:
    found = moyennage.insisted(Fraction(1, 10), times=5)
    assert found == moyennage.Replayed(different=1, spent=Fraction(1, 10))


def test_parallel_sequential_and_doubled() -> None:
    prices = {
        (relation, sql): composition.cost(composition.Staff(relation, months).reach(sql), Fraction(1, 10))
        for relation in (Relation.ADD_REMOVE, Relation.REPLACE)
        for sql, months in ((composition.BY_TEAM, 1), (composition.BY_MONTH, 2))
    }
    assert prices[Relation.ADD_REMOVE, composition.BY_TEAM] == pytest.approx(0.1)
    assert prices[Relation.ADD_REMOVE, composition.BY_MONTH] == pytest.approx(0.2)
    assert prices[Relation.REPLACE, composition.BY_TEAM] == pytest.approx(0.2)
    assert prices[Relation.REPLACE, composition.BY_MONTH] == pytest.approx(0.4)
    assert composition.halves([30] * 50 + [60] * 50) == (50, 50)
    assert composition.moved_by_median() == 101


@pytest.mark.slow
def test_exact_composition_is_never_dearer() -> None:
    for times in (1, 10, 1000):
        added, line, exact = composition.totals(Fraction(1, 10), times)
        assert added == pytest.approx(times / 10)
        assert exact <= min(added, line) * (1 + 1e-9)
    assert composition.totals(Fraction(1, 10), 1000)[1] == pytest.approx(19.05, abs=0.01)


def test_the_patients_of_the_note() -> None:
    half = Fraction(1, 2)
    assert patients.only(patients.asked(patients.GASTRIC, half).true()).value == 5
    assert patients.only(patients.asked(patients.MEAN, half).true()).value == Fraction(408, 9)
    assert patients.worst(9)[0] == Fraction(80, 9)
    assert patients.worst(9)[1] == 8
    assert patients.worst(2)[0] == 40
    assert patients.kept(half) == pytest.approx(0.5556, abs=1e-3)


def test_a_scale_that_follows_the_rows_misses_the_promise() -> None:
    """Adaptive quadrature of the two densities gives 0.020756 one way and 0.031939 the other."""
    missed = patients.escaped(Fraction(1, 2))
    assert missed == pytest.approx(0.031939, abs=1e-4)


@pytest.mark.slow
def test_the_three_answers() -> None:
    """Negative cells are common and cutting them off lifts the total: over 2000 runs its mean 2.3 has a standard error of 0.09,
    so 1.5 is eight of them below. At epsilon 20 noise of scale 0.55 on counts of some 100 leaves the classifier as it was:
    its 20 000 judgements differ by less than 3 %."""
    source = system_source()
    ways = questions.tidied(Fraction(1), source)
    assert ways["raw"][2] > 0.05
    assert ways["clipped"][0].value > 1.5
    assert ways["clipped"][2] == ways["total"][2] == 0
    assert ways["clipped"][1].value < ways["raw"][1].value
    learning, judged = (questions.Clinic.of(people, source) for people in (questions.PEOPLE, questions.TESTED))
    best = questions.correct(learning.counts(), judged) / questions.TESTED
    assert questions.learnt(Fraction(20), learning, judged, source).y == pytest.approx(best, abs=0.03)
    assert best > 0.7


def test_a_patient_moves_eleven_cells() -> None:
    """One patient more with every sign: the noise keeps exactly the price that it is sold at."""
    import numpy as np

    few = questions.Clinic(np.zeros((2, questions.SIGNS), dtype=np.int64), np.array([0, 1]))
    signs = np.vstack([few.signs, np.ones((1, questions.SIGNS), dtype=np.int64)])
    more = questions.Clinic(signs, np.array([0, 1, 1]))
    moved = int(np.abs(more.counts() - few.counts()).sum())
    assert moved == questions.SIGNS + 1
    assert questions.mechanism(Fraction(1)).loss(moved).epsilon(0) == pytest.approx(1)


@pytest.mark.slow
def test_the_advice_is_the_products() -> None:
    best = {words: advice.best.name for words, _, advice in questions.advised(Fraction(1))}
    assert best["the first of 100 above"] == "AboveThreshold"
    assert best["the most common of 5"] == "PermuteAndFlip"
    assert best["the same, δ = 10⁻⁶"] == "Gaussian"
