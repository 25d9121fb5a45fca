"""How well two neighbours are told apart by outputs alone, whatever made them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.confidence import clopper_pearson
from sfumato.audit.events import Event, Worth, choose, learn
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, probability

LEARN, CHOOSE = 0.08, 0.12
"""Parts of the draws on which events are learnt, and on which one is chosen; its probabilities are bounded on the rest."""

_LUCK = 1e-5
"""An event is chosen with this much caution, whatever the risk of its bound: with more, none but the sure event seems safe."""

Value = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


@final
@dataclass(frozen=True, slots=True)
class Told:
    """An event that tells the neighbours apart, its hits on draws that it was not learnt from, and bounds on both chances."""

    event: Event
    hits: int
    misses: int
    runs: int
    low: float
    high: float


def tell_apart(left: Any, right: Any, *, value: Value, risk: float) -> Told:
    """Learn an event, choose one by `value`, and bound it on the draws that are left, each side with `risk` of error."""
    count = len(left)
    learnt, chosen = int(LEARN * count), int((LEARN + CHOOSE) * count)
    orders = learn(left[:learnt], right[:learnt])
    event = choose(
        orders, left[learnt:chosen], right[learnt:chosen], worth=cautious(value, chosen - learnt, max(risk, _LUCK))
    )
    hits, misses = event.hits(left[chosen:]), event.hits(right[chosen:])
    if event.reverse:
        hits, misses = misses, hits
    runs = count - chosen
    low, high = clopper_pearson(hits, runs, miss=risk)[0], clopper_pearson(misses, runs, miss=risk)[1]
    return Told(event, hits, misses, runs, low, high)


def least_epsilon(left: Any, right: Any, *, delta: float = 0.0, confidence: Number = "0.999") -> float:
    """What epsilon is at least, given outputs on two neighbours: any outputs, of any program."""
    if len(left) != len(right) or len(left) < 100:
        raise BadInput("two neighbours need equally many outputs, 100 at least", hint="run both as often")
    risk = (1 - float(probability(confidence, name="confidence"))) / 2
    ratio = log_ratio(delta)
    told = tell_apart(left, right, value=ratio, risk=risk)
    return max(0.0, float(ratio(np.array([told.low]), np.array([told.high]))[0]))


def log_ratio(delta: float) -> Value:
    """ln((p - delta) / q)."""

    def value(p: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -np.inf)

    return value


def cautious(value: Value, runs: int, risk: float) -> Worth:
    """`value` after both frequencies are pulled in by their own uncertainty, so that luck is not mistaken for strength."""

    def worth(hits: NDArray[Any], misses: NDArray[Any]) -> NDArray[Any]:
        from scipy.special import ndtri

        width = float(-ndtri(risk))
        p, q = hits / runs, (misses + 0.5) / (runs + 1)
        low = p - width * np.sqrt(p * (1 - p) / runs) - 4 / runs
        high = q + width * np.sqrt(q * (1 - q) / runs) + 8 / runs
        found = value(np.clip(low, 0, 1), np.clip(high, 1e-300, 1))
        return np.where(np.isfinite(found), found, -np.inf)

    return worth
