"""Permute-and-flip and noisy max: the law by brute force, ties, noise beyond 64 bits, within, bad input.

Fits to a law are chi-square tests that err with probability 1e-9.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import chdtrc

from sfumato.audit import verify
from sfumato.core import BadInput
from sfumato.mechanisms import Exponential, Law, NoisyMax, PermuteAndFlip
from sfumato.mechanisms.choice import race as races
from sfumato.noise import Geometric, system_source

RACERS = [PermuteAndFlip, NoisyMax]


def chances(mechanism: Any, scores: Any) -> list[float]:
    law = mechanism.law(scores)
    assert isinstance(law, Law)
    return [float(Fraction(law.weights[i][0], 1 << law.bits)) for i in range(mechanism.candidates)]


def fits(law: Law | None, draws: Any) -> bool:
    assert law is not None
    expected = np.array([low for low, _ in law.weights.values()], dtype=float) / 2.0**law.bits * len(draws)
    seen = np.array([np.count_nonzero(np.asarray(draws) == i) for i in law.weights])
    return float(chdtrc(len(expected) - 1, ((seen - expected) ** 2 / expected).sum())) > 1e-9


@pytest.mark.parametrize("scores", [[0, 0, 0], [3, 1, 0], [0, 2, 2], [5, 5, 4]])
def test_permute_and_flip_is_what_its_name_says(scores: list[int]) -> None:
    """Every order, every coin: the algorithm as it is written, summed in floats."""
    m = PermuteAndFlip(3, "0.7", 1)
    accept = [math.exp(0.7 * (score - max(scores))) for score in scores]
    expected = [0.0] * 3
    for order in itertools.permutations(range(3)):
        refused = 1 / 6
        for i in order:
            expected[i] += refused * accept[i]
            refused *= 1 - accept[i]
    assert chances(m, scores) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scores", [[0, 0], [3, 1], [0, 2]])
def test_noisy_max_is_a_double_sum(scores: list[int]) -> None:
    a = math.exp(-0.7)
    first = sum((1 - a) ** 2 * a ** (x + y) for x in range(150) for y in range(150) if scores[0] + x >= scores[1] + y)
    assert chances(NoisyMax(2, "0.7", 1), scores) == pytest.approx([first, 1 - first], abs=1e-12)


def test_permute_and_flip_never_loses_more_than_the_exponential_mechanism() -> None:
    """McKenna and Sheldon 2020: for every score vector the expected loss is at most as large."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        scores = rng.integers(-6, 1, size=5).tolist()
        ours, theirs = PermuteAndFlip(5, "1/2", 1), Exponential(5, "1/2", 1)
        lost = [max(scores) - score for score in scores]
        assert np.dot(chances(ours, scores), lost) <= np.dot(chances(theirs, scores), lost) + 1e-12


@pytest.mark.parametrize("kind", RACERS)
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
def test_within_covers_the_worst_scores_and_is_not_wasteful(kind: Any, confidence: str) -> None:
    m = kind(20, 1, "1/16")
    width = m.within(confidence)
    missed = sum(chances(m, [-width] * 19 + [0.0])[:19])
    assert missed <= 1 - float(confidence)
    near = width - 3 / 16
    assert sum(chances(PermuteAndFlip(20, 1, "1/16"), [-near] * 19 + [0.0])[:19]) > 1 - float(confidence)


@pytest.mark.parametrize("kind", RACERS)
def test_noise_beyond_the_array_is_added_in_long_integers(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limit at 2 grains nearly every race takes the long path: the law stays the same."""
    m, scores = kind(3, "1/2", 1), [0, 1, 3]
    monkeypatch.setattr(races, "_FAR", 2)
    assert fits(m.law(scores), m.repeat(scores, 20_000, system_source()))


@pytest.mark.parametrize("kind", RACERS)
def test_noise_cut_by_an_array_goes_on(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that saturate at 4 stand for arrays that saturate at 2^63 - 1; without the fresh draw the law is another."""
    m, scores = kind(3, "1/2", 1), [0, 1, 3]
    whole = Geometric.sample

    def cut(self: Geometric, source: Any, size: Any = None) -> Any:
        return np.minimum(whole(self, source, size), 4)

    monkeypatch.setattr(Geometric, "sample", cut)
    monkeypatch.setattr(races, "_FAR", 3)
    assert not fits(m.law(scores), m.repeat(scores, 20_000, system_source()))
    monkeypatch.setattr(races, "_CUT", 4)
    assert fits(m.law(scores), m.repeat(scores, 20_000, system_source()))


def test_ties_of_permute_and_flip_are_broken_alike() -> None:
    """A race whose ties go to the first is noisy max, and does not pass for permute-and-flip."""
    scores = [0, 0, 0, 0]
    ours = PermuteAndFlip(4, 1, 1)
    assert chances(ours, scores) == pytest.approx([0.25] * 4)
    assert fits(ours.law(scores), ours.repeat(scores, 50_000, system_source()))
    assert not fits(ours.law(scores), NoisyMax(4, 1, 1).repeat(scores, 50_000, system_source()))


@pytest.mark.parametrize("kind", RACERS)
def test_scores_that_move_both_ways_break_the_monotone_price(kind: Any) -> None:
    """Half the price, on neighbours that are not monotone: the law shows it."""
    cheap, honest = kind(4, 1, 1, monotone=True), kind(4, 1, 1)
    assert not any(finding.understated for finding in verify(cheap))
    case = honest.audit_cases()[0]
    left, right = chances(cheap, case.left), chances(cheap, case.right)
    assert math.log(right[0] / left[0]) == pytest.approx(2)
    assert cheap.loss(1).epsilon() == 1
    assert honest.loss(1).epsilon() == 2


@pytest.mark.parametrize("kind", RACERS)
def test_calibrated_exactly(kind: Any) -> None:
    m = kind.calibrate(candidates=7, sensitivity="0.6", epsilon="0.3", grain="1/2")
    assert m.loss("0.6").pure() == (Fraction(3, 10), 0)
    assert kind.calibrate(candidates=7, epsilon=1, monotone=True).rate == 1


@pytest.mark.parametrize("kind", RACERS)
@pytest.mark.parametrize("scores", [[], [1], [1, float("nan")], [1, float("inf")], ["a", "b"]])
def test_senseless_scores_are_refused(kind: Any, scores: Any) -> None:
    with pytest.raises(BadInput):
        kind(2, 1, 1).release(scores, sensitivity=1)


@pytest.mark.parametrize("kind", RACERS)
def test_no_candidates_is_no_choice_and_one_is_chosen(kind: Any) -> None:
    with pytest.raises(BadInput, match="no candidate"):
        kind(0, 1, 1)
    assert kind(1, 1, 1).release([5], sensitivity=1).value == 0
    assert kind(1, 1, 1).within("0.99") == 0
