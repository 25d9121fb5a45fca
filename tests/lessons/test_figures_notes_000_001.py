"""The figures of notes 000 and 001: known values, and measured ones within bounds whose false-alarm rate is stated."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sfumato.lessons import definition, films, k_anonymat, reponse_aleatoire, roles
from sfumato.lessons.exponentiel import chances
from sfumato.lessons.toy import ToySource
from sfumato.noise import system_source


def test_one_person_moves_the_nearest_favourite_by_the_diameter() -> None:
    """Over every pair of clubs of at most two tastes, by brute force: the diameter is reached and never passed."""
    clubs = [
        tuple((place == one) + (place == other) for place in films.PLACES)
        for one in films.PLACES
        for other in films.PLACES
    ]
    most = max(films.moved(club, films.without(club, film)) for club in clubs for film in films.PLACES if club[film])
    assert most == films.DIAMETER == 19
    for film in films.PLACES:
        club, fewer = films.LOVED, films.without(films.LOVED, film)
        steps = [more - less for more, less in zip(films.together(club), films.together(fewer), strict=True)]
        assert 0 <= min(steps) <= max(steps) <= films.DIAMETER


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2", "5"])
def test_the_printed_sign_names_the_farthest_film(epsilon: str) -> None:
    far, near = films.nearest(films.LOVED), films.by_nearest(Fraction(epsilon))
    printed, turned = chances(near, far), chances(near, films.minus(far))
    assert max(printed) == printed[far.index(max(far))]
    assert min(turned) == turned[far.index(max(far))]
    assert films.expected(printed) > films.expected(turned)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2", "5"])
def test_a_sensitivity_read_off_one_pair_does_not_hold_for_another(epsilon: str) -> None:
    price, missed = Fraction(epsilon), films.without(films.LOVED, films.ALONE)
    assert films.worst(films.by_nearest(price, 4), films.LOVED, missed) > price
    assert films.worst(films.by_nearest(price), films.LOVED, missed) <= price


def test_emilie_has_the_row_of_the_note_and_asthma() -> None:
    done = k_anonymat.anonymised(k_anonymat.frame(k_anonymat.CLINIC, [name for name, _ in k_anonymat.ILLNESSES]), 3)
    assert done.frame.to_pylist()[0] == {"name": "*", "age": "]10, 30]", "sex": "F", "illness": "asthma"}
    assert done.report.risk.smallest == 3
    assert k_anonymat.told(done) == 3


@pytest.mark.slow
def test_look_alikes_do_not_keep_a_secret() -> None:
    """A group of at most 3 is of one illness with probability 1/16 at least; with 20 such groups a clinic tells with
    probability 0.72 (measured: 0.93), and fewer than 12 of 60 tell with probability below 1e-14 (Chernoff). With two illnesses
    a group none does, ever."""
    from sfumato.anonymise import DistinctDiversity

    names = [name for name, _ in k_anonymat.ILLNESSES]
    clinics = [k_anonymat.frame(k_anonymat.clinic(system_source()), names) for _ in range(k_anonymat.TABLES)]
    assert k_anonymat.telling(clinics, 2)[0] >= 12 / 60
    assert k_anonymat.telling(clinics, 2, DistinctDiversity(2))[0] == 0


@pytest.mark.slow
def test_surveys_vary_as_the_formula_says() -> None:
    """The variance of 500 estimates is within 50 % of the formula's: its standard error is 6.3 %, so that this fails with
    probability below 1e-10; and their mean within 7 of its standard errors of the truth: below 1e-11."""
    mechanism, share = reponse_aleatoire.product(Fraction(1)), Fraction(1, 5)
    found = reponse_aleatoire.estimates(mechanism, share, 1000, system_source())
    variance = reponse_aleatoire.formula(mechanism, 0.2, 1000)
    assert found.var(ddof=1) == pytest.approx(variance, rel=0.5)
    assert found.mean() == pytest.approx(0.2, abs=7 * (variance / 500) ** 0.5)


def test_many_surveys_are_estimated_as_the_product_estimates_one() -> None:
    mechanism, people = reponse_aleatoire.product(Fraction(1)), 50
    (one,) = reponse_aleatoire.estimates(mechanism, Fraction(1, 5), people, ToySource(3), times=1)
    source = ToySource(3)
    reports = mechanism.sample(reponse_aleatoire.truths(Fraction(1, 5), source, people), source)
    assert one == pytest.approx(float(mechanism.estimate(reports).values[1]))


def test_beliefs_after_a_count_are_on_the_curves_of_the_promise() -> None:
    """The laws themselves: the logarithm of the ratio is epsilon above the others' count, and minus epsilon elsewhere."""
    epsilon = Fraction(1, 2)
    assert {roles.leaning(seen, epsilon) for seen in range(roles.OTHERS + 1, 60)} == {0.5}
    assert {roles.leaning(seen, epsilon) for seen in range(roles.OTHERS + 1)} == {-0.5}
    assert roles.posterior(0.5, 1.0) == pytest.approx(0.7311, abs=1e-4)


def test_no_guess_beats_the_promise() -> None:
    """At epsilon 1 the best guess is right in 0.7311 of the worlds; of 20 000, off by 0.025 has probability below 1e-10
    (Hoeffding: 2 exp(-2 20000 0.025^2) = 3e-11)."""
    assert roles.guesses(Fraction(1), system_source())[0] == pytest.approx(0.7311, abs=0.025)


def test_what_is_true_of_smokers_is_learnt_without_ada() -> None:
    """A share leaves 0.2 by more than 0.1 only if a count is off by 40 at least, at scale 2: probability below 1e-8 each;
    0.15 asks for 60: below 1e-12."""
    for ada in (True, False):
        assert roles.learnt(Fraction(1), system_source(), ada=ada)[0] == pytest.approx(0.2, abs=0.15)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_every_set_of_outputs_finds_the_accountants_delta(epsilon: Fraction) -> None:
    one, other, _ = definition.laws(definition.product(epsilon))
    for smaller in (0.0, float(epsilon) / 2, float(epsilon)):
        found = definition.over_all_sets(one, other, smaller)
        assert definition.pair(one, other).delta(smaller) == pytest.approx(found, abs=1e-12)
    assert definition.over_all_sets(one, other, float(epsilon)) <= 1e-12


def test_neighbours_lie_on_the_border_of_what_is_allowed() -> None:
    epsilon = Fraction(1)
    one, other, third = definition.laws(definition.product(epsilon))
    region = list(definition.allowed(one, float(epsilon)))
    for x, low, high in region:
        assert 0 <= low <= high + 1e-12
        for y in (low, high):
            inside = (x, y, 1 - x - y)
            assert all(abs(math.log(q / float(p))) <= 1 + 1e-9 for p, q in zip(one, inside, strict=True))
    first, low, high = region[0]
    assert (first, high) == pytest.approx((float(other[0]), float(other[1])), abs=1e-9)
    assert (first, low) == pytest.approx((float(third[0]), float(third[1])), abs=1e-9)


def test_what_the_unfinished_line_lets_pass() -> None:
    publishing, naming = definition.pair(*definition.PUBLISHING), definition.pair(*definition.NAMING)
    assert publishing.delta(1.0) == publishing.delta(100.0) == 1
    assert math.isinf(naming.epsilon(0))
    assert naming.delta(0.0) == pytest.approx(0.01)


def test_two_releases_tell_more_than_one() -> None:
    """Laid over each other they tell two people's illness that the first one kept; edges from the rows tell exact ages."""
    table = k_anonymat.frame(k_anonymat.CLINIC, [name for name, _ in k_anonymat.ILLNESSES])
    assert k_anonymat.crossed(k_anonymat.anonymised(table, 3), table) == (5, 2)
    assert k_anonymat.clumsy(table) == "[19, 28]"
