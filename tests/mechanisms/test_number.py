"""Laplace and Gaussian: calibration, coverage, lattices, saturation, bad input."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato.core import BadInput, Neighbours, Private, Sensitivity
from sfumato.mechanisms import Gaussian, Laplace
from sfumato.mechanisms.number.lattice import OUTPUT_LIMIT


def test_laplace_is_calibrated_exactly() -> None:
    assert Laplace.calibrate(sensitivity=1, epsilon="0.5").scale == 2
    assert Laplace.calibrate(sensitivity=3, epsilon=0.1).scale == 30
    assert Laplace.calibrate(sensitivity=1, epsilon="0.5").loss(1).epsilon() == 0.5


def test_gaussian_is_calibrated_tightly() -> None:
    g = Gaussian.calibrate(sensitivity=1, epsilon=1, delta=1e-5)
    assert g.loss(1).delta(1.0) <= 1e-5
    assert Gaussian(sigma=g.sigma * Fraction(9999, 10000)).loss(1).delta(1.0) > 1e-5
    assert float(g.sigma) == pytest.approx(
        3.7405, abs=2e-4
    )  # the lattice costs a little: the continuous law needs 3.7306


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.95", "0.99"])
@pytest.mark.parametrize(
    "mechanism", [Laplace(scale=10), Gaussian(sigma=10), Laplace(scale="0.7"), Gaussian(sigma=3)], ids=repr
)
def test_within_is_the_exact_quantile(mechanism: Any, confidence: str) -> None:
    """From the law, not from samples: t covers, and t - 1 does not."""
    law = mechanism.law(0)
    width = int(mechanism.within(confidence))
    low = sum(pair[0] for outcome, pair in law.weights.items() if abs(outcome) <= width)
    high_before = sum(pair[1] for outcome, pair in law.weights.items() if abs(outcome) <= width - 1)
    assert Fraction(low, 1 << law.bits) >= Fraction(confidence) - Fraction(1, 2**100)
    assert Fraction(high_before, 1 << law.bits) < Fraction(confidence)


def test_coverage_is_what_was_said() -> None:
    """A million draws; the chance of being off by 0.002 is below 1e-15."""
    m = Laplace(scale=10)
    noise = m.sample(np.zeros(1_000_000, dtype=np.int64), _system())
    share = np.mean(np.abs(noise) <= m.within("0.95"))
    exact = 1 - 2 * np.exp(-(m.within("0.95") + 1) / 10) / (1 + np.exp(-0.1))
    assert abs(share - exact) < 0.002


def _system() -> Any:
    from sfumato.noise import system_source

    return system_source()


def test_a_release_knows_value_price_and_error() -> None:
    r = Laplace(scale=2).release(100, sensitivity=1)
    assert isinstance(r.value, int)
    assert r.loss.epsilon() == 0.5
    assert r.within("0.95") == 6


def test_a_private_value_is_released_and_stays_sealed() -> None:
    box = Private(100)
    assert isinstance(Laplace(scale=1).release(box, sensitivity=1).value, int)
    assert repr(box) == "Private(...)"


def test_arrays_keep_their_shape_and_type() -> None:
    grid = np.arange(12).reshape(3, 4)
    noisy = Gaussian(sigma=2).release(grid, sensitivity=1).value
    assert noisy.shape == (3, 4)
    assert noisy.dtype == np.int64
    reals = Laplace(scale=1, grain="1/8").release(np.linspace(0, 1, 5), sensitivity=1).value
    assert reals.dtype == np.float64
    assert np.all(reals * 8 == np.round(reals * 8))


def test_neighbours_ride_along() -> None:
    about = Neighbours.REPLACE.protecting("household")
    assert Laplace(scale=1).loss(Sensitivity.of(2, about=about)).about == about
    assert Gaussian(sigma=1).loss(Sensitivity.of(2, about=about)).about == about


def test_flooring_makes_a_real_sensitivity_grow() -> None:
    """0.3 apart on a grid of 1/4 can be two steps apart: the price says so."""
    assert Laplace(scale=1, grain="1/4").loss("0.3").epsilon() == 0.5
    assert Laplace(scale=1, grain="1/4").loss("0.25").epsilon() == 0.25


@pytest.mark.parametrize("value", [2**80, -(2**80), 2**62, -(2**62)])
def test_integers_beyond_64_bits_saturate(value: int) -> None:
    out = Laplace(scale=1).release(value, sensitivity=1).value
    assert abs(out) <= OUTPUT_LIMIT
    assert (out > 0) == (value > 0)
    assert abs(out) > 2**60


def _always(noise: int) -> Any:
    return lambda size: np.full(size, noise, dtype=np.int64)


def test_saturation_hides_nothing() -> None:
    """Noise at the end of 64 bits saturates the output whatever the input, so no output is possible for one input only."""
    from sfumato.mechanisms.number.lattice import INPUT_LIMIT, noisy

    for noise in (2**63 - 1, -(2**63)):
        outs = {int(noisy(np.array([v]), grain=None, draw=_always(noise))[0]) for v in (0, INPUT_LIMIT, -INPUT_LIMIT)}
        assert outs == {OUTPUT_LIMIT if noise > 0 else -OUTPUT_LIMIT}


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "ten"])
def test_senseless_noise_is_refused(kind: Any, bad: Any) -> None:
    with pytest.raises(BadInput):
        kind(bad)


@pytest.mark.parametrize("grain", [0.1, 3, "1/3", 0, -1])
def test_a_grain_is_a_power_of_two(grain: Any) -> None:
    with pytest.raises(BadInput):
        Laplace(scale=1, grain=grain)


@pytest.mark.parametrize("value", [0.5, True, "1", None, np.array([0.5]), np.array(["a"])])
def test_whole_noise_wants_whole_numbers(value: Any) -> None:
    with pytest.raises(BadInput, match="whole number"):
        Laplace(scale=1).release(value, sensitivity=1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.array([1.0, np.nan])])
def test_values_that_are_not_finite_are_refused(value: Any) -> None:
    with pytest.raises(BadInput, match="finite"):
        Laplace(scale=1, grain=1).release(value, sensitivity=1)


@pytest.mark.parametrize("epsilon", [1, 2, "1.5"])
def test_the_classical_formula_is_refused_outside_its_range(epsilon: Any) -> None:
    with pytest.raises(BadInput):
        Gaussian.classical(epsilon=epsilon, delta="1e-5")


def test_a_gaussian_needs_a_delta() -> None:
    with pytest.raises(BadInput, match="delta 0"):
        Gaussian.calibrate(sensitivity=1, epsilon=1)


@pytest.mark.parametrize("delta", [1, -0.1, float("nan"), 2])
def test_delta_lies_in_its_range(delta: Any) -> None:
    with pytest.raises(BadInput):
        Gaussian.calibrate(sensitivity=1, epsilon=1, delta=delta)


def test_nothing_to_protect_is_said() -> None:
    with pytest.raises(BadInput, match="nothing to protect"):
        Laplace.calibrate(sensitivity=0, epsilon=1)
