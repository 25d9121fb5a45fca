"""Scores that race with one-sided exponential noise: who is ahead, how far behind a winner can be, and the worst neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.exact import Number, down, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.choice.scores import Scores
from sfumato.noise import Geometric, Source

_FAR = 2**62
"""Noise beyond this is added in integers of any length; it happens once in e^1024 races at scales of up to 2**52."""

_CUT = 2**63 - 1


def race(steps: NDArray[np.int64], noise: Geometric, count: int, source: Source) -> NDArray[np.int64]:
    """`count` rows of scores with independent noise, in order of height: equal where equal, and never cut at 64 bits."""
    drawn = noise.sample(source, (count, steps.size))
    heights = steps + np.minimum(drawn, _FAR)
    for row in np.flatnonzero((drawn > _FAR).any(axis=1)):
        heights[row] = _ranks(steps.tolist(), drawn[row].tolist(), noise, source)
    return heights


def _ranks(steps: list[int], drawn: list[int], noise: Geometric, source: Source) -> list[int]:
    """Exact sums as ranks. A draw that was cut at 64 bits goes on with a fresh one: the law has no memory."""
    sums = [step + draw + (noise.draw(source) if draw == _CUT else 0) for step, draw in zip(steps, drawn, strict=True)]
    places = {height: rank for rank, height in enumerate(sorted(set(sums)))}
    return [places[height] for height in sums]


def far_behind(candidates: int, rate: Fraction, confidence: Number) -> float:
    """The least t for which a winner t or more below the best score is a miss of at most 1 - confidence, rounded up.

    The worst scores put all others exactly t below the best (McKenna and Sheldon 2020): raising one that is lower, or
    lowering one that is higher, only makes a miss likelier. With p = exp(-rate t) the best then wins with probability
    (1 - (1-p)^n) / (n p), which falls with p.
    """
    sure = float(probability(confidence, name="confidence"))
    low, high = 0.0, 800.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if _best_wins(candidates, math.exp(-middle)) >= sure else (middle, high)
    return math.nextafter(high * (1 + 1e-9) / down(rate), math.inf)


def _best_wins(n: int, p: float) -> float:
    return -math.expm1(n * math.log1p(-p)) / (n * p) if p < 1 else 1 / n


def behind(candidates: int, grain: Fraction, *, monotone: bool) -> Sequence[Case[Scores]]:
    """The first candidate is two grains behind (one, if scores only move one way), and level with the others next door."""
    others = candidates - 1
    moved = Sensitivity.of(grain)
    lag = float(grain) if monotone else float(2 * grain)
    down_one = 0.0 if monotone else -float(grain)
    cases: list[Case[Scores]] = []
    for further in (0, 1, 12):
        back = -lag - further * float(grain)
        cases.append(Case([back] + [0.0] * others, [back + float(grain)] + [down_one] * others, moved, tight=False))
    return tuple(cases)
