"""Randomized response: estimator, variance, vectors, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.core import BadInput
from sfumato.mechanisms import RandomizedResponse
from sfumato.noise import system_source


def test_from_epsilon_and_from_a_probability() -> None:
    assert float(RandomizedResponse.calibrate(epsilon=1).truth) == pytest.approx(np.e / (np.e + 1))
    assert RandomizedResponse("3/4").loss().epsilon() == pytest.approx(np.log(3))
    assert RandomizedResponse.calibrate(epsilon=1).loss().epsilon() <= 1
    assert RandomizedResponse.calibrate(epsilon=1, categories=10).loss().epsilon() == pytest.approx(1)


def test_warners_variance() -> None:
    """MECHANISMS 9.1: pi (1-pi)/n + p (1-p)/(n (2p-1)^2)."""
    m, pi, n = RandomizedResponse("0.7"), 0.3, 1000
    p = 0.7
    expected = pi * (1 - pi) / n + p * (1 - p) / (n * (2 * p - 1) ** 2)
    assert m.variance(np.array([pi]), n)[0] == pytest.approx(expected)


@pytest.mark.parametrize("categories", [2, 5])
def test_the_estimator_is_unbiased_and_knows_its_error(categories: int) -> None:
    """400 000 people; an error of 7 standard errors has probability 3e-12."""
    m = RandomizedResponse.calibrate(epsilon=1, categories=categories)
    truth = np.arange(400_000) % categories
    truth[: truth.size // 4] = 0
    found = m.estimate(m.sample(truth, system_source()))
    real = np.bincount(truth, minlength=categories) / truth.size
    assert np.all(np.abs(found.values - real) < 7 * found.standard_errors)
    assert found.values.sum() == pytest.approx(1)


@pytest.mark.slow
def test_the_variance_is_within_three_percent_of_simulation() -> None:
    """100 000 surveys of 300 people: the sample variance has a relative standard deviation of 0.45 %, 3 % is 6.7 of them."""
    m, pi, people, surveys = RandomizedResponse.calibrate(epsilon=1), 0.3, 300, 100_000
    truth = (np.random.default_rng(1).random((surveys, people)) < pi).astype(np.int64)
    reports = m.sample(truth, system_source())
    q, gap = float(m.other), float(m.truth - m.other)
    estimates = (reports.mean(axis=1) - q) / gap
    assert np.var(estimates) == pytest.approx(m.variance(np.array([pi]), people)[0], rel=0.03)


@pytest.mark.parametrize("answer", [-1, 2, True, 0.5, np.array([0, 5]), np.array([0.5])])
def test_unknown_answers_are_refused(answer: Any) -> None:
    with pytest.raises(BadInput, match="not one of the categories"):
        RandomizedResponse("3/4").release(answer, sensitivity=1)


@pytest.mark.parametrize(("truth", "categories"), [(0, 2), (1, 2), ("1.5", 2), (-1, 2), ("1/2", 1), ("1/2", 0)])
def test_senseless_parameters_are_refused(truth: Any, categories: int) -> None:
    with pytest.raises(BadInput):
        RandomizedResponse(truth, categories)


def test_uniform_answers_cannot_be_estimated_from() -> None:
    with pytest.raises(BadInput, match="no information"):
        RandomizedResponse("1/2").estimate(np.array([0, 1]))
    with pytest.raises(BadInput, match="no reports"):
        RandomizedResponse("3/4").estimate(np.array([], dtype=np.int64))
