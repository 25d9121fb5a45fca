"""Sessions that answer numbers, scalars or vectors, with independent noise on each cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import DiscreteLaplaceLoss, Loss, ShiftedLoss
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import Value, array_steps, law_on_lattice, noisy, scalar_step
from sfumato.mechanisms.stream.interactive import Play
from sfumato.noise import Source, Symmetric

_LEAST_DELTA = Fraction(1, 10**10)

Schedule = Callable[[int, int], Iterable[tuple[Symmetric, int]]]
"""The laws of the next cells: from the first of them and how many, to laws and how many cells each is for."""


def play(schedule: Schedule, *, cells: int, grain: Fraction | None, source: Source) -> Play:
    """Answer until `cells` cells were answered. A vector that is longer than what is left is refused, and costs nothing."""
    done, reply = 0, None
    while done < cells:
        steps = yield reply
        count = steps.size if isinstance(steps, np.ndarray) else 1
        if count > cells - done:
            reply = BadInput(
                f"{count} numbers were asked at once, and this session has {cells - done} left",
                hint="ask fewer at once, or start a session of more queries",
            )
            continue
        noise = np.concatenate([law.sample(source, size) for law, size in schedule(done, count)])
        done += count
        total = _plus(steps, noise)
        reply = total if grain is None else total * float(grain)
    return reply


def _plus(steps: Any, noise: NDArray[np.int64]) -> Any:
    return noisy(steps, grain=None, draw=lambda size: int(noise[0]) if size is None else noise)


def read(value: Value, grain: Fraction | None) -> Any:
    """A number, or a vector, in steps."""
    return array_steps(value, grain) if isinstance(value, np.ndarray) else scalar_step(value, grain)


def moved(noise: Symmetric, reach: Sensitivity, grain: Fraction | None) -> Loss:
    """The loss of one cell that moves by the `linf` of a sensitivity."""
    steps = math.floor(reach.linf) if grain is None else math.ceil(reach.linf / grain)
    if steps == 0:
        return DiscreteLaplaceLoss(Fraction(1), Fraction(0), reach.about)
    return ShiftedLoss(noise.weights, steps, reach.about)


def law_of_one(noise: Symmetric, value: Sequence[Any], grain: Fraction | None) -> Law | None:
    """The law of a transcript of one number."""
    law = law_on_lattice(noise, value[0], grain=grain) if len(value) == 1 else None
    return None if law is None else Law(law.bits, {(each,): pair for each, pair in law.weights.items()}, law.rest)


def many_of_one(noise: Symmetric, steps: int, count: int, grain: Fraction | None, source: Source) -> list[tuple[Any]]:
    """`count` transcripts of one number."""
    total = noisy(np.full(count, steps, dtype=np.int64), grain=None, draw=lambda size: noise.sample(source, size))
    return [(each,) for each in (total if grain is None else total * float(grain)).tolist()]


def promise(epsilon: Number, delta: Number, reach: Sensitivity, *, cells: int) -> tuple[float, float]:
    """A promise that bounded noise can keep, read and checked."""
    target, mass = positive(epsilon, name="epsilon"), probability(delta, name="delta")
    if mass == 0:
        raise BadInput("noise with a bound cannot promise delta 0", hint="give a delta such as '1e-6', or use Laplace")
    if mass < _LEAST_DELTA and cells > 1:
        raise NotSupported(
            "numeric composition does not reach below a delta of 1e-10", hint="give a delta of 1e-10 or more"
        )
    if reach.linf == 0:
        raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
    return float(target), float(mass)


def least_radius(
    loss_of: Callable[[Fraction], Loss], *, epsilon: float, start: float, delta: float, close: float = 1e-4
) -> Fraction:
    """The least radius found, to a relative `close`, whose delta is at most `delta`: regula falsi on the logarithm.

    Whatever floats do on the way, the radius that is returned was itself found to keep the promise.
    """

    def excess(radius: float) -> float:
        loss = loss_of(_rounded(radius))
        reached = float(loss.failure)
        return math.log(max(reached if reached > delta else loss.delta(epsilon), 1e-300) / delta)

    low, high = start, start
    at_high = at_low = excess(start)
    while at_high > 0:
        low, at_low, high = high, at_high, high * 1.12
        at_high = excess(high)
        if high > start * 1e6:
            raise NotSupported("no radius keeps the promise", hint="ask for a larger delta or epsilon")
    while at_low <= 0:
        high, at_high, low = low, at_low, low / 1.12
        at_low = excess(low)
    turn = 0
    while high - low > close * high:
        turn += 1
        share = at_low / (at_low - at_high) if turn % 3 else 0.5
        middle = low + (high - low) * min(0.99, max(0.01, share + (0.02 if share < 0.5 else -0.02)))
        at_middle = excess(middle)
        if at_middle <= 0:
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
    return _rounded(high)


def _rounded(radius: float) -> Fraction:
    """To seven digits."""
    return Fraction(f"{radius:.6e}")
