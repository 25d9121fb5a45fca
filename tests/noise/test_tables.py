"""Tables beside Arb: every threshold, every 16-bit prefix, the words beside thresholds, the rare paths, and broken copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import flint
import numpy as np
import pytest

from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Geometric, tables
from sfumato.noise.ladder import Ladder, Thresholds, ladder
from sfumato.noise.law import Law
from sfumato.noise.tables import TABLE_BITS, Table
from sfumato.testing import ScriptedSource

PRECISION = 900
NARROW: list[Law] = [
    DiscreteLaplace(Fraction(1, 50)),
    DiscreteLaplace(Fraction(1, 2)),
    DiscreteLaplace(Fraction(1)),
    DiscreteLaplace(Fraction(10)),
    DiscreteLaplace(Fraction(191, 3)),
    Geometric(Fraction(1, 3)),
    Geometric(Fraction(20)),
    DiscreteGaussian(Fraction(1, 4)),
    DiscreteGaussian(Fraction(2, 7)),
    DiscreteGaussian(Fraction(100)),
    DiscreteGaussian(Fraction(63**2)),
]
WIDE: list[Law] = [
    DiscreteLaplace(Fraction(64)),
    DiscreteLaplace(Fraction(1000)),
    DiscreteLaplace(Fraction(10**6)),
    DiscreteLaplace(Fraction(10**15, 7)),
    Geometric(Fraction(12345, 6)),
    DiscreteGaussian(Fraction(64**2)),
    DiscreteGaussian(Fraction(10**6)),
    DiscreteGaussian(Fraction(10**12)),
    DiscreteGaussian(Fraction(10**26, 3)),
]
LAWS = NARROW + WIDE


@pytest.fixture(autouse=True, scope="module")
def precise() -> Iterator[None]:
    before, flint.ctx.prec = flint.ctx.prec, PRECISION
    yield
    flint.ctx.prec = before


def arb(x: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def weight(law: Law, x: int) -> flint.arb:
    """exp(-q(x)), each on its own: no recurrence to share a mistake with."""
    return (-arb(law.linear * x + law.square * x * x)).exp()


def table_of(law: Law) -> Table:
    return tables.table(law)


@cache
def exact_cuts(law: Law, count: int, width: int) -> list[flint.arb]:
    """The true cumulative probabilities of the first outcomes, by their definition.

    Narrow: 0, -1, 1, -2, 2, ... (0, 1, 2, ... on one side). Wide: what is unsure, then the columns, both sides in turn,
    each as high as its lowest point.
    """
    sides = 2 if law.mirrored else 1
    steps = count // sides + 2
    heights = [weight(law, width * h) for h in range(steps)]
    if law.square:
        while heights[-1] > flint.arb(2) ** -PRECISION:
            heights.append(weight(law, width * len(heights)))
        all_of_them = sum(heights[1:], flint.arb(0))
    else:
        all_of_them = heights[1] / (1 - heights[1])
    first = flint.arb(2 if law.mirrored and width > 1 else 1)
    total = first + sides * all_of_them
    sums, running = [first / total], first
    for h in range(1, steps):
        for _ in range(sides):
            running += heights[h]
            sums.append(running / total)
    return sums[:count]


def value_of(law: Law, outcome: int, width: int) -> int:
    """What an outcome stands for: the number, or the near end of its column."""
    if width > 1:
        outcome -= 1
        if not law.mirrored:
            return outcome * width
        return -1 - outcome // 2 * width if outcome % 2 else outcome // 2 * width
    if not law.mirrored:
        return outcome
    return -(outcome + 1) // 2 if outcome % 2 else outcome // 2


def floors(cuts: list[flint.arb], bits: int) -> list[int]:
    """floor(cut * 2**bits), proved: the enclosure holds no whole number."""
    result = []
    for cut in cuts:
        whole = (cut * flint.arb(2) ** bits).floor().unique_fmpz()
        assert whole is not None
        result.append(int(whole))
    return result


# ── the checks ───────────────────────────────────────────────────────────────


def check_ladder(cached: Ladder, cuts: list[flint.arb]) -> None:
    """Each true threshold lies in its interval, and any law that the intervals allow is within 2**-128 of the target."""
    distance = 1 - cuts[-1]
    unit = flint.arb(2) ** -cached.bits
    for low, high, cut in zip(cached.low, cached.high, cuts, strict=True):
        assert not low * unit > cut
        assert not high * unit < cut
        distance += (high - low) * unit
    assert distance < flint.arb(2) ** -128


def check_guide(table: Table, cuts: list[flint.arb]) -> int:
    """Every 16-bit prefix: what it says is right for all numbers that begin so; how many it leaves open."""
    law, width = table.law, table.width
    ends = [*floors(cuts, 80), 1 << 80]
    outcome, opened = 0, 0
    for prefix in range(1 << 16):
        start, end = prefix << 64, (prefix + 1) << 64
        while ends[outcome] < start:  # true thresholds are not whole multiples of 2**-80: none is equal
            outcome += 1
        said = int(table.guide[prefix])
        if said == table.open:
            opened += 1
            beyond_or_unsure = outcome == len(cuts) or ends[outcome] < end or (width > 1 and outcome == 0)
            assert beyond_or_unsure, "a prefix that decides was left open"
        else:
            assert end <= ends[outcome], "a threshold lies inside a prefix that was called decided"
            assert outcome < len(cuts)
            assert width == 1 or outcome > 0
            assert said == value_of(law, outcome, width)  # type: ignore[arg-type]
    return opened


def check_words(thresholds: Thresholds, cuts: list[flint.arb]) -> None:
    """Words beside every threshold, and words at random: decided rightly, or left open because a threshold is there."""
    true = floors(cuts, 64)
    beside = {word + step for word in true for step in (-1, 0, 1)} | {0, (1 << 64) - 1}
    some = np.array(sorted(word for word in beside if 0 <= word < 1 << 64), dtype=np.uint64)
    rest = ScriptedSource.stream(b"words").words(20_000)
    for words in (some, rest):
        outcome, opened = thresholds.find(words)
        floor_array = np.array(true, dtype=np.uint64)
        touched = np.isin(words, floor_array)
        left_open = np.zeros(words.size, dtype=bool)
        left_open[opened] = True
        assert not (touched & ~left_open).any(), "a word that holds a threshold was called decided"
        assert left_open.sum() <= touched.sum() + 3 * len(cuts) // 2
        right = np.searchsorted(floor_array, words, side="right")
        assert (outcome[~left_open] == right[~left_open]).all()


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_cached_thresholds_are_certified(law: Law) -> None:
    cached = table_of(law).sure.ladder
    assert cached.bits == TABLE_BITS
    check_ladder(cached, exact_cuts(law, len(cached.low), table_of(law).width))


@pytest.mark.parametrize("law", WIDE, ids=str)
def test_cached_caps_are_certified(law: Law) -> None:
    table = table_of(law)
    check_ladder(table.caps.ladder, exact_brim(law, len(table.caps.ladder.low), table.width))


def exact_brim(law: Law, count: int, width: int) -> list[flint.arb]:
    return [1 - weight(law, width * (h + 1)) for h in range(count)]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_every_prefix_is_right_or_open(law: Law) -> None:
    table = table_of(law)
    opened = check_guide(table, exact_cuts(law, len(table.sure.ladder.low), table.width))
    assert opened < 0.05 * (1 << 16)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_words_beside_thresholds_are_right_or_open(law: Law) -> None:
    table = table_of(law)
    check_words(table.sure, exact_cuts(law, len(table.sure.ladder.low), table.width))
    if table.width > 1:
        check_words(table.caps, exact_brim(law, len(table.caps.ladder.low), table.width))


@pytest.mark.parametrize("law", WIDE, ids=str)
def test_columns_and_caps_make_the_law(law: Law) -> None:
    """From the cached numbers alone: P(z)/P(0) is weight(z)/weight(0), columns and accepted caps together."""
    table = table_of(law)
    width, sides = table.width, 2 if law.mirrored else 1
    sure, caps = table.sure.ladder, table.caps.ladder
    unit = flint.arb(2) ** -TABLE_BITS

    def proposed(z: int) -> flint.arb:
        x = z if z >= 0 else -1 - z
        h, _ = divmod(x, width)
        outcome = 1 + sides * h + (z < 0)
        column = (sure.low[outcome] - sure.low[outcome - 1]) * unit
        cap = (caps.low[h] - (caps.low[h - 1] if h else 0)) * unit
        floor, top = weight(law, width * (h + 1)), weight(law, width * h)
        accepted = (weight(law, abs(z)) - floor) / (top - floor)
        assert not accepted < -(flint.arb(2) ** -500)
        assert not accepted > 1 + flint.arb(2) ** -500
        return (column + sure.low[0] * unit * cap / sides * accepted) / width

    reach = law.reach
    for z in [1, 2, width - 1, width, width + 1, reach, 2 * reach + 1, 5 * reach + 2]:
        for signed in (z, -z) if law.mirrored else (z,):
            error = proposed(signed) / proposed(0) - weight(law, abs(signed))
            assert abs(error) < flint.arb(2) ** -128


# ── the rare paths ───────────────────────────────────────────────────────────


def script(heads: list[int], *words: int) -> ScriptedSource:
    """48 draws' prefixes, four to a word, then the given words."""
    digits = np.array(heads + [1 << 14] * (48 - len(heads)), dtype="<u2").view("<u8")
    return ScriptedSource([*digits.tolist(), *words])


def split(value: int, bits: int) -> list[int]:
    """`bits` binary digits as words, filled up with zeros at the end."""
    count = -(-bits // 64)
    value <<= 64 * count - bits
    return [value >> (64 * i) & ((1 << 64) - 1) for i in reversed(range(count))]


RARE: list[Law] = [
    DiscreteLaplace(Fraction(10)),
    DiscreteLaplace(Fraction(1, 2)),
    DiscreteGaussian(Fraction(100)),
    Geometric(Fraction(20)),
]


def draw_at(law: Law, number: int, bits: int) -> tuple[int, int]:
    """The first of 48 draws when its uniform number begins with these binary digits; how many words stay unused."""
    head, middle, rest = number >> (bits - 16), number >> (bits - 64) & ((1 << 48) - 1), bits - 64
    words = [middle << 16]
    if rest:
        words += split(number >> max(0, bits - 160) & ((1 << 96) - 1), 96)
    if bits > 160:
        words += split(number & ((1 << (bits - 160)) - 1), bits - 160)
    source = script([head], *words)
    return int(law.sample(source, 48)[0]), source.left


@pytest.mark.parametrize("law", RARE, ids=str)
@pytest.mark.parametrize("index", [0, 1, 4, 7])
def test_a_draw_that_begins_like_a_threshold_is_refined(law: Law, index: int) -> None:
    """On the threshold for 64 bits, then just below or above it; then for 160 bits, decided by 320."""
    cut = exact_cuts(law, index + 1, 1)[index]
    below, above = value_of(law, index, 1), value_of(law, index + 1, 1)
    [at160], [at320] = floors([cut], 160), floors([cut], 320)
    assert draw_at(law, at160 - 9, 160) == (below, 0)
    assert draw_at(law, at160 + 9, 160) == (above, 0)
    assert draw_at(law, at320 - 9, 320) == (below, 0)
    assert draw_at(law, at320 + 9, 320) == (above, 0)


@pytest.mark.parametrize("law", RARE, ids=str)
@pytest.mark.parametrize("ones", [64, 100, 159, 200, 300])
def test_the_tail_is_completed(law: Law, ones: int) -> None:
    """A uniform number that begins with many ones: far past where 64, even 160 bits reach."""
    bits = 64 if ones < 64 else 160 if ones < 140 else 320
    number = (1 << bits) - (1 << (bits - ones))
    far = next(x for x in range(10**4) if weight(law, x) < flint.arb(2) ** -330)
    place = floors(exact_cuts(law, far * (2 if law.mirrored else 1), 1), bits)
    outcome = next(i for i, cut in enumerate(place) if cut >= number + 1)
    value, left = draw_at(law, number, bits)
    assert value == value_of(law, outcome, 1)
    assert left == 0 or ones == 159  # there 160 digits may be enough
    if ones >= 100:
        assert outcome > 3


def test_a_tail_cut_off_would_be_seen() -> None:
    """Sabotage: a table that ends at 2**-64 and says that this is all."""
    law = DiscreteLaplace(Fraction(10))
    full = table_of(law).sure.ladder
    keep = next(i for i, low in enumerate(full.low) if low >= (1 << 160) - (1 << 96))
    short = Ladder(full.bits, [*full.low[:keep], 1 << 160], [*full.high[:keep], 1 << 160])
    with pytest.raises(AssertionError):
        check_ladder(short, exact_cuts(law, len(short.low), 1))
    gone = Ladder(full.bits, full.low[:keep], full.high[:keep])
    with pytest.raises(AssertionError):
        check_ladder(gone, exact_cuts(law, len(gone.low), 1))


@pytest.mark.parametrize("place", [0, 1, 57, 2000])
def test_a_threshold_that_is_off_would_be_seen(place: int) -> None:
    """Sabotage: one threshold moved by 2**-157, in the list or among the words."""
    law = DiscreteLaplace(Fraction(10))
    good = table_of(law).sure.ladder
    low, high = list(good.low), list(good.high)
    low[place], high[place] = low[place] + 8, high[place] + 8
    bad = replace(good, low=low, high=high)
    cuts = exact_cuts(law, len(low), 1)
    with pytest.raises(AssertionError):
        check_ladder(bad, cuts)
    if place < 1000:  # further out several thresholds share a word
        words = Thresholds(good)
        words.first[place] += np.uint64(1)
        words.last[place] += np.uint64(1)
        with pytest.raises(AssertionError):
            check_words(words, cuts)


def test_a_wrong_prefix_would_be_seen() -> None:
    """Sabotage: one entry of the guide moved by one cell."""
    law = DiscreteGaussian(Fraction(100))
    table = Table(law)
    cuts = exact_cuts(law, len(table.sure.ladder.low), 1)
    check_guide(table, cuts)
    edge = int(np.flatnonzero(table.guide == table.open)[3])
    table.guide = table.guide.copy()
    table.guide[edge] = table.guide[edge - 1]
    with pytest.raises(AssertionError, match="inside a prefix"):
        check_guide(table, cuts)


def test_probabilities_rounded_to_floats_would_be_seen() -> None:
    """Sabotage: thresholds from float64 weights, correct to 53 bits and wrong after."""
    law = DiscreteGaussian(Fraction(100))
    weights = np.exp(-(np.arange(140) ** 2) / 200.0)
    each = np.repeat(weights, 2)[1:]
    sums = np.cumsum(each) / each.sum()
    cuts = [int(Fraction(float(s)) * (1 << 160)) for s in sums]
    with pytest.raises(AssertionError):
        check_ladder(Ladder(160, cuts, [cut + 1 for cut in cuts]), exact_cuts(law, len(cuts), 1))


def test_a_finer_ladder_refines_the_cached_one() -> None:
    for law in (RARE[0], RARE[2], WIDE[1], WIDE[6]):
        table = table_of(law)
        fine = ladder(law, table.width, 320)
        for low, high, finer_low, finer_high in zip(
            table.sure.ladder.low, table.sure.ladder.high, fine.low, fine.high, strict=False
        ):
            assert low <= finer_high >> 160
            assert finer_low >> 160 <= high


# ── caps ─────────────────────────────────────────────────────────────────────


def check_caps(law: Law, count: int) -> int:
    """Proposals from the caps, a third of them with levels just beside the weight: taken exactly when below it."""
    table = table_of(law)
    label = str(law).encode()
    stream = ScriptedSource.stream(label)
    position = (stream.words(count) & np.uint64(table.width - 1)).astype(np.int64)
    words, signs = stream.words(count).tolist(), stream.words(count).tolist()
    whole = 1 << 64
    for i in range(0, count, 3):
        # aim at a column, then at the very level that decides
        column = i % (3 * 64) // 3
        x = column * table.width + int(position[i])
        negative = bool(signs[i] & 1) and law.mirrored
        [level] = floors([weight(law, x + negative)], 64)
        words[i] = max(0, min(whole - 1, whole - 1 - level + (i // 3) % 5 - 2))
    script_words = words + (signs if law.mirrored else [])
    value, accepted = table._caps(position, ScriptedSource(script_words, then=label))
    undecided = 0
    edges = floors(exact_brim(law, len(table.caps.ladder.low), table.width), 64)
    for i, word in enumerate(words):
        if word in edges:
            continue  # the column itself needs more digits
        column = int(np.searchsorted(np.array(edges, dtype=np.uint64), np.uint64(word), side="right"))
        x = column * table.width + int(position[i])
        negative = bool(signs[i] & 1) and law.mirrored
        [level] = floors([weight(law, x + negative)], 64)
        if whole - 1 - word == level:
            undecided += 1  # more digits were drawn: either is right
            continue
        assert bool(accepted[i]) == (whole - 1 - word < level)
        if accepted[i]:
            assert value[i] == (-1 - x if negative else x)
    return undecided


@pytest.mark.parametrize("law", WIDE, ids=str)
def test_caps_are_taken_exactly_below_the_weight(law: Law) -> None:
    assert check_caps(law, 750) >= 15


def test_a_cap_is_settled_by_as_many_digits_as_it_takes() -> None:
    """The level agrees with the weight for 160 digits: then below, then above."""
    law = DiscreteLaplace(Fraction(1000))
    table = table_of(law)
    for negative in (False, True):
        x = 3 * table.width + 5
        bits = 320
        [level] = floors([weight(law, x + negative)], bits)
        for step, expected in ((-9, True), (9, False)):
            uniform = (1 << bits) - 1 - (level + step)
            first, rest = uniform >> 256, uniform & ((1 << 256) - 1)
            script_words = [*split(rest >> 160, 96), *split(rest & ((1 << 160) - 1), 160)]
            source = ScriptedSource(script_words)
            got = table._cap(np.uint64(first), 5, negative, source)
            assert got[1] is expected
            assert source.left == 0
            if expected:
                assert got[0] == (-1 - x if negative else x)


@pytest.mark.parametrize("edge", [0, 2, 11])
def test_a_cap_whose_column_is_open_is_settled(edge: int) -> None:
    """Just above an edge's level lies the foot of one column, where all is taken; just below, the next one's top."""
    law = DiscreteLaplace(Fraction(1000))
    table = table_of(law)
    [at160] = floors([1 - weight(law, table.width * (edge + 1))], 160)
    for step, position, expected in (
        (-9, 5, (edge * table.width + 5, True)),
        (9, 0, ((edge + 1) * table.width, True)),
        (9, 5, (0, False)),
    ):
        first, rest = divmod(at160 + step, 1 << 96)
        _, opened = table.caps.find(np.array([first], dtype=np.uint64))
        assert opened.size == 1
        source = ScriptedSource(split(rest, 96))
        assert table._cap(np.uint64(first), position, False, source) == expected
        assert source.left == 0


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_outcomes_past_the_table_go_on_like_those_inside(law: Law) -> None:
    table = table_of(law)
    size = table.values.size
    for outcome in range(table.width > 1, size + 40):
        expected = value_of(law, outcome, table.width)
        if outcome < size:
            assert table.values[outcome] == expected
        if size - 40 < outcome:
            assert table._far(outcome) == expected
            assert table._value_of(np.array([outcome, 1])).tolist() == [expected, value_of(law, 1, table.width)]


def test_a_careless_exponential_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: single precision in the caps' weights, or no margin for doubt."""
    law = DiscreteLaplace(Fraction(1000))
    monkeypatch.setattr(tables, "_exp_minus", lambda t: np.exp(-t.astype(np.float32)).astype(np.float64))
    with pytest.raises(AssertionError):
        check_caps(law, 1500)
    monkeypatch.undo()
    monkeypatch.setattr(tables, "_MARGIN", 0.0)
    with pytest.raises(AssertionError):
        check_caps(law, 1500)


def test_the_polynomial_keeps_its_promise() -> None:
    t = np.linspace(0.0, 1.0, 4001)
    for x, got in zip(t.tolist(), tables._exp_minus(t).tolist(), strict=True):
        true = (-arb(Fraction(x))).exp()
        assert abs(arb(Fraction(got)) / true - 1) < flint.arb(2) ** -42


@pytest.mark.parametrize("law", WIDE, ids=str)
def test_exponents_in_a_column_stay_where_the_polynomial_holds(law: Law) -> None:
    """Up to the last column that 64 digits decide, one column's exponents span less than 1."""
    table = table_of(law)
    last = len(floors(exact_brim(law, len(table.caps.ladder.low), table.width), 64))
    last = next(h for h in range(last) if weight(law, table.width * h) < flint.arb(2) ** -64)
    x = table.width * last
    span = law.linear * table.width + law.square * ((x + table.width) ** 2 - x**2)
    assert span < Fraction(1, 2)
