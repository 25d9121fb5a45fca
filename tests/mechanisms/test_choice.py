"""The exponential mechanism, on the course's own figures and on every senseless input."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato.core import BadInput
from sfumato.mechanisms import Exponential


def chances(mechanism: Exponential, scores: Any) -> list[float]:
    law = mechanism.law(scores)
    return [float(Fraction(law.weights[i][0], 1 << law.bits)) for i in range(mechanism.candidates)]


def test_the_nationalities_of_note_004() -> None:
    """Scores 6, 5, 3, 2 at epsilon 2: .696, .256, .035, .013 (the note prints .70, .26, .03, .01)."""
    m = Exponential.calibrate(candidates=4, sensitivity=1, epsilon=2)
    assert m.rate == 1
    assert chances(m, [6, 5, 3, 2]) == pytest.approx([0.696, 0.256, 0.035, 0.013], abs=6e-4)


def test_high_scores_are_good_ones() -> None:
    """Note 000 has the sign the other way round: its film would be the farthest."""
    nearest = Exponential(3, 1, 1)
    distance = [0, 2, 5]
    assert chances(nearest, [-d for d in distance])[0] > 0.8


def test_huge_scores_do_not_overflow() -> None:
    assert chances(Exponential(2, 1, 1), [10**15, 10**15 - 1])[0] == pytest.approx(0.731, abs=1e-3)


def test_unsigned_scores_saturate_instead_of_turning_negative() -> None:
    """Neighbours 2**63 - 1 and 2**63 would be two thirds of the range apart after a plain cast to 64 bits."""
    below: Any
    above: Any
    below, above = (np.array([score, 0], dtype=np.uint64) for score in (2**63 - 1, 2**63))
    m = Exponential(2, 1, 1)
    assert m.law(below) == m.law(above)
    assert chances(m, above)[0] == pytest.approx(1)


def test_scores_are_floored_to_the_grain() -> None:
    m = Exponential(2, 1, "0.5")
    assert chances(m, [0.74, 0.5]) == chances(m, [0.5, 0.5])
    assert m.loss("0.6").epsilon() == 2.0


def test_the_bound_on_the_lost_score_is_exact_for_the_worst_scores() -> None:
    m = Exponential(50, 1, 1)
    gap = m.within("0.9")
    worst = [0.0] + [-float(int(gap) + 1)] * 49
    assert sum(chances(m, worst)[1:]) <= 0.1
    assert sum(chances(m, [0.0] + [-float(int(gap) - 2)] * 49)[1:]) > 0.1


def test_monotone_scores_cost_half() -> None:
    assert Exponential(3, 1, 1, monotone=True).loss(1).epsilon() == 1
    assert Exponential(3, 1, 1).loss(1).epsilon() == 2


def test_a_choice_costs_an_eighth_in_zcdp() -> None:
    assert Exponential(3, 1, 1).loss(1).zcdp() == (Fraction(1, 2), Fraction(0))


@pytest.mark.parametrize(
    ("candidates", "scores", "message"),
    [
        (3, [1, 2], "3 scores"),
        (3, [], "3 scores"),
        (2, [1, float("nan")], "finite"),
        (2, [1, float("inf")], "finite"),
        (2, ["a", "b"], "numbers"),
    ],
)
def test_senseless_scores_are_refused(candidates: int, scores: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Exponential(candidates, 1, 1).release(scores, sensitivity=1)


def test_no_candidates_is_no_choice() -> None:
    with pytest.raises(BadInput, match="no candidate"):
        Exponential(0, 1, 1)
