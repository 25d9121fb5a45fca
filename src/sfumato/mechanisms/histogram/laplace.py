"""Histograms with Laplace noise on the rows of a strategy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np

from sfumato.accounting import DiscreteLaplaceLoss, Loss, Pure
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.neighbours import Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.histogram import Cells, Histogram, least
from sfumato.mechanisms.histogram.matrix import Matrix
from sfumato.mechanisms.histogram.nest import Nest
from sfumato.mechanisms.histogram.nominal import Nominal
from sfumato.mechanisms.histogram.privelet import Haar
from sfumato.mechanisms.histogram.product import Product
from sfumato.mechanisms.histogram.strategy import Floats, Strategy
from sfumato.mechanisms.histogram.tree import Tree
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import DiscreteLaplace


@final
@dataclass(frozen=True)
class LaplaceHistogram(Histogram):
    """Discrete Laplace noise of `scale` times its own on each row of `strategy`, and least squares: a float for each cell.

    Proof: Dwork, McSherry, Nissim and Smith 2006 on the rows, which are whole numbers; the fit is post-processing. Cells that
    move by whole numbers d move row r by a_r . d, and the log-ratio of any outcome by at most the sum of |a_r . d|/(s_r scale).
    By the triangle inequality that is at most l1 `absolute`/scale, where `absolute` is the largest column sum of |a|/s (Xiao,
    Wang and Gehrke 2010 call it generalised sensitivity; Li et al. 2010). Both are exact fractions. If all rows have one scale,
    the rows move by at most l1 `absolute` s in all and the loss is that of `DiscreteLaplaceLoss`; if not, it is pure.

    `one_cell` promises that each unit lies in one cell, with a weight of at most linf. Under replacement it then takes at most
    linf from one cell and adds at most linf to another; the rows' move is convex in both amounts, so it is largest at the ends:
    linf `absolute_apart` (for Haar wavelets of m bins 2 log2 m, where twice the column sum is 2 + 2 log2 m).
    """

    strategy: Strategy
    scale: Positive = Positive()
    one_cell: bool = False

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        moved = self._moved(reach)
        if len(self.strategy.scales) == 1:
            unit = self.strategy.scales[0]
            return DiscreteLaplaceLoss(self.scale * unit, moved * unit, reach.about)
        return Pure(moved / self.scale, reach.about) if moved else DiscreteLaplaceLoss(self.scale, moved, reach.about)

    def _moved(self, reach: Sensitivity) -> Fraction:
        """The largest sum of |a . d|/s."""
        whole = (reach.l1 // 1) * self.strategy.absolute
        if self.one_cell and reach.about.relation is Relation.REPLACE:
            return min(whole, (reach.linf // 1) * self.strategy.absolute_apart)
        return whole

    def noise(self, scale: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale * scale)

    def _half_width(self, spread: Floats, miss: float) -> float:
        return chernoff(np.abs(spread.ravel()), 1 / (self.strategy.row_scales * float(self.scale)), miss)

    def audit_cases(self) -> Sequence[Case[Cells]]:
        """One unit more in a cell: the first, whose column is as long as any in all the examples."""
        none, one = np.zeros(self.strategy.shape, dtype=np.int64), np.zeros(self.strategy.shape, dtype=np.int64)
        one[(0,) * one.ndim] = 1
        tight = isinstance(self.strategy, Flat)
        return (Case(none, one, Sensitivity.of(1), tight=tight), Case(none, 2 * one, Sensitivity.of(2), tight=tight))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(Flat(2), 1),
            cls(Haar(2), 2),
            cls(Tree.even(2, [1], ["2/5", "3/5"]), "1/4"),
            cls(Nominal(Nest(2)), "3/10"),
            cls(Product((Haar(2), Flat(2))), 1),
            cls(Matrix([[3 / (1 << 20), 1 / (1 << 20)], [1 / (1 << 20), -1 / (1 << 20)]]), Fraction(2, 1 << 20)),
        )

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """scale = l1 absolute / epsilon, exactly. It is pure, so a delta is not needed; one that is given is left unspent."""
        probability(delta, name="delta")
        moved = cls(scale=1, **public)._moved(Sensitivity.of(sensitivity))
        if moved == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        return cls(scale=moved / positive(epsilon, name="epsilon"), **public)


def chernoff(size: Floats, rates: Floats, miss: float) -> float:
    """Chernoff: P(|sum u Z| > t) <= 2 exp(-h t) prod E exp(h u Z), the least t over h.

    With a = exp(-1/b), E exp(x Z) = (1 - a)^2 / ((1 - a e^x)(1 - a e^-x)) for x < 1/b; as (1 - a e^x)(1 - a e^-x) is
    (1 - a)^2 - 2 a (cosh x - 1), its logarithm is -log1p(-2 a (cosh x - 1)/(1 - a)^2).
    """
    size, rates = size[size > 0], rates[size > 0]
    ratio = 4 * np.exp(-rates) / np.expm1(-rates) ** 2
    top = float((rates / size).min())

    def bound(h: float) -> float:
        inside = 1 - ratio * np.sinh(h * size / 2) ** 2
        if (inside <= 0).any():
            return math.inf
        return float((math.log(2 / miss) - np.log(inside).sum()) / h)

    return least(bound, 0.0, top)
