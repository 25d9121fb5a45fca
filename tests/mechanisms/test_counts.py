"""Running counts: unbiased, as noisy as said, priced by every number's whole path; horizons and bad input.

False alarms: each statistical test here errs with probability 1e-9 or less.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from sfumato.accounting import Pure, Zcdp
from sfumato.audit.exact import hockey_stick
from sfumato.core import BadInput, Sensitivity
from sfumato.mechanisms import FactoredCount, RunningCount
from sfumato.mechanisms.stream.running_count import tail_of_sum
from sfumato.noise import DiscreteLaplace, system_source
from sfumato.testing import ScriptedSource

NUMBERS = [3, 0, 2, 5, 1, 0, 0, 4, 7, 1, 2, 2, 0]


@pytest.mark.parametrize("m", [RunningCount(13, 2), FactoredCount(13, 2)], ids=repr)
def test_the_replies_are_the_sums_and_the_noise_is_known(m: Any) -> None:
    """40 000 streams: each mean within 7 standard errors, each variance within 8 % (7 of its standard deviations and more)."""
    runs = np.array(m.repeat(NUMBERS, 40_000, system_source()), dtype=float) - np.cumsum(NUMBERS)
    deviations = runs.std(axis=0)
    assert np.all(np.abs(runs.mean(axis=0)) < 7 * deviations / 200)
    if isinstance(m, RunningCount):
        expected = [DiscreteLaplace(Fraction(2)).mean_square * t.bit_count() for t in range(1, 14)]
    else:
        expected = [4 * 4**20 * math.fsum(h * h for h in m._decoder[:t]) for t in range(1, 14)]
    assert deviations**2 == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("m", [RunningCount(13, 2), RunningCount(13, 2, grain="1/4"), FactoredCount(13, 2)], ids=repr)
def test_live_and_on_a_list_are_one(m: Any) -> None:
    session = m.start(ScriptedSource.stream(b"one"))
    live = tuple(session.ask(number) for number in NUMBERS)
    assert live == m.sample(NUMBERS, ScriptedSource.stream(b"one"))
    assert session.closed
    with pytest.raises(BadInput, match="closed") as caught:
        session.ask(1)
    assert caught.value.hint


@pytest.mark.parametrize("m", [RunningCount(13, 2), FactoredCount(13, 2)], ids=repr)
def test_within_holds_for_every_reply(m: Any) -> None:
    """20 000 streams: 6.1 % outside at 95 % is 7.1 standard deviations off, probability below 1e-11 for all 13 replies."""
    runs = np.array(m.repeat(NUMBERS, 20_000, system_source()), dtype=float) - np.cumsum(NUMBERS)
    outside = (np.abs(runs) > m.within("0.95")).mean(axis=0)
    assert outside.max() < 0.061
    assert (np.abs(runs) > m.within("0.95") / 2).mean(axis=0).max() > 0.061, "the bound is needlessly wide"


@pytest.mark.parametrize("horizon", [1, 2, 3, 6, 7, 8, 13])
def test_a_number_takes_part_in_no_more_blocks_than_are_paid_for(horizon: int) -> None:
    """Every block's sum is found by its effect on the replies: with the noise fixed, a unit at t moves some blocks by 1."""
    m = RunningCount(horizon, 1)
    for t in range(horizon):
        blocks = sum(1 for end in range(1, horizon + 1) if end - (end & -end) <= t < end)
        assert blocks <= m.levels
    assert m.loss(1).epsilon() == m.levels
    assert max(bin(t).count("1") for t in range(1, horizon + 1)) in (m.levels, m.levels - 1)


def test_forgetting_the_levels_is_caught() -> None:
    """The broken copy: noise for one level, on the exact law of the first two replies."""
    m = RunningCount(3, 1)
    left, right = m.law([0, 0]), m.law([1, 0])
    assert left is not None
    assert right is not None
    claimed = Pure(Fraction(1))
    assert float(hockey_stick(left, right, Fraction(1, 2))[0]) > claimed.delta(0.5)
    assert float(hockey_stick(left, right, Fraction(19, 10))[0]) > 0
    assert float(hockey_stick(left, right, Fraction(2))[0]) < 1e-20


# ── the factorisation ────────────────────────────────────────────────────────


@pytest.mark.parametrize("digits", [0, 4, 20])
def test_encoder_times_decoder_is_the_sum(digits: int) -> None:
    m = FactoredCount(200, 1, digits)
    triangle = np.convolve(m._strategy, m._decoder)[:200]
    assert triangle == pytest.approx(np.ones(200), abs=1e-9)


def test_the_strategy_is_the_square_root() -> None:
    column = np.array(FactoredCount(300, 1)._strategy) / 2**20
    assert column == pytest.approx([math.comb(2 * k, k) / 4**k for k in range(300)], abs=1e-6)
    assert np.convolve(column, column)[:300] == pytest.approx(np.ones(300), abs=1e-3)


@pytest.mark.parametrize("digits", [0, 3, 20])
def test_no_move_goes_further_than_is_paid_for(digits: int) -> None:
    """Every move of a stream of 5 with l1 at most 2: squared length of the move of y, beside the price."""
    m = FactoredCount(5, 1, digits)
    c = m._strategy
    encoder = np.array([[c[i - j] if i >= j else 0 for j in range(5)] for i in range(5)], dtype=object)
    paid = 4 * sum(each * each for each in c)
    for move in product((-2, -1, 0, 1, 2), repeat=5):
        if 0 < sum(map(abs, move)) <= 2:
            assert sum(int(each) ** 2 for each in encoder @ np.array(move, dtype=object)) <= paid
    rho = m.loss(Sensitivity.of_cells(2)).zcdp()
    assert rho == (Fraction(paid, 2 * 4**digits), Fraction(0))


def test_one_number_has_the_finer_price() -> None:
    m = FactoredCount(100, 8)
    one, several = m.loss(1), m.loss(Sensitivity(Fraction(1), Fraction(1), Fraction(1), cells=3))
    assert isinstance(several, Zcdp)
    assert one.zcdp() == several.zcdp()
    assert one.epsilon(1e-6) <= several.epsilon(1e-6)


def test_it_beats_the_tree() -> None:
    tree = RunningCount.calibrate(horizon=4000, epsilon=1)
    root = FactoredCount.calibrate(horizon=4000, epsilon=1, delta="1e-6")
    assert root.within("0.95") < tree.within("0.95")
    assert root.loss(1).delta(1.0) <= 1e-6
    assert tree.loss(1).epsilon() == 1


def test_a_chernoff_bound_is_a_bound() -> None:
    """Beside the exact law of the sum of three, by convolution."""
    noise = DiscreteLaplace(Fraction(2))
    one = np.array([noise.pmf_bounds(k, 96)[1] / 2**96 for k in range(-100, 101)])
    three = np.convolve(np.convolve(one, one), one)
    for confidence in ("0.5", "0.9", "0.99", "0.9999"):
        t = tail_of_sum(noise, 3, confidence)
        assert three[300 - t : 300 + t + 1].sum() >= float(confidence)
        assert t < 3 * noise.within(confidence) + 8


# ── bad input ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", [RunningCount, FactoredCount])
def test_senseless_counts_are_refused(kind: Any) -> None:
    for horizon in (0, -1, 2.5, True):
        with pytest.raises(BadInput, match="horizon"):
            kind(horizon, 1)
    with pytest.raises(BadInput, match="nothing to protect"):
        kind.calibrate(horizon=5, sensitivity=0, epsilon=1, delta="1e-6")
    session = kind(2, 1).start()
    for number in (0.5, "1", None, float("nan")):
        with pytest.raises(BadInput, match="whole number"):
            session.ask(number)
    assert not session.closed
    session.ask(2**300)


def test_gaussian_counts_need_a_delta() -> None:
    with pytest.raises(BadInput, match="delta 0"):
        FactoredCount.calibrate(horizon=5, epsilon=1)
    with pytest.raises(BadInput, match="digits"):
        FactoredCount(5, 1, 31)
