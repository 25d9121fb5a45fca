"""Noise with a hard limit for a number of questions that nobody knows beforehand."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from sfumato.accounting import Loss, compose
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number import answers
from sfumato.mechanisms.number.bell import FAMILIES, Family, bell
from sfumato.mechanisms.number.lattice import half_width
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.mechanisms.stream.interactive import Interactive, Play
from sfumato.noise import Source, Symmetric

_FIRST = 100
_EPOCH = 4


@final
@dataclass(frozen=True)
class OnlineBoundedNoise(Interactive[Any]):
    """Answer numbers as they come, up to a distant `horizon`, with noise whose limit starts at `radius` and grows slowly.

    The i-th answer is off by less than radius g(i), g(i) = sqrt(1 + i/100) (1 + ln(1 + i/100)), i rounded down to the start
    of its epoch (an epoch is a quarter longer than the one before). Early answers are better than those of `BoundedNoise`
    for all of the horizon. Question horizon + 1 is refused. A number may be a vector: its cells count.

    Proof: the radii are fixed beforehand, so whatever is asked, the answers are an adaptive composition of log-concave
    noises moved by at most s steps each, dominated by the product of their pairs (`BoundedNoise`), which numeric composition
    bounds from above for the whole horizon; stopping earlier releases less (post-processing). That the radius need not grow
    with the horizon: the sum of 1/g(i)^2 over all i is at most 100 times the integral of dx / (x (1 + ln x)^2) from 1, plus
    1, which is finite; with g(i) = sqrt(i) it would be the harmonic series.
    """

    noise_field: ClassVar[str] = "radius"

    horizon: int
    radius: Positive = Positive()
    family: Family = "power2"
    grain: Grain = Grain()

    def __post_init__(self) -> None:
        if isinstance(self.horizon, bool) or not isinstance(self.horizon, int) or self.horizon < 1:
            raise BadInput("a horizon below 1 was given", hint="say how many numbers may be asked in the longest run")
        if self.family not in FAMILIES:
            raise BadInput("an unknown family of densities was given", hint=f"give one of {', '.join(FAMILIES)}")

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        ends = [*self._starts[1:], self.horizon]
        lengths = [end - start for start, end in zip(self._starts, ends, strict=True)]
        return compose(
            answers.moved(noise, reach, self.grain) * length
            for noise, length in zip(self._noises, lengths, strict=True)
        )

    def play(self, source: Source) -> Play:
        return answers.play(self._schedule, cells=self.horizon, grain=self.grain, source=source)

    def steps(self, value: Any) -> Any:
        return answers.read(value, self.grain)

    def within(self, confidence: Number, *, cell: int | None = None) -> float:
        """The half-width for the `cell`-th number (from 1); for the last one when it is not said."""
        return half_width(self._noise_of(cell).within(confidence), self.grain)

    def limit(self, cell: int | None = None) -> float:
        """What the error of the `cell`-th number (from 1) never exceeds."""
        return half_width(self._noise_of(cell).reach, self.grain)

    def law(self, value: Sequence[Any]) -> Law | None:
        return answers.law_of_one(self._noises[0], value, self.grain)

    def repeat(self, value: Sequence[Any], count: int, source: Source) -> Sequence[Any]:
        if len(value) != 1 or isinstance(value[0], np.ndarray):
            return super().repeat(value, count, source)
        return answers.many_of_one(self._noises[0], self.steps(value[0]), count, self.grain, source)

    def audit_cases(self) -> Sequence[Case[Sequence[Any]]]:
        """One number, where the noise is least."""
        unit = self.grain or Fraction(1)
        return (Case([0], [1 if self.grain is None else float(unit)], Sensitivity.of(unit), tight=self.horizon == 1),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(1, 4),)

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The least first radius, to a thousandth, for which the computed delta of the whole horizon is within delta."""
        reach = Sensitivity.of(sensitivity)
        unit = cls(radius=1, **public)
        at, mass = answers.promise(epsilon, delta, reach, cells=unit.horizon)
        cells = min(unit.horizon, _FIRST)
        start = max(float(reach.linf) * 4.6 * math.sqrt(cells * -math.log(mass)) / at, 2 * float(unit.grain or 1))

        def loss_of(radius: Fraction) -> Loss:
            return cls(radius=radius, **public).loss(reach)

        return cls(radius=answers.least_radius(loss_of, epsilon=at, start=start, delta=mass, close=1e-3), **public)

    @cached_property
    def _starts(self) -> list[int]:
        """How many cells come before each epoch."""
        starts = [0]
        while (following := starts[-1] + (_FIRST + starts[-1]) // _EPOCH) < self.horizon:
            starts.append(following)
        return starts

    @cached_property
    def _noises(self) -> list[Symmetric]:
        first = self.radius / (self.grain or 1)
        return [Symmetric(bell(self.family, first * _growth(start))) for start in self._starts]

    def _noise_of(self, cell: int | None) -> Symmetric:
        number = self.horizon if cell is None else cell
        if not 1 <= number <= self.horizon:
            raise BadInput("a number beyond the horizon was meant", hint="count from 1 to the horizon")
        return self._noises[bisect_right(self._starts, number - 1) - 1]

    def _schedule(self, first: int, count: int) -> Iterator[tuple[Symmetric, int]]:
        while count:
            epoch = bisect_right(self._starts, first) - 1
            end = self._starts[epoch + 1] if epoch + 1 < len(self._starts) else self.horizon
            taken = min(count, end - first)
            yield self._noises[epoch], taken
            first, count = first + taken, count - taken


def _growth(before: int) -> Fraction:
    """g(i) to a 4096th: a public number, of which only the law that it makes is priced."""
    ratio = 1 + before / _FIRST
    return Fraction(round(math.sqrt(ratio) * (1 + math.log(ratio)) * 4096), 4096)
