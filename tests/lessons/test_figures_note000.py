"""The figures of note 000's mechanisms: known values, and measured ones whose false-alarm rate is stated."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.lessons import bruit_borne
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
