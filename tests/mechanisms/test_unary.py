"""Unary encodings: probabilities, variances of the papers, estimator, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sfumato.core import BadInput
from sfumato.mechanisms import RandomizedResponse, UnaryEncoding
from sfumato.mechanisms.local.proportions import Proportions
from sfumato.noise import system_source


def test_the_optimised_and_the_symmetric_encoding() -> None:
    """MECHANISMS 9.4."""
    best, even = UnaryEncoding.calibrate(epsilon=1, categories=5), UnaryEncoding.symmetric(epsilon=1, categories=5)
    assert float(best.kept) == 0.5
    assert float(best.invented) == pytest.approx(1 / (math.e + 1))
    assert float(even.kept) == pytest.approx(math.exp(0.5) / (1 + math.exp(0.5)))
    assert even.invented == 1 - even.kept
    for m in (best, even):
        assert 1 - 1e-12 < m.loss().epsilon() <= 1


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_the_variances_of_the_papers(epsilon: float) -> None:
    """For a category that nobody holds: 4 e^x / (n (e^x - 1)^2) and e^(x/2) / (n (e^(x/2) - 1)^2)."""
    none, e, h = np.array([0.0]), math.exp(epsilon), math.exp(epsilon / 2)
    best = UnaryEncoding.calibrate(epsilon=epsilon, categories=5)
    even = UnaryEncoding.symmetric(epsilon=epsilon, categories=5)
    assert best.variance(none, 100)[0] == pytest.approx(4 * e / (100 * (e - 1) ** 2))
    assert even.variance(none, 100)[0] == pytest.approx(h / (100 * (h - 1) ** 2))


def test_response_beats_it_for_few_categories_only() -> None:
    """k-ary response is better if and only if k < 3 e^epsilon + 2 (10.15 at epsilon 1)."""
    none = np.array([0.0])
    for k, better in ((10, True), (11, False)):
        response = RandomizedResponse.calibrate(epsilon=1, categories=k).variance(none, 1)[0]
        unary = UnaryEncoding.calibrate(epsilon=1, categories=k).variance(none, 1)[0]
        assert bool(response < unary) is better


@pytest.mark.parametrize("make", [UnaryEncoding.calibrate, UnaryEncoding.symmetric], ids=["optimised", "symmetric"])
def test_the_variance_is_within_three_percent_of_simulation(make: Any) -> None:
    """20 000 surveys of 200 people: a sample variance has a relative standard deviation of 1 %; four categories that nobody
    holds are pooled, which makes 3 % six of them: a false alarm in 1e9."""
    m, people, surveys = make(epsilon=1, categories=6), 200, 20_000
    truth = np.zeros(people * surveys, dtype=np.int64)
    truth[::4] = 1
    reports = m.sample(truth, system_source()).reshape(surveys, people, 6)
    p, q = float(m.kept), float(m.invented)
    estimates = (reports.mean(axis=1) - q) / (p - q)
    assert estimates[:, 2:].var() == pytest.approx(m.variance(np.array([0.0]), people)[0], rel=0.03)
    assert abs(estimates[:, 0].mean() - 0.75) < 7 * (m.variance(np.array([0.75]), people)[0] / surveys) ** 0.5


def test_the_estimator_is_unbiased_and_knows_its_error() -> None:
    """40 000 people, five categories; 7 standard errors: a false alarm in 1e11."""
    m = UnaryEncoding.calibrate(epsilon=1, categories=5)
    truth = np.minimum(np.arange(40_000) % 8, 4)
    found = m.estimate(m.sample(truth, system_source()))
    real = np.bincount(truth, minlength=5) / truth.size
    assert np.all(np.abs(found.values - real) < 7 * found.standard_errors)
    assert found.standard_errors == pytest.approx(np.sqrt(m.variance(real, truth.size)), rel=0.1)


def test_proportions_are_projected_on_the_simplex() -> None:
    raw = Proportions(np.array([0.7, 0.5, -0.1, -0.3]), np.zeros(4))
    assert raw.on_simplex() == pytest.approx([0.6, 0.4, 0, 0])
    assert Proportions(np.array([0.2, 0.8]), np.zeros(2)).on_simplex() == pytest.approx([0.2, 0.8])


@pytest.mark.parametrize("answer", [-1, 5, True, 0.5, "a", np.array([0, 5]), np.array([0.5])])
def test_unknown_answers_are_refused(answer: Any) -> None:
    with pytest.raises(BadInput, match="not one of the categories"):
        UnaryEncoding("1/2", "1/4", 5).release(answer, sensitivity=1)


@pytest.mark.parametrize("reports", [[[0, 1]], [[0, 1, 2]], [0, 1, 0], [[0.5, 0, 1]], [["a", "b", "c"]]])
def test_unknown_reports_are_refused(reports: Any) -> None:
    with pytest.raises(BadInput, match="row of bits"):
        UnaryEncoding("1/2", "1/4", 3).estimate(np.array(reports))


@pytest.mark.parametrize(
    ("kept", "invented", "categories"),
    [("1/2", "1/4", 1), ("1/2", "1/2", 3), ("1/4", "1/2", 3), (1, "1/2", 3), ("1/2", 0, 3), ("1/2", "1/4", True)],
)
def test_senseless_parameters_are_refused(kept: Any, invented: Any, categories: int) -> None:
    with pytest.raises(BadInput) as caught:
        UnaryEncoding(kept, invented, categories)
    assert caught.value.hint


def test_nobody_reported() -> None:
    with pytest.raises(BadInput, match="no reports"):
        UnaryEncoding("1/2", "1/4", 3).estimate(np.zeros((0, 3), dtype=np.uint8))
