"""The model that explains noisy marginals best: mirror descent on the least squares of what was measured.

Post-processing: nothing here has seen a row, and no promise depends on how well it converges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from sfumato.mechanisms.synthetic.junction import Columns, Junction
from sfumato.mechanisms.synthetic.measured import Measured
from sfumato.mechanisms.synthetic.model import Floats, Messages, Model

_FLOOR = -40.0
"""Logarithms of factors end here below their largest: e^-40 of 10^9 rows is none."""

_GROWTH = 1.5
_LEAST = 1e-12


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """The model, the total weight, and the logarithms of its factors, from which a later fit may start."""

    model: Model
    total: float
    logarithms: Mapping[Columns, Floats]
    loss: float
    step: float


def fitted(shape: tuple[int, ...], measured: Sequence[Measured], *, steps: int, start: Fit | None = None) -> Fit:
    """Entropic mirror descent, as McKenna, Sheldon and Miklau 2019, Algorithm 1: the gradient of the loss at the model's
    marginals is taken off the logarithms of the factors; the step is halved until it gains half of what it promises.

    Few steps are a virtue: they fit what stands out of the noise first (Yao, Rosasco and Caponnetto 2007).
    """
    goals = pooled(measured)
    total = total_of(measured)
    sets = tuple(sorted(goals, key=lambda columns: (len(columns), columns)))
    weights = np.array([goals[columns][1] for columns in sets])
    weights /= weights.max()
    goal = [goals[columns][0] / total for columns in sets]
    messages = Messages(Junction.of(shape, sets), sets)
    known = start.logarithms if start else {}
    logs = [known.get(columns, np.zeros(goals[columns][0].shape)) for columns in sets]
    at = _At.of(messages, logs, goal, weights)
    step = start.step if start else 1.0
    for _ in range(steps):
        slope = [weight * gap for weight, gap in zip(weights, at.gaps, strict=True)]
        while True:
            new = _At.of(messages, [log - step * g for log, g in zip(at.logs, slope, strict=True)], goal, weights)
            moved = sum(float((g * (a - b)).sum()) for g, a, b in zip(slope, at.tables, new.tables, strict=True))
            if at.loss - new.loss >= 0.5 * moved or step < _LEAST:
                break
            step /= 2
        if (
            moved == 0 or step < _LEAST
        ):  # nothing is gained any more, or factors so far apart that their products vanish
            step = 1.0
            break
        at, step = new, step * _GROWTH
    return Fit(at.model, total, dict(zip(sets, at.logs, strict=True)), at.loss, step)


@final
@dataclass(frozen=True, eq=False, slots=True)
class _At:
    """Where a descent stands."""

    logs: list[Floats]
    model: Model
    tables: list[Floats]
    gaps: list[Floats]
    loss: float

    @classmethod
    def of(cls, messages: Messages, logs: list[Floats], goal: list[Floats], weights: Floats) -> _At:
        kept = [np.maximum(log - log.max(), _FLOOR) for log in logs]
        model = messages.pass_on([np.exp(log) for log in kept])
        tables = messages.read(model)
        gaps = [table - wanted for table, wanted in zip(tables, goal, strict=True)]
        loss = 0.5 * sum(w * float(np.vdot(gap, gap)) for w, gap in zip(weights, gaps, strict=True))
        return cls(kept, model, tables, gaps, loss)


def pooled(measured: Sequence[Measured]) -> dict[Columns, tuple[Floats, float]]:
    """For each set of columns its counts, averaged by their precision, and that precision."""
    sums: dict[Columns, tuple[Floats, float]] = {}
    for each in measured:
        precision = each.deviation**-2
        counts, known = sums.get(each.columns, (np.zeros(each.counts.shape), 0.0))
        sums[each.columns] = counts + precision * each.counts, known + precision
    return {columns: (counts / precision, precision) for columns, (counts, precision) in sums.items()}


def total_of(measured: Sequence[Measured]) -> float:
    """The least variance among weighted means of all marginals' sums; at least 1."""
    precisions = np.array([1 / (each.counts.size * each.deviation**2) for each in measured])
    sums = np.array([float(each.counts.sum()) for each in measured])
    return max(1.0, float(precisions @ sums / precisions.sum()))
