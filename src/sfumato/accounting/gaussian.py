"""Losses of Gaussian noise: continuous (Gaussian differential privacy), and on the integers, which is not the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import final

from sfumato.accounting.lattice import LARGEST_VARIANCE, feasible, ladder
from sfumato.accounting.laws import Direction, Law, Normals, Rungs
from sfumato.accounting.loss import Loss, order_of, real, words
from sfumato.accounting.normal import normal_delta
from sfumato.accounting.rounding import above, nothing
from sfumato.accounting.zcdp import Zcdp
from sfumato.core.exact import positive, sqrt_up, up
from sfumato.core.neighbours import Neighbours
from sfumato.core.sensitivity import Sensitivity

_MOST_SHIFTS = 24
_INAUDIBLE = 1e-12


@final
@dataclass(frozen=True, slots=True)
class Gdp(Loss):
    """Telling two neighbours apart is as hard as telling N(0, 1) from N(mu, 1): continuous Gaussian noise.

    Proof: Dong, Roth and Su 2022, Theorem 2.7; the curve is Balle and Wang 2018, Theorem 8. Vectors with independent
    N(0, sigma^2) in each cell have mu = l2/sigma, since the laws are invariant under rotation.
    """

    mu: Fraction
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive(self.mu, name="mu"))

    @property
    def failure(self) -> Fraction:
        return Fraction(0)

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if math.isinf(at):
            return nothing(at)
        return normal_delta(up(self.mu), at)

    def renyi(self, order: float) -> float:
        return math.inf if math.isinf(order) else above(order_of(order) * up(self.mu * self.mu / 2))

    def zcdp(self) -> tuple[Fraction, Fraction]:
        return self.mu * self.mu / 2, Fraction(0)

    def pure(self) -> None:
        return None

    def law(self, direction: Direction) -> Law:
        return Normals(up(self.mu), 1.0, direction)

    def describe(self) -> Mapping[str, str]:
        return words("gdp", self.about, mu=self.mu)


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussianLoss(Loss):
    """Integers, each with noise of probability proportional to e^(-x^2 / (2 variance)).

    The change is a vector of integers within `sensitivity` (fractional bounds are floored). A lattice has no rotations:
    a shift spread over cells can cost more than the same l2 in one cell, so this is not Gaussian differential privacy.

    Proof: each of these bounds `delta` over all such shifts, and the smallest is taken.
    - One cell moved by l1: the noise is log-concave, so this dominates every split (see DiscreteLaplaceLoss). Attained
      when linf = l1.
    - The exact curves of all maximal shifts, when they are few and the noise is small. Enough, because moving one
      coordinate further never lowers the curve: the best test for the other coordinates' ratio stays a half-line.
    - `blurred`: a Gaussian a little narrower, rounded at random, is the same law up to a factor next to 1.
    - zCDP with rho = l2_squared / (2 variance) (Canonne, Kamath and Steinke 2020, Proposition 5 and Lemma 8).
    """

    variance: Fraction
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, name="variance"))
        object.__setattr__(self, "sensitivity", _whole(Sensitivity.of(self.sensitivity)))

    @property
    def about(self) -> Neighbours:
        return self.sensitivity.about

    @property
    def failure(self) -> Fraction:
        return Fraction(0)

    @property
    def rho(self) -> Fraction:
        return self.sensitivity.l2_squared / (2 * self.variance)

    @property
    def shifts(self) -> tuple[tuple[int, ...], ...] | None:
        """The shifts that dominate all others, when their exact curves can be summed; None otherwise."""
        return _shifts(self.variance, self.sensitivity)

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if self.sensitivity.l1 == 0 or math.isinf(at):
            return nothing(at)
        if (shifts := self.shifts) is not None:
            return max(ladder(self.variance, shift).delta(at) for shift in shifts)
        bounds = [Zcdp(self.rho, about=self.about).delta(at), self._blurred(at)]
        one_cell = (int(self.sensitivity.l1),)
        if feasible(self.variance, one_cell):
            bounds.append(ladder(self.variance, one_cell).delta(at))
        return min(bounds)

    def _blurred(self, epsilon: float) -> float:
        return min((blur.delta(epsilon) for blur in self.blurs()), default=1.0)

    def blurs(self) -> Iterator[Blur]:
        """The narrower Gaussians that this noise is a rounding of."""
        square, cells = self.sensitivity.l2_squared, self.sensitivity.cells or 0
        for width in (1, 2, 4):
            if self.variance > 2 * width:
                yield Blur(sqrt_up(square / (self.variance - width)), 3 * cells * _RIPPLE[width])

    def renyi(self, order: float) -> float:
        if math.isinf(order):
            return math.inf if self.sensitivity.l1 else 0.0
        return above(order_of(order) * up(self.rho))

    def zcdp(self) -> tuple[Fraction, Fraction]:
        return self.rho, Fraction(0)

    def pure(self) -> tuple[Fraction, Fraction] | None:
        return None if self.sensitivity.l1 else (Fraction(0), Fraction(0))

    def law(self, direction: Direction) -> Law:
        """The exact ladder when one shift dominates. When it is long, the blur that costs least, if its ripple is nil."""
        shifts = self.shifts
        if shifts is not None and len(shifts) == 1 and self.sensitivity.l1:
            rungs = ladder(self.variance, shifts[0])
            return Rungs(rungs.highest, rungs.spacing, rungs.masses, rungs.beyond)
        if shifts is None:
            quiet = [blur for blur in self.blurs() if blur.ripple < _INAUDIBLE]
            if quiet:
                return Normals(up(quiet[0].mu), 1.0, direction, quiet[0].ripple)
        return Loss.law(self, direction)

    def describe(self) -> Mapping[str, str]:
        s = self.sensitivity
        reach = {"l1": s.l1, "linf": s.linf, "l2_squared": s.l2_squared, "cells": s.cells or 0}
        return words("discrete-gaussian", self.about, variance=self.variance, **reach)


_RIPPLE = {width: 2.2 * math.exp(-2 * math.pi**2 * width) for width in (1, 2, 4)}
"""At least 2 sum_k e^(-2 pi^2 width k^2)."""


@final
@dataclass(frozen=True, slots=True)
class Blur:
    """Within a factor e^(+-ripple) of N(0, 1) against N(mu, 1), after a rounding that both laws share.

    Proof: let Y be N(0, variance - c), and send it to the integer m with probability e^(-(m - Y)^2 / 2c) / theta(Y).
    By Poisson summation theta lies within a factor 1 +- h of sqrt(2 pi c), h = 2 sum_k e^(-2 pi^2 c k^2), and the
    convolution of the two Gaussians is the N(0, variance) density at m; so the law of m is the discrete Gaussian up to
    a factor between (1-h)/(1+h) and (1+h)/(1-h), within e^(+-3h). Shifting Y by an integer shifts m. Cells that do not
    move are the same under both laws; d cells that move make it e^(+-3hd), and d <= l1. For laws P, Q within e^(+-r) of
    P', Q': P(S) - e^epsilon Q(S) <= e^r (P'(S) - e^(epsilon - 2r) Q'(S)).
    """

    mu: Fraction
    ripple: float

    def delta(self, epsilon: float) -> float:
        if self.ripple > 0.5:
            return 1.0
        shifted = normal_delta(up(self.mu), math.nextafter(epsilon - 2 * self.ripple, -math.inf))
        return min(1.0, above(shifted * above(math.exp(self.ripple))))


def _whole(sensitivity: Sensitivity) -> Sensitivity:
    """What an integer-valued answer can move by."""
    square = int(sensitivity.l2_squared)
    linf = min(int(sensitivity.linf), math.isqrt(square))
    l1 = min(int(sensitivity.l1), square)
    cells = l1 if sensitivity.cells is None else min(l1, sensitivity.cells)
    return Sensitivity(Fraction(l1), Fraction(linf), Fraction(square), sensitivity.about, cells)


@lru_cache(maxsize=256)
def _shifts(variance: Fraction, sensitivity: Sensitivity) -> tuple[tuple[int, ...], ...] | None:
    l1, linf, square = int(sensitivity.l1), int(sensitivity.linf), int(sensitivity.l2_squared)
    cells = sensitivity.cells or 0
    if linf == l1:
        maximal: tuple[tuple[int, ...], ...] = ((l1,),)
    elif linf == 1:
        maximal = ((1,) * min(l1, square, cells),)
    elif l1 > 12 or variance > LARGEST_VARIANCE:
        return None
    else:
        maximal = _maximal(tuple(_partitions(l1, linf, square, cells)))
    affordable = len(maximal) <= _MOST_SHIFTS and all(feasible(variance, shift) for shift in maximal)
    return maximal if affordable else None


def _partitions(l1: int, linf: int, square: int, cells: int) -> Iterator[tuple[int, ...]]:
    """Non-increasing positive integers within the four bounds."""
    yield ()
    if cells == 0:
        return
    for first in range(1, min(l1, linf, math.isqrt(square)) + 1):
        for rest in _partitions(l1 - first, first, square - first * first, cells - 1):
            yield (first, *rest)


def _maximal(shifts: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Those that no other one covers coordinate by coordinate (both sorted, which is the best matching)."""

    def covers(large: tuple[int, ...], small: tuple[int, ...]) -> bool:
        return len(large) >= len(small) and all(a >= b for a, b in zip(large, small, strict=False))

    return tuple(s for s in shifts if not any(t != s and covers(t, s) for t in shifts))
