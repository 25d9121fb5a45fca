"""How close the attack comes, how long it takes, and what it says."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato.audit import audit, least_epsilon, verify
from sfumato.audit.confidence import clopper_pearson
from sfumato.core import BadInput
from sfumato.mechanisms import Gaussian, Laplace, Mechanism, RandomizedResponse
from sfumato.noise import system_source

AT_EPSILON_ONE: list[tuple[Mechanism[Any, Any], float]] = [
    (Laplace.calibrate(epsilon=1), 0.96),
    (Laplace.calibrate(epsilon=1, grain=Fraction(1, 1024)), 0.96),
    (RandomizedResponse.calibrate(epsilon=1), 0.96),
    (Gaussian.calibrate(epsilon=1, delta="1e-5"), 0.95),
]


@pytest.mark.parametrize(("mechanism", "share"), AT_EPSILON_ONE, ids=repr)
def test_a_million_runs_come_close_to_the_truth(mechanism: Mechanism[Any, Any], share: float) -> None:
    """Noise on the bound is below 0.003 of epsilon, and the margin several times that."""
    report = audit(mechanism, runs=1_000_000)
    assert report.passed, str(report)
    assert share <= report.lower_bound <= report.claimed <= 1.0000001


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "share"), AT_EPSILON_ONE, ids=repr)
def test_a_million_runs_take_at_most_two_seconds(mechanism: Mechanism[Any, Any], share: float) -> None:
    audit(mechanism, runs=1_000)
    started = time.perf_counter()
    audit(mechanism, runs=1_000_000)
    assert time.perf_counter() - started < 2


@pytest.mark.torture
@pytest.mark.parametrize(("mechanism", "share"), AT_EPSILON_ONE, ids=repr)
def test_bounds_above_the_truth_are_as_rare_as_promised(
    mechanism: Mechanism[Any, Any], share: float, record_property: Callable[[str, object], None]
) -> None:
    """At confidence 99.9 %, 400 repetitions have more than 3 bounds above the truth with probability 7e-4."""
    above = 0
    for _ in range(400):
        report = audit(mechanism, runs=200_000)
        above += report.lower_bound > report.claimed
    record_property("above the truth", f"{above} of 400")
    assert above <= 3


def test_clopper_pearson_covers_exactly() -> None:
    """Enumerated, not sampled: over all counts, each end misses with at most the stated probability."""
    from scipy.stats import binom

    runs, miss = 60, 0.01
    for p in np.linspace(0.01, 0.99, 33):
        weights = binom.pmf(np.arange(runs + 1), runs, p)
        ends = [clopper_pearson(hits, runs, miss=miss) for hits in range(runs + 1)]
        assert sum(w for w, (low, _) in zip(weights, ends, strict=True) if low > p) <= miss
        assert sum(w for w, (_, high) in zip(weights, ends, strict=True) if high < p) <= miss


def test_the_note_that_forgets_a_root_of_two_is_caught() -> None:
    """Note 000 draws a Gaussian with sigma / sqrt(2): MECHANISMS 000-1."""
    classical = Gaussian.classical(epsilon="1/2", delta="1e-5")
    actual = Gaussian(sigma=classical.sigma * Fraction(70710678, 10**8))
    assert actual.loss(1).delta(0.5) > 1e-5
    assert classical.loss(1).delta(0.5) <= 1e-5


def test_a_report_reads_like_a_sentence() -> None:
    text = str(audit(Laplace(scale=1), runs=20_000))
    assert text.startswith("PASS  Laplace(scale 1)")
    assert "promised  epsilon 1.0000" in text
    assert "measured  epsilon at least" in text


def test_time_can_be_bounded() -> None:
    assert audit(Laplace(scale=1), seconds=0.05).runs <= 1_000_000


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(BadInput, match="too few runs"):
        audit(Laplace(scale=1), runs=10)


def test_verification_covers_both_sides_of_the_promise() -> None:
    findings = verify(Laplace(scale=3))
    assert min(finding.epsilon for finding in findings) < 0
    assert max(finding.epsilon for finding in findings) > 1 / 3
    assert all(finding.least <= finding.claimed for finding in findings)
    assert all(finding.most - finding.least <= 1e-12 for finding in findings)


def test_outputs_of_any_program_bound_epsilon() -> None:
    """Two geometric laws e apart: epsilon is 1, and the bound is below it with a confidence of 1 - 1e-9."""
    law = Laplace(scale=1)
    left, right = (np.asarray(law.repeat(value, 200_000, system_source())) for value in (0, 1))
    bound = least_epsilon(left, right, confidence="0.999999999")
    assert 0.9 < bound <= 1
    assert least_epsilon(left, left[::-1], confidence="0.999999999") == 0
    with pytest.raises(BadInput):
        least_epsilon(left, right[:10])
