"""Private keys: the threshold's failure summed, not quoted; what is told of groups that nobody else is in.

False alarms: each statistical test here errs with probability 1e-9 or less.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import pytest
from scipy.stats import binom

from sfumato.accounting import DiscreteLaplaceLoss, Failing, Pure
from sfumato.audit.exact import hockey_stick, verify
from sfumato.core import BadInput, Neighbours, Relation, Sensitivity
from sfumato.mechanisms import GaussianKeys, GeometricKeys, LaplaceKeys
from sfumato.mechanisms.keys import held
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, system_source

KINDS: list[Any] = [LaplaceKeys, GaussianKeys, GeometricKeys]


def test_the_failure_that_a_peer_understates() -> None:
    """Scale 1, threshold 5: a group of one person is told with probability a^4/(1+a) = 0.0134, not a^5/(1+a) = 0.0049."""
    failure = LaplaceKeys(5, 1).loss(1).failure
    a = math.exp(-1)
    assert float(failure) == pytest.approx(a**4 / (1 + a), rel=1e-9)
    assert float(failure) == pytest.approx(0.0133899, rel=1e-5)
    assert float(failure) / (a**5 / (1 + a)) == pytest.approx(math.e, rel=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "groups"),
    [
        (mechanism, groups)
        for mechanism in (LaplaceKeys(5, 1), LaplaceKeys(9, "5/2"), GaussianKeys(6, 2), GeometricKeys(3, 1))
        for groups in (1, 2)
    ],
)
def test_the_failure_is_the_sum_of_the_law(mechanism: Any, groups: int) -> None:
    """All that is told of groups in which one person is alone, summed: no more than was promised, and no less."""
    law = mechanism.law({"ab"[place]: 1 for place in range(groups)})
    told = 1 - Fraction(law.weights[()][1], 1 << law.bits)
    promised = mechanism.loss(Sensitivity.of_cells(groups)).failure
    assert told <= promised
    assert float(promised) == pytest.approx(float(told), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_law_keeps_the_promise_and_would_not_keep_the_peers(kind: Any) -> None:
    """Neighbours summed in both directions; with the tail one step further, the same sums find the promise broken."""
    for mechanism in kind.examples():
        findings = verify(mechanism)
        assert findings
        assert not any(finding.understated for finding in findings)


def test_a_tail_one_step_too_far_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = held.alone_told

    def understated(noise: Any, threshold: int, sensitivity: Sensitivity) -> Fraction:
        return original(noise, threshold + 1, sensitivity)

    for module in ("laplace", "gaussian"):
        monkeypatch.setattr(f"sfumato.mechanisms.keys.{module}.alone_told", understated)
    for mechanism in (LaplaceKeys(5, 1), GaussianKeys(5, 1)):
        assert any(finding.understated for finding in verify(mechanism))


@pytest.mark.parametrize("mechanism", [LaplaceKeys(5, 1), GaussianKeys(5, 1), GeometricKeys(2, 1)])
def test_forgetting_the_other_groups_is_noticed(monkeypatch: pytest.MonkeyPatch, mechanism: Any) -> None:
    """The failure of one group, where a person may be in two."""

    def understated() -> bool:
        least, _ = hockey_stick(mechanism.law({"a": 1, "b": 1}), mechanism.law({}), Fraction(12))
        return bool(float(least) > mechanism.loss(Sensitivity.of_cells(2)).delta(12.0) * (1 + 1e-9))

    assert not understated()
    monkeypatch.setattr("sfumato.mechanisms.keys.held.at_least_one", lambda chance, times: chance)
    monkeypatch.setattr("sfumato.mechanisms.keys.geometric.at_least_one", lambda chance, times: chance)
    assert understated()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("groups", [1, 2, 5, 40])
def test_calibration_keeps_its_promise_and_wastes_no_step(kind: Any, groups: int) -> None:
    reach = Sensitivity.of_cells(groups)
    found = kind.calibrate(sensitivity=reach, epsilon=1, delta="1e-6")
    loss = found.loss(reach)
    assert loss.failure <= Fraction(1, 10**6)
    assert loss.delta(1.0) <= 1e-6
    lower = (
        GeometricKeys(found.bound - 1, found.scale)
        if isinstance(found, GeometricKeys)
        else kind(found.threshold - 1, found.sigma if isinstance(found, GaussianKeys) else found.scale)
    )
    allowed = Fraction(1, 10**6) / (2 if isinstance(found, GaussianKeys) else 1)
    one_lower = lower.loss(reach)
    assert (one_lower.mass if isinstance(one_lower, Failing) else one_lower.failure) > allowed


def test_gaussian_noise_finds_smaller_groups_where_people_are_in_many() -> None:
    thresholds = {
        groups: [
            k.calibrate(sensitivity=Sensitivity.of_cells(groups), epsilon=1, delta="1e-6").threshold for k in KINDS
        ]
        for groups in (1, 5)
    }
    laplace, gaussian, geometric = thresholds[5]
    assert gaussian < geometric < laplace
    assert min(thresholds[1]) == thresholds[1][2]


def test_replacing_a_person_counts_old_groups_and_new() -> None:
    """Sensitivities under replace name both: the failure is that of all of them, no less than of either."""
    about = Neighbours(Relation.REPLACE)
    both = Sensitivity(Fraction(4), Fraction(1), Fraction(4), about, 4)
    assert LaplaceKeys(5, 1).loss(both).failure > LaplaceKeys(5, 1).loss(Sensitivity.of_cells(2)).failure
    assert LaplaceKeys(5, 1).loss(both).about == about
    here, there = LaplaceKeys(5, 1).law({"a": 1}), LaplaceKeys(5, 1).law({"b": 1})
    loss = LaplaceKeys(5, 1).loss(Sensitivity(Fraction(2), Fraction(1), Fraction(2), about, 2))
    assert here is not None
    assert there is not None
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2)):
        assert float(hockey_stick(here, there, epsilon)[0]) <= loss.delta(float(epsilon))


def test_what_is_told_comes_in_the_order_of_names() -> None:
    """The order of the rows says nothing: large groups listed in any order are told in the order of their names."""
    groups = {"z": 10**6, "a": 10**6, "m": 10**6}
    told = LaplaceKeys(9, 1).sample(groups, system_source())
    assert [name for name, _ in told] == ["a", "m", "z"]
    assert GeometricKeys(5, 1).sample(dict(reversed(groups.items())), system_source()) == ("a", "m", "z")


def test_groups_pass_as_often_as_the_tail_says() -> None:
    runs = 200_000
    for mechanism, noise, count in (
        (LaplaceKeys(5, 2), DiscreteLaplace(Fraction(2)), 3),
        (GaussianKeys(5, "3/2"), DiscreteGaussian(Fraction(9, 4)), 4),
    ):
        chance = noise.tail_bounds(5 - count, 64)[1] / 2**64
        told = sum(bool(kept) for kept in mechanism.repeat({"a": count}, runs, system_source()))
        assert binom.ppf(5e-10, runs, chance) <= told <= binom.isf(5e-10, runs, chance)


def test_a_failing_loss_adds_its_event_once() -> None:
    loss = Failing(Pure(Fraction(1)), Fraction(1, 100))
    assert loss.pure() == (Fraction(1), Fraction(1, 100))
    assert loss.failure == Fraction(1, 100)
    assert loss.delta(1.0) == pytest.approx(0.01)
    assert loss.delta(0.0) == pytest.approx(0.01 + 0.99 * Pure(Fraction(1)).delta(0.0))
    inner = DiscreteLaplaceLoss(Fraction(1), Fraction(1))
    assert Failing(inner, Fraction(0)).delta(0.3) == inner.delta(0.3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: LaplaceKeys(0, 1),
        lambda: GaussianKeys(True, 1),
        lambda: GeometricKeys(0, 1),
        lambda: LaplaceKeys(5, 1).release({"a": 0}, 1),
        lambda: LaplaceKeys(5, 1).release([3], 1),  # type: ignore[arg-type]
        lambda: LaplaceKeys.calibrate(epsilon=1),
        lambda: GeometricKeys.calibrate(epsilon=1, delta=0),
        lambda: GaussianKeys.calibrate(epsilon=1, delta="1e-6", threshold=3),
        lambda: LaplaceKeys.calibrate(epsilon=1, delta="1e-6", sensitivity=0),
    ],
)
def test_nonsense_is_refused(call: Any) -> None:
    with pytest.raises(BadInput) as caught:
        call()
    assert caught.value.hint


@pytest.mark.parametrize("kind", [LaplaceKeys, GeometricKeys])
def test_many_groups_are_priced_at_once(kind: Any) -> None:
    """With ten thousand groups the exact power took minutes. What is stated is no less than it, and barely more."""
    begun = time.monotonic()
    mechanism = kind.calibrate(sensitivity=Sensitivity.of_cells(10_000), epsilon=1, delta="1e-6")
    assert mechanism.loss(Sensitivity.of_cells(10_000)).failure <= Fraction(1, 10**6)
    assert time.monotonic() - begun < 20
    chance = Fraction(1, 10**9)
    assert 1 <= held.at_least_one(chance, 1000) / (1 - (1 - chance) ** 1000) < 1 + Fraction(1, 10**6)
