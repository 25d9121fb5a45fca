"""From noisy reports back to a mean: numbers from -1 to 1 on a public lattice, and unbiased reports of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput

Numbers = int | float | NDArray[np.int64] | NDArray[np.float64]
"""One number, or one per person."""

STEPS = 2**20
"""Numbers from -1 to 1 are rounded to this many steps unless a mechanism says otherwise."""


@final
@dataclass(frozen=True, slots=True)
class Mean:
    """An estimated mean, its standard error, and how far rounding or bins can have moved it at most."""

    value: float
    standard_error: float
    bias: float


def numbers_of(value: Numbers) -> NDArray[np.float64]:
    """One number per person as floats, in one dimension; what is not finite is refused."""
    try:
        numbers = np.asarray(value).reshape(-1)
    except ValueError:  # rows of different lengths
        numbers = np.array([None])
    if numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all():
        raise BadInput("a number is not finite", hint="give ints or floats; decide first what a missing one counts as")
    return numbers.astype(np.float64)


def steps_of(value: Numbers, steps: int) -> NDArray[np.int64]:
    """The nearest of the `steps` + 1 lattice points of [-1, 1], clamped to it: each person does this alone."""
    scaled = (np.clip(numbers_of(value), -1.0, 1.0) + 1.0) * (steps / 2)
    return np.floor(scaled + 0.5).astype(np.int64)


def checked_steps(steps: int) -> None:
    """Refuse a lattice that is too coarse or too fine to compute with."""
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= 2**24:
        raise BadInput("a lattice has no whole number of steps", hint="give 1 to 2**24 steps; 2**20 is usual")


def reports_of(reports: NDArray[Any], *, largest: float) -> NDArray[np.float64]:
    """Reports as floats; no client sends one beyond `largest`."""
    values = np.asarray(reports).reshape(-1)
    if values.dtype.kind not in "iuf" or not (np.abs(values) <= largest * (1 + 1e-12)).all():
        raise BadInput(
            "a report is not one that a client can send", hint="reports come from `sample` of this mechanism"
        )
    return values.astype(np.float64)


def mean_of(values: NDArray[np.float64], *, bias: float) -> Mean:
    """Their mean, and the standard error that their own spread shows (infinite for one report)."""
    if not values.size:
        raise BadInput("there are no reports", hint="collect at least one")
    spread = float(values.std(ddof=1)) if values.size > 1 else np.inf
    return Mean(float(values.mean()), float(spread / np.sqrt(values.size)), bias)
