"""The notes' theorems as bounds that can be computed: the statement as printed, and as it should read.

Each is a function of public parameters that returns a float; a `Statement` holds the two beside each other, so that a test can
show where the printed one fails and that the corrected one holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import final

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability

DECILES = 9
_STEPS = 4096
_REACH = Fraction(1, 10)
"""The largest gamma that the lemmas on uniform data take."""


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """One theorem or lemma: where it is printed, the bound as printed, and the bound corrected."""

    note: str
    place: str
    printed: Callable[..., float]
    corrected: Callable[..., float]
    slip: str


def above_threshold_printed(*, output: int, epsilon: Number, confidence: Number) -> float:
    """The margin 8 (ln k + ln(2/beta)) / epsilon with k the index that came out: it exists for k of 1 or more only."""
    from sfumato.mechanisms.stream.threshold import textbook_margin

    if output < 1:
        raise BadInput(
            "the printed bound takes the logarithm of the output, which is 0 or -1 here",
            hint="use above_threshold, which takes the most questions that may be asked",
        )
    return textbook_margin(queries=output, epsilon=epsilon, confidence=confidence)


def above_threshold(*, queries: int, epsilon: Number, confidence: Number) -> float:
    """The same with k the most questions that may be asked; it bounds the answers, and holds when nothing is above."""
    from sfumato.mechanisms.stream.threshold import textbook_margin

    return textbook_margin(queries=queries, epsilon=epsilon, confidence=confidence)


# ── The histogram method: its price ──────────────────────────────────────────


def histogram_price_printed(*, epsilon: Number, low: Number, high: Number, bins: int) -> float:
    """What the theorem says that the listing spends."""
    return float(positive(epsilon, name="epsilon"))


def histogram_price(*, epsilon: Number, low: Number, high: Number, bins: int) -> float:
    """What the listing spends: the affine map stands inside of the call, and each AboveThreshold gets epsilon (b - a)/steps."""
    width = positive(Fraction(str(high)) - Fraction(str(low)), name="the width of the range")
    return float(positive(epsilon, name="epsilon") * width / _whole(bins, "bins"))


# ── The histogram method on uniform data ─────────────────────────────────────


def empirical_uniform_printed(*, rows: int, gamma: Number) -> float:
    """P(the sample's decile is within gamma/2 of the law's) >= 1 - 2 exp(-n gamma^2/12)."""
    return 1 - 2 * math.exp(-_whole(rows, "rows") * _gamma(gamma) ** 2 / 12)


def empirical_uniform(*, rows: int, gamma: Number) -> float:
    """The same with exp(-n gamma^2/2), by Hoeffding: the note's is true, its exponent six times too small."""
    return max(0.0, 1 - 2 * math.exp(-_whole(rows, "rows") * _gamma(gamma) ** 2 / 2))


def crowded_uniform_printed(*, rows: int, gamma: Number, margin: float) -> float:
    """P(alpha rows or more lie in [d - gamma, d - gamma/2], and in [d + gamma/2, d + gamma]) >= 1 - 2 exp(...)."""
    spread = _whole(rows, "rows") * _gamma(gamma)
    return 1 - 2 * math.exp(-spread / 4 * (1 - 2 * margin / spread) ** 2)


def crowded_uniform(*, rows: int, gamma: Number, margin: float) -> float:
    """Chernoff's bound is about fewer rows than expected: for 2 alpha > n gamma it says nothing, and this is 0."""
    if 2 * margin > rows * _gamma(gamma):
        return 0.0
    return max(0.0, crowded_uniform_printed(rows=rows, gamma=gamma, margin=margin))


def histogram_uniform_printed(*, rows: int, bins: int, epsilon: Number, confidence: Number, gamma: Number) -> float:
    """P(d - gamma <= A <= d + gamma) >= 1 - beta - mu - eta, alpha = 8 (ln k + ln(2/beta))/epsilon."""
    alpha = above_threshold(queries=bins, epsilon=epsilon, confidence=confidence)
    near = empirical_uniform_printed(rows=rows, gamma=gamma)
    return float(confidence) + crowded_uniform_printed(rows=rows, gamma=gamma, margin=alpha) + near - 2


def histogram_uniform(
    *,
    rows: int,
    bins: int,
    epsilon: Number,
    confidence: Number,
    gamma: Number,
    quantiles: int = DECILES,
    margin: float | None = None,
) -> float:
    """P(d - gamma <= A <= d + gamma + w) >= 1 - beta - mu - eta: w = 1/k, alpha that of epsilon/9; 0 if n gamma < 2 alpha.

    `margin` replaces alpha by what a mechanism says of itself (`HistogramMethod.within`).

    Proof. With probability 1 - beta, #{x < edge} >= d n - alpha at the named edge, and at the edge before at most d n + alpha.
    Otherwise than with probability eta, #{x < d - gamma/2} < d n < #{x < d + gamma/2} (Hoeffding); than with mu, alpha rows or
    more lie in both [d - gamma, d - gamma/2) and [d + gamma/2, d + gamma). Were the edge left of d - gamma, #{x < edge} <=
    #{x < d - gamma} < d n - alpha. Were it right of d + gamma + w, the edge before would be right of d + gamma, with more than
    d n + alpha rows left of it. When no edge is named, b is given, and its own count n stands for both.
    """
    if margin is None:
        margin = histogram_margin(bins=bins, epsilon=epsilon, confidence=confidence, quantiles=quantiles)
    sure = float(probability(confidence, name="confidence"))
    crowd = crowded_uniform(rows=rows, gamma=gamma, margin=margin)
    return max(0.0, sure + crowd + empirical_uniform(rows=rows, gamma=gamma) - 2) if crowd else 0.0


def histogram_margin(*, bins: int, epsilon: Number, confidence: Number, quantiles: int = DECILES) -> float:
    """alpha when each of so many quantiles has its share of epsilon: 72 (ln k + ln(2/beta))/epsilon for nine."""
    share = positive(epsilon, name="epsilon") / _whole(quantiles, "quantiles")
    return above_threshold(queries=_whole(bins, "bins"), epsilon=share, confidence=confidence)


def histogram_mean_printed(*, rows: int, bins: int, epsilon: Number, confidence: Number, decile: int) -> float:
    """E|A - d| <= d beta + 2 sqrt(3 pi/n) + 8 e^alpha/n."""
    beta, d = 1 - float(probability(confidence, name="confidence")), _decile(decile)
    alpha = above_threshold(queries=bins, epsilon=epsilon, confidence=confidence)
    grown = math.exp(alpha) if alpha < 700 else math.inf
    return d * beta + 2 * math.sqrt(3 * math.pi / _whole(rows, "rows")) + 8 * grown / rows


def histogram_mean(
    *,
    rows: int,
    bins: int,
    epsilon: Number,
    confidence: Number,
    decile: int,
    quantiles: int = DECILES,
    margin: float | None = None,
) -> float:
    """E|A - d| <= w + the integral of p over [0, 0.1] + (max(d, 1 - d) - 0.1) p(0.1), p = 1 - `histogram_uniform` at t.

    |A - d| is at most max(d, 1 - d), and P(|A - d| > t + w) <= p(t), which falls: at 0.1 and beyond it is at most p(0.1). As
    that probability falls with t, the sum of the least p so far at the left ends of small steps is no less than its integral.
    """
    if margin is None:
        margin = histogram_margin(bins=bins, epsilon=epsilon, confidence=confidence, quantiles=quantiles)
    d, least, total = _decile(decile), 1.0, 0.0
    for step in range(_STEPS + 1):
        if step:
            sure = histogram_uniform(
                rows=rows,
                bins=bins,
                epsilon=epsilon,
                confidence=confidence,
                gamma=_REACH * step / _STEPS,
                margin=margin,
            )
            least = min(least, 1 - sure)
        if step < _STEPS:
            total += least * float(_REACH) / _STEPS
    return min(max(d, 1 - d), total + (max(d, 1 - d) - float(_REACH)) * least + 1 / bins)


# ── The histogram method on normal data ──────────────────────────────────────


def normal_decile(*, decile: int) -> float:
    """sqrt(2) erfinv(2 i/10 - 1): as printed, and right."""
    from scipy.special import erfinv

    return math.sqrt(2) * float(erfinv(2 * _decile(decile) - 1))


def empirical_normal_printed(*, rows: int, gamma: Number, decile: int) -> float:
    """1 - eta for gamma in [0, d_i]: no such gamma exists up to the fourth decile, and only 0 at the fifth."""
    g, i, d = _normal_gamma(gamma, decile), decile, normal_decile(decile=decile)
    n, root = _whole(rows, "rows"), math.sqrt(2 * math.pi)
    left = math.exp(-n * g**2 / i**2 * (i / 10 - g / (2 * root)) * math.exp(-(d**2)))
    right = math.exp(-5 * g**2 * i * n / (16 * math.pi * (i + 5 * g / root) ** 2) * math.exp(-(d**2)))
    return 1 - left - right


def empirical_normal(*, rows: int, gamma: Number, decile: int) -> float:
    """1 - P(Bin(n, Phi(d - gamma/2)) >= i n/10) - P(Bin(n, Phi(d + gamma/2)) <= i n/10): exact, and for every decile.

    The decile lies within gamma/2 when fewer than i n/10 rows are left of d - gamma/2 and more are left of d + gamma/2.
    """
    n, d, half = _whole(rows, "rows"), normal_decile(decile=decile), float(positive(gamma, name="gamma")) / 2
    left, right = _phi(d - half), _phi(d + half)
    return max(0.0, 1 - _at_least(n, left, -(-decile * n // 10)) - _at_most(n, right, decile * n // 10))


def crowded_normal_printed(*, rows: int, gamma: Number, margin: float, decile: int) -> float:
    """1 - 2 exp(-(n gamma/(4 sqrt(2 pi))) (exp(-(|d| + gamma)^2/2) - 2 alpha sqrt(2 pi)/(n gamma))^3)."""
    g, d, root = _normal_gamma(gamma, decile), normal_decile(decile=decile), math.sqrt(2 * math.pi)
    spread = _whole(rows, "rows") * g
    inside = math.exp(-((abs(d) + g) ** 2) / 2) - 2 * margin * root / spread
    exponent = -spread / (4 * root) * inside**3
    return 1 - 2 * math.exp(exponent) if exponent < 700 else -math.inf


def crowded_normal(*, rows: int, gamma: Number, margin: float, decile: int) -> float:
    """1 - both exact chances that fewer than alpha rows lie in [d - gamma, d - gamma/2), in [d + gamma/2, d + gamma)."""
    n, d, g = _whole(rows, "rows"), normal_decile(decile=decile), float(positive(gamma, name="gamma"))
    few = math.ceil(margin) - 1
    left, right = _phi(d - g / 2) - _phi(d - g), _phi(d + g) - _phi(d + g / 2)
    return max(0.0, 1 - _at_most(n, left, few) - _at_most(n, right, few))


def histogram_normal_printed(
    *, rows: int, bins: int, epsilon: Number, confidence: Number, gamma: Number, decile: int
) -> float:
    """P(d_i - gamma <= A_i <= d_i + gamma) >= 1 - beta - eta - mu."""
    alpha = above_threshold(queries=bins, epsilon=epsilon, confidence=confidence)
    near = empirical_normal_printed(rows=rows, gamma=gamma, decile=decile)
    return float(confidence) + near + crowded_normal_printed(rows=rows, gamma=gamma, margin=alpha, decile=decile) - 2


def histogram_normal(
    *,
    rows: int,
    bins: int,
    epsilon: Number,
    confidence: Number,
    gamma: Number,
    decile: int,
    quantiles: int = DECILES,
    margin: float | None = None,
) -> float:
    """P(d_i - gamma <= A_i <= d_i + gamma + w) >= 1 - beta - eta - mu, w the step, for ends beyond d_i - gamma and d_i + gamma.

    The proof is that of `histogram_uniform`, with exact binomial tails in place of Hoeffding's and Chernoff's.
    """
    if margin is None:
        margin = histogram_margin(bins=bins, epsilon=epsilon, confidence=confidence, quantiles=quantiles)
    near = empirical_normal(rows=rows, gamma=gamma, decile=decile)
    crowd = crowded_normal(rows=rows, gamma=gamma, margin=margin, decile=decile)
    return max(0.0, float(probability(confidence, name="confidence")) + near + crowd - 2)


# ── Inverse sensitivity ──────────────────────────────────────────────────────


def inverse_sensitivity_printed(
    *, rows: int, epsilon: Number, gamma: Number, u: Number, smooth: Number, high: Number = 1, density: Number = 1
) -> float:
    """P(|M - d_i| > 2u + rho) <= (R/2rho) e^(-n p u epsilon/4) + 4 e^(-n gamma^2 p^2/8) + (2 gamma/u) e^(-n p u/8)."""
    n, eps, g, cell, rho, top, p = _inverse(rows, epsilon, gamma, u, smooth, high, density)
    return (
        top / (2 * rho) * math.exp(-n * p * cell * eps / 4)
        + 4 * math.exp(-n * g**2 * p**2 / 8)
        + 2 * g / cell * math.exp(-n * p * cell / 8)
    )


def inverse_sensitivity(
    *, rows: int, epsilon: Number, gamma: Number, u: Number, smooth: Number, high: Number = 1, density: Number = 1
) -> float:
    """The same with R/rho, 2 e^(-n gamma^2 p^2/2) and whole cells; p the least density within gamma of the law's decile.

    Proof. At most ceil(2 gamma/u) cells of width u fill [d_l - gamma, d_l + gamma], d_l the law's decile; each holds n p u/2
    rows or more, but for e^(-n p u/8) (Chernoff). The sample's decile d is within gamma/2 of d_l, but for
    2 e^(-n gamma^2 p^2/2) (Hoeffding). Then a whole cell lies between d and any point further than 2u away: n p u/2 rows must
    move to get there; where no point within rho is nearer, the density is at most e^(-n p u epsilon/4) over that of
    [d - rho, d + rho], of which [0, R] holds rho or more, not always 2 rho.
    """
    n, eps, g, cell, rho, top, p = _inverse(rows, epsilon, gamma, u, smooth, high, density)
    return min(
        1.0,
        top / rho * math.exp(-n * p * cell * eps / 4)
        + 2 * math.exp(-n * g**2 * p**2 / 2)
        + math.ceil(2 * g / cell) * math.exp(-n * p * cell / 8),
    )


# ── What is given ────────────────────────────────────────────────────────────


def _whole(number: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise BadInput(f"the number of {name} is not a whole number of 1 or more", hint=f"give so many {name}")
    return number


def _gamma(gamma: Number) -> float:
    value = positive(gamma, name="gamma")
    if value > _REACH:
        raise BadInput("gamma is above 0.1", hint="the lemmas on uniform data take 0 to 0.1")
    return float(value)


def _decile(decile: int) -> float:
    if isinstance(decile, bool) or not isinstance(decile, int) or not 1 <= decile <= DECILES:
        raise BadInput("there is no such decile", hint="give a whole number from 1 to 9")
    return decile / 10


def _normal_gamma(gamma: Number, decile: int) -> float:
    value = float(positive(gamma, name="gamma"))
    if value > normal_decile(decile=decile):
        raise BadInput(
            "the printed lemma takes a gamma from 0 to the decile itself, and this is none",
            hint="up to the fifth decile there is none; the corrected one takes every decile",
        )
    return value


def _inverse(
    rows: int, epsilon: Number, gamma: Number, u: Number, smooth: Number, high: Number, density: Number
) -> tuple[int, float, float, float, float, float, float]:
    names = ("epsilon", "gamma", "u", "the smoothing", "the range", "the density")
    given = zip((epsilon, gamma, u, smooth, high, density), names, strict=True)
    eps, g, cell, rho, top, p = (float(positive(value, name=name)) for value, name in given)
    if cell > g / 4 or rho > top:
        raise BadInput("u is above gamma/4, or the smoothing wider than the range", hint="give smaller ones")
    return _whole(rows, "rows"), eps, g, cell, rho, top, p


def _phi(x: float) -> float:
    return NormalDist().cdf(x)


def _at_least(n: int, p: float, count: int) -> float:
    """P(Bin(n, p) >= count)."""
    from scipy.special import betainc

    return 1.0 if count <= 0 else float(betainc(count, n - count + 1, p)) if count <= n else 0.0


def _at_most(n: int, p: float, count: int) -> float:
    """P(Bin(n, p) <= count)."""
    from scipy.special import betainc

    return 1.0 if count >= n else float(betainc(n - count, count + 1, 1 - p)) if count >= 0 else 0.0


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        note="003",
        place="Theorem 2.2.1.1",
        printed=histogram_price_printed,
        corrected=histogram_price,
        slip="the listing gives each call epsilon (b - a)/steps, a parenthesis too far; without it the theorem is right",
    ),
    Statement(
        note="003",
        place="Lemma 2.2.1.1",
        printed=above_threshold_printed,
        corrected=above_threshold,
        slip="k is the random output; the answers are bounded with their noise; nothing is said when nothing is above",
    ),
    Statement(
        note="003",
        place="Lemma 2.2.3.1",
        printed=empirical_uniform_printed,
        corrected=empirical_uniform,
        slip="none: true, with an exponent six times too small",
    ),
    Statement(
        note="003",
        place="Lemma 2.2.3.2",
        printed=crowded_uniform_printed,
        corrected=crowded_uniform,
        slip="false as stated: it needs 2 alpha <= n gamma",
    ),
    Statement(
        note="003",
        place="Theorem 2.2.3.1",
        printed=histogram_uniform_printed,
        corrected=histogram_uniform,
        slip="each call runs at epsilon/9; 2 alpha <= n gamma is needed; outputs lie on a grid; noisy answers are bounded",
    ),
    Statement(
        note="003",
        place="Theorem 2.2.3.2",
        printed=histogram_mean_printed,
        corrected=histogram_mean,
        slip="the error goes up to max(d, 1 - d); gamma beyond 0.1; e^alpha makes it empty; the step and the 9 are missing",
    ),
    Statement(
        note="003",
        place="Lemma 2.2.4.1",
        printed=normal_decile,
        corrected=normal_decile,
        slip="none",
    ),
    Statement(
        note="003",
        place="Lemma 2.2.4.2",
        printed=empirical_normal_printed,
        corrected=empirical_normal,
        slip="gamma in [0, d_i] is empty up to i = 4; the proof compares the wrong way, though none is found false",
    ),
    Statement(
        note="003",
        place="Lemma 2.2.4.3",
        printed=crowded_normal_printed,
        corrected=crowded_normal,
        slip="gamma in [0, d_i] is empty up to i = 4; below 0, that is, saying nothing, where alpha is large",
    ),
    Statement(
        note="003",
        place="Theorem 2.2.4.1",
        printed=histogram_normal_printed,
        corrected=histogram_normal,
        slip="as in the uniform case: epsilon/9, the grid, and ends a and b that cut the law off",
    ),
    Statement(
        note="003",
        place="Theorem 3.2.0.1",
        printed=inverse_sensitivity_printed,
        corrected=inverse_sensitivity,
        slip="R/(2 rho) needs [d - rho, d + rho] within [0, R]; the number of cells is whole; an exponent four times too small",
    ),
)
"""Every statement that was computed so far, in the order of the notes."""
