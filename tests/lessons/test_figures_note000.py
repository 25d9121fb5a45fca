"""The figures of note 000's mechanisms: known values, and measured ones whose false-alarm rate is stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.lessons import bruit_borne, federe, poids, pufferfish
from sfumato.noise import system_source


@pytest.mark.slow
def test_a_limit_beats_the_gaussian_for_many_questions_only() -> None:
    """The limits and what the Gaussian's errors respect are computed; no draw exceeds its limit. The spread of 150 000
    Gaussian or bounded errors is off by 1.5 % with probability below 1e-12 (8 of its standard errors)."""
    few, many = (bruit_borne.Compared.of(Fraction(1), k, system_source()) for k in (1, 3000))
    assert few.bounded_all > 3 * few.gaussian_all
    assert many.limit < many.gaussian_all
    assert many.bounded_largest.value <= many.limit
    assert 1.18 < many.bounded_spread.value / many.gaussian_spread.value < 1.27


@pytest.mark.slow
def test_a_radius_keeps_its_promise_for_its_own_questions_only() -> None:
    epsilon = Fraction(1)
    radius = bruit_borne.bounded(epsilon, 1000).radius
    assert bruit_borne.stretched(radius, epsilon, queries=1000)[1] <= float(bruit_borne.DELTA)
    assert bruit_borne.stretched(radius, epsilon, queries=1000, moved=2)[1] > 100 * float(bruit_borne.DELTA)
    assert bruit_borne.stretched(radius, epsilon, queries=2000)[1] > 10 * float(bruit_borne.DELTA)


@pytest.mark.slow
def test_flats_that_go_together_tell_of_one() -> None:
    """Computed under the beliefs; then drawn, where the logarithm of a ratio of shares has a standard error of about
    0.06 under the small noise and 0.03 under the large one: 0.5 away from 3.2 and from 1 has probability below 1e-14."""
    epsilon, together = Fraction(1), Fraction(4, 5)
    flat = pufferfish.fitted(pufferfish.survey())
    framework = pufferfish.building(flat, together)
    alone = pufferfish.enough(pufferfish.building(flat, Fraction(0)), epsilon)
    naive = pufferfish.under(alone, framework)
    assert naive.loss(1).epsilon() > 3
    noise = pufferfish.enough(framework, epsilon)
    assert 0.99 < noise.loss(1).epsilon() <= 1
    low = float(pufferfish.FLATS * flat.means[0])
    assert pufferfish.told_apart(naive, low, system_source())[0] > 2.7
    assert pufferfish.told_apart(noise, low, system_source())[0] < 1.5


def test_the_average_move_is_no_promise() -> None:
    """All of the mass that moved is seen; the product finds noise that is enough."""
    epsilon = Fraction(1)
    assert pufferfish.averaged(epsilon).loss(1).delta(1) == pytest.approx(0.01, abs=1e-4)
    assert pufferfish.enough(pufferfish.counterexample(), epsilon).loss(1).epsilon() <= 1


@pytest.mark.slow
def test_weights_find_ages_and_no_smokers() -> None:
    """Of 50 releases at epsilon 1: the noise of an estimate is about 0.01 and its half-width at least three times that, so
    that an age's interval misses the truth by bias or chance in 20 of 50 with probability below 1e-9; smokers stay within
    0.05 of the census, some 20 standard errors of the noise."""
    weighing = poids.priced(Fraction(1))
    usable = poids.released(weighing, system_source())
    assert len(usable) == poids.RELEASES
    public, private = poids.tables()
    (old, _, smokes), (truth, _, smoking) = public.asked(), private.asked()
    ages = [each.estimate(old) for each in usable]
    assert sum(abs(each.value - truth.mean()) <= each.within("0.95") for each in ages) > 30
    smokers = [each.estimate(smokes) for each in usable]
    assert all(abs(each.value - smokes.mean()) < 0.05 for each in smokers)
    assert not any(abs(each.value - smoking.mean()) <= each.within("0.95") for each in smokers)


def test_exact_weights_tell_of_one_patient() -> None:
    weighing = poids.priced(Fraction(1))
    assert weighing.mechanism.fit(poids.coded(weighing)) != weighing.mechanism.fit(poids.coded(weighing, leave_out=1))


def test_a_clipped_update_is_never_longer_than_the_price_says() -> None:
    """In whole numbers, without floats: updates far beyond the norm, at it, a last bit beyond it, and within."""
    axis = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 1, 1], [3, -4, 0], [1e-3, 2e-3, -1e-3]])
    lengths = np.linalg.norm(axis, axis=1, keepdims=True)
    for length in (1e9, 10.0, np.nextafter(1.0, 2.0), 1.0, 0.5):
        for cells in federe.clipped(axis / lengths * length).tolist():
            assert sum(cell * cell for cell in cells) <= federe.reach().l2_squared
            assert sum(cell * cell for cell in cells) > 0.999 * min(1, length) ** 2 * federe.UNIT**2


@pytest.mark.slow
def test_all_rounds_together_keep_the_promise() -> None:
    epsilon = Fraction(1)
    noise = federe.quietest(epsilon, federe.ROUNDS)
    assert 0.999 < federe.spent(noise, federe.ROUNDS).epsilon(federe.DELTA) <= 1
    assert federe.spent(federe.quietest(epsilon, 1), federe.ROUNDS).epsilon(federe.DELTA) > 3


@pytest.mark.slow
def test_more_noise_finds_fewer_labels() -> None:
    """Accuracies at epsilon 10 lie within 0.002 of the silent one (spread 0.0005). At 0.001 a model is next to a coin: 0.51,
    spread 0.2, so 0.045 for the mean of 20, which is 7 of these below 0.84: exceeded with probability below 1e-11."""
    source = system_source()
    silent = federe.trained(None, source)
    assert silent > 0.85
    assert abs(federe.trainings(federe.quietest(Fraction(10), federe.ROUNDS), source).value - silent) < 0.02
    loud = federe.quietest(Fraction(1, 1000), federe.ROUNDS)
    assert federe.trainings(loud, source).value < silent - 0.05
