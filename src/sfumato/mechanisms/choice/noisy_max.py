"""Noisy max: add one-sided exponential noise to every score and name the highest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Loss, Pure
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, up
from sfumato.core.interval import exp_bounds
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.choice.race import behind, far_behind, race
from sfumato.mechanisms.choice.scores import Scores, grains, grains_moved
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Geometric, Source

_LONGEST = 64
"""The law is written down up to this scale of the noise in grains."""


@final
@dataclass(frozen=True)
class NoisyMax(Mechanism[Scores, int]):
    """Add Z >= 0 to each score, P(Z = k grains) proportional to exp(-rate k grain), and name the highest; the first of equals.

    Proof: Ding and others 2021 (The Permute-and-Flip Mechanism Is Identical to Report-Noisy-Max with Exponential
    Noise) for the continuous law; on the lattice likewise. Fix
    the noises of the others: i wins exactly when its own noise is at least some whole t, which has probability
    exp(-rate grain max(t, 0)). If every score moves by at most D grains, t grows by at most 2 D (the others up, i down), and
    by D when all scores can only move the same way (`monotone`). So each probability falls by exp(-2 rate grain D) at most:
    epsilon = 2 rate D. That who is first wins a tie is public. Noise beyond 64 bits is continued exactly, not cut:
    what exceeds a bound is distributed as a fresh draw.
    """

    noise_field: ClassVar[str] = "rate"

    candidates: int
    rate: Positive = Positive()
    grain: Positive = Positive()
    monotone: bool = False

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise BadInput("there is no candidate to choose from", hint="give the public list of candidates")

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        one_way = self.rate * self.grain * grains_moved(reach, self.grain)
        return Pure(one_way if self.monotone else 2 * one_way, reach.about)

    def sample(self, value: Scores, source: Source) -> int:
        return int(self.repeat(value, 1, source)[0])

    def repeat(self, value: Scores, count: int, source: Source) -> Sequence[int]:
        steps = grains(value, candidates=self.candidates, grain=self.grain)
        winners: NDArray[np.intp] = np.argmax(race(steps, self._noise, count, source), axis=1)
        return winners.astype(np.int64)  # type: ignore[return-value]

    def within(self, confidence: Number) -> float:
        """How far below the best score the named one stays, with this confidence, whatever the scores.

        The noise in grains is that of `PermuteAndFlip`, rounded down: at most one grain is lost to ties, one to flooring.
        """
        if self.candidates == 1:
            return 0.0
        return far_behind(self.candidates, self.rate, confidence) + up(2 * self.grain)

    def law(self, value: Scores) -> Law | None:
        if self._noise.scale > _LONGEST:
            return None
        bits = 160
        steps = grains(value, candidates=self.candidates, grain=self.grain).tolist()
        one, best, lowest = 1 << bits, max(steps), min(steps)
        last = best + math.ceil(self._noise.scale * bits)
        tails = [exp_bounds(-k / self._noise.scale, bits) for k in range(last - lowest + 1)]
        base_low, base_high = one - tails[1][1], one - tails[1][0]
        chances = {i: [0, 0] for i in range(self.candidates)}
        for height in range(best, last):
            for i, step in enumerate(steps):
                low, high = tails[height - step]
                low, high = low * base_low >> bits, -(-high * base_high >> bits)
                for j, other in enumerate(steps):
                    if j != i:
                        least, most = tails[height - other + (j > i)]
                        low, high = low * (one - most) >> bits, -(-high * (one - least) >> bits)
                chances[i][0] += low
                chances[i][1] += high
        rest = sum(tails[last - step][1] for step in steps)
        return Law(bits, {i: (low, high + rest) for i, (low, high) in chances.items()})

    def audit_cases(self) -> Sequence[Case[Scores]]:
        """The first candidate catches up with all others: 2 rate D is reached exactly."""
        return behind(self.candidates, self.grain, monotone=self.monotone)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(2, "1/2", 1), cls(5, 1, "1/4"), cls(3, 1, 1, monotone=True))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The largest rate whose loss is at most epsilon; it is pure, so delta is not needed."""
        grain = positive(public.pop("grain", 1), name="grain")
        if Sensitivity.of(sensitivity).linf == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public choice needs no mechanism")
        one = cls(rate=1, grain=grain, **public).loss(sensitivity).pure()
        assert one is not None
        return cls(rate=positive(epsilon, name="epsilon") / one[0], grain=grain, **public)

    @property
    def _noise(self) -> Geometric:
        return Geometric(Fraction(1) / (self.rate * self.grain))
