"""Importance weights at pure epsilon: Laplace noise on every coordinate of the tilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

import numpy as np

from sfumato.accounting import DiscreteLaplaceLoss, Loss
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.mechanisms.weights.column import Columns, Numeric
from sfumato.mechanisms.weights.reference import Reference
from sfumato.mechanisms.weights.weighting import Weighting
from sfumato.noise import DiscreteLaplace


@final
@dataclass(frozen=True)
class LaplaceWeights(Weighting):
    """The tilt in steps, plus Z on each coordinate with P(Z = k) proportional to exp(-|k| grain / scale).

    Proof: Ji and Elkan 2013, with constants derived in `Weighting`: neighbours' tilts are whole numbers of steps, at most
    `steps(...).l1` apart in all, and Laplace noise on each coordinate is priced by `DiscreteLaplaceLoss`. Independent
    coordinates can be drawn exactly, unlike the density exp(-|z|) of the paper, and cost a variance of 2 d^2 where that has
    d (d + 1). Weights, estimates and their errors are post-processing of the tilt.
    """

    reference: Reference
    size: Positive = Positive()
    penalty: Positive = Positive()
    tolerance: Positive = Positive()
    scale: Positive = Positive()
    grain: Grain = Grain()

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = self.steps(sensitivity)
        return DiscreteLaplaceLoss(self.scale / self.step, reach.l1, reach.about)

    @property
    def noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale / self.step)

    @classmethod
    def quietest(cls, steps: Sensitivity, epsilon: Number, delta: Number, grain: Fraction) -> Number:
        """scale = l1 / epsilon, exactly. It is pure: a delta that is given is left unspent."""
        probability(delta, name="delta")
        return steps.l1 * grain / positive(epsilon, name="epsilon")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (
            cls(flat_example(), 3200, "3/4000", "1/10000000", "1/4", "1/64"),
            cls(square_example(), 3200, "3/4000", "1/10000000", "1/8", "1/32"),
        )


def flat_example() -> Reference:
    """One column whose public rows stand near its lower end."""
    columns = Columns.of({"x": Numeric(0, 1, 64)})
    return Reference(columns, np.array([[0], [2]] * 16, dtype=np.int64))


def square_example() -> Reference:
    """Two columns whose public rows stand near their lower ends."""
    columns = Columns.of({"x": Numeric(0, 1, 64), "y": Numeric(0, 1, 64)})
    return Reference(columns, np.array([[0, 0], [0, 2], [2, 0], [2, 2]] * 8, dtype=np.int64))
