"""The exponential mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

from sfumato.accounting import BoundedRange, Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability, up
from sfumato.core.interval import exp_bounds
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.choice.scores import Scores, grains, grains_moved
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, categorical


@final
@dataclass(frozen=True)
class Exponential(Mechanism[Scores, int]):
    """Choose candidate i with probability proportional to exp(rate * score[i]); a high score is a good one.

    Proof: McSherry and Talwar 2007, Theorem 6. If each score moves by at most D, the weight of i changes by at most
    exp(rate D) and so does the sum of all weights, the other way at worst: epsilon = 2 rate D. The log-ratios of all outputs
    lie in one interval of that length, which is the stronger bounded-range promise (Durfee and Rogers 2019; Cesar and
    Rogers 2021, Lemma 3.2: rho = epsilon^2 / 8). When all scores can only move the same way between neighbours
    (`monotone`: counts under add/remove), the interval has length rate D. Scores are floored to a public grain first, so
    that D is ceil(D / grain) grains. The candidates are public and fixed: one that is absent from the data has a score too.
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
        return BoundedRange(one_way if self.monotone else 2 * one_way, reach.about)

    def sample(self, value: Scores, source: Source) -> int:
        return int(self.repeat(value, 1, source)[0])

    def repeat(self, value: Scores, count: int, source: Source) -> Sequence[int]:
        steps = grains(value, candidates=self.candidates, grain=self.grain)
        return categorical(steps, rate=self.rate * self.grain, size=count, source=source)  # type: ignore[return-value]

    def within(self, confidence: Number) -> float:
        """How far below the best score the chosen one stays, with this confidence, whatever the scores.

        The worst scores put every other candidate exactly t below the best; then P(miss) is w / (1 + w) with
        w = (candidates - 1) exp(-rate t).
        """
        sure = float(probability(confidence, name="confidence"))
        if self.candidates == 1:
            return 0.0
        gap = math.log((self.candidates - 1) * sure / (1 - sure)) / float(self.rate) if sure > 0 else 0.0
        return max(0.0, math.nextafter(gap * (1 + 1e-12), math.inf)) + up(self.grain)

    def law(self, value: Scores) -> Law:
        bits = 160
        steps = grains(value, candidates=self.candidates, grain=self.grain).tolist()
        best = max(steps)
        weights = [exp_bounds(self.rate * self.grain * (step - best), bits) for step in steps]
        least, most = sum(low for low, _ in weights), sum(high for _, high in weights)
        return Law(
            bits,
            {i: ((low << bits) // most, -((-high << bits) // least)) for i, (low, high) in enumerate(weights)},
        )

    def audit_cases(self) -> Sequence[Case[Scores]]:
        """A candidate that is seldom chosen, and moves up while all others move down: 2 rate D is reached in the limit."""
        return tuple(self._far(times) for times in (2, 12))

    def _far(self, times: int) -> Case[Scores]:
        others = self.candidates - 1
        far = math.ceil(Fraction(times) / (self.rate * self.grain)) * self.grain
        down = 0 if self.monotone else -self.grain
        left = [float(-far)] + [0.0] * others
        right = [float(-far + self.grain)] + [float(down)] * others
        return Case(left, right, Sensitivity.of(self.grain), tight=False)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(2, "1/2", 1), cls(5, 2, "1/4"), cls(3, 1, 1, monotone=True))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The largest rate whose loss is at most epsilon; it is pure, so delta is not needed."""
        grain = positive(public.pop("grain", 1), name="grain")
        one = cls(rate=1, grain=grain, **public).loss(sensitivity).pure()
        assert one is not None
        if one[0] == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public choice needs no mechanism")
        return cls(rate=positive(epsilon, name="epsilon") / one[0], grain=grain, **public)
