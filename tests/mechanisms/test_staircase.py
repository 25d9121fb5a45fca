"""The staircase: its law, what it costs in several cells, when it is better than Laplace, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from sfumato.audit.exact import hockey_stick
from sfumato.core import BadInput, Sensitivity
from sfumato.mechanisms import Laplace, Staircase
from sfumato.mechanisms.number.staircase import levels_moved
from sfumato.noise import Staircase as Noise
from sfumato.noise import system_source


def masses(width: int, rise: int, rate: float) -> dict[int, float]:
    far = int(width * (50 / rate + 2))
    weights = {k: math.exp(-rate * ((abs(k) + width - rise) // width)) for k in range(-far, far + 1)}
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


@pytest.mark.parametrize(("width", "rise", "rate"), [(5, 2, "1"), (1, 1, "2"), (4, 4, "1/2"), (7, 1, "3")])
def test_the_law_and_the_draws(width: int, rise: int, rate: str) -> None:
    """Probabilities beside plain sums; chi-square of 200 000 draws, false alarms below 1e-9."""
    from scipy.special import chdtrc

    noise, law = Noise(width, rise, Fraction(rate)), masses(width, rise, float(Fraction(rate)))
    for k in range(-12, 13):
        low, high = noise.pmf_bounds(k, 96)
        assert low / 2**96 == pytest.approx(law[k], rel=1e-12)
        assert low <= high <= low + 2
        tail = math.fsum(p for at, p in law.items() if at >= k)
        assert noise.tail_bounds(k, 96)[0] / 2**96 == pytest.approx(tail, rel=1e-9)
    draws = noise.sample(system_source(), 200_000)
    cells = [(int((draws == k).sum()), p * 200_000) for k, p in law.items() if p * 200_000 > 20]
    cells.append((200_000 - sum(c[0] for c in cells), 200_000 - sum(c[1] for c in cells)))
    assert chdtrc(len(cells) - 1, sum((s - e) ** 2 / (e + 1e-9) for s, e in cells if e > 1)) > 1e-9


@pytest.mark.parametrize("confidence", ["0", "0.5", "0.9", "0.999"])
def test_within_is_the_exact_quantile(confidence: str) -> None:
    noise, law = Noise(5, 2, Fraction(1)), masses(5, 2, 1)
    width = noise.within(confidence)
    assert sum(p for k, p in law.items() if abs(k) <= width) >= float(confidence) - 1e-12
    assert width == 0 or sum(p for k, p in law.items() if abs(k) < width) < float(confidence) + 1e-12


def test_one_step_further_costs_another_level() -> None:
    m = Staircase(5, 2, 1)
    assert [m.loss(steps).epsilon() for steps in (1, 5, 6, 10, 11)] == [1, 1, 2, 2, 3]
    assert hockey_stick(_law(m, 0), _law(m, 6), Fraction(199, 100))[0] > 0
    assert hockey_stick(_law(m, 0), _law(m, 5), Fraction(101, 100))[0] == 0


def _law(m: Staircase, value: int) -> Any:
    return m.law(value)


def test_several_cells_move_several_levels() -> None:
    """The bound is reached or passed by no move of three cells: each within linf, together within l1."""
    for width, linf, l1 in product((1, 2, 3, 5), (1, 2, 4, 7), (1, 3, 6, 9, 21)):
        reach = Sensitivity(Fraction(l1), Fraction(linf), Fraction(10**6), cells=3)
        bound = levels_moved(reach, width)
        moves = (d for d in product(range(linf + 1), repeat=3) if sum(d) <= reach.l1)
        assert max(sum(-(-each // width) for each in d) for d in moves) <= bound
    assert levels_moved(Sensitivity.of_cells(3, 5), 5) == 3


def test_it_beats_laplace_where_epsilon_is_large() -> None:
    """Expected |Z| at epsilon 5 and sensitivity 100, summed: Geng and Viswanath's gain."""
    m = Staircase.calibrate(sensitivity=100, epsilon=5)
    law = masses(m.width, m.rise, float(m.rate))
    mean = sum(abs(k) * p for k, p in law.items())
    assert mean < 0.75 * 20
    assert m.loss(100).epsilon() == 5
    assert m.within("0.5") < Laplace.calibrate(sensitivity=100, epsilon=5).within("0.5")


def test_the_rise_is_the_best_one() -> None:
    m = Staircase.calibrate(sensitivity=50, epsilon=3)
    costs = {rise: sum(abs(k) * p for k, p in masses(50, rise, 3.0).items()) for rise in range(m.rise - 4, m.rise + 5)}
    assert costs[m.rise] <= min(costs.values()) * 1.002


def test_one_step_of_sensitivity_is_laplace() -> None:
    stair, laplace = Staircase.calibrate(sensitivity=1, epsilon=1).law(0), Laplace.calibrate(epsilon=1).law(0)
    assert stair is not None
    assert laplace is not None
    assert stair.weights[3][0] == pytest.approx(laplace.weights[3][0], rel=1e-12)


def test_arrays_and_reals() -> None:
    out = (
        Staircase.calibrate(sensitivity="0.5", epsilon=2, grain="1/16").release(np.zeros(100), sensitivity="0.5").value
    )
    assert out.shape == (100,)
    assert np.all(out * 16 == np.round(out * 16))


@pytest.mark.parametrize("bad", [(0, 0, 1), (3, 4, 1), (3, 0, 1), (3.0, 1, 1), (3, 1, 0), (10**6, 1, 9)])
def test_senseless_stairs_are_refused(bad: Any) -> None:
    with pytest.raises(BadInput):
        Staircase(*bad)
    with pytest.raises(BadInput, match="nothing to protect"):
        Staircase.calibrate(sensitivity=0, epsilon=1)
