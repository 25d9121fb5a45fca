"""Noise found from a promise keeps the promise, and is the least that does."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting import (
    Approximate,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    Gdp,
    Loss,
    Pure,
    calibrate,
    classical_gaussian_sigma,
    gaussian_sigma,
    keeps,
)
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.sensitivity import Sensitivity


@pytest.mark.parametrize(
    ("epsilon", "delta", "exact", "classical"),
    [
        ("0.1", "1e-5", 30.7496, 48.448),
        ("0.5", "1e-5", 7.032, 9.690),
        ("0.9", "1e-5", 4.107, 5.383),
        ("0.99", "1e-6", 4.264, 5.352),
        ("1", "1e-5", 3.7306, None),
        ("3", "1e-5", 1.391, None),
        ("10", "1e-5", 0.4999, None),
    ],
)
def test_the_table_of_gaussian_noise(epsilon: str, delta: str, exact: float, classical: float | None) -> None:
    sigma = gaussian_sigma(1, epsilon=epsilon, delta=delta)
    assert float(sigma) == pytest.approx(exact, rel=3e-4)
    assert Gdp(1 / sigma).delta(float(epsilon)) <= Fraction(delta)
    assert Gdp(1 / (sigma * Fraction(99999, 100000))).delta(float(epsilon)) > Fraction(delta)
    if classical is None:
        with pytest.raises(BadInput, match="below 1"):
            classical_gaussian_sigma(1, epsilon=epsilon, delta=delta)
    else:
        textbook = classical_gaussian_sigma(1, epsilon=epsilon, delta=delta)
        assert float(textbook) == pytest.approx(classical, rel=1e-3)
        assert float(textbook) >= math.sqrt(2 * math.log(1.25 / float(delta))) / float(epsilon) * (1 - 1e-12)


def test_the_inverse_distribution_of_a_note_breaks_its_promise() -> None:
    """A root of 2 is missing there, so its noise has sigma / sqrt(2): delta(0.5) is 1.465e-5, not 1e-5."""
    for epsilon, delta, real, cost in (("0.5", "1e-5", 1.465e-5, 0.514), ("0.9", "1e-5", 3.2e-5, 0.978)):
        promised = classical_gaussian_sigma(1, epsilon=epsilon, delta=delta)
        noted = Gdp(Fraction(math.sqrt(2)) / promised)
        assert noted.delta(float(epsilon)) == pytest.approx(real, rel=1e-2)
        assert not keeps(noted, Fraction(epsilon), Fraction(delta))
        assert noted.epsilon(delta) == pytest.approx(cost, abs=1e-3)
        assert keeps(Gdp(1 / promised), Fraction(epsilon), Fraction(delta))


def test_the_classical_formula_breaks_its_promise_at_ten() -> None:
    sigma = math.sqrt(2 * math.log(1.25e5)) / 10
    assert Gdp(1 / Fraction(sigma)).delta(10.0) == pytest.approx(2.27e-5, rel=1e-2)


epsilons = st.fractions(Fraction(1, 20), Fraction(8), max_denominator=20)
deltas = st.sampled_from([Fraction(1, 10**k) for k in (3, 6, 9, 15)])


@settings(max_examples=40)
@given(epsilons, deltas, st.integers(1, 20))
def test_what_is_found_keeps_the_promise_and_a_little_less_does_not(
    epsilon: Fraction, delta: Fraction, reach: int
) -> None:
    def gaussian(sigma: Fraction) -> Loss:
        return DiscreteGaussianLoss(sigma * sigma, Sensitivity.of(reach))

    def laplace(scale: Fraction) -> Loss:
        return DiscreteLaplaceLoss(scale, Fraction(reach))

    for loss_of, mass in ((gaussian, delta), (laplace, Fraction(0)), (laplace, delta)):
        found = calibrate(loss_of, epsilon=epsilon, delta=mass)
        loss = loss_of(found)
        if mass:
            assert loss.delta(float(epsilon)) <= float(mass) * (1 + 1e-12)
        else:
            bounded = loss.pure()
            assert bounded is not None
            assert bounded[0] <= epsilon
        assert not keeps(loss_of(found * (1 - Fraction(1, 10**4))), epsilon, mass)


def test_what_is_found_is_a_short_decimal() -> None:
    for epsilon, scale in (("0.5", "2"), ("0.1", "10"), ("0.3", "3.33334"), ("7", "0.142858")):
        assert calibrate(lambda b: DiscreteLaplaceLoss(b, Fraction(1)), epsilon=epsilon) == Fraction(scale)
    fine = calibrate(lambda b: DiscreteLaplaceLoss(b, Fraction(1)), epsilon="0.3", digits=9)
    assert fine == Fraction("3.33333334")


def test_the_start_does_not_matter() -> None:
    found = {
        calibrate(lambda s: Gdp(1 / s), epsilon=1, delta="1e-5", start=start) for start in ("1e-6", "0.3", 1, 4, 10**6)
    }
    assert max(found) - min(found) <= Fraction(1, 10**4)
    assert all(keeps(Gdp(1 / s), Fraction(1), Fraction(1, 10**5)) for s in found)


def test_a_promise_that_no_noise_keeps_is_refused() -> None:
    with pytest.raises(NotSupported, match="no amount"):
        calibrate(lambda s: Gdp(1 / s), epsilon=1)
    with pytest.raises(NotSupported):
        calibrate(lambda s: Approximate(1 / s, Fraction(1, 100)), epsilon=1, delta="0.001")


def test_a_gaussian_promise_needs_a_delta() -> None:
    for find in (gaussian_sigma, classical_gaussian_sigma):
        with pytest.raises(BadInput, match="delta of 0"):
            find(1, epsilon="0.5", delta=0)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "nan", True])
def test_an_epsilon_of_no_sense_is_refused(epsilon: float) -> None:
    with pytest.raises(BadInput) as caught:
        calibrate(lambda b: Pure(1 / b), epsilon=epsilon)
    assert caught.value.hint
    for find in (gaussian_sigma, classical_gaussian_sigma):
        with pytest.raises(BadInput):
            find(1, epsilon=epsilon, delta="1e-6")


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, math.nan, math.inf])
def test_a_delta_of_no_sense_is_refused(delta: float) -> None:
    with pytest.raises(BadInput):
        gaussian_sigma(1, epsilon=1, delta=delta)


@pytest.mark.parametrize("sensitivity", [0, -1, math.inf, math.nan])
def test_a_sensitivity_of_no_sense_is_refused(sensitivity: float) -> None:
    with pytest.raises(BadInput):
        gaussian_sigma(sensitivity, epsilon="0.5", delta="1e-6")
    with pytest.raises(BadInput):
        classical_gaussian_sigma(sensitivity, epsilon="0.5", delta="1e-6")
