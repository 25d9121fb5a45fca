"""Public noise parameters: any number a person may write comes in, an exact checked fraction is stored."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, final

from sfumato.core.exact import Number, fraction, positive
from sfumato.noise import Grid


@final
class Positive:
    """A dataclass field that takes any `Number` above 0 and stores its exact `Fraction`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Fraction:
        if instance is None:
            raise AttributeError(self._name)  # tells dataclasses that there is no default
        value: Fraction = instance.__dict__[self._name]
        return value

    def __set__(self, instance: Any, value: Number) -> None:
        instance.__dict__[self._name] = positive(value, name=self._name)


@final
class Rational:
    """A dataclass field that takes any finite `Number` and stores its exact `Fraction`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Fraction:
        if instance is None:
            raise AttributeError(self._name)  # tells dataclasses that there is no default
        value: Fraction = instance.__dict__[self._name]
        return value

    def __set__(self, instance: Any, value: Number) -> None:
        instance.__dict__[self._name] = fraction(value, name=self._name)


@final
class Grain:
    """A dataclass field for the step of a lattice: None for whole numbers, else a power of two such as 0.25."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Fraction | None:
        value: Fraction | None = None if instance is None else instance.__dict__[self._name]
        return value

    def __set__(self, instance: Any, value: Number | None) -> None:
        grain = None if value is None else Grid(positive(value, name=self._name)).grain
        instance.__dict__[self._name] = grain


def power_below(value: Fraction) -> Fraction:
    """The largest power of two not above a positive number: a grain that fits."""
    power = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length())
    return power if power <= value else power / 2
