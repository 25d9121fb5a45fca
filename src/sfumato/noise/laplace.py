"""Two-sided and one-sided geometric laws: the Laplace and the exponential law on the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from sfumato.core.exact import Number, probability, up
from sfumato.core.interval import Bounds, exp_bounds, log_of_ratio
from sfumato.noise.law import Law, checked_parameter
from sfumato.noise.source import Source


@final
@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Law):
    """P(Z = k) proportional to a^|k|, a = exp(-1/scale), for a rational scale.

    P(Z = 0) = (1-a)/(1+a); P(Z >= m) = a^m/(1+a) for m >= 1.
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_parameter(self.scale, name="scale"))

    @property
    def linear(self) -> Fraction:
        return 1 / self.scale

    @property
    def square(self) -> Fraction:
        return Fraction(0)

    @property
    def mirrored(self) -> bool:
        return True

    @property
    def reach(self) -> int:
        return int(self.scale)

    @property
    def mean_square(self) -> float:
        rate = _rate(self.scale)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2 if rate > 1e-150 else up(2 * self.scale**2)

    def draw(self, source: Source) -> int:
        return draw_laplace(self.scale.numerator, self.scale.denominator, source)

    def pmf_bounds(self, k: int, bits: int) -> Bounds:
        """P(Z = k) = a^|k| (1-a)/(1+a)."""
        work = bits + 16 + max(0, self.reach.bit_length())
        a_low, a_high = exp_bounds(-1 / self.scale, work)
        low, high = exp_bounds(-abs(k) / self.scale, work)
        one = 1 << work
        return (
            low * (one - a_high) // (one + a_high) >> (work - bits),
            -((-high * (one - a_low) // (one + a_low)) >> (work - bits)),
        )

    def tail_bounds(self, m: int, bits: int) -> Bounds:
        """P(Z >= m) = a^m/(1+a); for m <= 0 it is 1 - P(Z >= 1-m)."""
        if m <= 0:
            low, high = self.tail_bounds(1 - m, bits)
            return (1 << bits) - high, (1 << bits) - low
        work = bits + 8
        a_low, a_high = exp_bounds(-1 / self.scale, work)
        low, high = exp_bounds(-m / self.scale, work)
        one = 1 << work
        return (low << work) // (one + a_high) >> 8, -((-high << work) // (one + a_low) >> 8)

    def within(self, confidence: Number) -> int:
        """The smallest t with 2 a^(t+1)/(1+a) <= miss: t + 1 is scale * ln(2/(miss (1+a))), rounded up.

        The two are never equal: a is transcendental (Lindemann), so the loop ends.
        """
        miss = 1 - probability(confidence, name="confidence")
        if miss == 1:
            return 0
        bits = 64
        while True:
            a_low, a_high = exp_bounds(-1 / self.scale, bits)
            one, p, q = 1 << bits, miss.numerator, miss.denominator
            least = log_of_ratio(2 * q << bits, p * (one + a_high), bits)[0]
            most = log_of_ratio(2 * q << bits, p * (one + a_low), bits)[1]
            t_least, t_most = (math.ceil(self.scale * Fraction(log, one)) for log in (least, most))
            if max(t_most, 1) == max(t_least, 1):
                return max(t_most - 1, 0)
            bits *= 2


@final
@dataclass(frozen=True, slots=True)
class Geometric(Law):
    """P(Z = k) proportional to a^k for k = 0, 1, 2, ..., a = exp(-1/scale): the exponential law on the integers."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_parameter(self.scale, name="scale"))

    @property
    def linear(self) -> Fraction:
        return 1 / self.scale

    @property
    def square(self) -> Fraction:
        return Fraction(0)

    @property
    def mirrored(self) -> bool:
        return False

    @property
    def reach(self) -> int:
        return int(self.scale)

    @property
    def mean(self) -> float:
        """The expected value, for display."""
        rate = _rate(self.scale)
        return -math.exp(-rate) / math.expm1(-rate)

    @property
    def mean_square(self) -> float:
        rate = _rate(self.scale)
        a = math.exp(-rate)
        return a * (1 + a) / math.expm1(-rate) ** 2 if rate > 1e-150 else up(2 * self.scale**2)

    def draw(self, source: Source) -> int:
        return draw_geometric(self.scale.numerator, self.scale.denominator, source)

    def pmf_bounds(self, k: int, bits: int) -> Bounds:
        """P(Z = k) = a^k (1-a)."""
        if k < 0:
            return 0, 0
        work = bits + 16
        a_low, a_high = exp_bounds(-1 / self.scale, work)
        low, high = exp_bounds(-k / self.scale, work)
        one = 1 << work
        return low * (one - a_high) >> (2 * work - bits), -(-high * (one - a_low) >> (2 * work - bits))

    def tail_bounds(self, m: int, bits: int) -> Bounds:
        """P(Z >= m) = a^m."""
        return exp_bounds(-max(m, 0) / self.scale, bits)

    def within(self, confidence: Number) -> int:
        """The smallest t with a^(t+1) <= miss."""
        miss = 1 - probability(confidence, name="confidence")
        if miss == 1:
            return 0
        bits = 64
        while True:
            least, most = log_of_ratio(miss.denominator, miss.numerator, bits)
            t_least, t_most = (math.ceil(self.scale * Fraction(log, 1 << bits)) for log in (least, most))
            if t_most == t_least:
                return t_most - 1
            bits *= 2


def _rate(scale: Fraction) -> float:
    """1/scale as a float, infinite and tiny rates kept in range."""
    return float(max(Fraction(1, 10**300), min(Fraction(10**300), 1 / scale)))


def first_digits(p: int, q: int) -> int:
    """How many digits of U to reveal at first: 88, and more for a large scale, in steps of 30.

    Python computes in limbs of 30 bits. With 88 bits in three limbs, only U below 2**-28 has a limb less: with 64 bits it
    was U below 1/16, and small draws took measurably less long than large ones.
    """
    return 88 + 30 * -(-max(0, p.bit_length() - q.bit_length()) // 30)


def draw_geometric(p: int, q: int, source: Source) -> int:
    """The whole part of -(p/q) ln U for a uniform U, whose digits are revealed until they decide it.

    Proof: the result is at least k exactly when U <= exp(-k q/p).
    """
    bits = first_digits(p, q)
    seen = source.bits(bits)
    while True:
        if seen >> (bits // 2):  # otherwise (once in 2**44) the next digits come first: the bound below wants them
            work = bits + 8
            one = q << work  # added and taken off again, so that dividing takes as long for a result of 0
            low, high = log_of_ratio(seen, 1 << bits, work)
            # The number lies above seen and below seen + 1, whose logarithms are less than 1/seen apart.
            most = (-low * p + one) // one - 1
            least = ((-high + (-1 << work) // seen) * p + one) // one - 1
            if most == max(least, 0):
                return most
        seen = seen << bits | source.bits(bits)
        bits *= 2


def draw_laplace(p: int, q: int, source: Source) -> int:
    """A geometric draw with a fair sign; a negative zero is drawn again (Canonne, Kamath and Steinke 2020, Algorithm 2)."""
    while True:
        magnitude = draw_geometric(p, q, source)
        negative = source.bits(1)
        if magnitude or not negative:
            return magnitude - 2 * negative * magnitude
