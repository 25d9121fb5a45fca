"""Attack a mechanism: learn an event on one part of the draws, bound its probabilities on the rest."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import DiscreteGaussianLoss, Gdp, Loss
from sfumato.audit.confidence import clopper_pearson
from sfumato.audit.events import learn
from sfumato.audit.exact import epsilons_of, verify
from sfumato.audit.report import Report
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, probability
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.noise import Source, system_source

_LEARN = 0.15
_USUAL_DELTA = 1e-5


def audit(
    mechanism: Mechanism[Any, Any],
    *,
    runs: int = 1_000_000,
    seconds: float | None = None,
    confidence: Number = "0.999",
    delta: Number | None = None,
    source: Source | None = None,
) -> Report:
    """Verify the law exactly where it is known, attack the samples, and test that they follow the law.

    The lower bound on epsilon holds with the stated confidence: the event is chosen on draws that are then set aside, and
    its two probabilities are bounded on the others (Clopper-Pearson, half of the risk each).
    """
    started = time.perf_counter()
    case = mechanism.audit_cases()[0]
    loss = mechanism.loss(case.sensitivity)
    target = _delta_of(loss) if delta is None else float(probability(delta, name="delta"))
    risk = (1 - float(probability(confidence, name="confidence"))) / 2
    stream = source or system_source()
    count = _affordable(mechanism, case, runs, seconds, stream)
    left = mechanism.repeat(case.left, count, stream)
    right = mechanism.repeat(case.right, count, stream)

    cut = max(1, int(_LEARN * count))
    gaussian = isinstance(loss, DiscreteGaussianLoss | Gdp)
    value = _gaussian_mu if gaussian else _log_ratio(target)
    event = learn(left[:cut], right[:cut], score=_cautious(value, cut, count - cut, risk))
    hits, misses = event.hits(left[cut:]), event.hits(right[cut:])
    if event.reverse:
        hits, misses = misses, hits
    low, _ = clopper_pearson(hits, count - cut, miss=risk)
    _, high = clopper_pearson(misses, count - cut, miss=risk)
    bound = float(value(np.array([low]), np.array([high]))[0])
    if gaussian:
        bound = Gdp(mu=bound, about=loss.about).epsilon(target) if bound > 0 else 0.0

    return Report(
        mechanism=", ".join(f"{k} {v}" for k, v in mechanism.describe().items()),
        claimed=loss.epsilon(target),
        delta=target,
        lower_bound=max(0.0, bound),
        confidence=1 - 2 * risk,
        runs=count,
        event=event.name,
        seconds=time.perf_counter() - started,
        broken_curve=_outside(loss, low, high),
        misfit=_misfit(mechanism.law(case.left), left),
        findings=verify(mechanism),
    )


def _delta_of(loss: Loss) -> float:
    return float(loss.failure) if math.isfinite(loss.epsilon(loss.failure)) else _USUAL_DELTA


def _affordable(
    mechanism: Mechanism[Any, Any], case: Case[Any], runs: int, seconds: float | None, source: Source
) -> int:
    """How many runs a side fit in the time given, from a short trial."""
    if runs < 100:
        raise BadInput("too few runs to learn anything", hint="give at least 100, usually a million")
    if seconds is None:
        return runs
    trial = 1000
    started = time.perf_counter()
    mechanism.repeat(case.left, trial, source)
    rate = trial / max(1e-9, time.perf_counter() - started)
    return max(1000, min(runs, int(rate * seconds / 3)))


Value = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


def _log_ratio(delta: float) -> Value:
    """ln((p - delta) / q): the least epsilon that allows these two probabilities."""

    def value(p: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), -np.inf)

    return value


def _gaussian_mu(p: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
    """The least mu whose trade-off curve allows these two probabilities (Dong, Roth and Su 2022)."""
    from scipy.special import ndtri

    mu: NDArray[Any] = ndtri(p) - ndtri(q)
    return mu


def _cautious(value: Value, learnt: int, left: int, risk: float) -> Value:
    """`value` after both frequencies are pulled in by what Clopper-Pearson will cost on the other draws."""

    def score(hits: NDArray[Any], misses: NDArray[Any]) -> NDArray[Any]:
        from scipy.special import ndtri

        width = float(-ndtri(risk))
        p, q = hits / learnt, (misses + 0.5) / (learnt + 1)
        low = p - width * np.sqrt(p * (1 - p) / left) - 4 / left
        high = q + width * np.sqrt(q * (1 - q) / left) + 8 / left
        worth = value(np.clip(low, 0, 1), np.clip(high, 1e-300, 1))
        return np.where(np.isfinite(worth), worth, -np.inf)

    return score


def _outside(loss: Loss, low: float, high: float) -> bool:
    """Whether p >= low and q <= high contradicts p <= e^epsilon q + delta(epsilon) at some epsilon."""
    return any(low - math.exp(epsilon) * high > loss.delta(float(epsilon)) for epsilon in epsilons_of(loss))


def _misfit(law: Law | None, outputs: Any) -> float | None:
    """The p-value of the draws under the stated law: chi-square over its outcomes, thin ones pooled."""
    if law is None:
        return None
    from scipy.special import chdtrc

    counts = _counts(outputs)
    scale = float(1 << law.bits)
    observed, expected, pooled_seen, pooled_mass = [], [], 0.0, 0.0
    for outcome, (low, high) in law.weights.items():
        mean = (low + high) / 2 / scale * len(outputs)
        seen = counts.pop(outcome, 0)
        if mean < 20:
            pooled_seen, pooled_mass = pooled_seen + seen, pooled_mass + mean
        else:
            observed.append(float(seen))
            expected.append(mean)
    strangers = sum(counts.values())
    if strangers and law.rest == 0:
        return 0.0
    pooled_seen += strangers
    if pooled_mass >= 5:
        observed.append(pooled_seen)
        expected.append(pooled_mass)
    elif pooled_seen > 60:
        return 0.0
    if len(observed) < 2:
        return None
    seen_all, mean_all = np.array(observed), np.array(expected)
    return float(chdtrc(len(observed) - 1, ((seen_all - mean_all) ** 2 / mean_all).sum()))


def _counts(outputs: Any) -> dict[Any, int]:
    if isinstance(outputs, np.ndarray):
        values, counts = np.unique(outputs, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))
    counts_of: dict[Any, int] = {}
    for output in outputs:
        counts_of[output] = counts_of.get(output, 0) + 1
    return counts_of
