"""An audit that never rejects proves nothing: it must catch half the epsilon, 2 % of a scale, a sensitivity, float noise.

False alarms: each audit errs with probability 1e-9 (its confidence here), so this file errs less than once in 1e7 runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
import pytest

from sfumato.accounting import Approximate, Loss, Pure
from sfumato.audit import audit, verify
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms import (
    Case,
    Exponential,
    Gaussian,
    Laplace,
    Law,
    Mechanism,
    RandomizedResponse,
    TruncatedLaplace,
)
from sfumato.noise import Source

SURE = Fraction(999_999_999, 1_000_000_000)


@final
@dataclass(frozen=True)
class Claims(Mechanism[Any, Any]):
    """`truth` under another's promise; its law too, when `law_of` is given."""

    truth: Mechanism[Any, Any]
    promise: Callable[[Sensitivity], Loss]
    shown: Mechanism[Any, Any] | None = None

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        return self.promise(Sensitivity.of(sensitivity))

    def sample(self, value: Any, source: Source) -> Any:
        return self.truth.sample(value, source)

    def repeat(self, value: Any, count: int, source: Source) -> Sequence[Any]:
        return self.truth.repeat(value, count, source)

    def law(self, value: Any) -> Law | None:
        return (self.shown or self.truth).law(value)

    def within(self, confidence: Number) -> float:
        return self.truth.within(confidence)

    def audit_cases(self) -> Sequence[Case[Any]]:
        return self.truth.audit_cases()

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return ()


EXAMPLES = [example for kind in (Laplace, Gaussian, Exponential, RandomizedResponse) for example in kind.examples()]
"""The first four; `check_mechanism` asks of every other that its attack would have caught half the epsilon."""


def half(loss: Loss) -> Loss:
    """A promise of half the epsilon at the same delta."""
    match loss.pure():
        case (bound, failure) if failure:
            return Approximate(bound / 2, failure, loss.about)
        case (bound, _):
            return Pure(bound / 2, loss.about)
        case _:
            return Gaussian.calibrate(epsilon=loss.epsilon(1e-5) / 2, delta=1e-5).loss(1)


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=repr)
def test_half_the_epsilon_is_caught_by_the_attack_alone(mechanism: Mechanism[Any, Any]) -> None:
    liar = Claims(mechanism, lambda s: half(mechanism.loss(s)))
    report = audit(liar, runs=400_000, confidence=SURE)
    assert report.lower_bound > report.claimed, str(report)


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=repr)
def test_half_the_epsilon_is_caught_by_the_law_alone(mechanism: Mechanism[Any, Any]) -> None:
    liar = Claims(mechanism, lambda s: half(mechanism.loss(s)))
    assert any(finding.understated for finding in verify(liar))


TOO_SMALL: list[tuple[Mechanism[Any, Any], Mechanism[Any, Any]]] = [
    (Laplace(scale=1), Laplace(scale="0.98")),
    (Laplace(scale=2, grain="1/4"), Laplace(scale="1.96", grain="1/4")),
    (TruncatedLaplace(scale=1, bound=12), TruncatedLaplace(scale="0.98", bound=12)),
    (TruncatedLaplace(scale=1, bound=5), TruncatedLaplace(scale=1, bound=4)),
    (Gaussian(sigma="3.7"), Gaussian(sigma="3.626")),
    (Exponential(2, "1/2", 1), Exponential(2, "0.51", 1)),
    (RandomizedResponse("0.75"), RandomizedResponse("0.755")),
]


@pytest.mark.parametrize(("stated", "drawn"), TOO_SMALL, ids=repr)
def test_a_scale_two_percent_too_small_is_caught(stated: Mechanism[Any, Any], drawn: Mechanism[Any, Any]) -> None:
    """Caught twice: the draws do not follow the stated law, and the law of the draws does not keep the stated promise."""
    assert not audit(Claims(drawn, stated.loss, shown=stated), runs=1_000_000, confidence=SURE).passed
    assert any(finding.understated for finding in verify(Claims(drawn, stated.loss)))


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=repr)
def test_a_sensitivity_that_is_twice_what_was_said_is_caught(mechanism: Mechanism[Any, Any]) -> None:
    """The same noise, on inputs that move twice as far as the loss was told."""
    case = mechanism.audit_cases()[0]
    bounded = mechanism.loss(case.sensitivity).pure()
    liar = Claims(mechanism, lambda s: half(mechanism.loss(s)) if bounded else mechanism.loss(s.scaled("1/2")))
    if not bounded and isinstance(mechanism, Gaussian) and mechanism.grain is None:
        liar = Claims(_twice(mechanism), mechanism.loss)
    assert not audit(liar, runs=400_000, confidence=SURE).passed


def _twice(mechanism: Mechanism[Any, Any]) -> Mechanism[Any, Any]:
    @final
    @dataclass(frozen=True)
    class Doubled(Mechanism[Any, Any]):
        def loss(self, sensitivity: Sensitivity | Number) -> Loss:
            return mechanism.loss(sensitivity)

        def sample(self, value: Any, source: Source) -> Any:
            return mechanism.sample(2 * value, source)

        def repeat(self, value: Any, count: int, source: Source) -> Sequence[Any]:
            return mechanism.repeat(2 * value, count, source)

        def within(self, confidence: Number) -> float:
            return mechanism.within(confidence)

        def audit_cases(self) -> Sequence[Case[Any]]:
            return mechanism.audit_cases()

        @classmethod
        def examples(cls) -> Sequence[Self]:
            return ()

    return Doubled()


@final
@dataclass(frozen=True)
class FloatLaplace(Mechanism[float, float]):
    """What most tutorials do: numpy's Laplace added to a float. Its promise is that of real numbers."""

    scale: float

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        return Pure(Sensitivity.of(sensitivity).l1 / Fraction(self.scale))

    def sample(self, value: float, source: Source) -> float:
        return float(self.repeat(value, 1, source)[0])

    def repeat(self, value: float, count: int, source: Source) -> Sequence[Any]:
        return value + np.random.default_rng().laplace(scale=self.scale, size=count)  # type: ignore[return-value]

    def within(self, confidence: Number) -> float:
        return 0.0

    def audit_cases(self) -> Sequence[Case[float]]:
        return (Case(0.0, 1.0, Sensitivity.of(1)),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(1.0),)


def test_float_noise_identifies_the_database() -> None:
    report = audit(FloatLaplace(1.0), runs=400_000, confidence=SURE)
    assert not report.passed
    assert report.lower_bound > 6, str(report)
    assert report.event.endswith("float grid")


def test_our_noise_on_the_same_values_does_not() -> None:
    assert audit(Laplace(scale=1, grain=Fraction(1, 2**20)), runs=400_000, confidence=SURE).passed
