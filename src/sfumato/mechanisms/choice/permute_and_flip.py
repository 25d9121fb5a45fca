"""Permute and flip: never worse than the exponential mechanism at the same epsilon."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

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
from sfumato.noise import Geometric, Source, uniform_below

_WRITTEN = 24
"""Up to this many candidates the law is written down: its polynomial loses a bit per candidate."""


@final
@dataclass(frozen=True)
class PermuteAndFlip(Mechanism[Scores, int]):
    """Visit candidates in random order; accept i with probability exp(-rate * (best - score[i])), the first accepted is chosen.

    Proof: McKenna and Sheldon 2020, Theorem 1, with rate = epsilon / (2 D), where D bounds the change of every score
    (in whole grains: scores are floored to a public grain). Drawn as a race: the same choice is the highest score plus
    exponential noise of scale 1/rate (Ding and others 2021). Such noise is a geometric number of whole grains plus a
    fraction that is independent of it and equally distributed for all; scores are whole grains, so the fractions only
    decide ties, each candidate alike. That is what `sample` does; its time does not depend on how many are visited. With
    the others' noises fixed, i wins when its noise exceeds a threshold that moves by at most 2 D (D if all scores move the
    same way, `monotone`): each probability changes by a factor of at most exp(2 rate D).
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
        heights = race(steps, Geometric(1 / (self.rate * self.grain)), count, source)
        first = heights == heights.max(axis=1, keepdims=True)
        level = first.sum(axis=1)
        chosen = np.argmax(first, axis=1).astype(np.int64)
        for ties in np.unique(level[level > 1]).tolist():
            rows = np.flatnonzero(level == ties)
            turn = uniform_below(ties, rows.size, source=source)
            chosen[rows] = np.nonzero(first[rows])[1].reshape(-1, ties)[np.arange(rows.size), turn]
        return chosen.tolist()  # type: ignore[no-any-return]

    def within(self, confidence: Number) -> float:
        """How far below the best score the chosen one stays, with this confidence, whatever the scores."""
        return 0.0 if self.candidates == 1 else far_behind(self.candidates, self.rate, confidence) + up(self.grain)

    def law(self, value: Scores) -> Law | None:
        """P(i) = p_i times the integral over t in (0, 1) of the product over j != i of (1 - p_j t).

        A candidate that is visited at time t finds that each other one comes later or was refused.
        """
        if self.candidates > _WRITTEN:
            return None
        bits = 192
        steps = grains(value, candidates=self.candidates, grain=self.grain).tolist()
        best = max(steps)
        accept = [exp_bounds(self.rate * self.grain * (step - best), bits) for step in steps]
        weights: dict[Hashable, tuple[int, int]] = {}
        for i, (low, high) in enumerate(accept):
            least, most = _integral(accept[:i] + accept[i + 1 :], bits)
            weights[i] = (low * max(0, least) >> bits, -(-high * most >> bits))
        return Law(bits, weights)

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


def _integral(accept: list[tuple[int, int]], bits: int) -> tuple[int, int]:
    """Bounds of the integral of the product of (1 - p t): coefficients in intervals, signs alternating."""
    rising = [(1 << bits, 1 << bits)]
    for low, high in accept:
        shifted = [(0, 0)] + [(a * low >> bits, -(-b * high >> bits)) for a, b in rising]
        rising = [(a + c, b + d) for (a, b), (c, d) in zip([*rising, (0, 0)], shifted, strict=True)]
    signed = [(a, b) if k % 2 == 0 else (-b, -a) for k, (a, b) in enumerate(rising)]
    return (
        sum(a // (k + 1) for k, (a, _) in enumerate(signed)),
        sum(-(-b // (k + 1)) for k, (_, b) in enumerate(signed)),
    )
