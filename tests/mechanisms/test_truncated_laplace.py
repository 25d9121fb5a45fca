"""Truncated Laplace: its law, its loss beside plain sums, the least bound, the hard limit, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato.accounting import TruncatedLaplaceLoss
from sfumato.core import BadInput, Sensitivity
from sfumato.mechanisms import Laplace, TruncatedLaplace
from sfumato.noise import TruncatedLaplace as Noise
from sfumato.noise import system_source


def masses(scale: float, bound: int) -> dict[int, float]:
    weights = {k: math.exp(-abs(k) / scale) for k in range(-bound, bound + 1)}
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def summed(scale: float, bound: int, shift: int, epsilon: float) -> float:
    law = masses(scale, bound)
    return math.fsum(max(0.0, p - math.exp(epsilon) * law.get(k - shift, 0.0)) for k, p in law.items())


@pytest.mark.parametrize(("scale", "bound"), [("1", 12), ("3", 2), ("7/2", 20), ("1/3", 4), ("40", 100)])
@pytest.mark.parametrize("shift", [1, 2, 3, 5, 9])
def test_the_curve_is_the_plain_sum(scale: str, bound: int, shift: int) -> None:
    loss = TruncatedLaplaceLoss(Fraction(scale), bound, Fraction(shift))
    for epsilon in (-50.0, -1.0, -0.01, 0.0, 0.1, 0.5, 1.0, 2.0, 2.9, 3.0, 3.1, 30.0):
        plain = summed(float(Fraction(scale)), bound, shift, epsilon)
        assert loss.delta(epsilon) == pytest.approx(plain, rel=1e-9, abs=1e-15)


def test_one_cell_is_the_worst_of_all_splits() -> None:
    """All splits of 3 steps over cells, as products summed outcome by outcome."""
    law = masses(2, 4)
    for epsilon in (-0.5, 0.0, 0.4, 0.9, 1.2, 1.5, 2.0):
        worst = TruncatedLaplaceLoss(Fraction(2), 4, Fraction(3)).delta(epsilon)
        growth = math.exp(epsilon)
        split = math.fsum(
            max(0.0, p * q - growth * law.get(i - 2, 0.0) * law.get(j - 1, 0.0))
            for i, p in law.items()
            for j, q in law.items()
        )
        assert split <= worst * (1 + 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta", "steps"), [(1, "1e-5", 1), ("0.1", "1e-8", 1), (2, "1e-3", 50), (9, "1/3", 1)]
)
def test_the_bound_is_the_least_that_keeps_delta(epsilon: Any, delta: str, steps: int) -> None:
    m = TruncatedLaplace.calibrate(sensitivity=steps, epsilon=epsilon, delta=delta)
    assert m.loss(steps).failure <= Fraction(delta)
    assert m.loss(steps).pure() == (Fraction(epsilon), m.loss(steps).failure)
    shorter = TruncatedLaplace(scale=m.scale, bound=m.bound - 1) if m.bound > 1 else None
    assert shorter is None or shorter.loss(steps).failure > Fraction(delta)


def test_the_support_of_the_formula_sheet() -> None:
    """MECHANISMS: 11.36 at epsilon 1, delta 1e-5, in units of the sensitivity; here in steps of a thousandth of it."""
    assert TruncatedLaplace.calibrate(sensitivity=1000, epsilon=1, delta="1e-5").limit == pytest.approx(11362, abs=2)


def test_no_draw_passes_the_limit() -> None:
    m = TruncatedLaplace.calibrate(sensitivity=1, epsilon=1, delta="1e-3")
    noise = m.sample(np.zeros(1_000_000, dtype=np.int64), system_source())
    assert np.abs(noise).max() == m.limit == m.bound
    assert m.within("0.9999999") == m.limit


@pytest.mark.parametrize("confidence", ["0", "0.5", "0.9", "0.99", "0.999999"])
@pytest.mark.parametrize("m", [TruncatedLaplace(10, 35), TruncatedLaplace(3, 2), TruncatedLaplace("0.7", 9)], ids=repr)
def test_within_is_the_exact_quantile(m: TruncatedLaplace, confidence: str) -> None:
    law, width = masses(float(m.scale), int(m.bound)), int(m.within(confidence))
    sure = float(confidence)
    assert sum(p for k, p in law.items() if abs(k) <= width) >= sure - 1e-12
    assert width == 0 or sum(p for k, p in law.items() if abs(k) <= width - 1) < sure + 1e-12


@pytest.mark.parametrize(("scale", "bound"), [("2", 7), ("9", 2), ("1", 1)])
def test_the_draws_follow_the_law(scale: str, bound: int) -> None:
    """Chi-square of 400 000 draws, one by one and in blocks; false alarms below 1e-9 each."""
    from scipy.special import chdtrc

    noise, law = Noise(Fraction(scale), bound), masses(float(scale), bound)
    single = [noise.sample(system_source()) for _ in range(20_000)]
    for draws in (np.array(single), noise.sample(system_source(), 400_000)):
        seen = np.bincount(draws + bound, minlength=2 * bound + 1)
        expected = np.array(list(law.values())) * draws.size
        assert chdtrc(2 * bound, ((seen - expected) ** 2 / expected).sum()) > 1e-9


def test_reals_are_floored_first() -> None:
    m = TruncatedLaplace.calibrate(sensitivity="0.3", epsilon=1, delta="1e-6", grain="1/16")
    out = m.release(np.full(1000, 0.2), sensitivity="0.3").value
    assert np.all(out * 16 == np.round(out * 16))
    assert np.all(np.abs(out - 0.2) <= m.limit)


def test_less_wide_than_laplace_at_the_far_end() -> None:
    kept, whole = TruncatedLaplace.calibrate(epsilon=1, delta="1e-5"), Laplace.calibrate(epsilon=1)
    assert kept.within("0.999999999") < whole.within("0.999999999")


def test_moved_beyond_the_bound_everything_shows() -> None:
    loss = TruncatedLaplace(scale=1, bound=3).loss(Sensitivity.of(7))
    assert loss.failure == 1
    assert loss.delta(100.0) == 1.0


@pytest.mark.parametrize("bad", [{"epsilon": 1}, {"epsilon": 1, "delta": 1}, {"epsilon": 0, "delta": "1e-5"}])
def test_senseless_promises_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        TruncatedLaplace.calibrate(**bad)
    with pytest.raises(BadInput, match="nothing to protect"):
        TruncatedLaplace.calibrate(sensitivity=0, epsilon=1, delta="1e-5")
    with pytest.raises(BadInput, match="follows"):
        TruncatedLaplace.calibrate(epsilon=1, delta="1e-5", bound=3)
