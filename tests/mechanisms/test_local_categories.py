"""Local reports of a category: probabilities, variances of the papers, estimators, speed, bad input.

Statistical tests err with probability 1e-9 or less: estimates may be 7 standard errors off, sample variances 6.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato.core import BadInput, Neighbours, Sensitivity
from sfumato.core.interval import exp_bounds
from sfumato.mechanisms import (
    ForcedResponse,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    UnaryEncoding,
)
from sfumato.noise import system_source

OF_EPSILON: dict[str, Callable[[Any], Any]] = {
    "response": lambda epsilon: RandomizedResponse.calibrate(epsilon=epsilon, categories=6),
    "forced": lambda epsilon: ForcedResponse.calibrate(epsilon=epsilon, weights=(4, 1, 1, 2, 2, 2)),
    "unary": lambda epsilon: UnaryEncoding.calibrate(epsilon=epsilon, categories=6),
    "symmetric": lambda epsilon: UnaryEncoding.symmetric(epsilon=epsilon, categories=6),
    "hashing": lambda epsilon: LocalHashing.calibrate(epsilon=epsilon, categories=6),
    "small primes": lambda epsilon: LocalHashing.calibrate(epsilon=epsilon, categories=6, prime=23),
    "hadamard": lambda epsilon: HadamardResponse.calibrate(epsilon=epsilon, categories=6),
}
KINDS = pytest.mark.parametrize("name", OF_EPSILON)


@KINDS
@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2", "6.3"])
def test_probabilities_are_rounded_to_the_safe_side(name: str, epsilon: str) -> None:
    """At most epsilon, as an exact fraction, and no more than 1e-9 below it."""
    bounded = OF_EPSILON[name](epsilon).loss().pure()
    assert bounded is not None
    assert Fraction(epsilon) * (1 - Fraction(1, 10**9)) <= bounded[0] <= Fraction(epsilon)


@pytest.mark.parametrize("truth", ["3/4", "2/3", "0.9", "1/2"])
@pytest.mark.parametrize("categories", [2, 3, 10])
def test_a_price_is_rounded_up_in_its_last_digit(truth: str, categories: int) -> None:
    """e^epsilon is certainly no smaller than the ratio, to 200 bits; the logarithm was rounded at 96."""
    m = RandomizedResponse(truth, categories)
    bounded = m.loss().pure()
    assert bounded is not None
    ratio = max(m.truth / m.other, m.other / m.truth)
    assert Fraction(exp_bounds(bounded[0], 200)[0], 2**200) >= ratio
    assert Fraction(exp_bounds(bounded[0], 200)[1], 2**200) <= ratio * (1 + Fraction(1, 2**80))


@KINDS
def test_answers_of_one_person_add_up_and_keep_their_unit(name: str) -> None:
    m = OF_EPSILON[name](1)
    about = Neighbours.REPLACE.protecting("household")
    loss = m.loss(Sensitivity.of(3, about=about))
    assert loss.epsilon() == pytest.approx(3)
    assert loss.about == about


@KINDS
def test_that_someone_reported_at_all_is_not_promised_away(name: str) -> None:
    """Counterexample to a promise about add/remove: with no report there is no outcome, whatever epsilon is."""
    with pytest.raises(BadInput, match="not hidden"):
        OF_EPSILON[name](1).loss(Sensitivity.of(1, about=Neighbours.ADD_REMOVE))


@pytest.mark.parametrize("kind", [RandomizedResponse, ForcedResponse, UnaryEncoding, LocalHashing, HadamardResponse])
def test_calibrated_for_several_answers_of_one_person(kind: Any) -> None:
    loss = kind.calibrate(sensitivity=3, epsilon=1).loss(3)
    assert 1 - 1e-9 < loss.epsilon() <= 1


@KINDS
def test_the_estimator_is_unbiased_and_knows_its_error(name: str) -> None:
    m = OF_EPSILON[name](1)
    truth = np.minimum(np.arange(60_000) % 9, 5)
    found = m.estimate(m.sample(truth, system_source()))
    real = np.bincount(truth, minlength=6) / truth.size
    assert np.all(np.abs(found.values - real) < 7 * found.standard_errors)
    assert found.standard_errors == pytest.approx(np.sqrt(m.variance(real, truth.size)), rel=0.1)


@KINDS
def test_the_variance_is_that_of_small_surveys(name: str) -> None:
    """4 000 surveys of 150 people: the mean square of an unbiased estimate of 0 has a relative standard deviation of 2.2 %."""
    m, people, surveys = OF_EPSILON[name](1), 150, 4000
    truth = np.tile(np.r_[np.zeros(100, dtype=np.int64), np.ones(50, dtype=np.int64)], surveys)
    reports = m.sample(truth, system_source())
    estimates = np.array([m.estimate(part).values for part in np.split(reports, surveys)])
    spread = (estimates[:, 2:] ** 2).mean(axis=0)
    expected = np.broadcast_to(m.variance(np.zeros(6), people), 6)[2:]
    assert spread / expected == pytest.approx(np.ones(4), abs=7 * (2 / surveys) ** 0.5)


@pytest.mark.slow
@KINDS
def test_the_variance_is_within_three_percent_of_many_simulations(name: str) -> None:
    """100 000 surveys of 20 people: the mean square of one estimate has a relative standard deviation of 0.45 %."""
    m, people, surveys = OF_EPSILON[name](1), 20, 100_000
    reports = m.sample(np.zeros(people * surveys, dtype=np.int64), system_source())
    estimates = np.array([m.estimate(part).values for part in np.split(reports, surveys)])
    expected = np.broadcast_to(m.variance(np.zeros(6), people), 6)
    assert (estimates[:, 1:] ** 2).mean(axis=0) / expected[1:] == pytest.approx(np.ones(5), abs=0.03)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 3])
def test_the_variances_of_the_papers(epsilon: float) -> None:
    """MECHANISMS 9.2 and 9.4, per report, for a category that nobody holds; hashing rounds its number of buckets."""
    none, e = np.zeros(6), math.exp(epsilon)
    response = RandomizedResponse.calibrate(epsilon=epsilon, categories=6)
    p, q = e / (e + 5), 1 / (e + 5)
    assert response.variance(none, 1)[0] == pytest.approx(q * (1 - q) / (p - q) ** 2)
    hashing = LocalHashing.calibrate(epsilon=epsilon, categories=6)
    assert hashing.buckets == round(e + 1)
    assert hashing.variance(none, 1)[0] == pytest.approx(4 * e / (e - 1) ** 2, rel=0.03)
    hadamard = HadamardResponse.calibrate(epsilon=epsilon, categories=6)
    assert hadamard.variance(none, 1)[0] == pytest.approx(((e + 1) / (e - 1)) ** 2)


def test_forced_response_is_the_note() -> None:
    """Keep with probability t, else draw from g: epsilon = ln(1 + t / ((1 - t) min g))."""
    m = ForcedResponse("1/4", (1, 2, 5))
    assert m.loss().epsilon() == pytest.approx(math.log(1 + (1 / 4) / ((3 / 4) / 8)))
    law = m.law(2)
    assert law is not None
    assert law.weights[2][0] / 2**law.bits == pytest.approx(1 / 4 + 3 / 4 * 5 / 8)


def test_forced_response_by_a_fair_coin_is_warner() -> None:
    """Half the time a fair coin instead of the truth: the truth three times in four."""
    forced, warner = ForcedResponse("1/2", (1, 1)), RandomizedResponse("3/4")
    assert forced.loss().pure() == warner.loss().pure()
    assert forced.law(1) == warner.law(1)


@pytest.mark.parametrize("prime", [5, 7, 31])
def test_another_category_is_supported_as_often_as_stated(prime: int) -> None:
    """Every hash, every bucket, summed exactly."""
    m = LocalHashing("3/4", categories=5, buckets=3, prime=prime)
    law = LocalHashing.law(m, 2) if prime**2 * 3 <= 2000 else None
    total = Fraction(0)
    for a in range(prime):
        for b in range(prime):
            buckets = [(a * x + b) % prime * 3 // prime for x in (2, 4)]
            total += m.truth if buckets[0] == buckets[1] else (1 - m.truth) / 2
    assert total / prime**2 == m.other
    assert law is None or len(law.weights) == prime**2 * 3


def test_no_signs_agree_too_often() -> None:
    """The Hadamard estimator on noiseless reports of every row is the truth itself."""
    m = HadamardResponse(Fraction(2**59 - 1, 2**59), 8)
    for truth in range(8):
        reports = np.array([(row, (row & truth).bit_count() % 2) for row in range(8)])
        assert m.estimate(reports).values == pytest.approx(np.eye(8)[truth])


def best(call: Callable[[], object]) -> float:
    times = []
    for _ in range(20):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times) * 1e3


@pytest.mark.parametrize(("name", "limit"), [("response", 5), ("unary", 15), ("symmetric", 15), ("hadamard", 5)])
def test_twenty_thousand_clients_are_quick(name: str, limit: float) -> None:
    """Milliseconds, best of 20."""
    m, truth = OF_EPSILON[name](1), np.arange(20_000) % 6
    assert best(lambda: m.sample(truth, system_source())) < limit


@KINDS
def test_a_list_is_as_many_people_as_it_is_long(name: str) -> None:
    m = OF_EPSILON[name](1)
    assert len(m.sample([0, 1, 2], system_source())) == 3
    assert len(m.sample(np.array([0, 1, 2]), system_source())) == 3


@KINDS
@pytest.mark.parametrize("answer", [-1, 6, True, 0.5, "a", None, [0, [1]], np.array([0, 6]), np.array([0.5])])
def test_unknown_answers_are_refused(name: str, answer: Any) -> None:
    with pytest.raises(BadInput, match="not one of the categories"):
        OF_EPSILON[name](1).release(answer, sensitivity=1)


BAD_REPORTS: list[tuple[str, Any]] = [
    ("response", [0, 6]),
    ("response", [0.5]),
    ("forced", [-1]),
    ("forced", ["a"]),
    ("hashing", [[0, 0, 9]]),
    ("hashing", [[-1, 0, 0]]),
    ("hashing", [[0, 2**31, 0]]),
    ("hashing", [[0, 0]]),
    ("hashing", [[0.5, 0, 0]]),
    ("hadamard", [[8, 0]]),
    ("hadamard", [[0, 2]]),
    ("hadamard", [[0, -1]]),
    ("hadamard", [0, 1]),
]


@pytest.mark.parametrize(("name", "reports"), BAD_REPORTS, ids=str)
def test_unknown_reports_are_refused(name: str, reports: Any) -> None:
    with pytest.raises(BadInput) as caught:
        OF_EPSILON[name](1).estimate(np.array(reports))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("name", "empty"),
    [("response", (0,)), ("forced", (0,)), ("unary", (0, 6)), ("hashing", (0, 3)), ("hadamard", (0, 2))],
)
def test_nobody_reported(name: str, empty: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="no reports"):
        OF_EPSILON[name](1).estimate(np.zeros(empty, dtype=np.int64))


SENSELESS: list[Callable[[], object]] = [
    lambda: ForcedResponse("1/2", (1,)),
    lambda: ForcedResponse("1/2", ()),
    lambda: ForcedResponse("1/2", (1, 0)),
    lambda: ForcedResponse("1/2", (1, -1)),
    lambda: ForcedResponse("1/2", (0.5, 0.5)),  # type: ignore[arg-type]
    lambda: ForcedResponse(1, (1, 1)),
    lambda: LocalHashing("3/4", categories=1),
    lambda: LocalHashing("3/4", categories=3, buckets=1),
    lambda: LocalHashing("1/2", categories=3, buckets=2),
    lambda: LocalHashing(1, categories=3, buckets=2),
    lambda: LocalHashing("3/4", categories=7, prime=5),
    lambda: LocalHashing("3/4", categories=3, prime=9),
    lambda: HadamardResponse("3/4", 1),
    lambda: HadamardResponse("1/2", 3),
    lambda: HadamardResponse(1, 3),
    lambda: HadamardResponse("3/4", 2**25),
    lambda: RandomizedResponse.calibrate(epsilon=1, sensitivity=0),
]


@pytest.mark.parametrize("make", SENSELESS)
def test_senseless_parameters_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(BadInput) as caught:
        make()
    assert caught.value.hint
