"""The contract of a mechanism. A new one, in this project or another, passes by `check_mechanism(TheClass)`."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

from sfumato.audit import audit, verify
from sfumato.core.errors import BadInput
from sfumato.core.neighbours import Neighbours
from sfumato.mechanisms.base import Mechanism
from sfumato.testing.scripted import ScriptedSource


def check_mechanism(kind: type[Mechanism[Any, Any]], *, runs: int = 100_000) -> None:
    """Raise AssertionError at the first promise that `kind` does not keep."""
    check_promise(kind)
    for mechanism in kind.examples():
        check_attack(mechanism, runs=runs)


def check_promise(kind: type[Mechanism[Any, Any]]) -> None:
    """All of the contract but the attack: form, loss, exact law, source."""
    assert "Proof:" in (kind.__doc__ or ""), f"{kind.__name__}: the docstring holds no proof"
    assert kind.examples(), f"{kind.__name__} gives no examples"
    for mechanism in kind.examples():
        check_form(mechanism)
        check_loss(mechanism)
        check_law(mechanism)
        check_source(mechanism)


def check_form(mechanism: Mechanism[Any, Any]) -> None:
    """A frozen value of public noise parameters; epsilon is derived, never stored."""
    name = type(mechanism).__name__
    fields = {field.name for field in dataclasses.fields(mechanism)}  # type: ignore[arg-type]
    assert "epsilon" not in fields, f"{name} stores the promise instead of the noise"
    assert "delta" not in fields, f"{name} stores the promise instead of the noise"
    for field in fields:
        try:
            setattr(mechanism, field, 1)
        except dataclasses.FrozenInstanceError:
            continue
        raise AssertionError(f"{name}.{field} can be changed after the price was stated")
    assert mechanism.describe()["mechanism"] == name


def check_loss(mechanism: Mechanism[Any, Any]) -> None:
    """The loss grows with the sensitivity, speaks of its neighbours, and loss and calibration refuse nonsense."""
    name = type(mechanism).__name__
    for case in mechanism.audit_cases():
        moved = case.sensitivity
        loss, double = mechanism.loss(moved), mechanism.loss(moved.scaled(2))
        assert loss.about == moved.about, f"{name} changed what its promise is about"
        other = dataclasses.replace(moved, about=Neighbours(moved.about.relation, "household"))
        assert mechanism.loss(other).about == other.about, f"{name} forgets which unit it protects"
        previous = 1.0
        for at in (-1.0, 0.0, 0.1, 0.5, 1.0, 2.0, 8.0):
            delta = loss.delta(at)
            assert 0 <= delta <= previous, f"{name}: the profile rises at {at}"
            assert double.delta(at) >= delta * (1 - 1e-9), f"{name}: twice the sensitivity costs less at {at}"
            previous = delta
    for reach in (-1, float("inf"), float("nan")):
        _refuses(lambda reach=reach: mechanism.loss(reach), f"{name}.loss({reach})")
    public = {
        field.name: getattr(mechanism, field.name)
        for field in dataclasses.fields(mechanism)  # type: ignore[arg-type]
        if field.name != mechanism.noise_field
    }
    for epsilon in (0, -1, float("inf"), float("nan"), "x"):
        _refuses(lambda at=epsilon: type(mechanism).calibrate(epsilon=at, **public), f"{name}.calibrate({epsilon})")


def check_law(mechanism: Mechanism[Any, Any]) -> None:
    """Where the law can be written down, it keeps the promise exactly, in both directions, and sums to one."""
    name = type(mechanism).__name__
    for case in mechanism.audit_cases():
        law = mechanism.law(case.left)
        if law is None:
            continue
        low = sum(pair[0] for pair in law.weights.values())
        high = sum(pair[1] for pair in law.weights.values()) + law.rest
        assert low <= 1 << law.bits <= high, f"{name}: the law does not sum to one"
        assert high - low < 1 << (law.bits - 40), f"{name}: the law is known too loosely to verify anything"
    for finding in verify(mechanism):
        assert not finding.understated, f"{name} promises less than it costs: {finding}"
        assert not finding.overstated, f"{name} says its loss is exact, and it is not: {finding}"


def check_source(mechanism: Mechanism[Any, Any]) -> None:
    """All randomness comes from the source: the same bits give the same output."""
    value = mechanism.audit_cases()[0].left
    first, second = (repr(mechanism.sample(value, ScriptedSource.stream(b"same bits"))) for _ in range(2))
    assert first == second, f"{type(mechanism).__name__} draws randomness from somewhere else"


def check_attack(mechanism: Mechanism[Any, Any], *, runs: int) -> None:
    """The attack finds nothing, and is strong enough to have caught half the epsilon.

    Which event it learns is a matter of luck: one that learnt a weak one may try once more, with four times the runs.
    """
    for times in (1, 4):
        report = audit(mechanism, runs=times * runs, confidence=Fraction(999_999_999, 1_000_000_000))
        assert report.passed, str(report)
        if report.lower_bound > report.claimed / 2:
            break
    assert report.lower_bound > report.claimed / 2, f"the attack is too weak to mean anything:\n{report}"


def _refuses(call: Any, what: str) -> None:
    try:
        call()
    except BadInput as error:
        assert error.hint, f"{what} was refused without a hint"
        return
    raise AssertionError(f"{what} was accepted")
