"""A believed law of one number, floored to a lattice: bounds of every cell's probability, and of what lies beyond."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.rounding import above, below, exp_up
from sfumato.core.errors import BadInput
from sfumato.core.exact import down, up
from sfumato.mechanisms.pufferfish.belief import Discrete, Mixture

Floats = NDArray[np.float64]

_FAR = 12
_STEEPEST = 40
_MOST_CELLS = 1 << 21
_ULP = 2.0**-52
_ROOT_TWO = math.sqrt(2)


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """`low[i] <= P(floor(x / grain) = first + i) <= high[i]`; `left` and `right` bound the masses beyond the ends.

    `left_pull` and `right_pull` bound E[e^(distance / scale); beyond], distances in reals from the end cells outwards: how much
    what lies beyond can weigh in the far tails of Laplace noise.
    """

    first: int
    low: Floats
    high: Floats
    left: float = 0.0
    right: float = 0.0
    left_pull: float = 0.0
    right_pull: float = 0.0


def window(law: Discrete | Mixture, grain: Fraction, scale: Fraction) -> tuple[int, int]:
    """Cells that hold all but 1e-32 of the law, even when it is weighed by e^(x / scale)."""
    if isinstance(law, Discrete):
        steps = [math.floor(point[0] / grain) for point in law.points]
        return min(steps), max(steps)
    reach = [s * (_FAR + min(Fraction(_STEEPEST), s / scale)) for s in law.deviations]
    lows = (m - r for m, r in zip(law.means, reach, strict=True))
    highs = (m + r for m, r in zip(law.means, reach, strict=True))
    return math.floor(min(lows) / grain), math.floor(max(highs) / grain)


def steep(law: Discrete | Mixture, scale: Fraction) -> bool:
    """Whether the law is so much wider than the noise that its far tails are not worth bounding."""
    return isinstance(law, Mixture) and max(law.deviations) > _STEEPEST * scale


def cells(law: Discrete | Mixture, grain: Fraction, scale: Fraction, ends: tuple[int, int]) -> Cells:
    """The law over the given cells, first and last included."""
    first, last = ends
    size = last - first + 1
    if size > _MOST_CELLS:
        raise BadInput(f"a lattice of more than {_MOST_CELLS} cells was asked", hint="give a coarser grain")
    if isinstance(law, Discrete):
        chances = [Fraction(0)] * size
        for point, chance in zip(law.points, law.chances, strict=True):
            chances[math.floor(point[0] / grain) - first] += chance
        return Cells(first, np.array([max(0.0, down(c)) for c in chances]), np.array([up(c) for c in chances]))
    low, high = np.zeros(size), np.zeros(size)
    left = right = left_pull = right_pull = 0.0
    for chance, mean, deviation in zip(law.chances, law.means, law.deviations, strict=True):
        below_tail, above_tail = _tails(size, first * grain - mean, grain, deviation)
        least, most = _between(below_tail, above_tail)
        low += least * (down(chance) * (1 - _ULP))
        high += most * (up(chance) * (1 + _ULP))
        left += above(up(chance) * float(below_tail[1][0]))
        right += above(up(chance) * float(above_tail[1][-1]))
        left_pull += above(up(chance) * _pull(mean - first * grain, deviation, scale))
        right_pull += above(up(chance) * _pull((last + 1) * grain - mean, deviation, scale))
    slack = (len(law.chances) + 4) * _ULP
    # A cell that lies left of its lower end moves by up to a grain when floored: e^(grain / scale) at most.
    pulled = above(left_pull * exp_up(grain / scale))
    return Cells(
        first,
        np.maximum(0.0, low * (1 - slack)),
        high * (1 + slack),
        above(left, ulps=16),
        above(right, ulps=16),
        above(pulled, ulps=16),
        above(right_pull * exp_up(grain / scale), ulps=16),
    )


Pair = tuple[Floats, Floats]


def _tails(size: int, start: Fraction, grain: Fraction, deviation: Fraction) -> tuple[Pair, Pair]:
    """Bounds of Phi and of 1 - Phi at the size + 1 edges of the cells, `start` being the first edge less the mean.

    Edges are start + i grain, each a float off by at most 4 units of the largest of them; erfc is within 4 units, as everywhere
    in `accounting`.
    """
    width = above(abs(up(start)) + (size + 1) * up(grain))
    spread = float(deviation)
    z = (float(start) + np.arange(size + 1) * float(grain)) / spread
    off = 8 * _ULP * (width / spread) + 4 * _ULP * np.abs(z)
    far, near = np.abs(z) + off, np.abs(z) - off
    small = np.array([math.erfc(x / _ROOT_TWO) for x in far.tolist()]) * (0.5 * (1 - 16 * _ULP))
    large = np.array([math.erfc(x / _ROOT_TWO) for x in near.tolist()]) * (0.5 * (1 + 16 * _ULP)) + 5e-324
    on_left = z <= 0
    below_low, below_high = np.where(on_left, small, 1 - large - _ULP), np.where(on_left, large, 1 - small + _ULP)
    above_low, above_high = np.where(on_left, 1 - large - _ULP, small), np.where(on_left, 1 - small + _ULP, large)
    return (below_low, below_high), (above_low, above_high)


def _between(below_tail: Pair, above_tail: Pair) -> Pair:
    """Bounds of the mass between consecutive edges, from whichever tail is the smaller: both hold, so the best of two."""
    least = np.maximum(below_tail[0][1:] - below_tail[1][:-1], above_tail[0][:-1] - above_tail[1][1:])
    most = np.minimum(below_tail[1][1:] - below_tail[0][:-1], above_tail[1][:-1] - above_tail[0][1:])
    return np.maximum(0.0, least * (1 - 2 * _ULP)), np.maximum(0.0, most) * (1 + 2 * _ULP)


def _pull(distance: Fraction, deviation: Fraction, scale: Fraction) -> float:
    """At least E[e^((x - d)/b); x > d] for x of N(0, v^2), d the distance: e^(v^2/2b^2 - d/b) (1 - Phi(d/v - v/b))."""
    exponent = deviation**2 / (2 * scale**2) - distance / scale
    tail = above(0.5 * math.erfc(below(down(distance / deviation - deviation / scale) / _ROOT_TWO, ulps=4)))
    return above(exp_up(exponent) * tail)
