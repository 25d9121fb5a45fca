"""The loss of integer noise that is computed from its own probabilities."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from typing import final

from sfumato.accounting.bounded import response_renyi, response_rho
from sfumato.accounting.laws import Direction, Law, Points
from sfumato.accounting.loss import Loss, real, words
from sfumato.accounting.rounding import nothing
from sfumato.core.errors import BadInput
from sfumato.core.exact import up
from sfumato.core.interval import exp_bounds, log_of_ratio
from sfumato.core.neighbours import Neighbours

_BITS = 128


@final
@dataclass(frozen=True)
class ShiftedLoss(Loss):
    """Integers, each with noise of probability weights[|k|] / total, moved by `shift` steps in all.

    Proof: weights[i]^2 >= weights[i - 1] weights[i + 1], checked here, says that the noise is log-concave; so the proof of
    `DiscreteLaplaceLoss` holds word for word: of all ways to spend the steps on cells, one cell moved by all of them has the
    largest delta at every epsilon, and its best sets are half-lines, since the ratio P(Z = k) / P(Z = k - shift) falls with
    k. `delta` compares whole numbers with e^epsilon rounded down, which lets in too much rather than too little. The
    `shift` lowest places have no counterpart: they are the failure. Nothing is assumed of where the weights come from.
    """

    weights: tuple[int, ...]
    shift: int
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        w = self.weights
        if not w or min(w) < 1 or (len(w) > 1 and w[1] > w[0]):
            raise BadInput("weights are not whole and falling", hint="give whole weights of 1 or more for 0, 1, 2, ...")
        if any(w[i] * w[i] < w[i - 1] * w[i + 1] for i in range(1, len(w) - 1)):
            raise BadInput(
                "the weights are not log-concave, so the worst move of several cells is not known",
                hint="lower a weight wherever its square is below the product of its neighbours",
            )
        if self.shift < 0:
            raise BadInput("sensitivity must not be negative", hint="give a sensitivity of 0 or more")

    @property
    def _edge(self) -> int:
        return len(self.weights) - 1

    @cached_property
    def _sums(self) -> list[int]:
        """_sums[i] is the weight of the i lowest places, from -edge on."""
        return list(accumulate((*self.weights[:0:-1], *self.weights), initial=0))

    def _up_to(self, place: int) -> int:
        return self._sums[max(0, min(place + self._edge + 1, len(self._sums) - 1))]

    @property
    def failure(self) -> Fraction:
        return Fraction(self._up_to(self.shift - 1 - self._edge), self._sums[-1])

    def pure(self) -> tuple[Fraction, Fraction]:
        if self.shift == 0 or self.shift > 2 * self._edge:
            return Fraction(0), self.failure
        last = self._edge
        steepest = log_of_ratio(self.weights[abs(last - self.shift)], self.weights[last], _BITS)[1]
        return Fraction(steepest, 1 << _BITS), self.failure

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if self.shift == 0 or at == -math.inf:
            return nothing(at)
        if at >= self.pure()[0]:
            return up(self.failure)
        growth, one = exp_bounds(Fraction(at), _BITS)[0], 1 << _BITS

        def inside(place: int) -> bool:
            before = abs(place - self.shift)
            return before > self._edge or self.weights[abs(place)] * one > growth * self.weights[before]

        places = range(-self._edge, self._edge + 1)
        last = bisect_right(places, False, key=lambda place: not inside(place)) - 1 - self._edge
        gained = self._up_to(last) * one - growth * self._up_to(last - self.shift)
        return up(Fraction(gained, self._sums[-1] * one))

    def renyi(self, order: float) -> float:
        return response_renyi(self.pure()[0], order)

    def zcdp(self) -> tuple[Fraction, Fraction]:
        bound, failure = self.pure()
        return response_rho(bound), failure

    def law(self, direction: Direction) -> Law:
        import numpy as np

        w = np.array((*self.weights[:0:-1], *self.weights), dtype=np.float64)
        masses = w * ((1 + 1e-15) / self._sums[-1])
        shared = w[self.shift :], w[: max(0, w.size - self.shift)]
        ratios = np.log(shared[0] / shared[1])
        return Points(ratios + (1 + np.abs(ratios)) * 2.0**-49, masses[self.shift :], up(self.failure))

    def describe(self) -> Mapping[str, str]:
        digest = sha256(",".join(map(str, self.weights)).encode()).hexdigest()
        return words("shifted", self.about, places=2 * self._edge + 1, digest=digest, shift=self.shift)
