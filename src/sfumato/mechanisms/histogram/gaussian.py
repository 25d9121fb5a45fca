"""Histograms with Gaussian noise on the rows of a strategy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np

from sfumato.accounting import DiscreteGaussianLoss, Loss, Zcdp
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction, positive, sqrt_up
from sfumato.core.neighbours import Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.histogram import Cells, Histogram
from sfumato.mechanisms.histogram.privelet import Haar
from sfumato.mechanisms.histogram.strategy import Floats, Strategy
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import DiscreteGaussian


@final
@dataclass(frozen=True)
class GaussianHistogram(Histogram):
    """Discrete Gaussian noise of `sigma` times its own scale on each row of `strategy`, and least squares.

    Proof: Canonne, Kamath and Steinke 2020, Theorem 4, on the rows, which are whole numbers and have independent noise: rho is
    the sum over rows of (a_r . d)^2/(2 s_r^2 sigma^2) for cells that move by d. By the triangle inequality over the cells of d
    that sum of squares is at most l1^2 `squared`, the largest column sum of a^2/s^2, an exact fraction; `moved_squared` may
    know better. If all rows have one scale, the loss is `DiscreteGaussianLoss` of the rows' moves; if not, rho is all that is
    promised. `one_cell` is as in `LaplaceHistogram`: squared norms of moves are convex too, so `squared_apart` bounds them.
    """

    noise_field: ClassVar[str] = "sigma"

    strategy: Strategy
    sigma: Positive = Positive()
    one_cell: bool = False

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        square = self._moved_squared(reach)
        if square and len(self.strategy.scales) > 1:
            return Zcdp(square / (2 * self.sigma**2), Fraction(0), reach.about)
        unit = self.strategy.scales[0]
        l1 = (reach.l1 // 1) * self.strategy.absolute * unit
        cells = reach.cells if isinstance(self.strategy, Flat) else None
        linf = Fraction(reach.linf // 1) if isinstance(self.strategy, Flat) else l1
        moves = Sensitivity(l1, linf, square * unit * unit, reach.about, cells)
        return DiscreteGaussianLoss((self.sigma * unit) ** 2, moves)

    def _moved_squared(self, reach: Sensitivity) -> Fraction:
        """The largest sum of (a . d)^2/s^2."""
        whole = self.strategy.moved_squared(Fraction(reach.l1 // 1), Fraction(reach.l2_squared // 1))
        whole = min(whole, (reach.l1 // 1) ** 2 * self.strategy.squared)
        if self.one_cell and reach.about.relation is Relation.REPLACE:
            return min(whole, (reach.linf // 1) ** 2 * self.strategy.squared_apart)
        return whole

    def noise(self, scale: Fraction) -> DiscreteGaussian:
        return DiscreteGaussian((self.sigma * scale) ** 2)

    def _half_width(self, spread: Floats, miss: float) -> float:
        """Discrete Gaussian noise has Gaussian tails at most (Canonne, Kamath and Steinke 2020, Lemma 33)."""
        sigmas = self.strategy.row_scales * float(self.sigma)
        return math.sqrt(2 * math.log(2 / miss) * float(((spread.ravel() * sigmas) ** 2).sum()))

    def audit_cases(self) -> Sequence[Case[Cells]]:
        none, one = np.zeros(self.strategy.shape, dtype=np.int64), np.zeros(self.strategy.shape, dtype=np.int64)
        one[(0,) * one.ndim] = 1
        return (Case(none, one, Sensitivity.of(1), tight=isinstance(self.strategy, Flat)),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(Flat(2), "3/2"), cls(Haar(2), 2))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        if fraction(delta, name="delta") == 0:
            raise BadInput(
                "Gaussian noise cannot promise delta 0", hint="give a delta such as '1e-6', or use Laplace noise"
            )
        return super().calibrate(sensitivity=sensitivity, epsilon=epsilon, delta=delta, **public)

    @classmethod
    def of_rho(cls, rho: Number, *, sensitivity: Sensitivity | Number = 1, **public: Any) -> Self:
        """The instance whose rho is the given one, a hair less for the square root."""
        square = cls(sigma=1, **public)._moved_squared(Sensitivity.of(sensitivity))
        if square == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        return cls(sigma=sqrt_up(square / (2 * positive(rho, name="rho"))), **public)
