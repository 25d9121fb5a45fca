"""The sum so far, after every number of a stream: a binary tree of noisy partial sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np

from sfumato.accounting import DiscreteLaplaceLoss, Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability, up
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import clamped_step, steps_of
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.mechanisms.stream.interactive import Interactive, Play
from sfumato.noise import DiscreteLaplace, Source

_LAW_BITS = 96
_CUT = 1 << 40
_WIDEST_LAW = 2


@final
@dataclass(frozen=True)
class RunningCount(Interactive[Any]):
    """After each of up to `horizon` numbers, the sum of all so far, with noise that grows like log(horizon)^1.5.

    Proof: Dwork, Naor, Pitassi and Rothblum 2010 and Chan, Shi and Song 2011, on the integers. Number t belongs to one
    block per level, of the `levels` = floor(log2(horizon)) + 1 levels; a block's sum is released once, with its own Laplace
    noise, and a reply adds up released blocks (post-processing), one for each binary digit of t. Whatever was asked because
    of earlier replies, a transcript fixes both streams of numbers, and its two probabilities differ by at most
    exp(sum over blocks of |change of its sum| / scale) <= exp(levels l1 / scale), where l1 is how far one unit moves all
    numbers together. The profile is that of one cell moved by levels l1, which dominates every split (`DiscreteLaplaceLoss`;
    blocks that end later may depend on replies, but each step of a split is dominated whatever came before). Reals are
    floored to the lattice first, number by number.
    """

    horizon: int
    scale: Positive = Positive()
    grain: Grain = Grain()

    def __post_init__(self) -> None:
        if isinstance(self.horizon, bool) or not isinstance(self.horizon, int) or self.horizon < 1:
            raise BadInput("a horizon below 1 was given", hint="say how many numbers the longest stream has")

    @property
    def levels(self) -> int:
        """In how many blocks a number takes part, at most."""
        return self.horizon.bit_length()

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = steps_of(Sensitivity.of(sensitivity), self.grain)
        return DiscreteLaplaceLoss(scale=self._noise.scale, l1=self.levels * Fraction(reach.l1 // 1), about=reach.about)

    def play(self, source: Source) -> Play:
        """`exact[i]` is the sum of a block of 2**i numbers that is still open to be merged, `noisy[i]` its release."""
        exact: list[Any] = [0] * self.levels
        noisy: list[Any] = [0] * self.levels
        reply = None
        for t in range(1, self.horizon + 1):
            value = yield reply
            level = (t & -t).bit_length() - 1
            exact[level] = sum(exact[:level], value)
            noisy[level] = exact[level] + self._noise.sample(
                source, value.shape if isinstance(value, np.ndarray) else None
            )
            exact[:level] = noisy[:level] = [0] * level
            total = sum(noisy)
            reply = total if self.grain is None else total * float(self.grain)
        return reply

    def steps(self, value: Any) -> int:
        return clamped_step(value, self.grain)

    def repeat(self, value: Sequence[Any], count: int, source: Source) -> Sequence[Any]:
        """The same play, on arrays of equal numbers."""
        play, replies = self.play(source), []
        next(play)
        for each in value:
            try:
                replies.append(play.send(np.full(count, self.steps(each), dtype=np.int64)))
            except StopIteration as end:
                replies.append(end.value)
        return list(zip(*(reply.tolist() for reply in replies), strict=True))

    def within(self, confidence: Number) -> float:
        """The half-width of the reply with the most blocks (all ones in binary), by the best Chernoff bound; any reply's."""
        most = self.levels if self.horizon + 1 == 1 << self.levels else self.levels - 1
        steps = tail_of_sum(self._noise, max(1, most), confidence)
        return up(Fraction(steps)) if self.grain is None else up((steps + self.horizon) * self.grain)

    def law(self, value: Sequence[Any]) -> Law | None:
        """The law of the first one or two replies, whose blocks are released one after the other."""
        if len(value) > min(2, self.horizon) or self._noise.scale > _WIDEST_LAW or not value:
            return None
        sums = [sum(map(self.steps, value[: i + 1])) for i in range(len(value))]
        laws = [{total + k: pair for k, pair in self._masses().items()} for total in sums]
        weights: dict[Any, tuple[int, int]] = {(): (1 << _LAW_BITS, 1 << _LAW_BITS)}
        for law in laws:
            weights = {
                (*before, self._number(after)): (a[0] * b[0] >> _LAW_BITS, -(-a[1] * b[1] >> _LAW_BITS))
                for before, a in weights.items()
                for after, b in law.items()
            }
        return Law(_LAW_BITS, weights, rest=(1 << _LAW_BITS) - sum(low for low, _ in weights.values()))

    def audit_cases(self) -> Sequence[Case[Sequence[Any]]]:
        """The first number goes up: every block that begins the stream does."""
        unit, count = self.grain or Fraction(1), min(2, self.horizon)
        left = [self._number(0)] * count
        return (Case(left, [self._number(1), *left[1:]], Sensitivity.of(unit), tight=False),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(1, 2), cls(3, 1), cls(2, "1/2", grain="1/2"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """scale = levels l1 / epsilon, exactly."""
        probability(delta, name="delta")
        unit = cls(scale=1, **public)
        steps = steps_of(Sensitivity.of(sensitivity), unit.grain).l1 // 1
        target = positive(epsilon, name="epsilon")
        if steps == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public stream needs no mechanism")
        return cls(scale=unit.levels * steps * (unit.grain or 1) / target, **public)

    @property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale / (self.grain or 1))

    def _number(self, steps: int) -> int | float:
        return steps if self.grain is None else steps * float(self.grain)

    def _masses(self) -> dict[int, tuple[int, int]]:
        masses, k = {}, 0
        while (pair := self._noise.pmf_bounds(k, _LAW_BITS))[1] > _CUT:
            masses[k] = masses[-k] = pair
            k += 1
        return masses


def tail_of_sum(noise: DiscreteLaplace, terms: int, confidence: Number) -> int:
    """A t with P(|sum of so many independent noises| > t) <= 1 - confidence; exact for one term.

    P(S >= t) <= e^(-u t) E[e^(u Z)]^terms for every 0 < u < 1/scale, E[e^(u Z)] = (1-a)^2 / ((1 - a e^u) (1 - a e^-u)).
    """
    if terms == 1:
        return noise.within(confidence)
    miss = float(1 - probability(confidence, name="confidence"))
    rate = 1 / float(noise.scale)
    best = math.inf
    for i in range(1, 1000):
        u = rate * i / 1000
        growth = 2 * math.log(-math.expm1(-rate)) - math.log(-math.expm1(u - rate)) - math.log(-math.expm1(-u - rate))
        best = min(best, (terms * growth + math.log(2 / miss)) / u)
    return math.ceil(best * (1 + 1e-12))
