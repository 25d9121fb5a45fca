"""Scores of public candidates, on a public grain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.number.lattice import INPUT_LIMIT, array_steps

Scores = Sequence[int] | Sequence[float] | NDArray[np.int64] | NDArray[np.float64]
"""One score per candidate; higher is better."""

LIMIT = INPUT_LIMIT // 2
"""Scores saturate here, so that differences of scores stay within 64 bits."""


def grains(scores: Scores, *, candidates: int, grain: Fraction) -> NDArray[np.int64]:
    """The scores floored to whole grains."""
    values = np.asarray(scores)
    if values.shape != (candidates,):
        raise BadInput(
            f"{candidates} scores were expected, one per candidate",
            hint="the candidates are public and fixed: give each its score, 0 for the ones that are absent",
        )
    if values.dtype.kind not in "iuf":
        raise BadInput("scores must be numbers", hint="give an int64 or a float64 array")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise BadInput("a score is not finite", hint="clip the scores to a public range first")
    if values.dtype.kind in "iu" and grain == 1:
        return np.clip(array_steps(values, None), -LIMIT, LIMIT)
    steps = [max(-LIMIT, min(LIMIT, math.floor(Fraction(value) / grain))) for value in values.tolist()]
    return np.array(steps, dtype=np.int64)


def grains_moved(sensitivity: Sensitivity, grain: Fraction) -> int:
    """How many grains one unit can move a floored score: ceil(linf / grain)."""
    return math.ceil(sensitivity.linf / grain)
