"""The sum so far, after every number of a stream: the square root of the summing matrix, with Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from sfumato.accounting import DiscreteGaussianLoss, Loss, Zcdp
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import clamped_step, law_on_lattice
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.stream.interactive import Interactive, Play
from sfumato.noise import DiscreteGaussian, Source


@final
@dataclass(frozen=True)
class FactoredCount(Interactive[float]):
    """After each of up to `horizon` whole numbers, the sum of all so far: Gaussian noise of error about sigma ln(horizon)/pi.

    Proof: Henzinger, Upadhyay and Upadhyay 2023 (Fichtenberger, Henzinger and Upadhyay 2023). The lower triangle of ones is
    the square of the Toeplitz matrix C of f_k = binom(2k, k) / 4^k. Here C is what is left of it after each f_k was rounded
    to a whole multiple of 2^-digits: C x is a vector of whole numbers of such steps, and y = C x + z, z discrete Gaussian of
    parameter sigma, is all that replies are computed from (post-processing by the inverse of the rounded C, in floats).
    One number moved by d moves y by d times a column of C: l2 <= l1 N, where N^2 is the sum of the squares of the first,
    longest column, in whole numbers. Canonne, Kamath and Steinke 2020, Theorem 4: rho = l1^2 N^2 / (2 sigma^2). If one unit
    moves one number, then which number that is may depend on replies: until then both laws agree, and from then on the move
    is a fixed vector, so the curve of `DiscreteGaussianLoss` holds on average over what came before. If it moves several,
    chosen as replies come, the sum of squares still stays below the bound, and rho is all that is promised (Feldman and
    Zrnic 2021, Theorem 3.1; Denisov, McMahan, Rush, Smith and Thakurta 2022 for the continuous case).
    """

    noise_field: ClassVar[str] = "sigma"

    horizon: int
    sigma: Positive = Positive()
    digits: int = 20

    def __post_init__(self) -> None:
        if isinstance(self.horizon, bool) or not isinstance(self.horizon, int) or self.horizon < 1:
            raise BadInput("a horizon below 1 was given", hint="say how many numbers the longest stream has")
        if not 0 <= self.digits <= 30:
            raise BadInput("the digits of the strategy are not between 0 and 30", hint="leave them out: 20 is fine")

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        moved = Fraction(reach.l1 // 1)
        square = moved * moved * sum(c * c for c in self._strategy)
        if moved and reach.cells != 1:
            return Zcdp(square / (2 * self._noise.variance), Fraction(0), reach.about)
        l1 = moved * sum(self._strategy)
        moves = Sensitivity(l1, moved * self._strategy[0], square, reach.about, self.horizon)
        return DiscreteGaussianLoss(self._noise.variance, moves)

    def play(self, source: Source) -> Play:
        numbers: list[Any] = []
        seen: list[Any] = []
        reply = None
        for _ in range(self.horizon):
            value = yield reply
            numbers.append(value)
            noise = self._noise.sample(source, value.shape if isinstance(value, np.ndarray) else None)
            seen.append(sum(c * x for c, x in zip(self._strategy, reversed(numbers), strict=False)) + noise)
            reply = sum(h * y for h, y in zip(self._decoder, reversed(seen), strict=False))
        return reply

    def steps(self, value: Any) -> int:
        return clamped_step(value, None)

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
        """The half-width of the last reply: discrete Gaussian noise has Gaussian tails at most (CKS 2020, Lemma 33)."""
        miss = float(1 - probability(confidence, name="confidence"))
        row = math.sqrt(math.fsum(h * h for h in self._decoder) * float(self._noise.variance))
        return row * math.sqrt(2 * math.log(2 / miss)) * (1 + 1e-12)

    def law(self, value: Sequence[Any]) -> Law | None:
        """The law of the first reply."""
        law = law_on_lattice(self._noise, value[0], grain=Fraction(1, 1 << self.digits)) if len(value) == 1 else None
        return None if law is None else Law(law.bits, {(key,): pair for key, pair in law.weights.items()}, law.rest)

    def audit_cases(self) -> Sequence[Case[Sequence[Any]]]:
        return (Case([0], [1], Sensitivity.of(1), tight=self.horizon == 1),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(1, 1, 1), cls(1, 2, 0))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        if fraction(delta, name="delta") == 0:
            raise BadInput("Gaussian noise cannot promise delta 0", hint="give a delta such as '1e-6', or RunningCount")
        return super().calibrate(sensitivity=sensitivity, epsilon=epsilon, delta=delta, **public)

    @cached_property
    def _noise(self) -> DiscreteGaussian:
        return DiscreteGaussian((self.sigma * (1 << self.digits)) ** 2)

    @cached_property
    def _strategy(self) -> list[int]:
        """The first column of C in steps of 2^-digits: f_0 = 1, f_k = f_(k-1) (2k - 1)/(2k), rounded."""
        column, whole = [], 1 << (self.digits + 64)
        for k in range(1, self.horizon + 1):
            column.append((whole + (1 << 63)) >> 64)
            whole = whole * (2 * k - 1) // (2 * k)
        return column

    @cached_property
    def _decoder(self) -> list[float]:
        """The first column of (lower triangle of ones) C^-1: h with sum_j c_j h_(k-j) = 1 for every k."""
        c = np.array(self._strategy, dtype=np.float64)
        h = np.empty(self.horizon)
        for k in range(self.horizon):
            h[k] = (1.0 - float(c[1 : k + 1] @ h[:k][::-1])) / c[0]
        return h.tolist()
