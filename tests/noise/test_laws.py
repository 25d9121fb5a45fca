"""Each law's numbers beside Arb, its draws beside its numbers, and the paths by which it is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from sfumato.core.errors import BadInput
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Geometric, SystemSource, tables
from sfumato.noise.bernoulli import bernoulli_exp_of_ratio
from sfumato.noise.gaussian import _half_erfc, normaliser
from sfumato.noise.laplace import first_digits
from sfumato.noise.law import LARGEST, Law
from sfumato.noise.tables import Table
from sfumato.testing import ScriptedSource

FALSE_ALARM = 1e-10  # of every chi-square test here

SMALL: list[Law] = [
    DiscreteLaplace(Fraction(1, 20)),
    DiscreteLaplace(Fraction(1, 2)),
    DiscreteLaplace(Fraction(10)),
    DiscreteLaplace(Fraction(123, 4)),
    DiscreteGaussian(Fraction(1, 100)),
    DiscreteGaussian(Fraction(1, 4)),
    DiscreteGaussian(Fraction(1)),
    DiscreteGaussian(Fraction(13, 10)),
    DiscreteGaussian(Fraction(400)),
    Geometric(Fraction(1, 3)),
    Geometric(Fraction(10)),
]
LARGE: list[Law] = [
    DiscreteLaplace(Fraction(64)),
    DiscreteLaplace(Fraction(1000)),
    DiscreteLaplace(Fraction(10**6)),
    DiscreteLaplace(Fraction(10**14, 3)),
    DiscreteGaussian(Fraction(64**2)),
    DiscreteGaussian(Fraction(10**6)),
    DiscreteGaussian(Fraction(10**12)),
    DiscreteGaussian(Fraction(10**29, 3)),
    Geometric(Fraction(1000)),
    Geometric(Fraction(10**9)),
]


@pytest.fixture(autouse=True, scope="module")
def precise() -> Iterator[None]:
    before, flint.ctx.prec = flint.ctx.prec, 3000
    yield
    flint.ctx.prec = before


def arb(x: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def holds(bounds: tuple[int, int], value: flint.arb, bits: int, width: int = 2) -> bool:
    scaled = value * flint.arb(2) ** bits
    return not bounds[0] > scaled and not bounds[1] < scaled and bounds[1] - bounds[0] <= width


# ── numbers ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scale", ["1/100", "1/2", "1", "10", "1000", "1000000", "123456789/7"])
@pytest.mark.parametrize("bits", [53, 64, 200])
def test_laplace_and_geometric_numbers(scale: str, bits: int) -> None:
    s = Fraction(scale)
    a = (-1 / arb(s)).exp()
    two, one = DiscreteLaplace(s), Geometric(s)
    for k in [0, 1, 2, 7, int(s), 3 * int(s) + 1, 40 * int(s) + 3]:
        power = (-k / arb(s)).exp()
        for signed in (k, -k):
            assert holds(two.pmf_bounds(signed, bits), power * (1 - a) / (1 + a), bits)
        assert holds(one.pmf_bounds(k, bits), power * (1 - a), bits)
        assert holds(one.tail_bounds(k, bits), power, bits)
        above = power / (1 + a) if k else 1 / (1 + a)
        assert holds(two.tail_bounds(k, bits), above, bits)
        assert holds(two.tail_bounds(1 - k, bits), 1 - above, bits)
    assert one.pmf_bounds(-1, bits) == (0, 0)
    assert one.tail_bounds(-5, bits)[0] == 1 << bits


@pytest.mark.parametrize(
    "variance",
    [
        *("1/1000", "1/4", "1", "10001/10000", "7/5", "100", "16384", "16385"),
        *(pytest.param(v, marks=pytest.mark.slow) for v in ("200001/7", "1000000")),
    ],
)
@pytest.mark.parametrize("bits", [53, 64, 200])
def test_gaussian_numbers(variance: str, bits: int) -> None:
    """Sums of a few hundred to twenty thousand terms in Arb; above 16384 the code integrates instead."""
    v = Fraction(variance)
    law, sigma = DiscreteGaussian(v), math.isqrt(int(v)) + 1
    reach = 26 * sigma + 60
    steep = -1 / (2 * arb(v))
    weights = [(k * k * steep).exp() for k in range(reach)]
    total = 2 * sum(weights, flint.arb(0)) - 1
    tails = [flint.arb(0)] * (reach + 1)
    for k in range(reach - 1, -1, -1):
        tails[k] = tails[k + 1] + weights[k]
    slack = flint.arb(0, 2.0**-300)  # what the sums leave out
    assert holds(normaliser(v, bits), total + slack, bits)
    for m in {0, 1, 2, 3, 7, sigma, 2 * sigma + 1, 5 * sigma, 12 * sigma, 20 * sigma}:
        assert holds(law.pmf_bounds(m, bits), weights[m] / total + slack, bits)
        assert holds(law.pmf_bounds(-m, bits), weights[m] / total + slack, bits)
        assert holds(law.tail_bounds(m, bits), tails[m] / total + slack, bits)
        assert holds(law.tail_bounds(1 - m, bits), 1 - tails[m] / total + slack, bits)


@given(
    y=st.builds(Fraction, st.integers(1, 10**9), st.integers(1, 10**8)).filter(lambda y: y < 300),
    bits=st.sampled_from([60, 128, 400]),
)
@settings(max_examples=60)
def test_the_error_function(y: Fraction, bits: int) -> None:
    assert holds(_half_erfc(y, bits), arb(y).sqrt().erfc() / 2, bits)


@pytest.mark.parametrize("law", [*SMALL, *LARGE], ids=str)
def test_tails_are_sums_of_probabilities(law: Law) -> None:
    bits = 160
    for m in (0, 1, law.reach, 3 * law.reach + 1):
        here, next_ = law.tail_bounds(m, bits), law.tail_bounds(m + 1, bits)
        low, high = law.pmf_bounds(m, bits)
        assert here[0] - next_[1] <= high
        assert here[1] - next_[0] >= low


@pytest.mark.parametrize("law", [*SMALL, *LARGE], ids=str)
@pytest.mark.parametrize("confidence", ["0", "1/2", "0.95", "0.999999", "0.999999999999999999999999999999"])
def test_within_is_the_smallest_that_holds(law: Law, confidence: str) -> None:
    sure, bits = Fraction(confidence), 600
    t = law.within(confidence)
    sides = 2 if law.mirrored else 1

    def outside(t: int) -> tuple[Fraction, Fraction]:
        low, high = law.tail_bounds(t + 1, bits)
        return Fraction(sides * low, 1 << bits), Fraction(sides * high, 1 << bits)

    if sure > 0:
        assert outside(t)[1] <= 1 - sure
    if t > 0:
        assert outside(t - 1)[0] > 1 - sure


def test_within_is_not_a_rounded_continuous_quantile() -> None:
    """The continuous Laplace quantile of scale 10 at 95 % rounds to 30; the law wants 30, and for 1/2 wants 1."""
    assert DiscreteLaplace(Fraction(10)).within("0.95") == 30
    assert DiscreteGaussian(Fraction(100)).within("0.95") == 20
    assert DiscreteGaussian(Fraction(1, 4)).within("0.95") == 1
    assert Geometric(Fraction(10)).within("0.95") == 29


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_the_mean_square_is_the_sum(law: Law) -> None:
    terms = [(k, law.pmf_bounds(k, 200)[0] / 2**200) for k in range(60 * law.reach + 60)]
    expected = (2 if law.mirrored else 1) * sum(k * k * p for k, p in terms)
    assert law.mean_square == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("law", LARGE, ids=str)
def test_the_mean_square_of_large_scales(law: Law) -> None:
    """Near the continuous law's: a relative 1e-3 at scale 64, and closer above."""
    continuous = 2 * law.reach**2 if law.linear else law.reach**2
    assert law.mean_square == pytest.approx(continuous, rel=2e-2)


def test_extreme_scales_have_finite_numbers() -> None:
    for scale in (Fraction(1, 10**300), Fraction(10**300)):
        for law in (DiscreteLaplace(scale), Geometric(scale), DiscreteGaussian(scale)):
            assert law.mean_square >= 0
            assert law.within("0.95") >= 0
            assert law.draw(SystemSource()) is not None


# ── draws ────────────────────────────────────────────────────────────────────


def statistic(law: Law, draws: NDArray[np.int64]) -> float:
    """A p-value: counts of intervals in which 25 or more are expected, and of the rest."""
    count, bits = draws.size, 80
    sides = (1, -1) if law.mirrored else (1,)
    cuts = [0]
    step = max(1, law.reach // 16)
    while law.tail_bounds(cuts[-1] + step, bits)[1] / 2**bits * count > 50:
        cuts.append(cuts[-1] + step)
    observed, expected = [], []
    for side in sides:
        magnitudes = draws[draws >= 0] if side == 1 else -1 - draws[draws < 0]
        found = np.bincount(np.searchsorted(np.array(cuts), magnitudes, side="right"), minlength=len(cuts) + 1)[1:]
        offset = 0 if side == 1 else 1
        tails = [law.tail_bounds(cut + offset, bits)[0] / 2**bits for cut in cuts] + [0.0]
        observed += found.tolist()
        expected += [count * (high - low) for high, low in pairwise(tails)]
    return goodness(np.array(observed), np.array(expected))


def goodness(observed: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    """The p-value of chi-square; cells of fewer than 25 are merged until none is left, so that its tail is trustworthy."""
    order = np.argsort(expected)
    o, e = observed[order].tolist(), expected[order].tolist()
    while len(e) > 1 and e[0] < 25:
        o[:2], e[:2] = [o[0] + o[1]], [e[0] + e[1]]
    if len(e) < 2:
        return 1.0
    return float(chi2.sf(sum((a - b) ** 2 / b for a, b in zip(o, e, strict=True)), len(e) - 1))


PATHS: dict[str, tuple[int, Callable[[Law, SystemSource, int], NDArray[np.int64]]]] = {
    "an array": (1_000_000, lambda law, source, count: law.sample(source, count)),
    "one by one from blocks": (
        20_000,
        lambda law, source, count: np.array([law.sample(source) for _ in range(count)], dtype=np.int64),
    ),
    "one by one without a table": (
        4_000,
        lambda law, source, count: np.array([law.draw(source) for _ in range(count)], dtype=np.int64),
    ),
    "small arrays": (
        2_000,
        lambda law, source, count: np.concatenate([law.sample(source, 50) for _ in range(count // 50)]),
    ),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("law", [*SMALL, *LARGE], ids=str)
def test_draws_follow_the_law(law: Law, path: str) -> None:
    """Chi-square on fresh draws, false-alarm rate 1e-10."""
    count, draw = PATHS[path]
    assert statistic(law, draw(law, SystemSource(), count)) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("law", [*SMALL, *LARGE], ids=str)
def test_ten_times_as_many_draws_follow_the_law(law: Law, path: str) -> None:
    """The same with ten times the draws: sees deviations a third as large."""
    count, draw = PATHS[path]
    assert statistic(law, draw(law, SystemSource(), 10 * count)) > FALSE_ALARM


@pytest.mark.parametrize("law", [law for law in LARGE if law.reach <= 1000], ids=str)
def test_the_positions_in_columns_follow_the_law(law: Law) -> None:
    """Chi-square of value mod 32 near the peak, where a column that is not filled right shows; false-alarm rate 1e-10."""
    draws = law.sample(SystemSource(), 2_000_000)
    near = draws[np.abs(draws) < 32] + 32
    expected = [2_000_000 * law.pmf_bounds(k - 32, 80)[0] / 2**80 for k in range(64)]
    observed = np.bincount(near, minlength=64)
    assert goodness(observed[1:], np.array(expected)[1:]) > FALSE_ALARM


@pytest.mark.parametrize(
    ("law", "widest"),
    [(DiscreteLaplace(Fraction(10)), 2), (Geometric(Fraction(21, 2)), 2), (DiscreteGaussian(Fraction(48**2)), 4)],
    ids=str,
)
def test_columns_that_are_mostly_caps_follow_the_law(law: Law, widest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With columns so coarse that up to a third of all draws are settled by rejection; false-alarm rate 1e-10."""
    monkeypatch.setattr(tables, "_WIDEST", widest)
    table = Table(law)
    assert table.width >= 4
    draws = np.empty(4_000_000, dtype=np.int64)
    table.fill(draws, SystemSource())
    assert each_value(law, draws) > FALSE_ALARM


def each_value(law: Law, draws: NDArray[np.int64]) -> float:
    """A p-value from the counts of all single values."""
    reach = int(np.abs(draws).max()) + 1
    expected = np.array([draws.size * law.pmf_bounds(k, 80)[0] / 2**80 for k in range(-reach, reach + 1)])
    return goodness(np.bincount(draws + reach, minlength=2 * reach + 1), expected)


@pytest.mark.parametrize("taken", [True, False])
def test_chi_square_notices_caps_that_are_not_weighed(taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: caps always taken, or never."""
    whole = Table._caps

    def caps(
        self: Table, position: NDArray[np.int64], source: SystemSource
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        value, accepted = whole(self, position, source)
        return value, np.full_like(accepted, taken)

    monkeypatch.setattr(tables, "_WIDEST", 2)
    monkeypatch.setattr(Table, "_caps", caps)
    law = DiscreteLaplace(Fraction(10))
    draws = np.empty(1_000_000, dtype=np.int64)
    Table(law).fill(draws, SystemSource())
    assert each_value(law, draws) < FALSE_ALARM


def test_chi_square_notices_a_scale_one_percent_off() -> None:
    draws = DiscreteLaplace(Fraction(1010)).sample(SystemSource(), 4_000_000)
    assert statistic(DiscreteLaplace(Fraction(1000)), draws) < FALSE_ALARM


def test_chi_square_notices_a_value_moved() -> None:
    """Sabotage: a tenth of the prefixes of 12 say 13."""
    law = DiscreteLaplace(Fraction(10))
    table = Table(law)
    wrong = np.flatnonzero(table.guide == 12)
    table.guide[wrong[: wrong.size // 10]] = 13
    draws = np.empty(4_000_000, dtype=np.int64)
    table.fill(draws, SystemSource())
    assert each_value(law, draws) < FALSE_ALARM


def test_draws_of_one_array_are_independent() -> None:
    """Neighbouring draws: correlation within 7 standard errors (false-alarm rate below 1e-11)."""
    for law in (DiscreteLaplace(Fraction(10)), DiscreteGaussian(Fraction(10**6))):
        draws = law.sample(SystemSource(), 1_000_000).astype(np.float64)
        for lag in (1, 2, 4, 65536):
            assert abs(np.corrcoef(draws[lag:], draws[:-lag])[0, 1]) < 7e-3


# ── single draws, digit by digit ─────────────────────────────────────────────


@pytest.mark.parametrize("scale", ["1/2", "1", "10", "1000", "1000000", "1/3"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_geometric_draw_reveals_digits_until_they_decide(scale: str, k: int) -> None:
    """U just above or below exp(-k/scale) on the first digits asked for, then on twice, then on four times as many."""
    s = Fraction(scale)
    level = (-k / arb(s)).exp()
    law = Geometric(s)
    asked = first_digits(s.numerator, s.denominator)
    for doublings in (0, 1, 2):
        bits = asked << doublings
        whole = (level * flint.arb(2) ** bits).floor().unique_fmpz()
        assert whole is not None
        for step, expected in ((-1 << 8, k), (1 << 8, k - 1)):
            seen = int(whole) + step
            words = pieces(seen, [asked] + [asked << i for i in range(doublings)])
            source = ScriptedSource(words)
            assert law.draw(source) == expected
            assert source.left == 0


def pieces(number: int, sizes: list[int]) -> list[int]:
    """The words that answer requests of these many bits with the digits of `number`, first digits first."""
    words: list[int] = []
    for size, below in zip(sizes, [sum(sizes[i + 1 :]) for i in range(len(sizes))], strict=True):
        part = number >> below & ((1 << size) - 1)
        count = -(-size // 64)
        part <<= 64 * count - size
        words += [part >> (64 * i) & ((1 << 64) - 1) for i in reversed(range(count))]
    return words


def test_a_geometric_draw_of_many_zeros_goes_on() -> None:
    """88, then 176 zeros: the value is far in the tail, not cut off where the first digits end."""
    law = Geometric(Fraction(1))
    assert first_digits(1, 1) == 88
    one = 1 << 63  # the next digit is a one; a little more follows, so that U is not the power of two itself
    shallow = law.draw(ScriptedSource([0, 0, one | 1 << 40, *[7] * 30]))
    assert shallow == math.floor(89 * math.log(2))
    deep = law.draw(ScriptedSource([0, 0, 0, 0, one | 1 << 40, *[7] * 30]))
    assert deep == math.floor(177 * math.log(2))


def test_a_negative_zero_is_drawn_again() -> None:
    law = DiscreteLaplace(Fraction(1))
    zero, three = [(1 << 64) - (1 << 40), 0], [int(math.exp(-3.5) * 2**64), 0]
    negative, positive_ = [1 << 63], [0]
    for script, expected in (
        ([*zero, *positive_], 0),
        ([*zero, *negative, *three, *negative], -3),
        ([*three, *positive_], 3),
    ):
        source = ScriptedSource(script)
        assert law.draw(source) == expected
        assert source.left == 0


@pytest.mark.parametrize("x", ["0", "1/1000", "1/2", "1", "3", "20"])
def test_a_bernoulli_draw_reveals_digits_until_they_decide(x: str) -> None:
    p, q = Fraction(x).numerator, Fraction(x).denominator
    level = (-arb(Fraction(x))).exp()
    for doublings in (0, 1, 2):
        bits = 64 << doublings
        whole = (level * flint.arb(2) ** bits).floor().unique_fmpz()
        assert whole is not None
        for step, expected in ((-3, True), (3, False)):
            seen = int(whole) + step
            if seen >> bits:
                continue
            source = ScriptedSource(pieces(seen, [64] + [64 << i for i in range(doublings)]))
            assert bernoulli_exp_of_ratio(p, q, source) is expected
            assert source.left == 0 or Fraction(x) == 0


# ── sizes, saturation, caching ───────────────────────────────────────────────


def test_single_draws_are_unbounded_and_arrays_saturate() -> None:
    law = DiscreteLaplace(Fraction(2**70))
    source = SystemSource()
    singles = [law.sample(source) for _ in range(200)]
    assert any(abs(z) > LARGEST for z in singles)
    array = law.sample(source, 200)
    assert array.dtype == np.int64
    assert (np.abs(array) == LARGEST).sum() > 100
    assert (array != -(2**63)).all()
    for _ in range(200):
        source.one(law)
    assert law not in source._ready  # a block drawn ahead would have saturated single draws


@pytest.mark.parametrize("law", [*SMALL, *LARGE], ids=str)
def test_sizes(law: Law) -> None:
    source = SystemSource()
    assert isinstance(law.sample(source), int)
    for size, shape in (
        (0, (0,)),
        (1, (1,)),
        (5, (5,)),
        ((3, 4), (3, 4)),
        (70_001, (70_001,)),
        ((0, 7), (0, 7)),
        ((), ()),
    ):
        draws = law.sample(source, size)
        assert draws.dtype == np.int64
        assert draws.shape == shape
    assert law.sample(source, np.int64(3)).shape == (3,)


@pytest.mark.parametrize("size", [-1, (3, -1), 1.5, "7", True, (2**20, 2**20), [None], 2**33])
def test_absurd_sizes_are_refused(size: object) -> None:
    with pytest.raises(BadInput, match="->"):
        DiscreteLaplace(Fraction(1)).sample(SystemSource(), size)  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian, Geometric])
@pytest.mark.parametrize(
    "scale", [0, -1, float("nan"), float("inf"), "word", None, True, [1], 10**2000, Fraction(1, 10**2000)]
)
def test_absurd_parameters_are_refused(kind: Callable[[object], Law], scale: object) -> None:
    with pytest.raises(BadInput, match="->"):
        kind(scale)


def test_parameters_are_read_as_they_print() -> None:
    assert DiscreteLaplace(0.1).scale == Fraction(1, 10)  # type: ignore[arg-type]
    assert DiscreteGaussian("0.25").variance == Fraction(1, 4)  # type: ignore[arg-type]


def test_tables_are_cached_and_the_cache_is_bounded() -> None:
    law = DiscreteLaplace(Fraction(10))
    assert tables.table(law) is tables.table(DiscreteLaplace(Fraction(10)))
    most = tables.table.cache_info().maxsize
    assert most is not None
    assert most <= 64
    source = SystemSource()
    for i in range(200):
        for _ in range(60):
            DiscreteLaplace(Fraction(1, i + 1)).sample(source)
    assert len(source._ready) <= 64
    assert len(source._asked) <= 64
