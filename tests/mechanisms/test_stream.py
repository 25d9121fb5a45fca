"""Sessions that compare with a threshold: live and on lists, exact laws, accuracy, broken variants, bad input.

False alarms: each statistical test here errs with probability 1e-9 or less.
"""

from __future__ import annotations

import copy
import os
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
import pytest

from sfumato.accounting import Loss, Pure
from sfumato.audit import audit
from sfumato.audit.exact import hockey_stick
from sfumato.core import BadInput, Bug, NotSupported, Private, Sensitivity
from sfumato.core.exact import Number
from sfumato.mechanisms import AboveThreshold, Case, Mechanism, SparseVector
from sfumato.mechanisms.stream.threshold import best_ratio, textbook_margin
from sfumato.noise import DiscreteLaplace, Source, system_source
from sfumato.testing import ScriptedSource

SURE = Fraction(999_999_999, 1_000_000_000)


# ── sessions ─────────────────────────────────────────────────────────────────


def test_the_session_of_the_issue() -> None:
    s = AboveThreshold.calibrate(threshold=50, sensitivity=1, epsilon=1)
    assert s.loss(1).epsilon() == 1
    session = s.start()
    assert not any(session.ask(number) for number in (-400, -200, -300))
    reply = session.ask(600)
    assert reply
    assert reply.gap is not None
    assert reply.gap > 0
    assert session.closed


def test_a_closed_session_says_so() -> None:
    session = AboveThreshold(0, 1, 1).start()
    session.ask(1000)
    with pytest.raises(BadInput, match="closed") as caught:
        session.ask(1)
    assert "another" in caught.value.hint


def test_nothing_above_is_an_answer_too() -> None:
    replies = AboveThreshold(1000, 1, 1).release([0, 1, 2], sensitivity=1).value
    assert replies == ((False, None),) * 3


def test_sparse_vector_stops_after_its_positives() -> None:
    session = SparseVector(3, 0, 1, 1).start()
    replies = [session.ask(number) for number in (500, -500, 500, -500, 500)]
    assert [reply.above for reply in replies] == [True, False, True, False, True]
    assert session.closed
    assert len(SparseVector(3, 0, 1, 1).release([500] * 9, sensitivity=1).value) == 3


@pytest.mark.parametrize("m", [AboveThreshold(5, 3, 1), SparseVector(2, 5, 3, 2, grain="1/4")], ids=repr)
def test_live_and_on_a_list_are_one(m: Any) -> None:
    numbers = [1, 4, 5, 5, 7, 9, 30, 60]
    session = m.start(ScriptedSource.stream(b"one"))
    live = []
    for number in numbers:
        live.append(session.ask(number))
        if session.closed:
            break
    assert tuple(live) == m.sample(numbers, ScriptedSource.stream(b"one"))


def test_sealed_numbers_are_asked_too() -> None:
    assert AboveThreshold(0, 1, 1).start().ask(Private(10_000)).above


def test_a_session_is_not_copied() -> None:
    session = AboveThreshold(0, 1, 1).start()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(Bug, match="copied"):
            attempt(session)


def test_a_forked_child_is_refused() -> None:
    session = AboveThreshold(1000, 1, 1).start()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            session.ask(0)
            os.write(write, b"answered")
        except NotSupported as error:
            os.write(write, f"{session.closed} {error.message}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    assert said.startswith("True")
    assert "another process" in said
    assert not session.ask(0)


@final
class Failing(Source):
    """The system's source until it breaks."""

    broken = False

    def fill(self, out: Any) -> None:
        self.bits(0)
        system_source().fill(out)

    def bits(self, n: int) -> int:
        if self.broken:
            raise OSError("no more randomness")
        return system_source().bits(n)


def test_a_crash_closes_the_session() -> None:
    source = Failing()
    session = AboveThreshold(1000, 1, 1).start(source)
    assert not session.ask(0)
    source.broken = True
    with pytest.raises(OSError, match="randomness"):
        session.ask(0)
    source.broken = False
    assert session.closed
    with pytest.raises(BadInput, match="closed"):
        session.ask(0)


@pytest.mark.parametrize("number", ["ten", None, True, 0.5, float("nan")])
def test_a_senseless_number_is_refused_and_costs_nothing(number: Any) -> None:
    session = AboveThreshold(1000, 1, 1).start()
    with pytest.raises(BadInput):
        session.ask(number)
    assert not session.closed
    assert not session.ask(0)


@pytest.mark.parametrize("threshold", ["fifty", None, float("nan"), float("inf"), True])
def test_a_threshold_is_a_number(threshold: Any) -> None:
    with pytest.raises(BadInput, match="threshold is not a finite number") as caught:
        AboveThreshold.calibrate(threshold=threshold, sensitivity=1, epsilon=1)
    assert caught.value.hint


def test_senseless_sessions_are_refused() -> None:
    with pytest.raises(BadInput, match="noise"):
        AboveThreshold(0, 1, 1, noise="gaussian")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="positives"):
        SparseVector(0, 0, 1, 1)
    with pytest.raises(BadInput, match="nothing to protect"):
        AboveThreshold.calibrate(threshold=0, sensitivity=0, epsilon=1)


# ── price ────────────────────────────────────────────────────────────────────


def test_the_best_split() -> None:
    """1 : 2^(2/3), so 0.386 of epsilon for the threshold; with c positives 1 : (2c)^(2/3), monotone 1 : c^(2/3)."""
    s = AboveThreshold.calibrate(threshold=0, sensitivity=1, epsilon=1)
    assert float(1 / s.scale) == pytest.approx(0.3865, abs=2e-4)
    for positives, monotone in [(1, False), (5, False), (1, True), (5, True)]:
        count = positives * (1 if monotone else 2)

        def variance(ratio: float, count: int = count) -> float:
            return (1 + count / ratio) ** 2 * (1 + ratio**2)

        best = float(best_ratio(positives, monotone=monotone))
        assert variance(best) <= min(variance(best * 0.99), variance(best * 1.01))


@pytest.mark.parametrize(("monotone", "epsilon"), [(False, Fraction(1, 2) + 4), (True, Fraction(1, 2) + 2)])
def test_the_price_counts_positives(monotone: bool, epsilon: Fraction) -> None:
    assert SparseVector(4, 0, 2, 1, monotone=monotone).loss(1).pure() == (epsilon, Fraction(0))


def test_reals_cost_whole_steps() -> None:
    m = AboveThreshold.calibrate(threshold="0.5", sensitivity="0.3", epsilon=1, grain="1/4")
    assert m.loss("0.3").epsilon() == 1
    assert m.loss("0.5").epsilon() == 1
    assert m.loss("0.25").epsilon() == 0.5


def test_the_whole_stream_moves_not_one_number() -> None:
    """A sensitivity speaks of each number: three that move by 1 cost what one does."""
    s = AboveThreshold(0, 1, 1)
    assert s.loss(Sensitivity.of_cells(3)).epsilon() == s.loss(1).epsilon()


# ── laws ─────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize(
    "m",
    [
        AboveThreshold(1, 2, "5/4"),
        AboveThreshold(1, 1, 2, noise="laplace"),
        SparseVector(2, 1, 1, "3/2"),
        SparseVector(2, 1, 1, 1, noise="laplace"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("way", ["sample", "repeat"])
def test_both_ways_of_drawing_follow_the_law(m: Any, way: str) -> None:
    """Chi-square, transcripts expected less than 20 times pooled."""
    from scipy.special import chdtrc

    source, numbers = system_source(), [0, 2]
    count = 30_000 if way == "sample" else 200_000
    draws = [m.sample(numbers, source) for _ in range(count)] if way == "sample" else m.repeat(numbers, count, source)
    law, seen = m.law(numbers), Counter(draws)
    assert set(seen) <= set(law.weights)
    mean = {outcome: low / 2**law.bits * count for outcome, (low, _) in law.weights.items()}
    cells = [(seen[outcome], expected) for outcome, expected in mean.items() if expected >= 20]
    cells.append((count - sum(c[0] for c in cells), count - sum(c[1] for c in cells)))
    assert chdtrc(len(cells) - 1, sum((s - e) ** 2 / e for s, e in cells)) > 1e-9


def least(m: Any, left: Sequence[int], right: Sequence[int], epsilon: Number) -> float:
    """The certified delta between two streams."""
    return float(hockey_stick(m.law(left), m.law(right), Fraction(epsilon))[0])


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_the_law_keeps_epsilon_and_comes_near(noise: Any) -> None:
    """All pairs of three numbers one step apart around the threshold, a far first number included."""
    m = AboveThreshold(0, 1, 1, noise=noise)
    claimed = m.loss(1).epsilon()
    streams = [(far, at, at) for far in (-3, 0, 4) for at in (-1, 0, 1)]
    for left in streams:
        for moves in ((1, -1, -1), (1, 1, -1), (-1, 1, 1), (1, 1, 1)):
            right = [number + move for number, move in zip(left, moves, strict=True)]
            assert least(m, left, right, Fraction(claimed) + Fraction(1, 10**9)) <= 0
            assert least(m, right, left, Fraction(claimed) + Fraction(1, 10**9)) <= 0
    if noise == "exponential":
        assert least(m, [8, 0], [9, -1], Fraction(claimed) * Fraction(99, 100)) > 0


def test_two_sided_noise_reaches_epsilon_after_many_questions() -> None:
    """P(60 below, then above) beside its neighbour, summed over the line: the price is not padded (MECHANISMS 5.1)."""
    line, query, one = DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(2)), 2.0**200
    claimed = AboveThreshold(0, 2, 1, noise="laplace").loss(1).epsilon()

    def chance(before: int, last: int) -> float:
        total = 0.0
        for rho in range(-40, 160):
            below = 1 - query.tail_bounds(rho - before, 200)[0] / one
            total += line.pmf_bounds(rho, 200)[0] / one * below**60 * (query.tail_bounds(rho - last, 200)[0] / one)
        return total

    reached = np.log(chance(20, -40) / chance(21, -41))
    assert 0.97 * claimed < max(reached, -reached) <= claimed * (1 + 1e-9)


def test_the_monotone_price_is_wrong_for_others() -> None:
    """Counts under replace, or a threshold that moves: half again as much (MECHANISMS 5.1 finds 1.5)."""
    m = AboveThreshold(0, 2, 1, monotone=True)
    assert m.loss(1).epsilon() == 1
    assert least(m, [0, 0], [1, 0], 1) == 0
    assert least(m, [8, 0], [9, -1], "1.49") > 0
    assert least(m, [8, 0], [9, -1], "1.51") == 0


def test_two_sided_noise_is_wider() -> None:
    """Half the variance: the margin at one question shrinks."""
    one, two = (
        AboveThreshold.calibrate(threshold=0, sensitivity=100, epsilon=1, noise=noise)
        for noise in ("exponential", "laplace")
    )
    assert one.within("0.95", queries=1000) < two.within("0.95", queries=1000)


# ── accuracy ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("grain", [None, "1/2"])
def test_the_margin_holds(noise: Any, grain: Any) -> None:
    """3000 sessions of 30 numbers just outside the margin: more than 10 % wrong has probability below 1e-9 at 15.5 %."""
    m = AboveThreshold.calibrate(threshold=10, sensitivity=1, epsilon=1, noise=noise, grain=grain)
    margin, source = int(m.within("0.9", queries=30)) + 1, system_source()
    low = [m.sample([10 - margin] * 30, source)[-1].above for _ in range(1500)]
    high = [m.sample([10 + margin] * 30, source)[0].above for _ in range(1500)]
    assert sum(low) + high.count(False) < 0.155 * 3000
    nearer = [m.sample([10 - margin // 2] * 30, source)[-1].above for _ in range(1500)]
    assert sum(nearer) > 0.155 * 1500, "the margin is needlessly wide"


def test_the_textbook_margin_is_true_and_wider() -> None:
    even = AboveThreshold(0, 200, 2, noise="laplace")
    assert even.loss(100).epsilon() == 1
    assert even.within("0.9", queries=30) < 100 * textbook_margin(queries=30, epsilon=1, confidence="0.9")


def test_a_margin_needs_a_question() -> None:
    with pytest.raises(BadInput, match="1 question"):
        AboveThreshold(0, 1, 1).within("0.9", queries=0)


# ── broken variants (Lyu, Su and Li 2017; MECHANISMS 5.3) ────────────────────

Draws = Callable[[list[int], int, Source], Sequence[Any]]


@final
@dataclass(frozen=True)
class Broken(Mechanism[Any, Any]):
    """A session as it was published, and the epsilon that was claimed for it."""

    draws: Draws
    claimed: Fraction
    left: tuple[int, ...]
    right: tuple[int, ...]

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        return Pure(self.claimed)

    def sample(self, value: Any, source: Source) -> Any:
        return self.draws(list(value), 1, source)[0]

    def repeat(self, value: Any, count: int, source: Source) -> Sequence[Any]:
        return self.draws(list(value), count, source)

    def within(self, confidence: Number) -> float:
        return 0.0

    def audit_cases(self) -> Sequence[Case[Any]]:
        return (Case(self.left, self.right, Sensitivity.of(1)),)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return ()


def laplace(scale: Number, shape: Any, source: Source) -> Any:
    return DiscreteLaplace(Fraction(scale)).sample(source, shape)


def flags(above: Any, *, stop: int) -> list[tuple[bool, ...]]:
    """Each row up to its `stop`-th True."""
    kept = (np.cumsum(above, axis=1) - above) < stop
    return [tuple(row[keep].tolist()) for row, keep in zip(above, kept, strict=True)]


def noise_not_scaled_by_positives(numbers: list[int], count: int, source: Source) -> Sequence[Any]:
    """Lee and Clifton 2014, with 3 positives: eps/4 for the threshold, Laplace of 4/(3 eps) for each number."""
    above = np.array(numbers) + laplace("4/3", (count, len(numbers)), source) >= laplace(4, (count, 1), source)
    return flags(above, stop=3)


def no_noise_on_the_numbers(numbers: list[int], count: int, source: Source) -> Sequence[Any]:
    """Stoddard, Chen and Machanavajjhala 2014."""
    return flags(np.array(numbers) >= laplace(2, (count, 1), source), stop=len(numbers))


def no_end(numbers: list[int], count: int, source: Source) -> Sequence[Any]:
    """Chen, Xiao, Zhang and Xu 2015: any number of positives."""
    above = np.array(numbers) + laplace(2, (count, len(numbers)), source) >= laplace(2, (count, 1), source)
    return flags(above, stop=len(numbers))


def tells_the_exact_number(numbers: list[int], count: int, source: Source) -> Sequence[Any]:
    above = np.array(numbers) + laplace(4, (count, len(numbers)), source) >= laplace(2, (count, 1), source)
    return [(len(row), numbers[len(row) - 1] if row[-1] else None) for row in flags(above, stop=1)]


def forked(numbers: list[int], count: int, source: Source) -> Sequence[Any]:
    """Copies of one session, each asked something else: they hold the same noise."""
    above = np.array(numbers) + laplace(4, (count, 1), source) >= laplace(2, (count, 1), source)
    return flags(above, stop=len(numbers))


BROKEN = [
    (noise_not_scaled_by_positives, 1, (1, 0, 0, 0), (0, 1, 1, 1)),
    (no_noise_on_the_numbers, 1, (0, 1), (1, 0)),
    (no_end, 1, (0, 0, 0, 0, 1, 1, 1, 1), (1, 1, 1, 1, 0, 0, 0, 0)),
    (tells_the_exact_number, 1, (0, 0), (1, 1)),
    (forked, 1, (0, 1), (1, 0)),
]


@pytest.mark.parametrize(("draws", "epsilon", "left", "right"), BROKEN, ids=lambda each: getattr(each, "__name__", ""))
def test_the_audit_rejects_a_broken_variant(draws: Draws, epsilon: Any, left: Any, right: Any) -> None:
    report = audit(Broken(draws, Fraction(epsilon), left, right), runs=100_000, confidence=SURE)
    assert not report.passed, str(report)


def test_the_noisy_number_is_not_the_gap() -> None:
    """Roth's lecture notes release q + nu instead of the gap: after m numbers below, the ratio is e^((m - 1)/4), for any m.

    Exactly, for q = 0 m times and then 1 beside 1 m times and then 0: P(m below, then a) is the sum over rho <= a of
    P(rho) P(nu < rho - 0)^m P(nu = a - 1). Claimed: epsilon 1, Laplace of 2 for the threshold and 4 for each number.
    """
    line, query, one = DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(4)), 2.0**128

    def chance(before: int, last: int, m: int) -> float:
        total = 0.0
        for rho in range(-150, -19):
            below = 1 - query.tail_bounds(rho - before, 128)[1] / one
            total += line.pmf_bounds(rho, 128)[0] / one * below**m
        return total * query.pmf_bounds(-20 - last, 128)[0] / one

    assert np.log(chance(0, 1, 8) / chance(1, 0, 8)) > 1.7
    assert np.log(chance(0, 1, 20) / chance(1, 0, 20)) > 4.7


def test_the_right_one_passes_the_same_audit() -> None:
    """The control: 3 positives with noise scaled by 3, on the streams that convict the others."""

    def right_one(numbers: list[int], count: int, source: Source) -> Sequence[Any]:
        above = np.array(numbers) + laplace(12, (count, len(numbers)), source) >= laplace(2, (count, 1), source)
        return flags(above, stop=3)

    for _, _, left, right in BROKEN:
        assert audit(Broken(right_one, Fraction(1), left, right), runs=30_000, confidence=SURE).passed
