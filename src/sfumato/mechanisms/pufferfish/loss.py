"""What Laplace noise on a lattice costs under a framework's beliefs: sums over the lattice, nothing left to quadrature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss
from sfumato.accounting.bounded import response_renyi, response_rho
from sfumato.accounting.loss import real, words
from sfumato.accounting.rounding import above, below, exp_down, exp_up, nothing
from sfumato.core.errors import NotSupported
from sfumato.core.neighbours import Neighbours, Relation
from sfumato.mechanisms.pufferfish.belief import Discrete, Law, Mixture
from sfumato.mechanisms.pufferfish.cells import Cells, cells, steep, window
from sfumato.mechanisms.pufferfish.distance import quantile_coupling
from sfumato.mechanisms.pufferfish.framework import Framework

Floats = NDArray[np.float64]

_ULP = 2.0**-52


@final
@dataclass(frozen=True, eq=False)
class Noisy:
    """A believed law after noise: bounds of its masses over a window of the lattice.

    `low` counts only what the law holds inside the window; outside of it those masses fall by a = e^(-grain/scale) a cell.
    `high` does too, and `beyond` bounds the rest of the law, wherever noise takes it. `full` and `ends` count the rest as
    well: `full[i]` bounds the whole mass of cell i; d cells left of the first it is at most `ends[0]` a^d, likewise right.
    """

    low: Floats
    high: Floats
    beyond: float
    full: Floats
    ends: tuple[float, float]


@final
@dataclass(frozen=True)
class BeliefLoss(Loss):
    """x floored to a multiple of `grain`, plus k grains with probability proportional to e^(-|k| grain / scale), x as believed.

    Proof. Given a secret the output is on the lattice, with P(k) = c sum_f p(f) a^|k - f|, p(f) the chance that x lies in
    cell f, a = e^(-grain/scale), c = (1 - a)/(1 + a): flooring and noise are both in it, exactly. `cells` bounds p over a
    window. delta(epsilon) = sum_k (P(k) - e^epsilon Q(k))+ rises with P and falls with Q, so P is taken above, its mass beyond
    the window whole, and Q below, without that mass. Outside of the window both then fall by a each cell, so the two infinite
    sums are geometric: a/(1 - a) times the term at each end.

    pure: P(k)/Q(k) is bounded cell by cell in the window, with what lies beyond carried by a^distance; outside of it P is at
    most its value at the end, the rest of the law weighed by e^(distance/scale) included, times a^d, and Q at least its own
    times a^d. Laplace tails are heavier than normal ones, so this is finite, whatever the variances. For discrete laws,
    the largest move of floored numbers over the scale bounds the ratio too (`Wasserstein`), and the smaller is taken.

    Floats: `_spread` is a recursion of positive terms; a term that came j cells is off by at most j (U_a + 3U) + 3U
    relatively, U_a the error of a, so by `_drift` of the window at most.
    """

    framework: Framework
    scale: Fraction
    grain: Fraction
    about: Neighbours = field(default=Neighbours(Relation.SECRETS))

    @property
    def failure(self) -> Fraction:
        return Fraction(0)

    @cached_property
    def _pairs(self) -> list[tuple[Noisy, Noisy]]:
        pairs = []
        for contrast in self.framework.contrasts:
            left, right = number(contrast.left), number(contrast.right)
            one, other = window(left, self.grain, self.scale), window(right, self.grain, self.scale)
            ends = min(one[0], other[0]), max(one[1], other[1])
            made = [_noisy(cells(law, self.grain, self.scale, ends), self.grain / self.scale) for law in (left, right)]
            pairs.append((made[0], made[1]))
        return pairs

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if math.isinf(at):
            return nothing(at)
        bound = self.pure()
        if bound is not None and at >= bound[0]:
            return 0.0
        ratio = exp_up(-self.grain / self.scale)
        outwards = above(ratio / below(1 - ratio))
        try:
            growth = max(0.0, below(math.exp(at)))
        except OverflowError:
            growth = math.nextafter(math.inf, 0)
        return max(_hockey(p, q, growth, outwards) for a, b in self._pairs for p, q in ((a, b), (b, a)))

    def renyi(self, order: float) -> float:
        bound = self.pure()
        return math.inf if bound is None else response_renyi(bound[0], order)

    def zcdp(self) -> tuple[Fraction, Fraction] | None:
        bound = self.pure()
        return None if bound is None else (response_rho(bound[0]), Fraction(0))

    def pure(self) -> tuple[Fraction, Fraction] | None:
        return self._pure

    @cached_property
    def _pure(self) -> tuple[Fraction, Fraction] | None:
        worst = Fraction(0)
        for contrast, (a, b) in zip(self.framework.contrasts, self._pairs, strict=True):
            left, right = number(contrast.left), number(contrast.right)
            if steep(left, self.scale) or steep(right, self.scale):
                return None
            ratio = max(_ratio(a, b), _ratio(b, a))
            measured = Fraction(above(math.log(ratio))) if math.isfinite(ratio) else None
            if isinstance(left, Discrete) and isinstance(right, Discrete):
                steps = max(
                    abs(math.floor(x[0] / self.grain) - math.floor(y[0] / self.grain))
                    for x, y, _ in quantile_coupling(left, right)
                )
                coupled = steps * self.grain / self.scale
                measured = coupled if measured is None else min(measured, coupled)
            if measured is None:
                return None
            worst = max(worst, measured)
        return worst, Fraction(0)

    def describe(self) -> Mapping[str, str]:
        return words("pufferfish", self.about, framework=self.framework.digest, scale=self.scale, grain=self.grain)


def number(law: Law) -> Discrete | Mixture:
    """A law of one number, which alone has cells."""
    if law.width > 1 or not isinstance(law, Discrete | Mixture):
        raise NotSupported(
            "beliefs about a vector have no lattice of cells",
            hint="release it with Wasserstein and Laplace or Gaussian",
        )
    return law


def _noisy(believed: Cells, rate: Fraction) -> Noisy:
    size = believed.low.size
    a_low, a_high = exp_down(-rate), exp_up(-rate)
    drift = (size + 4) * 16 * _ULP
    centre_low, centre_high = below((1 - a_high) / (1 + a_high)), above((1 - a_low) / (1 + a_low))
    low = _spread(believed.low, a_low) * (centre_low * (1 - drift))
    high = _spread(believed.high, a_high) * (centre_high * (1 + drift))
    far = np.arange(1, size + 1)
    fallen = np.exp(-far * float(rate) * (1 - 8 * _ULP)) * (1 + 1e-13)
    rest = (fallen * believed.left + fallen[::-1] * believed.right) * centre_high
    ends = (
        above(float(high[0]) + centre_high * (believed.left_pull + believed.right)),
        above(float(high[-1]) + centre_high * (believed.right_pull + believed.left)),
    )
    full = np.minimum(1.0, (high + rest) * (1 + 8 * _ULP))
    return Noisy(low, high, above(believed.left + believed.right), full, ends)


def _spread(masses: Floats, ratio: float) -> Floats:
    """sum_f masses[f] ratio^|k - f| for every k: one pass each way."""
    from scipy.signal import lfilter

    forward: Floats = lfilter([1.0], [1.0, -ratio], masses)
    backward: Floats = lfilter([1.0], [1.0, -ratio], masses[::-1])[::-1]
    backward = np.append(backward[1:], 0.0) * ratio
    return forward + backward


def _hockey(p: Noisy, q: Noisy, growth: float, outwards: float) -> float:
    gaps = np.maximum(0.0, p.high - growth * q.low * (1 - 4 * _ULP))
    total = float(gaps.sum()) + outwards * float(gaps[0] + gaps[-1]) + p.beyond
    return min(1.0, above(total * (1 + 1e-13)))


def _ratio(p: Noisy, q: Noisy) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(q.low > 1e-290, p.full / q.low, math.inf)
    if q.low[0] <= 1e-290 or q.low[-1] <= 1e-290:
        return math.inf
    outside = max(p.ends[0] / float(q.low[0]), p.ends[1] / float(q.low[-1]))
    return above(max(float(inside.max()), outside, 1.0), ulps=16)
