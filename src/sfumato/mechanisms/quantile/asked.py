"""Which quantiles are asked, and what all mechanisms that find them share: the lattice, the price by group, calibration."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar, Self, final

from sfumato.accounting import BoundedRange, Composed, Loss, Zcdp, calibrate, compose
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction, positive, probability, sqrt_up
from sfumato.core.neighbours import Neighbours
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.quantile.tally import Tally, checked_size
from sfumato.noise import Source

Points = tuple[int, ...]
"""One lattice point per quantile, in the order asked."""


@final
class Levels:
    """A dataclass field of increasing quantiles within [0, 1], stored as exact fractions."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> tuple[Fraction, ...]:
        if instance is None:
            raise AttributeError(self._name)  # tells dataclasses that there is no default
        levels: tuple[Fraction, ...] = instance.__dict__[self._name]
        return levels

    def __set__(self, instance: Any, value: Number | Iterable[Number]) -> None:
        instance.__dict__[self._name] = levels_of(value)


def levels_of(value: Number | Iterable[Number]) -> tuple[Fraction, ...]:
    """Quantiles as exact fractions: at least one, each within [0, 1], increasing."""
    asked = (
        [value] if isinstance(value, int | str | float | Fraction) or not isinstance(value, Iterable) else list(value)
    )
    levels = tuple(fraction(q, name="a quantile") for q in asked)
    if not levels:
        raise BadInput("no quantile was asked", hint="ask for one or more, such as 0.5")
    if min(levels) < 0 or max(levels) > 1:
        raise BadInput("a quantile lies outside [0, 1]", hint="write the median as 0.5, the first decile as 0.1")
    if len(set(levels)) < len(levels):
        raise BadInput("a quantile was asked twice", hint="ask for each quantile once")
    if list(levels) != sorted(levels):
        raise BadInput("quantiles were not asked in increasing order", hint="sort them")
    if lcm(*(q.denominator for q in levels)) > 1 << 40:
        raise BadInput("quantiles have too many digits", hint="round them to 6 digits or so")
    return levels


def wholes(levels: Sequence[Fraction]) -> tuple[tuple[int, ...], int]:
    """Numerators over the common denominator, and that denominator."""
    bottom = lcm(*(q.denominator for q in levels))
    return tuple(q.numerator * (bottom // q.denominator) for q in levels), bottom


class OnLattice(Mechanism[Any, Any]):
    """A mechanism whose input is a `Tally` on the points 0 ... size - 1, or with `by_group` a list of them, one per group.

    By group, a unit may stand in several groups, or be moved from one to another. Each step of a way from one neighbour to
    the other that adds or takes away a weight w in one group costs at most what add/remove costs at w, which is linear in
    w; steps in different groups add up like the weights. So the price by group is that of add/remove at the whole l1.
    """

    size: int
    by_group: bool

    @abstractmethod
    def price(self, reach: Sensitivity) -> Loss:
        """What one tally costs."""

    @abstractmethod
    def one(self, tally: Tally, source: Source) -> Any:
        """One draw for one tally, whose places lie on the lattice."""

    @final
    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        if not self.by_group:
            return self.price(reach)
        adding = dataclasses.replace(reach, about=Neighbours.ADD_REMOVE.protecting(reach.about.unit))
        return _about(self.price(adding), reach.about)

    @final
    def sample(self, value: Tally | Sequence[Tally], source: Source) -> Any:
        if isinstance(value, Tally) == self.by_group:
            raise BadInput(
                "a list of tallies was expected" if self.by_group else "a tally was expected",
                hint="give a Tally, or set by_group and give one Tally per group",
            )
        if isinstance(value, Tally):
            return self.one(value.inside(self.size), source)
        return [self.one(each.inside(self.size), source) for each in value]

    def _check(self) -> None:
        checked_size(self.size)
        if not isinstance(self.by_group, bool):
            raise BadInput("by_group is neither True nor False", hint="set it when there is one tally per group")


def _about(loss: Loss, about: Neighbours) -> Loss:
    parts: Any = loss.parts if isinstance(loss, Composed) else ((loss, 1),)
    return compose(dataclasses.replace(part, about=about) for part, times in parts for _ in range(times))


class ByRate(OnLattice):
    """Rounds of an exponential mechanism: each has a bounded range that grows with `rate`."""

    noise_field: ClassVar[str] = "rate"

    rate: Any

    @abstractmethod
    def rounds(self, reach: Sensitivity) -> tuple[int, Fraction]:
        """How many rounds there are, and the width of one at a rate of 1."""

    @property
    def slack(self) -> Fraction:
        """What certified errors of floats add to each round."""
        return Fraction(0)

    def price(self, reach: Sensitivity) -> Loss:
        count, width = self.rounds(reach)
        one = BoundedRange(self.rate * width + (self.slack if width else 0), reach.about)
        return one * count if count > 1 else one

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The largest rate whose loss is at most (epsilon, delta): the pure sum, or the line of zCDP where that allows more."""
        target, mass = positive(epsilon, name="epsilon"), probability(delta, name="delta")
        reach = Sensitivity.of(sensitivity)
        made: Any = cls
        unit = made(rate=1, **public)
        if unit.by_group:
            adding = dataclasses.replace(reach, about=Neighbours.ADD_REMOVE.protecting(reach.about.unit))
            count, width = unit.rounds(adding)
        else:
            count, width = unit.rounds(reach)
        if width == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public answer needs no mechanism")
        each = target / count
        if mass > 0 and count > 1:
            # count rounds of w each: count w^2 / 8 = rho, the largest whose line keeps (epsilon, delta).
            inverse = calibrate(lambda noise: Zcdp(1 / noise, about=reach.about), epsilon=target, delta=mass)
            each = max(each, 1 / sqrt_up(Fraction(count) * inverse / 8))
        if each <= unit.slack:
            raise BadInput("epsilon is too small", hint="give an epsilon above 1e-6 or so")
        result: Self = made(rate=(each - unit.slack) / width, **public)
        return result
