"""Exact verification: the law on the worst neighbours, summed in certified arithmetic, beside the promise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from sfumato.accounting import Loss
from sfumato.core.interval import exp_bounds
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.law import Law

_SLACK = 1e-9
"""A tight promise may exceed the truth by this relative amount (and 1e-12), for the rounding of floats."""


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """At one epsilon, in one direction: the true delta lies between `least` and `most`; `claimed` was promised."""

    epsilon: float
    least: float
    most: float
    claimed: float
    tight: bool

    @property
    def understated(self) -> bool:
        """The promise is broken: more than the claimed delta is reached for certain."""
        return self.claimed < self.least

    @property
    def overstated(self) -> bool:
        """The promise is safe but wasteful, although it was said to be exact."""
        return self.tight and self.claimed > self.most * (1 + _SLACK) + 1e-12


def hockey_stick(left: Law, right: Law, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on the sum over outcomes of max(0, P(left) - e^epsilon P(right))."""
    bits = left.bits
    low_growth, high_growth = exp_bounds(epsilon, bits)
    least = most = 0
    for outcome, (low, high) in left.weights.items():
        other_low, other_high = right.weights.get(outcome, (0, right.rest))
        least += max(0, (low << bits) - high_growth * other_high)
        most += max(0, (high << bits) - low_growth * other_low)
    scale = 1 << (2 * bits)
    return Fraction(least, scale), Fraction(most + (left.rest << bits), scale)


def verify(mechanism: Mechanism[Any, Any]) -> tuple[Finding, ...]:
    """Every finding on every case whose law can be written down; empty when no law can."""
    findings = []
    for case in mechanism.audit_cases():
        left, right = mechanism.law(case.left), mechanism.law(case.right)
        if left is None or right is None:
            continue
        loss = mechanism.loss(case.sensitivity)
        for epsilon in epsilons_of(loss):
            both = [hockey_stick(left, right, epsilon), hockey_stick(right, left, epsilon)]
            findings.append(
                Finding(
                    epsilon=float(epsilon),
                    least=max(float(least) for least, _ in both) * (1 - 1e-15),
                    most=max(float(most) for _, most in both) * (1 + 1e-15),
                    claimed=loss.delta(float(epsilon)),
                    tight=case.tight,
                )
            )
    return tuple(findings)


def epsilons_of(loss: Loss) -> list[Fraction]:
    """Where a promise is worth checking: around its pure epsilon, or where its curve passes the usual deltas."""
    whole = loss.epsilon(loss.failure)
    if math.isfinite(whole):
        marks = [whole * share for share in (0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0, 1.02, 1.5)]
    else:
        marks = [loss.epsilon(10.0**-power) for power in (1, 2, 3, 4, 5, 6, 8, 10)]
    negative = -marks[0] / 2
    exact = {Fraction(math.floor(mark * 2**40), 2**40) for mark in [negative, 0.0, *marks] if math.isfinite(mark)}
    return sorted(exact)
