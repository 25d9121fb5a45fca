"""Noise with a hard limit on every one of many adaptive answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, final

import numpy as np

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number import answers
from sfumato.mechanisms.number.bell import FAMILIES, Family, bell
from sfumato.mechanisms.number.lattice import half_width
from sfumato.mechanisms.parameter import Grain, Positive
from sfumato.mechanisms.stream.interactive import Interactive, Play
from sfumato.noise import Source, Symmetric


@final
@dataclass(frozen=True)
class BoundedNoise(Interactive[Any]):
    """Add to each of `queries` numbers, chosen as one goes, independent noise that is less than `radius` with certainty.

    A number may be a vector: each of its cells counts as a query. A sensitivity speaks of one cell (its `linf`): all cells
    may move by that much.

    Proof: Dagan and Kur 2022 (COLT) for the order of the radius, C sqrt(queries ln(1/delta)) / epsilon per unit of
    sensitivity; the constant is not theirs but computed. The noise is log-concave on the lattice, so among all moves of one
    cell by at most s steps the move by s has the largest delta at every epsilon (`ShiftedLoss`), and the adaptive composition
    of such pairs is dominated by their product (Zhu, Dong and Wang 2022, Theorem 10), whose curve numeric composition bounds
    from above. The weights are the law that is drawn, not an approximation of it.
    """

    noise_field: ClassVar[str] = "radius"

    queries: int
    radius: Positive = Positive()
    family: Family = "power2"
    grain: Grain = Grain()

    def __post_init__(self) -> None:
        if isinstance(self.queries, bool) or not isinstance(self.queries, int) or self.queries < 1:
            raise BadInput("a number of queries below 1 was given", hint="say how many numbers will be asked, at most")
        if self.family not in FAMILIES:
            raise BadInput("an unknown family of densities was given", hint=f"give one of {', '.join(FAMILIES)}")

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        return answers.moved(self._noise, Sensitivity.of(sensitivity), self.grain) * self.queries

    def play(self, source: Source) -> Play:
        return answers.play(
            lambda _, count: [(self._noise, count)], cells=self.queries, grain=self.grain, source=source
        )

    def steps(self, value: Any) -> Any:
        return answers.read(value, self.grain)

    def within(self, confidence: Number) -> float:
        return half_width(self._noise.within(confidence), self.grain)

    def within_all(self, confidence: Number) -> float:
        """The half-width that the errors of all the answers respect together, by a union bound; never above the limit."""
        miss = 1 - probability(confidence, name="confidence")
        return half_width(self._noise.within(1 - miss / self.queries), self.grain)

    @property
    def limit(self) -> float:
        """What no error ever exceeds."""
        return half_width(self._noise.reach, self.grain)

    def law(self, value: Sequence[Any]) -> Law | None:
        return answers.law_of_one(self._noise, value, self.grain)

    def repeat(self, value: Sequence[Any], count: int, source: Source) -> Sequence[Any]:
        if len(value) != 1 or isinstance(value[0], np.ndarray):
            return super().repeat(value, count, source)
        return answers.many_of_one(self._noise, self.steps(value[0]), count, self.grain, source)

    def audit_cases(self) -> Sequence[Case[Sequence[Any]]]:
        """One number of one query; the laws of more are products."""
        unit = self.grain or Fraction(1)
        return (Case([0], [1 if self.grain is None else float(unit)], Sensitivity.of(unit), tight=self.queries == 1),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(1, 4), cls(1, 4, "double"), cls(1, 2, "power1", grain="1/2"))

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The least radius, to a ten-thousandth, for which the computed delta of all queries together is within delta."""
        reach = Sensitivity.of(sensitivity)
        unit = cls(radius=1, **public)
        at, mass = answers.promise(epsilon, delta, reach, cells=unit.queries)
        start = max(float(reach.linf) * 5 * math.sqrt(unit.queries * -math.log(mass)) / at, 2 * float(unit.grain or 1))

        def loss_of(radius: Fraction) -> Loss:
            return cls(radius=radius, **public).loss(reach)

        return cls(radius=answers.least_radius(loss_of, epsilon=at, start=start, delta=mass), **public)

    @cached_property
    def _noise(self) -> Symmetric:
        return Symmetric(bell(self.family, self.radius / (self.grain or 1)))
