"""The discrete Gaussian: its certified probabilities and tails at any scale, and draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from sfumato.core.exact import Number, probability, up
from sfumato.core.interval import Bounds, exp_bounds, pi_bounds, sqrt_bounds
from sfumato.noise.bernoulli import bernoulli_exp_of_ratio
from sfumato.noise.ladder import decays
from sfumato.noise.laplace import draw_laplace
from sfumato.noise.law import Law, checked_parameter
from sfumato.noise.source import Source

_SUMMED = 1 << 14  # up to this variance tails are summed term by term; beyond, by Euler and Maclaurin
_UNDECIDED = 1 << 12


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Law):
    """P(Z = k) proportional to exp(-k^2 / (2 variance)), for a rational variance parameter (Canonne, Kamath, Steinke 2020).

    `variance` is the parameter sigma^2; the variance of the law, `mean_square`, is a little below it when sigma is small.
    """

    variance: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", checked_parameter(self.variance, name="variance"))

    @property
    def linear(self) -> Fraction:
        return Fraction(0)

    @property
    def square(self) -> Fraction:
        return 1 / (2 * self.variance)

    @property
    def mirrored(self) -> bool:
        return True

    @property
    def reach(self) -> int:
        return math.isqrt(int(self.variance))

    @property
    def mean_square(self) -> float:
        if self.variance > 16:
            return up(self.variance)  # less a relative 2 pi^2 sigma^2 exp(-2 pi^2 sigma^2), below 2**-400
        half = 1 / (2 * float(max(self.variance, Fraction(1, 10**6))))
        weights = [math.exp(-k * k * half) for k in range(200)]
        return 2 * sum(k * k * w for k, w in enumerate(weights)) / (2 * sum(weights) - 1)

    def draw(self, source: Source) -> int:
        """Canonne, Kamath and Steinke 2020, Algorithm 3: a Laplace proposal of scale t, kept by the ratio of the weights.

        How many proposals are refused is independent of the one that is kept.
        """
        n, d = self.variance.numerator, self.variance.denominator
        t = self.reach + 1
        below = 2 * n * d * t * t
        while True:
            proposal = draw_laplace(t, 1, source)
            gap = abs(proposal) * t * d - n
            if bernoulli_exp_of_ratio(gap * gap, below, source):
                return proposal

    def pmf_bounds(self, k: int, bits: int) -> Bounds:
        work = bits + 16
        low, high = exp_bounds(-k * k * self.square, work)
        total_low, total_high = normaliser(self.variance, work)
        return (low << work) // total_high >> 16, -((-high << work) // total_low >> 16)

    def tail_bounds(self, m: int, bits: int) -> Bounds:
        """By symmetry, for m <= 0 it is 1 - P(Z >= 1-m)."""
        if m <= 0:
            low, high = self.tail_bounds(1 - m, bits)
            return (1 << bits) - high, (1 << bits) - low
        if self.variance > _SUMMED:
            return _integrated_tail(self.variance, m, bits)
        lows, highs = _summed_tails(self.variance, -(-bits // 64) * 64)
        drop = -(-bits // 64) * 64 - bits
        return (lows[m] >> drop, -(-highs[m] >> drop)) if m < len(lows) else (0, 1)

    def within(self, confidence: Number) -> int:
        """The smallest t with 2 P(Z >= t+1) <= miss; should no 4096 bits decide between two, the larger."""
        miss = 1 - probability(confidence, name="confidence")
        if miss == 1:
            return 0
        bits = 64 + miss.denominator.bit_length()
        high, step = self._guess(miss), 1
        low = -1
        while not self._covers(high, miss, bits):
            low, high, step = high, high + step, 2 * step
        step = 1
        while high - step > low and self._covers(high - step, miss, bits):
            high, step = high - step, 2 * step
        low = max(low, high - step)
        while high - low > 1:
            middle = (low + high) // 2
            if self._covers(middle, miss, bits):
                high = middle
            else:
                low = middle
        return high

    def _covers(self, t: int, miss: Fraction, bits: int) -> bool:
        while bits <= _UNDECIDED:
            low, high = self.tail_bounds(t + 1, bits)
            allowed = miss * (1 << bits) / 2
            if high <= allowed:
                return True
            if low > allowed:
                return False
            bits *= 2
        return False

    def _guess(self, miss: Fraction) -> int:
        """Somewhere near, by floats: where to start looking, nothing more."""
        wanted = max(float(miss), 1e-300)
        low, high = 0.0, 38.0
        for _ in range(52):
            middle = (low + high) / 2
            low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > wanted else (low, middle)
        sigma = math.isqrt(int(self.variance * (1 << 64)))
        return (sigma * int(high * (1 << 32)) + (1 << 63)) >> 64


@lru_cache(maxsize=256)
def normaliser(variance: Fraction, bits: int) -> Bounds:
    """Bounds of the sum of exp(-k^2 / (2 variance)) over all integers k.

    Above variance 1 by Poisson summation: it is sqrt(2 pi variance) times the sum of exp(-2 pi^2 variance j^2).
    """
    work = bits + 32
    if variance <= 1:
        lows, highs = decays(_Sum(1 / (2 * variance)), 1, work)
        total = 2 * sum(lows) - (1 << work), 2 * sum(highs) - (1 << work) + 2 * highs[-1] + 2
    else:
        pi_low, pi_high = pi_bounds(work)
        root_low = sqrt_bounds(2 * variance * Fraction(pi_low, 1 << work), work)[0]
        root_high = sqrt_bounds(2 * variance * Fraction(pi_high, 1 << work), work)[1]
        steep = 2 * variance
        lows, _ = decays(_Sum(steep * Fraction(pi_high, 1 << work) ** 2), 1, work)
        _, highs = decays(_Sum(steep * Fraction(pi_low, 1 << work) ** 2), 1, work)
        low, high = 2 * sum(lows) - (1 << work), 2 * sum(highs) - (1 << work) + 2 * highs[-1] + 2
        total = root_low * low >> work, -(-root_high * high >> work)
    return total[0] >> 32, -(-total[1] >> 32)


@final
@dataclass(frozen=True, slots=True)
class _Sum:
    """Weights exp(-square k^2), for `decays`."""

    square: Fraction
    linear: Fraction = Fraction(0)
    mirrored: bool = True
    reach: int = 1


@lru_cache(maxsize=16)
def _summed_tails(variance: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Bounds of P(Z >= m) for m = 0, 1, 2, ... until they are below one unit: sums from the far end.

    Past the last term E_n the rest is at most E_n / (1 - E_1), the weights being log-concave.
    """
    work = bits + 64
    one = 1 << work
    lows, highs = decays(_Sum(1 / (2 * variance)), 1, work)
    total_low, total_high = normaliser(variance, work)
    inverse_low, inverse_high = (one << work) // total_high, -((-one << work) // total_low)
    below, above = 0, highs[-1] * one // (one - highs[1]) + 1
    low, high = [0] * len(lows), [0] * len(lows)
    for m in range(len(lows) - 1, -1, -1):
        below += lows[m]
        above += highs[m]
        low[m] = below * inverse_low >> (2 * work - bits)
        high[m] = -(-above * inverse_high >> (2 * work - bits))
    return low, high


def _integrated_tail(variance: Fraction, m: int, bits: int) -> Bounds:
    """Bounds of P(Z >= m), m >= 1, for a large variance v, by Euler and Maclaurin.

    With f(x) = exp(-x^2/(2v)), the sum of f(k) from m on is its integral plus f(m) (1/2 + sum_{j=1..p} B_2j/(2j)! g_(2j-1))
    plus R, where f^(n) = (-1)^n g_n f: g_0 = 1, g_1 = m/v, g_(n+1) = (m g_n - n g_(n-1)) / v. The remainder is at most
    2 zeta(2p) / (2 pi)^2p times the integral of |f^(2p)|; as |He_n(z)| <= 1.09 sqrt(n!) exp(z^2/4) (Cramer), R divided by
    the sum of all f is at most 4 sqrt((2p)!) / (4 pi^2 v)^p, which `_pairs` puts below a unit.
    """
    work = bits + 32
    n, d = variance.numerator, variance.denominator
    series = Fraction(1, 2)
    before, current, scale = 1, m * d, n  # g_(i-1) = before * n / scale, g_i = current / scale, scale = n^i
    for i in range(1, 2 * _pairs(variance, work)):
        if i % 2:
            series += _bernoulli(i + 1) * Fraction(current, scale * math.factorial(i + 1))
        before, current, scale = current, d * (m * current - i * n * before), scale * n
    square = Fraction(m * m) / (2 * variance)
    low, high = exp_bounds(-square, work)
    total_low, total_high = normaliser(variance, work)
    one = 1 << work
    low, high = low * one // total_high, -(-high * one // total_low)
    if series < 0:
        low, high = high, low
    area_low, area_high = _half_erfc(square, work)
    low = area_low + math.floor(low * series) - 4
    high = area_high + math.ceil(high * series) + 4
    # The integral over the sum of all f is half erfc over the Poisson sum 1 + 2 exp(-2 pi^2 v) + ..., the same to 2**-400000.
    return max(0, low >> 32), -(-high >> 32)


def _pairs(variance: Fraction, bits: int) -> int:
    """How many terms put 4 sqrt((2p)!) / (39 v)^p below 2**-bits; 39 is below 4 pi^2."""
    base = int(39 * variance) ** 2
    p, left, right = 1, 32 << (2 * bits), base
    while left > right:
        p += 1
        left *= 2 * p * (2 * p - 1)
        right *= base
    return p


@lru_cache(maxsize=512)
def _bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, for an even n."""
    return 1 - sum(
        (math.comb(n, k) * (_bernoulli(k) if k % 2 == 0 else Fraction(k == 1, 2)) / (n - k + 1) for k in range(n)),
        Fraction(0),
    )


def _half_erfc(y: Fraction, bits: int) -> Bounds:
    """Bounds of erfc(sqrt(y)) / 2 = 1/2 - sqrt(y/pi) exp(-y) S, where S is the sum of (2y)^n / (1 3 5 ... (2n+1))."""
    if y > bits:
        return 0, 1  # erfc(sqrt(y))/2 <= exp(-y)/2
    work = bits + 16 + int(y * 3 / 2)
    p, q = 2 * y.numerator, y.denominator
    low = high = sum_low = sum_high = 1 << work
    n = 0
    while low or 2 * p > q * (2 * n + 3):
        low = low * p // (q * (2 * n + 3))
        high = -(-high * p // (q * (2 * n + 3)))
        sum_low += low
        sum_high += high
        n += 1
    sum_high += high
    pi_low, pi_high = pi_bounds(work)
    root_low = sqrt_bounds(y * Fraction(1 << work, pi_high), work)[0]
    root_high = sqrt_bounds(y * Fraction(1 << work, pi_low), work)[1]
    top_low, top_high = exp_bounds(-y, work)
    half = 1 << (work - 1)
    low = half - -(-root_high * top_high * sum_high >> (2 * work))
    high = half - (root_low * top_low * sum_low >> (2 * work))
    return max(0, low >> (work - bits)), -(-high >> (work - bits))
