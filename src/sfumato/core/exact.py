"""Numbers as people write them, and floats rounded in a known direction."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from sfumato.core.errors import BadInput

Number = int | str | float | Decimal | Fraction
"""What a caller may write for an epsilon, a scale or a sensitivity. A float means the decimal that it prints."""


def fraction(value: Number, *, name: str) -> Fraction:
    """The exact rational that `value` spells: `0.1` and `"0.1"` are one tenth, not the nearest binary float."""
    wanted = BadInput(
        f"{name} is not a finite number", hint=f"write {name} as 2, '0.5', Fraction(1, 3) or Decimal('0.1')"
    )
    if isinstance(value, bool):
        raise wanted
    try:
        if isinstance(value, Fraction):
            return value
        if isinstance(value, int | str | Decimal):
            return Fraction(value)
        return Fraction(repr(float(value)))
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise wanted from None


def positive(value: Number, *, name: str) -> Fraction:
    """`fraction`, and above zero."""
    result = fraction(value, name=name)
    if result <= 0:
        raise BadInput(f"{name} must be above 0", hint=f"give a positive {name}")
    return result


def non_negative(value: Number, *, name: str) -> Fraction:
    """`fraction`, and not below zero."""
    result = fraction(value, name=name)
    if result < 0:
        raise BadInput(f"{name} must not be negative", hint=f"give a {name} of 0 or more")
    return result


def probability(value: Number, *, name: str) -> Fraction:
    """`fraction`, within [0, 1)."""
    result = fraction(value, name=name)
    if not 0 <= result < 1:
        usual = "'0.95'" if name == "confidence" else "'1e-6'"
        raise BadInput(f"{name} must be at least 0 and below 1", hint=f"a usual {name} is {usual}")
    return result


def up(value: Fraction) -> float:
    """The smallest float that is not below `value`."""
    return _outward(value, math.inf)


def down(value: Fraction) -> float:
    """The largest float that is not above `value`."""
    return _outward(value, -math.inf)


def _outward(value: Fraction, towards: float) -> float:
    try:
        nearest = float(value)
    except OverflowError:
        edge = math.inf if value > 0 else -math.inf
        return edge if edge == towards else math.nextafter(edge, towards)
    exact = Fraction(nearest)
    wrong_side = exact < value if towards > 0 else exact > value
    return math.nextafter(nearest, towards) if wrong_side else nearest


def sqrt_up(value: Fraction, *, bits: int = 64) -> Fraction:
    """A rational not below the square root of `value`, within a relative 2**-bits of it."""
    if value <= 0:
        if value == 0:
            return Fraction(0)
        raise BadInput("the square root of a negative number was asked", hint="give a number of 0 or more")
    shift = max(0, bits + (value.denominator.bit_length() - value.numerator.bit_length()) // 2 + 1)
    scaled = value.numerator << (2 * shift)
    floor = math.isqrt(scaled // value.denominator)
    exact = floor * floor * value.denominator == scaled
    return Fraction(floor if exact else floor + 1, 1 << shift)


_SHORT, _ROUNDED = 12, 6
"""Significant digits: a decimal of at most _SHORT is written whole, anything else is rounded to _ROUNDED."""


def decimal_text(value: Fraction, *, rounding: Literal["up", "down"] = "up") -> str:
    """`value` as people write it: 0.1, 2, 1e-6. What is no short decimal is rounded: a cost up, what is left down."""
    if value == 0:
        return "0"
    exponent = _exponent(abs(value))
    digits = abs(value) * Fraction(10) ** (_SHORT - 1 - exponent)
    step = 10 ** (_SHORT - _ROUNDED)
    if value.denominator == 1 and exponent < _SHORT + 3:
        return str(value.numerator)
    if digits.denominator == 1:
        whole = digits.numerator
    elif (rounding == "up") == (value > 0):
        whole = math.ceil(digits / step) * step
    else:
        whole = math.floor(digits / step) * step
    return _spelled(whole if value > 0 else -whole, exponent - _SHORT + 1)


def _exponent(value: Fraction) -> int:
    """The e for which 10**e <= value < 10**(e + 1)."""
    e = len(str(value.numerator)) - len(str(value.denominator))
    return e if Fraction(10) ** e <= value else e - 1


def _spelled(whole: int, exponent: int) -> str:
    number = (Decimal(whole).scaleb(exponent)).normalize()
    leading = number.adjusted()
    if -5 < leading < _SHORT + 3:
        return format(number, "f")
    sign, figures, _ = number.as_tuple()
    rest = "".join(map(str, figures[1:]))
    return f"{'-' if sign else ''}{figures[0]}{'.' + rest if rest else ''}e{leading}"
