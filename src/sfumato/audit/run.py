"""Attack a mechanism: learn an event on one part of the draws, bound its probabilities on the rest."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import DiscreteGaussianLoss, Failing, Gdp, Loss
from sfumato.audit.attack import log_ratio, tell_apart
from sfumato.audit.confidence import clopper_pearson
from sfumato.audit.exact import verify
from sfumato.audit.report import Report
from sfumato.core.errors import BadInput, Bug
from sfumato.core.exact import Number, probability, up
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.noise import Source, system_source

_SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
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

    gaussian = isinstance(_core(loss), DiscreteGaussianLoss | Gdp)
    told = tell_apart(left, right, value=_advantage if gaussian else log_ratio(target), risk=risk)
    rest, hits, misses, low, high = told.runs, told.hits, told.misses, told.low, told.high
    if gaussian:
        # A guess "left if the event happened" is right hits + (rest - misses) times of 2 rest. The binomial bound holds for
        # a sum of unequal chances too (Hoeffding 1956, Theorem 5), and the whole risk goes into this one number.
        right_guesses, _ = clopper_pearson(hits + rest - misses, 2 * rest, miss=2 * risk)
        bound = _gaussian_epsilon(_core(loss), 2 * right_guesses - 1, target)
    else:
        bound = max(0.0, float(log_ratio(target)(np.array([low]), np.array([high]))[0]))

    return Report(
        mechanism=_title(mechanism),
        claimed=loss.epsilon(target),
        delta=target,
        lower_bound=bound,
        confidence=1 - 2 * risk,
        runs=count,
        event=told.event.name,
        seconds=time.perf_counter() - started,
        broken_curve=_outside(loss, low, high),
        misfit=_misfit(mechanism.law(case.left), left),
        findings=verify(mechanism),
    )


def _delta_of(loss: Loss) -> float:
    """The failure, read a little upward since a float means the decimal that it prints; or a usual delta."""
    if not math.isfinite(loss.epsilon(loss.failure)):
        return _USUAL_DELTA
    return math.nextafter(up(loss.failure), 1.0) if loss.failure else 0.0


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


def _title(mechanism: Mechanism[Any, Any]) -> str:
    name, *parameters = mechanism.describe().items()
    return f"{name[1]}({', '.join(f'{key} {value}' for key, value in parameters if value != 'None')})"


def _gaussian_epsilon(loss: Loss, advantage: float, delta: float) -> float:
    """The epsilon of the least Gaussian noise whose curve starts as high as `advantage`: its delta at epsilon 0.

    Two Gaussians are told apart best by a half-line, and how well says what the noise is, hence the whole curve.
    """
    if advantage <= 0:
        return 0.0
    low, high = 1 / 64, 64.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _narrower(loss, middle).delta(0.0) >= advantage else (low, middle)
    return _narrower(loss, high).epsilon(delta)


def _core(loss: Loss) -> Loss:
    """The loss outside of an event too rare for an attack to see."""
    return loss.inner if isinstance(loss, Failing) and loss.mass < _USUAL_DELTA / 100 else loss


def _narrower(loss: Loss, factor: float) -> Loss:
    """The same Gaussian noise with its sigma multiplied by `factor`."""
    match loss:
        case Gdp():
            return Gdp(loss.mu / Fraction(factor), loss.about)
        case DiscreteGaussianLoss():
            variance = (loss.variance * Fraction(factor) ** 2).limit_denominator(10**9)
            return DiscreteGaussianLoss(max(variance, Fraction(1, 1000)), loss.sensitivity)
        case _:
            raise Bug("only Gaussian losses have a Gaussian curve")


def _advantage(p: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
    """How much better than a coin a guess from the event is."""
    return np.asarray(p - q)


def _outside(loss: Loss, low: float, high: float) -> bool:
    """Whether p >= low and q <= high contradicts p <= e^epsilon q + delta(epsilon) at some epsilon."""
    centre = math.log(low / high) if low > 0 else 0.0
    marks = [centre * share for share in _SHARES] + [-0.5, 0.0]
    return any(low - math.exp(mark) * high > loss.delta(mark) for mark in marks)


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
