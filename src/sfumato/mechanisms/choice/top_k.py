"""The k best of several public candidates, in order, in one shot."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np

from sfumato.accounting import BoundedRange, Loss, Zcdp, calibrate
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability, sqrt_up, up
from sfumato.core.interval import exp_bounds
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.choice.exponential import Exponential
from sfumato.mechanisms.choice.scores import Scores, grains, grains_moved
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import Source, categorical

_WRITTEN = 2000
"""The law is written down for up to this many orders."""

_AHEAD = 3
"""How many draws per place are made at once."""


@final
@dataclass(frozen=True)
class TopK(Mechanism[Scores, tuple[int, ...]]):
    """Choose `k` candidates one after the other, each with probability proportional to exp(rate * score) among those left.

    Proof: the same law as the k highest of scores with Gumbel noise of scale 1/rate, in their order (Durfee and Rogers
    2019): one shot. As k rounds of the exponential mechanism it composes adaptively, the candidates left being a
    function of what was already said; each round has bounded range 2 rate D (rate D if all scores can only move the same
    way, `monotone`), so it costs k times that as a pure epsilon and k epsilon^2/8 under zCDP (Cesar and Rogers 2021,
    Lemma 3.2), where epsilon is that of one round. The exact weights of each round are drawn from, not float Gumbel noise.
    """

    noise_field: ClassVar[str] = "rate"

    candidates: int
    k: int
    rate: Positive = Positive()
    grain: Positive = Positive()
    monotone: bool = False

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise BadInput("there is no candidate to choose from", hint="give the public list of candidates")
        if not 1 <= self.k <= self.candidates:
            raise BadInput(
                f"{self.k} were to be chosen among {self.candidates} candidates",
                hint="choose at least one, and no more than there are",
            )

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        one_way = self.rate * self.grain * grains_moved(reach, self.grain)
        one = BoundedRange(one_way if self.monotone else 2 * one_way, reach.about)
        return one * self.k if self.k > 1 else one

    def sample(self, value: Scores, source: Source) -> tuple[int, ...]:
        """Drawn with replacement, repetitions skipped: what comes next is a draw among those left, whatever was skipped.

        When a block of draws holds too few candidates, the rest are drawn from those left, round by round.
        """
        steps = grains(value, candidates=self.candidates, grain=self.grain)
        rate = self.rate * self.grain
        block = categorical(steps, rate=rate, size=_AHEAD * self.k, source=source).tolist() if self.k > 1 else []
        chosen = list(dict.fromkeys(block))[: self.k]
        left = np.delete(np.arange(self.candidates), chosen)
        while len(chosen) < self.k:
            pick = categorical(steps[left], rate=rate, source=source)
            chosen.append(int(left[pick]))
            left = np.delete(left, pick)
        return tuple(chosen)

    def repeat(self, value: Scores, count: int, source: Source) -> Sequence[tuple[int, ...]]:
        """Draws that have said the same so far have the same candidates left, and are drawn on together."""
        steps = grains(value, candidates=self.candidates, grain=self.grain)
        chosen = np.empty((count, self.k), dtype=np.int64)
        open_ = [(np.arange(count), np.arange(self.candidates))]
        for turn in range(self.k):
            after = []
            for rows, left in open_:
                picks = categorical(steps[left], rate=self.rate * self.grain, size=rows.size, source=source)
                chosen[rows, turn] = left[picks]
                for pick in np.unique(picks).tolist():
                    after.append((rows[picks == pick], np.delete(left, pick)))
            open_ = after
        return [tuple(row) for row in chosen.tolist()]

    def within(self, confidence: Number) -> float:
        """How far each chosen one may stay below the best that was left in its turn, with this confidence for all turns.

        Each turn misses with probability at most (1 - confidence)/k.
        """
        miss = (1 - probability(confidence, name="confidence")) / self.k
        return Exponential(self.candidates, self.rate, self.grain).within(1 - miss) if miss < 1 else up(self.grain)

    def law(self, value: Scores) -> Law | None:
        if math.perm(self.candidates, self.k) > _WRITTEN:
            return None
        bits = 160
        steps = grains(value, candidates=self.candidates, grain=self.grain).tolist()
        best = max(steps)
        weights = [exp_bounds(self.rate * self.grain * (step - best), 2 * bits) for step in steps]
        result: dict[Hashable, tuple[int, int]] = {}
        for order in itertools.permutations(range(self.candidates), self.k):
            low = high = 1 << bits
            for turn, i in enumerate(order):
                left = [weights[j] for j in range(self.candidates) if j not in order[:turn]]
                low = low * weights[i][0] // sum(most for _, most in left)
                high = -(-high * weights[i][1] // sum(least for least, _ in left))
            result[order] = (low, high)
        return Law(bits, result)

    def audit_cases(self) -> Sequence[Case[Scores]]:
        """The last k candidates are behind and catch up, or far behind, where the stated loss is nearly reached."""
        return tuple(self._far(times) for times in (0, 2, 12))

    def _far(self, times: int) -> Case[Scores]:
        others = self.candidates - self.k
        far = -float(math.ceil(times / (self.rate * self.grain)) * self.grain)
        down = 0.0 if self.monotone else -float(self.grain)
        left = [far] * self.k + [0.0] * others
        right = [far + float(self.grain)] * self.k + [down] * others
        return Case(left, right, Sensitivity.of(self.grain), tight=False)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(9, 2, "1/4", 1), cls(9, 2, 2, "1/4", monotone=True))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The largest rate whose loss is at most (epsilon, delta): the pure sum, or the line of zCDP when that allows more."""
        target, mass = positive(epsilon, name="epsilon"), probability(delta, name="delta")
        reach = Sensitivity.of(sensitivity)
        grain = positive(public.pop("grain", 1), name="grain")
        if reach.linf == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public choice needs no mechanism")
        one = cls(rate=1, grain=grain, **public).loss(reach).pure()
        assert one is not None
        best = target / one[0]
        if mass > 0:
            # k rounds of e each: k e^2 / 8 = rho, the largest whose line keeps (epsilon, delta).
            inverse = calibrate(lambda noise: Zcdp(1 / noise, about=reach.about), epsilon=target, delta=mass)
            best = max(best, public["k"] / (one[0] * sqrt_up(Fraction(public["k"]) * inverse / 8)))
        return cls(rate=best, grain=grain, **public)
