"""Choices beside exact probabilities: thresholds aimed at digit by digit, and counts of fresh draws."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction

import flint
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from sfumato.core.errors import BadInput
from sfumato.noise import (
    Categorical,
    SystemSource,
    Weighted,
    bernoulli_exp,
    categorical,
    categorical_weights,
    uniform_below,
)
from sfumato.testing import ScriptedSource

FALSE_ALARM = 1e-10  # of every chi-square test here
WHOLE = 1 << 64


@pytest.fixture(autouse=True, scope="module")
def precise() -> Iterator[None]:
    before, flint.ctx.prec = flint.ctx.prec, 900
    yield
    flint.ctx.prec = before


def arb(x: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


CASES: dict[str, tuple[list[int], Fraction]] = {
    "one candidate": ([5], Fraction(1)),
    "two alike": ([3, 3], Fraction(1)),
    "textbook": ([6, 5, 3, 2], Fraction(1)),
    "far apart": ([0, -200, 3, -300], Fraction(1, 3)),
    "a few dozen": ([(7 * i) % 31 for i in range(50)], Fraction(1, 7)),
    "several hundred": ([-(i * i) % 977 for i in range(700)], Fraction(3, 100)),
    "a fine rate": ([(i * 7919) % 1_000_003 for i in range(300)], Fraction(1, 100_000)),
    "a coarse rate": ([i % 3 for i in range(40)], Fraction(50)),
}


def exact_cuts(scores: list[int], rate: Fraction) -> list[flint.arb]:
    best = max(scores)
    weights = [(-arb(rate * (best - score))).exp() for score in scores]
    total = sum(weights, flint.arb(0))
    sums, running = [], flint.arb(0)
    for weight in weights:
        running += weight
        sums.append(running / total)
    return sums


def floor(x: flint.arb, bits: int) -> int:
    whole = (x * flint.arb(2) ** bits).floor().unique_fmpz()
    assert whole is not None
    return int(whole)


def check_choice(law: Categorical, scores: list[int], rate: Fraction) -> int:
    """A uniform number just beside each threshold, on its 64th digit or its 128th, chooses the right side."""
    inner = exact_cuts(scores, rate)[:-1]
    cuts = {bits: [floor(cut, bits) for cut in inner] for bits in (64, 128)}
    checked = 0
    for i in range(0, len(inner), max(1, len(inner) // 12)):
        for bits, step in ((64, -3), (64, 3), (128, -5), (128, 5)):
            number = cuts[bits][i] + step
            if not 0 <= number < 1 << bits:
                continue
            expected = bisect_right(cuts[bits], number)
            words = [number] if bits == 64 else [number >> 64, number & (WHOLE - 1)]
            source = ScriptedSource(words, then=b"whatever follows")
            assert law.sample(source) == expected
            checked += 1
            if bits == 64:
                many = law.sample(ScriptedSource([number, number, number], then=b"whatever follows"), 3)
                assert many.tolist() == [expected] * 3
    return checked


@pytest.mark.parametrize("name", CASES)
def test_every_threshold_is_exact(name: str) -> None:
    scores, rate = CASES[name]
    checked = check_choice(Categorical.of(scores, rate), scores, rate)
    assert checked >= 2 * (len(scores) > 1)


def test_exactly_dyadic_thresholds() -> None:
    """Two alike: the first half of the words, to the last one, chooses the first."""
    law = Categorical.of([3, 3], 1)
    half = 1 << 63
    for word, expected in ((0, 0), (half - 2, 0), (half + 2, 1), (WHOLE - 1, 1)):
        assert law.sample(ScriptedSource([word], then=b"more")) == expected
        assert law.sample(ScriptedSource([word, word], then=b"more"), 2).tolist() == [expected] * 2


def test_a_candidate_far_below_the_float_path_can_still_be_chosen() -> None:
    """exp(-100) is below what the floats keep: the digits that choose it, and only these, do."""
    scores, rate = [0] * 30 + [-100] + [0] * 10, Fraction(1)
    cuts = exact_cuts(scores, rate)
    bits = 320
    inside = (floor(cuts[29], bits) + floor(cuts[30], bits)) // 2
    before, after = floor(cuts[29], bits) - 3, floor(cuts[30], bits) + 3
    law = Categorical.of(scores, rate)
    for number, expected in ((inside, 30), (before, 29), (after, 31)):
        words = [number >> (64 * i) & (WHOLE - 1) for i in reversed(range(5))]
        assert law.sample(ScriptedSource(words, then=b"more")) == expected
        assert law.sample(ScriptedSource([words[0], *words[1:]], then=b"more"), 1).tolist() == [expected]


@pytest.mark.parametrize("name", CASES)
def test_probabilities_lie_in_their_bounds(name: str) -> None:
    scores, rate = CASES[name]
    law = Categorical.of(scores, rate)
    cuts = exact_cuts(scores, rate)
    for i in range(0, len(scores), max(1, len(scores) // 10)):
        value = (cuts[i] - cuts[i - 1]) if i else cuts[0]
        low, high = law.pmf_bounds(i, 128)
        scaled = value * flint.arb(2) ** 128
        assert not low > scaled
        assert not high < scaled
        assert high - low <= 2


def test_a_float_path_without_its_margin_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: trusting float64 cumulative weights."""
    scores, rate = CASES["several hundred"]
    law = Categorical.of(scores, rate)
    sums, _ = law._sums
    object.__setattr__(law, "_sums", (sums, 0.0))
    with pytest.raises(AssertionError):
        check_choice(law, scores, rate)
    assert law.__dict__["_sums"][1] == 0.0


def test_the_margin_bounds_the_float_path() -> None:
    """Every float sum is within half its margin of the true sum (the margin also covers the uniform number)."""
    for name in ("a few dozen", "several hundred", "a fine rate"):
        scores, rate = CASES[name]
        law = Categorical.of(scores, rate)
        sums, margin = law._sums
        best = max(scores)
        running = flint.arb(0)
        for score, got in zip(scores, sums.tolist(), strict=True):
            running += (-arb(rate * (best - score))).exp()
            assert abs(arb(Fraction(got)) - running) < arb(Fraction(margin)) / 2


def p_value(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    rare = expected < 25  # so that the chi-square tail is trustworthy at 1e-10
    o, e = np.append(observed[~rare], observed[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    keep = e > 0
    if keep.sum() < 2:
        return 1.0
    return float(chi2.sf(((o[keep] - e[keep]) ** 2 / e[keep]).sum(), keep.sum() - 1))


@pytest.mark.parametrize("name", CASES)
def test_choices_follow_the_law(name: str) -> None:
    """Chi-square on fresh draws, many at once and one by one; false-alarm rate 1e-10."""
    scores, rate = CASES[name]
    law, source = Categorical.of(scores, rate), SystemSource()
    weights = np.exp(-float(rate) * (max(scores) - np.array(scores, dtype=np.float64)))
    probabilities = weights / weights.sum()
    many = np.bincount(law.sample(source, 200_000), minlength=len(scores))
    assert p_value(many, 200_000 * probabilities) > FALSE_ALARM
    singles = np.bincount([law.sample(source) for _ in range(2000)], minlength=len(scores))
    assert p_value(singles, 2000 * probabilities) > FALSE_ALARM


def test_a_hundred_thousand_candidates() -> None:
    scores = np.arange(100_000) % 5000
    picks = scores[categorical(scores, rate="0.001", size=50_000)]
    exact = np.exp(0.001 * np.arange(5000))
    expected = 50_000 * exact.reshape(50, 100).sum(axis=1) / exact.sum()
    assert p_value(np.bincount(picks // 100, minlength=50), expected) > FALSE_ALARM


def test_all_scores_alike_is_uniform_and_shifts_do_not_matter() -> None:
    top = 2**62
    one = Categorical.of([top, top - 3], Fraction(1, 2))
    two = Categorical.of([0, -3], Fraction(1, 2))
    assert one.pmf_bounds(0, 64) == two.pmf_bounds(0, 64)


@pytest.mark.parametrize(
    "scores", [[], [1.5, 2.0], ["a"], [[1, 2]], [10**30], None, [True, None], np.array([2**64 - 1, 0], dtype=np.uint64)]
)
def test_absurd_scores_are_refused(scores: object) -> None:
    with pytest.raises(BadInput, match="->"):
        categorical(scores, rate=1)  # type: ignore[call-overload]


def test_scores_too_far_apart_are_refused() -> None:
    with pytest.raises(BadInput, match="apart"):
        categorical([2**63 - 1, -(2**62)], rate=1)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "x"])
def test_absurd_rates_are_refused(rate: float) -> None:
    with pytest.raises(BadInput, match="->"):
        categorical([1, 2], rate=rate)


# ── whole weights ────────────────────────────────────────────────────────────


def test_whole_weights_are_exact() -> None:
    """Every one of the 2**4 leading digits that 11 needs is enumerated: weights 1, 0, 3, 7."""
    law = Weighted.of([1, 0, 3, 7])
    expected = [0, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3]
    for digit in range(16):
        source = ScriptedSource([digit << 60, 0])
        assert law.sample(source) == (expected[digit] if digit < 11 else 0)
        assert source.left == (1 if digit < 11 else 0)


@pytest.mark.parametrize("weights", [[1, 2, 3], [0, 5, 0, 1], [10**30, 2 * 10**30, 3 * 10**30], [1]])
def test_whole_weights_are_followed(weights: list[int]) -> None:
    """False-alarm rate 1e-10 each."""
    expected = np.array([w / sum(weights) for w in weights])
    for draws in (
        categorical_weights(weights, size=60_000),
        np.array([categorical_weights(weights) for _ in range(3000)]),
    ):
        assert p_value(np.bincount(draws, minlength=len(weights)), draws.size * expected) > FALSE_ALARM


@pytest.mark.parametrize("weights", [[], [0, 0], [-1, 2], [0.5, 0.5], ["1"], [True]])
def test_absurd_weights_are_refused(weights: list[int]) -> None:
    with pytest.raises(BadInput, match="->"):
        categorical_weights(weights)


# ── uniform, Bernoulli ───────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [1, 2, 3, 6, 255, 256, 257, 1000])
def test_uniform_blocks(n: int) -> None:
    """False-alarm rate 1e-10 each."""
    draws = uniform_below(n, size=200_000)
    assert draws.dtype == np.int64
    assert draws.min() >= 0
    assert p_value(np.bincount(draws, minlength=n), np.full(n, 200_000 / n)) > FALSE_ALARM


@pytest.mark.parametrize("n", [70_000, 2**32 + 5, 2**63 - 1, 2**63])
def test_uniform_blocks_of_wide_numbers(n: int) -> None:
    draws = uniform_below(n, size=100_000)
    assert draws.min() >= 0
    assert int(draws.max()) < n
    assert p_value(np.bincount((draws.astype(object) * 64 // n).astype(int), minlength=64), np.full(64, 1562.5)) > 1e-10


def test_uniform_blocks_redraw_what_is_too_large() -> None:
    """Bytes of which four bits count: 13, 15, 10, 12 and 11 are not below 10, so five more are drawn, of which 14 is not."""
    first = bytes([13, 9, 15, 2, 10, 4, 12, 11])
    second, third = bytes([7, 14, 0, 0, 0, 0, 0, 0]), bytes([8 | 0xF0, 0, 0, 0, 0, 0, 0, 0])
    source = ScriptedSource(int.from_bytes(word, "little") for word in (first, second, third))
    drawn = uniform_below(10, size=8, source=source).tolist()
    assert drawn == [9, 2, 4, 7, 0, 0, 0, 8]


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3", None])
def test_absurd_bounds_are_refused(n: int) -> None:
    with pytest.raises(BadInput, match="->"):
        uniform_below(n)


def test_wide_bounds() -> None:
    assert uniform_below(2**200) >> 120 > 0  # below 2**120 once in 2**80
    with pytest.raises(BadInput, match="64 bits"):
        uniform_below(2**63 + 1, size=3)


@pytest.mark.parametrize("x", ["0", "0.1", "1", "7/3"])
def test_bernoulli_frequencies(x: str) -> None:
    """Within 6.6 standard deviations: false-alarm rate below 1e-10."""
    count = 20_000
    hits = sum(bernoulli_exp(x) for _ in range(count))
    p = float(np.exp(-float(Fraction(x))))
    assert abs(hits - count * p) <= 6.6 * (count * p * (1 - p)) ** 0.5


@pytest.mark.parametrize("x", [-1, float("nan"), float("inf"), "x", None])
def test_absurd_exponents_are_refused(x: float) -> None:
    with pytest.raises(BadInput, match="->"):
        bernoulli_exp(x)


def test_functions_take_a_source() -> None:
    same: list[Callable[[ScriptedSource], object]] = [
        lambda s: categorical([1, 2, 3], rate=1, size=50, source=s).tolist(),
        lambda s: [categorical_weights([1, 2, 3], source=s) for _ in range(20)],
        lambda s: uniform_below(77, size=50, source=s).tolist(),
        lambda s: [uniform_below(77, source=s) for _ in range(20)],
        lambda s: [bernoulli_exp(1, source=s) for _ in range(50)],
    ]
    for draw in same:
        assert draw(ScriptedSource.stream(b"a")) == draw(ScriptedSource.stream(b"a"))
        assert draw(ScriptedSource.stream(b"a")) != draw(ScriptedSource.stream(b"b"))
