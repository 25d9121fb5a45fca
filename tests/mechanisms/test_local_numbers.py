"""Local reports of a number: unbiased, with the variances of the papers; lattices; bins; bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato.audit import verify
from sfumato.audit.exact import hockey_stick
from sfumato.core import BadInput
from sfumato.mechanisms import Duchi, Hybrid, Law, Piecewise, RangedResponse
from sfumato.noise import system_source

OF_EPSILON: dict[str, Callable[[Any], Any]] = {
    "duchi": lambda epsilon: Duchi.calibrate(epsilon=epsilon),
    "piecewise": lambda epsilon: Piecewise.calibrate(epsilon=epsilon),
    "hybrid": lambda epsilon: Hybrid.calibrate(epsilon=epsilon),
}
KINDS = pytest.mark.parametrize("name", OF_EPSILON)
BINS = (0, 20, 40, 65, 120)


@KINDS
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "0.7", "1", "2", "6.3"])
def test_probabilities_are_rounded_to_the_safe_side(name: str, epsilon: str) -> None:
    bounded = OF_EPSILON[name](epsilon).loss().pure()
    assert bounded is not None
    assert Fraction(epsilon) * (1 - Fraction(1, 10**7)) <= bounded[0] <= Fraction(epsilon)


@pytest.mark.parametrize(("name", "expected"), [("piecewise", (3.68, 4.07, 5.22)), ("duchi", (4.68, 4.43, 3.68))])
def test_the_check_values_at_epsilon_one(name: str, expected: tuple[float, ...]) -> None:
    """MECHANISMS 9.5, for t = 0, 1/2, 1."""
    m = OF_EPSILON[name](1)
    assert [m.variance(t) for t in (0, 0.5, 1)] == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
@pytest.mark.parametrize("t", [-1, -0.25, 0, 0.5, 1])
def test_the_variances_of_the_papers(epsilon: float, t: float) -> None:
    h = math.exp(epsilon / 2)
    piecewise = t * t / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
    duchi = ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2 - t * t
    assert OF_EPSILON["piecewise"](epsilon).variance(t) == pytest.approx(piecewise, rel=1e-4)
    assert OF_EPSILON["duchi"](epsilon).variance(t) == pytest.approx(duchi, rel=1e-4)
    share = 1 - 1 / h if epsilon > 0.61 else 0
    hybrid = OF_EPSILON["hybrid"](epsilon).variance(t)
    assert hybrid == pytest.approx(share * piecewise + (1 - share) * duchi, rel=1e-4)
    if epsilon > 0.61:
        assert hybrid == pytest.approx(OF_EPSILON["hybrid"](epsilon).variance(0), rel=1e-4)


@KINDS
@pytest.mark.parametrize("t", [-1.0, 0.3, 1.0])
def test_reports_are_unbiased_with_the_stated_variance(name: str, t: float) -> None:
    """400 000 reports: the mean may be 6.5 standard errors off; a sample variance of bounded reports has a relative standard
    deviation below 0.4 %, and 3 % is more than seven of them."""
    m = OF_EPSILON[name](1)
    reports = m.sample(np.full(400_000, t), system_source())
    found = m.estimate(reports)
    assert abs(found.value - t) < 6.5 * math.sqrt(m.variance(t) / reports.size) + found.bias
    assert found.standard_error == pytest.approx(math.sqrt(m.variance(t) / reports.size), rel=0.015)
    assert np.var(reports) == pytest.approx(m.variance(t), rel=0.03)


@KINDS
def test_a_list_is_as_many_people_as_it_is_long(name: str) -> None:
    m = OF_EPSILON[name](1)
    assert m.sample([0.0, 0.5, 1.0], system_source()).shape == (3,)
    assert m.sample(np.zeros((2, 2)), system_source()).shape == (2, 2)
    assert isinstance(m.sample(0.5, system_source()), float)


@KINDS
def test_numbers_beyond_the_range_are_clamped(name: str) -> None:
    m = {"duchi": Duchi("1/4", 8), "piecewise": Piecewise(3, 5, 12), "hybrid": Hybrid.examples()[1]}[name]
    assert m.law(7.5) == m.law(1.0)
    assert m.law(-2) == m.law(-1.0)


def test_a_mixture_keeps_the_weaker_promise() -> None:
    """Ratios of 3 and 5: whichever is the larger."""
    narrow, wide = Piecewise(3, 5, 12), Piecewise(7, 5, 12)
    duchi = Duchi("1/3", 12)
    assert Hybrid(Fraction(1, 2), narrow, duchi).loss().epsilon() == pytest.approx(math.log(5))
    assert Hybrid(Fraction(1, 2), wide, duchi).loss().epsilon() == pytest.approx(math.log(7))


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
def test_calibrated_for_several_numbers_of_one_person(kind: Any) -> None:
    loss = kind.calibrate(sensitivity=3, epsilon=1).loss(3)
    assert 1 - 1e-7 < loss.epsilon() <= 1


def test_the_window_holds_as_many_places_wherever_it_lies() -> None:
    """MECHANISMS R6: otherwise the probabilities would have different denominators, and the ratio would exceed the promise."""
    m = Piecewise(3, 5, 12)
    for step in range(13):
        law = m.law(-1 + 2 * step / 12)
        assert law is not None
        likely = [pair for pair in law.weights.values() if pair[1] > 2 * min(low for low, _ in law.weights.values())]
        assert len(likely) == 5


def test_a_window_that_loses_places_at_the_ends_would_be_caught() -> None:
    """A lattice that clips the window: one place fewer at t = 1 than at t = -1, the same weights, another total."""
    m = Piecewise(3, 5, 12)
    whole = m.law(-1.0)
    assert whole is not None

    def clipped(window: range) -> Law:
        weights = [3 if place in window else 1 for place in range(17)]
        return Law(96, {i: ((w << 96) // sum(weights), -((-w << 96) // sum(weights))) for i, w in enumerate(weights)})

    promised = Fraction(m.loss().epsilon())
    assert hockey_stick(clipped(range(5)), clipped(range(12, 17)), promised)[0] == 0
    assert hockey_stick(clipped(range(14, 17)), clipped(range(5)), promised)[0] > 0
    assert not any(finding.understated for finding in verify(m))


def test_the_mean_of_ranged_answers() -> None:
    """80 000 ages in four bins: within 7 standard errors of the mean of their midpoints, and of the truth within the bias."""
    m = RangedResponse.calibrate(epsilon=1, edges=BINS)
    ages = np.random.default_rng(5).integers(0, 120, size=80_000)
    found = m.estimate(m.sample(ages, system_source()))
    middles = m.midpoints[np.searchsorted([20, 40, 65], ages, side="right")]
    assert abs(found.value - middles.mean()) < 7 * found.standard_error
    assert abs(found.value - ages.mean()) < 7 * found.standard_error + found.bias
    assert found.bias == 27.5
    shares = np.bincount(np.searchsorted([20, 40, 65], ages, side="right")) / ages.size
    assert found.standard_error == pytest.approx(math.sqrt(m.variance(shares, ages.size)), rel=0.02)


@pytest.mark.slow
def test_the_variance_of_the_ranged_mean_is_within_three_percent_of_simulation() -> None:
    """160 000 surveys of 100 people: a sample variance has a relative standard deviation of 0.35 %. MECHANISMS 9.3."""
    m, shares = RangedResponse.calibrate(epsilon=1, edges=BINS), np.array([0.4, 0.3, 0.2, 0.1])
    people, surveys = 100, 160_000
    bins = np.random.default_rng(6).choice(4, p=shares, size=people * surveys)
    reports = m.sample(m.midpoints[bins], system_source()).reshape(surveys, people)
    p, q = float(m.truth), float((1 - m.truth) / 3)
    estimates = (m.midpoints[reports].mean(axis=1) - q * m.midpoints.sum()) / (p - q)
    assert estimates.var() == pytest.approx(m.variance(shares, people), rel=0.03)


def test_bins_beyond_the_edges_are_the_outermost() -> None:
    m = RangedResponse(BINS, "3/4")
    assert m.law(-5) == m.law(3)
    assert m.law(1000) == m.law(119)
    assert m.law(20) == m.law(39.9)


@KINDS
@pytest.mark.parametrize("number", [float("nan"), float("inf"), np.array([0.1, np.nan]), [0.0, [1.0]], "a", None, True])
def test_numbers_that_are_not_finite_are_refused(name: str, number: Any) -> None:
    with pytest.raises(BadInput):
        OF_EPSILON[name](1).release(number, sensitivity=1)
    with pytest.raises(BadInput):
        RangedResponse(BINS, "3/4").release(number, sensitivity=1)


@KINDS
@pytest.mark.parametrize("reports", [[50.0], [float("nan")], ["a"], []])
def test_unknown_reports_are_refused(name: str, reports: Any) -> None:
    with pytest.raises(BadInput) as caught:
        OF_EPSILON[name](1).estimate(np.array(reports))
    assert caught.value.hint


def test_reports_between_duchis_answers_are_refused() -> None:
    with pytest.raises(BadInput, match="client"):
        Duchi("1/4").estimate(np.array([2.0, 1.0]))


SENSELESS: list[Callable[[], object]] = [
    lambda: Duchi("1/2"),
    lambda: Duchi(0),
    lambda: Duchi("1/4", 0),
    lambda: Duchi("1/4", 2**30),
    lambda: Duchi(Fraction(1, 3**40)),
    lambda: Duchi.calibrate(epsilon="1e-12"),
    lambda: Piecewise(1, 5, 8),
    lambda: Piecewise(3, 0, 8),
    lambda: Piecewise(3, 5, 0),
    lambda: Piecewise.calibrate(epsilon=1, steps=-1),
    lambda: Hybrid(Fraction(2), Piecewise(3, 5, 8), Duchi("1/4")),
    lambda: RangedResponse((0, 1), "3/4"),
    lambda: RangedResponse((0, 1, 1), "3/4"),
    lambda: RangedResponse((0, 2, 1), "3/4"),
    lambda: RangedResponse((0, 1, float("inf")), "3/4"),
    lambda: RangedResponse(BINS, 1),
    lambda: RangedResponse.calibrate(epsilon=1),
]


@pytest.mark.parametrize("make", SENSELESS)
def test_senseless_parameters_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(BadInput) as caught:
        make()
    assert caught.value.hint
