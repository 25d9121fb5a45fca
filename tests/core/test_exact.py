"""Numbers are what people wrote, and roundings go where they say."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import BadInput
from sfumato.core.exact import decimal_text, down, fraction, positive, probability, sqrt_up, up


@pytest.mark.parametrize("spelling", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), "1/10", "1e-1"])
def test_a_tenth_is_a_tenth(spelling: Any) -> None:
    assert fraction(spelling, name="epsilon") == Fraction(1, 10)


@pytest.mark.parametrize(
    "bad", ["nan", "inf", float("nan"), float("inf"), float("-inf"), "", "one", None, True, [], Decimal("NaN"), "1/0"]
)
def test_what_is_not_a_number_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match="epsilon is not a finite number"):
        fraction(bad, name="epsilon")


@pytest.mark.parametrize("bad", [0, -1, "-0.5"])
def test_positive_means_above_zero(bad: Any) -> None:
    with pytest.raises(BadInput, match="must be above 0"):
        positive(bad, name="scale")


@pytest.mark.parametrize("bad", [1, 1.5, -1e-9, "2"])
def test_delta_lies_below_one(bad: Any) -> None:
    with pytest.raises(BadInput, match="at least 0 and below 1"):
        probability(bad, name="delta")


def test_a_confidence_is_not_advised_to_be_a_delta() -> None:
    with pytest.raises(BadInput, match=r"below 1 -> a usual confidence is '0\.95'"):
        probability(2, name="confidence")


rationals = st.fractions(min_value=-(10**30), max_value=10**30, max_denominator=10**30)


@given(rationals)
def test_rounding_is_outward_and_tight(value: Fraction) -> None:
    assert Fraction(down(value)) <= value <= Fraction(up(value))
    assert up(value) - down(value) <= abs(float(value)) * 2.3e-16 + 5e-324


def test_rounding_beyond_the_largest_float() -> None:
    huge = Fraction(10**400)
    assert (down(huge), up(huge)) == (1.7976931348623157e308, float("inf"))
    assert (down(-huge), up(-huge)) == (float("-inf"), -1.7976931348623157e308)


@given(st.fractions(min_value=0, max_value=10**40, max_denominator=10**40))
def test_square_root_rounds_up_a_little(value: Fraction) -> None:
    root = sqrt_up(value)
    assert root * root >= value
    assert root * root <= value * (1 + Fraction(1, 2**60))


def test_exact_square_roots_stay_exact() -> None:
    assert sqrt_up(Fraction(9, 4)) == Fraction(3, 2)
    assert sqrt_up(Fraction(0)) == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1/10", "0.1"),
        ("0", "0"),
        ("3", "3"),
        ("50000", "50000"),
        ("-2.5", "-2.5"),
        ("1e-6", "1e-6"),
        ("2.5e-7", "2.5e-7"),
        ("0.0001", "0.0001"),
        ("0.99999999", "0.99999999"),
    ],
)
def test_a_short_decimal_is_written_whole(value: str, text: str) -> None:
    assert decimal_text(Fraction(value)) == text == decimal_text(Fraction(value), rounding="down")


def test_a_long_number_is_rounded_the_way_that_is_asked() -> None:
    third = Fraction(1, 3)
    assert (decimal_text(third), decimal_text(third, rounding="down")) == ("0.333334", "0.333333")


@given(st.fractions())
def test_a_written_number_errs_on_the_side_that_is_asked(value: Fraction) -> None:
    above, below = Fraction(decimal_text(value)), Fraction(decimal_text(value, rounding="down"))
    assert below <= value <= above
    assert above - below <= abs(value) / 10**5


@given(st.integers(-(10**12) + 1, 10**12 - 1), st.integers(-20, 20))
def test_twelve_digits_are_never_rounded(digits: int, exponent: int) -> None:
    value = Fraction(digits) * Fraction(10) ** exponent
    assert Fraction(decimal_text(value)) == value
