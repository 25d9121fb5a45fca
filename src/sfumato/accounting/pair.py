"""A loss given by the laws themselves: a dominating pair of probability vectors for each direction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import final

from sfumato.accounting.bounded import response_rho
from sfumato.accounting.laws import Direction, Law, Points
from sfumato.accounting.loss import Loss, order_of, real, words
from sfumato.accounting.rounding import above, below, nothing
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction, up
from sfumato.core.neighbours import Neighbours

Vector = tuple[Fraction, ...]


@final
@dataclass(frozen=True)
class Pair(Loss):
    """`remove` is (law with the unit, law without it) over the same outcomes, `add` the other way round.

    Whoever builds a pair proves that it dominates: that no neighbours, in that direction, have a larger delta at any
    epsilon. Probabilities are rationals, rounded down where they are not exact; what a vector lacks to 1 is counted as
    infinite loss when it comes first, and not at all when it comes second. Without `add`, it is `remove` turned round,
    which dominates when `remove` does (Zhu, Dong and Wang 2022, Lemma 31).

    Proof: the curves are the sums of (P - e^epsilon Q)+ over the outcomes, with P's missing mass.
    """

    remove: tuple[Vector, Vector]
    add: tuple[Vector, Vector]
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    @classmethod
    def of(
        cls,
        first: Sequence[Number],
        second: Sequence[Number],
        *,
        add: tuple[Sequence[Number], Sequence[Number]] | None = None,
        about: Neighbours = Neighbours.ADD_REMOVE,
    ) -> Pair:
        """From anything that spells numbers; `add` is (`second`, `first`) unless said otherwise."""
        with_unit, without = _vector(first), _vector(second)
        turned = (without, with_unit) if add is None else (_vector(add[0]), _vector(add[1]))
        return cls((with_unit, without), turned, about)

    def __post_init__(self) -> None:
        for pair in (self.remove, self.add):
            if len(pair[0]) != len(pair[1]) or not pair[0]:
                raise BadInput(
                    "the two vectors of a pair differ in length, or are empty",
                    hint="give both laws over the same outcomes, with zeros where one has no mass",
                )
            for vector in pair:
                if min(vector) < 0 or sum(vector) > 1:
                    raise BadInput(
                        "a vector of a pair has a negative entry, or sums to more than 1",
                        hint="give probabilities, rounded down where they are not exact",
                    )

    @property
    def symmetric(self) -> bool:
        return sorted(zip(*self.remove, strict=True)) == sorted(zip(*self.add, strict=True))

    def _directed(self, direction: Direction) -> tuple[Vector, Vector]:
        return self.remove if direction is Direction.REMOVE else self.add

    @cached_property
    def _laws(self) -> dict[Direction, tuple[list[tuple[float, float]], Fraction]]:
        """Per direction: (log-ratio, mass), both rounded up, where both laws have mass; and the mass beyond."""
        laws = {}
        for direction in Direction:
            first, second = self._directed(direction)
            shared = [(p, q) for p, q in zip(first, second, strict=True) if p > 0 and q > 0]
            points = [(_log_up(p, q), up(p)) for p, q in shared]
            laws[direction] = points, 1 - sum((p for p, _ in shared), Fraction(0))
        return laws

    @property
    def failure(self) -> Fraction:
        return max(beyond for _, beyond in self._laws.values())

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        return max(self.curve(direction, at) for direction in Direction)

    def curve(self, direction: Direction, epsilon: float) -> float:
        points, beyond = self._laws[direction]
        if math.isinf(epsilon):
            return 1.0 if epsilon < 0 else up(beyond)
        inside = math.fsum(-p * math.expm1(-above(r - epsilon, ulps=1)) for r, p in points if r > epsilon)
        if inside == 0:
            return max(up(beyond), nothing(epsilon) if not points else 0.0)
        return min(1.0, up(Fraction(above(inside, ulps=8)) + beyond))

    def renyi(self, order: float) -> float:
        """Of the first law conditioned on what both share."""
        a = order_of(order)
        return max(self._renyi(direction, a) for direction in Direction)

    def _renyi(self, direction: Direction, a: float) -> float:
        points, beyond = self._laws[direction]
        if not points:
            return 0.0
        scale = below(1 - up(beyond)) if beyond else 1.0
        top = max(r for r, _ in points)
        if math.isinf(a):
            return above(top - math.log(scale))
        logs = [math.log(p) + (a - 1) * r for r, p in points]
        peak = max(logs)
        total = peak + math.log(math.fsum(math.exp(x - peak) for x in logs))
        rounding = 1e-13 * (1 + abs(peak))
        return max(0.0, above((total + rounding - a * math.log(scale)) / (a - 1)))

    def zcdp(self) -> tuple[Fraction, Fraction]:
        bound, failure = self.pure()
        return response_rho(bound), failure

    def pure(self) -> tuple[Fraction, Fraction]:
        top = max((r for points, _ in self._laws.values() for r, _ in points), default=0.0)
        return Fraction(max(top, 0.0)), self.failure

    def law(self, direction: Direction) -> Law:
        import numpy as np

        points, beyond = self._laws[direction]
        return Points(np.array([r for r, _ in points]), np.array([p for _, p in points]), up(beyond))

    def describe(self) -> Mapping[str, str]:
        text = ";".join(",".join(map(str, vector)) for vector in (*self.remove, *self.add))
        return words("pair", self.about, outcomes=len(self.remove[0]), digest=sha256(text.encode()).hexdigest())


def _vector(values: Sequence[Number]) -> Vector:
    """A float in a vector is the number it holds, to the last bit, since it was computed and not typed."""
    return tuple(
        Fraction(v) if isinstance(v, float) and math.isfinite(v) else fraction(v, name="probability") for v in values
    )


def _log_up(p: Fraction, q: Fraction) -> float:
    """At least ln(p/q)."""
    ratio = p / q
    if Fraction(1, 2) < ratio < 2:
        return above(math.log1p(up(ratio - 1))) if ratio != 1 else 0.0
    numerator, denominator = math.log(ratio.numerator), math.log(ratio.denominator)
    return above(above(numerator) - below(denominator))
