"""Where numbers stand before noise is added: whole steps of a public grain, inside public limits.

Clamping and flooring move no two inputs further apart than `Sensitivity.on_grid` says, and what happens to the sum is
post-processing. The limits are chosen so that noise saturated at 64 bits saturates the output, whatever the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import up
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.law import Law
from sfumato.noise import Grid

Value = int | float | NDArray[np.int64] | NDArray[np.float64]
"""A whole number or an array of them; with a grain, a real number or an array of them."""

INPUT_LIMIT = 2**61 - 1
OUTPUT_LIMIT = 2**62
_NOISE_LIMIT = 2**62 + 2**61 - 1
_LONGEST = 256
"""A law is written down outcome by outcome up to this scale in steps: some 45 000 outcomes."""


def _not_whole() -> BadInput:
    return BadInput(
        "a whole number was expected", hint="give an int or an int64 array, or set a grain for real numbers"
    )


class IntegerLaw(Protocol):
    """A symmetric law on the integers with certified probabilities, scaled by 2**bits."""

    @property
    def reach(self) -> int: ...
    def pmf_bounds(self, k: int, bits: int) -> tuple[int, int]: ...
    def tail_bounds(self, m: int, bits: int) -> tuple[int, int]: ...


def steps_of(sensitivity: Sensitivity, grain: Fraction | None) -> Sensitivity:
    """The sensitivity in lattice steps."""
    return sensitivity if grain is None else sensitivity.on_grid(grain)


def noisy(value: Value, *, grain: Fraction | None, draw: Callable[[int | None], int | NDArray[np.int64]]) -> Any:
    """`value` floored to the lattice, clamped, plus `draw(size)` steps of noise, saturated at the output limit.

    A whole value gives an int or an int64 array; with a grain it gives a float or a float64 array. `draw(None)` is one int.
    """
    if isinstance(value, np.ndarray):
        steps = array_steps(value, grain)
        noise = np.asarray(draw(steps.size), dtype=np.int64).reshape(steps.shape)
        total = steps + np.clip(noise, -_NOISE_LIMIT, _NOISE_LIMIT)
        np.clip(total, -OUTPUT_LIMIT, OUTPUT_LIMIT, out=total)
        return total if grain is None else total * float(grain)
    step = clamped_step(value, grain)
    total_step = max(-OUTPUT_LIMIT, min(OUTPUT_LIMIT, step + int(draw(None))))
    return total_step if grain is None else float(total_step * grain)


def copies(value: Value, count: int) -> NDArray[Any]:
    """One scalar, `count` times: independent draws at once."""
    if isinstance(value, np.ndarray):
        raise BadInput("only a single number can be repeated", hint="sample a vector once per draw")
    return np.full(count, value, dtype=np.float64 if isinstance(value, float) else np.int64)


def half_width(steps: int, grain: Fraction | None) -> float:
    """A bound of `steps` on the noise as a bound on the error: flooring adds less than one grain."""
    return up(Fraction(steps)) if grain is None else up((steps + 1) * grain)


def law_on_lattice(noise: IntegerLaw, value: Value, *, grain: Fraction | None, bits: int = 128) -> Law | None:
    """The law of one noisy cell as released. None for vectors, whose cells are independent copies, and for long laws."""
    if isinstance(value, np.ndarray) or noise.reach > _LONGEST:
        return None
    centre = scalar_step(value, grain)
    weights: dict[Hashable, tuple[int, int]] = {}
    reach = 0
    while (pair := noise.pmf_bounds(reach, bits))[1] > 1:
        for step in (centre + reach, centre - reach):
            weights[step if grain is None else float(step * grain)] = pair
        reach += 1
    return Law(bits, weights, rest=2 * noise.tail_bounds(reach, bits)[1])


def clamped_step(value: Any, grain: Fraction | None) -> int:
    """`scalar_step`, inside the input limits: clamping moves no two numbers further apart."""
    return max(-INPUT_LIMIT, min(INPUT_LIMIT, scalar_step(value, grain)))


def scalar_step(value: int | float, grain: Fraction | None) -> int:
    """The whole number of steps at or below one number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise _not_whole()
    if grain is not None:
        return (
            math.floor(int(value) / grain) if isinstance(value, int | np.integer) else Grid(grain).floor(float(value))
        )
    if isinstance(value, float | np.floating):
        raise _not_whole()
    return int(value)


def array_steps(value: NDArray[Any], grain: Fraction | None) -> NDArray[np.int64]:
    """The whole numbers of steps at or below an array's, clamped."""
    if grain is not None and value.dtype.kind in "iuf":
        floored: NDArray[np.int64] = np.clip(Grid(grain).floor(value), -INPUT_LIMIT, INPUT_LIMIT)
        return floored
    if value.dtype.kind == "u":
        capped: NDArray[np.int64] = np.minimum(value, np.uint64(INPUT_LIMIT)).astype(np.int64)
        return capped
    if value.dtype.kind == "i":
        whole: NDArray[np.int64] = np.clip(value.astype(np.int64), -INPUT_LIMIT, INPUT_LIMIT)
        return whole
    raise _not_whole()
