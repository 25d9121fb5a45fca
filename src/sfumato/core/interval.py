"""Certified arithmetic in plain integers: bounds of e^x, ln x, pi and square roots in fixed point, rounded outward.

A bound is a pair `low <= value * 2**bits <= high`. Nothing here touches a float, so nothing depends on a libm.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

from sfumato.core.errors import BadInput

Bounds = tuple[int, int]
"""`(low, high)` with `low <= value * 2**bits <= high`, for the `bits` that were asked."""

_PER_LN2 = 0x171547652B82FE177  # floor(2**64 / ln 2): only chooses a reduction, which is exact whatever it chooses
_LARGEST = 1 << 26
_CELLS = 6  # ln reduces its argument to within 2**-_CELLS of a table entry


def exp_bounds(x: Fraction, bits: int) -> Bounds:
    """Bounds of e^x: `low <= e**x * 2**bits <= high`, a few units apart."""
    return exp_of_ratio(x.numerator, x.denominator, bits)


def log_bounds(x: Fraction, bits: int) -> Bounds:
    """Bounds of the natural logarithm of a positive x: `low <= ln(x) * 2**bits <= high`, a few units apart."""
    if x <= 0:
        raise BadInput("the logarithm of a number that is not positive was asked", hint="give a number above 0")
    return log_of_ratio(x.numerator, x.denominator, bits)


def exp_of_ratio(p: int, q: int, bits: int) -> Bounds:
    """`exp_bounds` of p/q, q > 0, without the cost of reducing the fraction.

    Proof: with r = p/q - k ln 2 in [0, 1) and r' = r / 2^s < 2^-5, the Taylor terms of e^r' are floored one after the
    other; each is at most 2 units below its true value (the error halves and gains at most 1). N terms gain s bits each
    and more, so what is left out is below a unit, and the sum is at most 2N + 8 units low. Squaring s times, floor below
    and ceiling above, keeps the enclosure; shifting by k is exact up to the last floor and ceiling. N does not depend on
    r, nor the work on a negative k: draws made with this take no longer for some values than for others.
    """
    k = p * _PER_LN2 // (q << 64)
    if bits + k < -1:
        return 0, 1
    if k > _LARGEST:
        raise BadInput("the exponential of a number beyond 2**25 was asked", hint="give a smaller number")
    digits = bits + max(k, 0)
    halvings = 5 + (digits >> 6)
    work = digits + halvings + 12 + max(k.bit_length(), 8)
    ln2_low, ln2_high = ln2_bounds(work)
    scaled = (p << work) // q
    while True:
        low = scaled - k * (ln2_high if k >= 0 else ln2_low)
        if low >= 0:
            break
        k -= 1
    high = scaled + 1 - k * (ln2_low if k >= 0 else ln2_high)
    one = 1 << work
    step = low >> halvings
    width = (high >> halvings) + 1 - step
    total, term = one, one
    terms = _terms(work, halvings)
    for n in range(1, terms):
        term = term * step // (n << work)
        total += term
    upper = total + 2 * terms + 8 + 3 * width
    for _ in range(halvings):
        total = total * total >> work
        upper = -(-upper * upper >> work)
    shift = work - bits - k
    if shift >= 0:
        return total >> shift, -(-upper >> shift)
    return total << -shift, upper << -shift


@lru_cache(maxsize=1024)
def _terms(work: int, halvings: int) -> int:
    """The least N for which 2^(-N halvings) / N!, twice the first term left out, is below a unit."""
    n, gained = 1, 2
    while gained <= 1 << (work + 1):
        n += 1
        gained = gained * n << halvings
    return n + 1


def log_of_ratio(p: int, q: int, bits: int) -> Bounds:
    """`log_bounds` of p/q, both positive, without the cost of reducing the fraction.

    Proof: p/q = 2^e * j/64 * (1+z)/(1-z) exactly, for the z computed as a fraction, and ln((1+z)/(1-z)) is the series
    2(z + z^3/3 + ...) of terms of one sign; each floored power is at most 2 units low, the remainder at most one unit.
    """
    e = p.bit_length() - q.bit_length()
    top = (p << _CELLS) // (q << e) if e >= 0 else (p << (_CELLS - e)) // q
    if top < 1 << _CELLS:
        e -= 1
        top = (p << (_CELLS + 1)) // (q << (e + 1)) if e >= -1 else (p << (_CELLS - e)) // q
    work = (bits + 16 + abs(e).bit_length() + 63) & ~63
    left = p << (_CELLS + max(-e, 0))
    right = q * top << max(e, 0)
    low, high = _two_atanh(left - right, left + right, work, 2 * _CELLS + 2)
    if top != 1 << _CELLS:
        cell_low, cell_high = _log_cell(top, work)
        low, high = low + cell_low, high + cell_high
    if e:
        ln2_low, ln2_high = ln2_bounds(work)
        low += e * (ln2_low if e > 0 else ln2_high)
        high += e * (ln2_high if e > 0 else ln2_low)
    shift = work - bits
    return low >> shift, -(-high >> shift)


def _two_atanh(p: int, q: int, work: int, gain: int) -> Bounds:
    """Bounds of 2 atanh(p/q) = ln((q+p)/(q-p)), for 0 <= (p/q)^2 < 2**-gain; as many terms whatever p/q."""
    z = (p << work) // q
    square = z * z >> work
    total, power = 0, z
    stop = 2 * (work // gain) + 3
    for n in range(1, stop, 2):
        total += power // n
        power = power * square >> work
    # stop / 2 terms, each at most 3 units low (2 of its power, 1 of its division); z less than one; a unit is left out
    return 2 * total, 2 * (total + 2 * stop + 4)


@lru_cache(maxsize=1024)
def _log_cell(top: int, work: int) -> Bounds:
    return _two_atanh(top - (1 << _CELLS), top + (1 << _CELLS), work, 3)


@lru_cache(maxsize=256)
def ln2_bounds(bits: int) -> Bounds:
    """Bounds of ln 2, by ln 2 = 2 atanh(1/3)."""
    work = bits + 16
    low, high = _two_atanh(1, 3, work, 3)
    return low >> 16, -(-high >> 16)


@lru_cache(maxsize=64)
def pi_bounds(bits: int) -> Bounds:
    """Bounds of pi, by Machin's formula pi = 16 atan(1/5) - 4 atan(1/239)."""
    work = bits + 16
    five_low, five_high = _atan_inverse(5, work)
    other_low, other_high = _atan_inverse(239, work)
    return (16 * five_low - 4 * other_high) >> 16, -(-(16 * five_high - 4 * other_low) >> 16)


def _atan_inverse(m: int, work: int) -> Bounds:
    """Bounds of atan(1/m): an alternating series, each floored term at most 2 units low."""
    total, power, n, sign = 0, (1 << work) // m, 1, 1
    while power:
        total += sign * (power // n)
        power //= m * m
        n, sign = n + 2, -sign
    return total - n - 2, total + n + 2


def sqrt_bounds(x: Fraction, bits: int) -> Bounds:
    """Bounds of the square root of x >= 0: one unit apart at most."""
    if x < 0:
        raise BadInput("the square root of a negative number was asked", hint="give a number of 0 or more")
    scaled = x.numerator << (2 * bits)
    low = isqrt(scaled // x.denominator)
    return low, low if low * low * x.denominator == scaled else low + 1
