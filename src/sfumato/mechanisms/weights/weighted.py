"""The public table with its weights: what was released, and everything that follows from it at no cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import Number, positive, probability, up
from sfumato.mechanisms.weights.column import Floats
from sfumato.mechanisms.weights.reference import CONSTANT
from sfumato.mechanisms.weights.weighting import Steps, Weighting

LEAST_EFFECTIVE = 30


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """A weighted average, its standard errors (of the noise, and of the public table as a sample), and the penalty's pull."""

    value: float
    noise: float
    sampling: float
    pull: float

    @property
    def error(self) -> float:
        """Both standard errors together."""
        return math.hypot(self.noise, self.sampling)

    def within(self, confidence: Number) -> float:
        """The half-width of a normal interval of this confidence, and the penalty's pull on top.

        What a tilt of these columns cannot express is in none of them.
        """
        from statistics import NormalDist

        share = float(probability(confidence, name="confidence"))
        return NormalDist().inv_cdf((1 + share) / 2) * self.error + abs(self.pull)


@final
@dataclass(frozen=True, eq=False)
class Weighted:
    """One weight per public row, in its order, 1 on average.

    weight(e) is proportional to exp(tilt . e), cut at `most` (None: not) and brought back to an average of 1.
    """

    mechanism: Weighting
    tilt: Steps
    most: float | None = None

    @classmethod
    def of(cls, mechanism: Weighting, tilt: Sequence[int], *, most: Number | None = None) -> Weighted:
        """From what was released. Cutting the largest weights trades bias for fewer lucky rows; it costs nothing."""
        cut = None if most is None else up(positive(most, name="most"))
        if cut is not None and cut <= 1:
            raise BadInput("weights are 1 on average, so none can all be cut at 1", hint="cut at a weight such as 10")
        return cls(mechanism, tuple(tilt), cut)

    @cached_property
    def _slopes(self) -> Floats:
        return np.array([float(step * self.mechanism.step) for step in self.tilt])

    @cached_property
    def _raw(self) -> Floats:
        heights = self.mechanism.reference.coordinates @ self._slopes
        shares = np.exp(heights - heights.max())
        raw: Floats = shares * (len(shares) / shares.sum())
        return raw

    @cached_property
    def _cut(self) -> Floats:
        return self._raw if self.most is None else np.minimum(self._raw, self.most)

    @property
    def effective(self) -> float:
        """How many equally weighed rows would be worth as much: (sum w)^2 / sum w^2."""
        return float(self._cut.sum() ** 2 / (self._cut**2).sum())

    @cached_property
    def weights(self) -> Floats:
        """Refused below 30 effective rows: then a few rows would carry every estimate."""
        if self.effective < LEAST_EFFECTIVE:
            raise NotSupported(
                f"the weights rest on {self.effective:.1f} effective rows, and {LEAST_EFFECTIVE} are the least",
                hint="the tables share too little, or the noise is too large: give a public table that covers the private "
                "one, a larger epsilon or penalty, fewer columns, or cut weights with most=10",
            )
        shares: Floats = self._cut / self._cut.mean()
        return shares

    def estimate(self, values: Sequence[Any] | NDArray[Any]) -> Estimate:
        """The private average of any function, from its value at each public row, as often as wanted.

        With m the weighted mean, the noise moves it by sum_i (f_i - m) dw_i / sum w with dw_i = w_i (u_i - mean u) where w_i
        is not cut, and 0 where it is; the covariance of the noise is mean_square grain^2 on the diagonal (Taylor, first order).
        The table as a sample has the variance sum w_i^2 (f_i - m)^2 / (sum w)^2. The pull is what `_shrunk` does to the mean.
        """
        weights, raw = self.weights, self._raw
        given = np.asarray(values, dtype=np.float64)
        if given.shape != raw.shape or not np.isfinite(given).all():
            raise BadInput("a function does not have one finite value per public row", hint="give one number per row")
        mean = float((weights * given).sum() / weights.sum())
        seen = self.mechanism.reference.coordinates
        moving = raw * (self._cut == raw)
        slopes = ((given - mean) * moving) @ (seen - (raw @ seen) / raw.sum()) / self._cut.sum()
        spread = math.sqrt(self.mechanism.noise.mean_square) * float(self.mechanism.step)
        noise = spread * float(np.linalg.norm(slopes))
        pull = -float(slopes @ self._shrunk)
        sampling = float(np.sqrt(((weights * (given - mean)) ** 2).sum()) / weights.sum())
        return Estimate(mean, noise, sampling, pull)

    @cached_property
    def _shrunk(self) -> Floats:
        """How much longer the tilt would be without the penalty, to first order, if the private rows were as weighed here.

        One Newton step from the released tilt b: H^-1 2 penalty (b, c), where the intercept c is the one that makes the raw
        weights average 1, and H the second derivatives of the rest of `Objective`, private rows being public ones, weighed.
        """
        seen = self.mechanism.reference.coordinates
        heights = seen @ self._slopes
        level = math.log(float(np.exp(heights - heights.max()).mean())) + float(heights.max())
        share = 1 / (1 + np.exp(-np.clip(heights - level, -700, 700)))
        longer = np.column_stack([seen, np.full(len(seen), float(CONSTANT))])
        curvature = (longer.T * ((1 + self._raw) * share * (1 - share) / len(seen))) @ longer
        penalised = 2 * float(self.mechanism.penalty) * np.append(self._slopes, -level / float(CONSTANT))
        step: Floats = np.linalg.lstsq(curvature, penalised, rcond=None)[0]
        return step[:-1]
