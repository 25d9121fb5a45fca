"""The Wasserstein mechanism: any noise for numbers, at the sensitivity that a framework's beliefs imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar, final

from sfumato.accounting import Loss
from sfumato.accounting.loss import real, words
from sfumato.accounting.rounding import with_failure
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import Number, positive, probability
from sfumato.core.neighbours import Neighbours
from sfumato.core.private import Private
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Mechanism, Release
from sfumato.mechanisms.number.gaussian import Gaussian
from sfumato.mechanisms.number.laplace import Laplace
from sfumato.mechanisms.number.lattice_noise import LatticeNoise
from sfumato.mechanisms.number.staircase import Staircase
from sfumato.mechanisms.number.truncated_laplace import TruncatedLaplace
from sfumato.mechanisms.pufferfish.belief import Discrete, Law
from sfumato.mechanisms.pufferfish.distance import STILL, moves
from sfumato.mechanisms.pufferfish.framework import Framework
from sfumato.noise import Source

Out = TypeVar("Out")

_ADDED = (Laplace, Gaussian, TruncatedLaplace, Staircase, LatticeNoise)
"""Mechanisms whose sensitivity is a distance between the numbers themselves."""


@final
@dataclass(frozen=True)
class Outside(Loss):
    """`inner` outside of an event of mass `missed`, which is the same under both secrets.

    Proof: with m = missed, P(S) <= m + P(S, not the event) <= m + (1 - m)(e^epsilon Q'(S) + delta), Q' being what the other
    secret gives outside of the event, and (1 - m) Q' <= Q.
    """

    inner: Loss
    missed: Fraction

    @property
    def failure(self) -> Fraction:
        return min(Fraction(1), self.missed + self.inner.failure)

    @property
    def about(self) -> Neighbours:
        return self.inner.about

    def delta(self, epsilon: float) -> float:
        return with_failure(self.missed, self.inner.delta(real(epsilon)))

    def renyi(self, order: float) -> float:
        return self.inner.renyi(order)

    def zcdp(self) -> tuple[Fraction, Fraction] | None:
        line = self.inner.zcdp()
        return None if line is None else (line[0], min(Fraction(1), line[1] + self.missed))

    def pure(self) -> tuple[Fraction, Fraction] | None:
        bound = self.inner.pure()
        return None if bound is None else (bound[0], min(Fraction(1), bound[1] + self.missed))

    def describe(self) -> Mapping[str, str]:
        return words("outside", self.about, missed=self.missed, inner=dict(self.inner.describe()))


@final
@dataclass(frozen=True)
class Wasserstein:
    """A framework as a sensitivity: how far the released numbers are apart in a coupling of the two secrets' laws.

    Proof (Song, Wang and Chaudhuri 2017, Theorem 3.2, for any noise): let (U, V) have the laws of the number given the two
    secrets, with V - U within the sensitivity outside of an event of mass `failure`. Whatever U and V are, the noise makes
    them hard to tell apart: P(M(u) in O) <= e^epsilon P(M(v) in O) + delta(epsilon). Averaging over (U, V) keeps that, and
    keeps Renyi divergences too, which are jointly quasi-convex (van Erven and Harremoes 2014, Theorem 13): with Gaussian
    noise `loss(...).renyi` is Renyi Pufferfish privacy (Pierquin, Bellet, Tommasi and Boussard 2024). The average cost of
    moving (the earth mover's distance) would not do: see `PufferfishLaplace`.

    The lattice: a mechanism with a grain floors the number first, which is part of U and V; `Sensitivity.on_grid` counts
    how far apart floored numbers are. Without a grain the numbers must be whole under every belief.
    """

    framework: Framework
    failure: Fraction = Fraction(0)

    @classmethod
    def of(cls, framework: Framework, *, failure: Number = 0) -> Wasserstein:
        return cls(framework, probability(failure, name="failure"))

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The farthest over all contrasts, in each norm."""
        farthest = STILL
        for contrast in self.framework.contrasts:
            farthest = farthest.most(moves(contrast.left, contrast.right, failure=self.failure))
        return Sensitivity(farthest.l1, farthest.linf, farthest.l2_squared, self.framework.about, self.framework.width)

    def loss(self, mechanism: Mechanism[Any, Any]) -> Loss:
        """What one release of the number, or vector, with this noise costs."""
        if not isinstance(mechanism, _ADDED):
            raise NotSupported(
                f"{type(mechanism).__name__} does not add noise to the number that the beliefs speak of",
                hint=f"use {', '.join(kind.__name__ for kind in _ADDED)}",
            )
        if mechanism.grain is None and not self._whole:
            raise BadInput(
                "the beliefs speak of numbers that are not whole, and the mechanism has no grain",
                hint="give the mechanism a grain, such as '1/64'",
            )
        inner = mechanism.loss(self.sensitivity)
        return Outside(inner, self.failure) if self.failure else inner

    def calibrate(
        self, kind: type[Mechanism[Any, Out]], *, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Mechanism[Any, Out]:
        """The least noise of this kind for (epsilon, delta), the failure taken from delta."""
        left = probability(delta, name="delta") - self.failure
        positive(epsilon, name="epsilon")
        if left < 0:
            raise BadInput("the failure is larger than delta", hint="give a smaller failure, such as a tenth of delta")
        share = left / (1 - self.failure)
        return kind.calibrate(sensitivity=self.sensitivity, epsilon=epsilon, delta=share, **public)

    def release(
        self, mechanism: Mechanism[Any, Out], value: Any | Private[Any], *, source: Source | None = None
    ) -> Release[Out]:
        """The number with noise, and the price about this framework's secrets."""
        loss = self.loss(mechanism)
        drawn = mechanism.release(value, self.sensitivity, source=source)
        return Release(drawn.value, loss, mechanism)

    @property
    def _whole(self) -> bool:
        laws: list[Law] = [law for c in self.framework.contrasts for law in (c.left, c.right)]
        return all(isinstance(law, Discrete) and all(x.denominator == 1 for p in law.points for x in p) for law in laws)
