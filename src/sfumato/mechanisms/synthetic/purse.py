"""What a share of the whole promise buys: noise on a marginal, or a choice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, assert_never, final

from sfumato.accounting import DiscreteLaplaceLoss, Loss, Pure, Zcdp
from sfumato.core.errors import BadInput
from sfumato.core.exact import sqrt_up
from sfumato.core.neighbours import Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.noise.law import Law

Noise = Literal["gaussian", "laplace"]
"""Gaussian noise is charged under zCDP; Laplace noise is pure, and louder."""

_FINE = 1 << 96


@final
@dataclass(frozen=True, slots=True)
class Purse:
    """Shares add up to one at most. With the whole of it one marginal would get noise of `scale`.

    A marginal adds up cells: when those move by d, it moves by no more in l1, and in l2 by its own l1 at worst, all of d being
    in one of its cells. Under replacement, if a unit's weight is at most linf in all (`one_cell`), it takes at most linf from
    some cells and adds at most linf to others: l1 <= 2 linf, and l2^2 <= 2 linf^2, the squared norm being convex in how each
    weight is spread, hence largest when it is in one cell, and different cells being the worst.

    - gaussian: a share s of noise has variance scale^2/s, rho = s l2^2/(2 scale^2) (Canonne, Kamath and Steinke 2020, Theorem
      4). A choice by exp(rate q), q moving by at most l1, has bounded range 2 rate l1, rho = (2 rate l1)^2/8 (Cesar and Rogers
      2021, Lemma 3.2); with rate = sqrt(s)/scale that is s l1^2/(2 scale^2).
    - laplace: a share s of noise has scale scale/s, epsilon = s l1/scale. A choice with rate = s/(2 scale) costs s l1/scale.
    """

    noise: Noise
    scale: Fraction

    def __post_init__(self) -> None:
        if self.noise not in ("gaussian", "laplace"):
            raise BadInput("an unknown kind of noise was asked for", hint="noise is 'gaussian' or 'laplace'")

    def law(self, share: Fraction) -> Law:
        """The noise on a marginal."""
        match self.noise:
            case "gaussian":
                return DiscreteGaussian(self.scale * self.scale / share)
            case "laplace":
                return DiscreteLaplace(self.scale / share)
            case _:
                assert_never(self.noise)

    def rate(self, share: Fraction) -> Fraction:
        """The rate of a choice whose scores move by at most l1, a hair less for the square root."""
        match self.noise:
            case "gaussian":
                rate = 1 / sqrt_up(self.scale * self.scale / share)
            case "laplace":
                rate = share / (2 * self.scale)
            case _:
                assert_never(self.noise)
        return max(Fraction(rate * _FINE // 1), Fraction(1)) / _FINE if rate * _FINE >= 1 else rate

    def absolute(self, share: Fraction) -> float:
        """How far off a noisy cell is on average, for display and for public corrections of scores."""
        match self.noise:
            case "gaussian":
                return math.sqrt(2 / math.pi) * float(self.scale) / math.sqrt(share)
            case "laplace":
                return float(self.scale / share)
            case _:
                assert_never(self.noise)

    def sharper(self, share: Fraction) -> Fraction:
        """The share that halves the noise and doubles the rate of choices."""
        return share * (4 if self.noise == "gaussian" else 2)

    def loss(self, reach: Sensitivity, *, choices: Fraction, one_cell: bool) -> Loss:
        """What it costs to spend everything, at most the part `choices` of it on choices and the rest on noise."""
        halves = one_cell and reach.about.relation is Relation.REPLACE
        linf = Fraction(reach.linf // 1)
        l1 = min(Fraction(reach.l1 // 1), 2 * linf) if halves else Fraction(reach.l1 // 1)
        square = min(l1 * l1, 2 * linf * linf) if halves else l1 * l1
        if l1 == 0:
            return DiscreteLaplaceLoss(self.scale, Fraction(0), reach.about)
        match self.noise:
            case "gaussian":
                spent = (1 - choices) * square + choices * l1 * l1
                return Zcdp(spent / (2 * self.scale * self.scale), Fraction(0), reach.about)
            case "laplace":
                return Pure(l1 / self.scale, reach.about)
            case _:
                assert_never(self.noise)
