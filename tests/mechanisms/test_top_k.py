"""Top k: the law beside Gumbel noise, the price of k rounds, calibration, bad input."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import chdtrc

from sfumato.core import BadInput
from sfumato.mechanisms import Exponential, TopK
from sfumato.noise import system_source


def test_one_shot_gumbel_noise_has_the_stated_law() -> None:
    """The oracle is the k highest of scores with Gumbel noise, in floats; the test errs with probability 1e-9."""
    m, scores = TopK(4, 2, "1/2", 1), np.array([0, 1, 1, 3])
    law = m.law(scores)
    assert law is not None
    noisy = scores * 0.5 + np.random.default_rng(7).gumbel(size=(400_000, 4))
    orders = np.argsort(-noisy, axis=1)[:, :2]
    seen = np.array([np.count_nonzero((orders == order).all(axis=1)) for order in law.weights])
    expected = np.array([low for low, _ in law.weights.values()], dtype=float) / 2.0**law.bits * len(orders)
    assert float(chdtrc(len(expected) - 1, ((seen - expected) ** 2 / expected).sum())) > 1e-9


@pytest.mark.parametrize("scores", [[0, 1, 1, 3], [0, 0, 0, 9], [12, 0, 0, 12]])
@pytest.mark.parametrize("one_by_one", [True, False])
def test_single_draws_and_many_have_the_stated_law(scores: list[int], one_by_one: bool) -> None:
    """Flat scores are drawn from the block alone, peaked ones need further rounds; chi-square at 1e-9, thin orders pooled."""
    m = TopK(4, 3, "1/2", 1)
    law = m.law(scores)
    assert law is not None
    if one_by_one:
        draws = [m.sample(scores, system_source()) for _ in range(6000)]
    else:
        draws = list(m.repeat(scores, 100_000, system_source()))
    expected = {order: low / 2.0**law.bits * len(draws) for order, (low, _) in law.weights.items()}
    thin = {order for order, mean in expected.items() if mean < 20}
    cells = [([order], mean) for order, mean in expected.items() if order not in thin]
    cells.append((list(thin), sum(expected[order] for order in thin) + 1e-300))
    seen = [sum(draw in members for draw in draws) for members, _ in cells[:-1]]
    rest = len(draws) - sum(seen)
    assert rest < cells[-1][1] + 6.5 * cells[-1][1] ** 0.5 + 12
    statistic = sum((n - mean) ** 2 / mean for n, (_, mean) in zip(seen, cells[:-1], strict=True))
    assert float(chdtrc(max(1, len(seen)), statistic)) > 1e-9


def test_the_first_of_many_is_the_exponential_mechanism() -> None:
    one, alone = TopK(5, 1, 1, 1).law([4, 2, 0, 1, 1]), Exponential(5, 1, 1).law([4, 2, 0, 1, 1])
    assert one is not None
    for i in range(5):
        assert Fraction(one.weights[(i,)][0], 1 << one.bits) == pytest.approx(
            float(Fraction(alone.weights[i][0], 1 << alone.bits)), rel=1e-12
        )


def test_k_rounds_are_paid() -> None:
    loss, nothing = TopK(10, 4, "1/8", 1).loss(1), Fraction(0)
    assert loss.pure() == (Fraction(1), nothing)
    assert loss.zcdp() == (4 * Fraction(1, 16) / 8, nothing)
    assert TopK(10, 4, "1/8", 1, monotone=True).loss(1).pure() == (Fraction(1, 2), nothing)


def test_a_delta_buys_a_higher_rate_for_many_rounds() -> None:
    pure = TopK.calibrate(candidates=200, k=100, epsilon=1)
    assert pure.loss(1).epsilon() == 1
    approximate = TopK.calibrate(candidates=200, k=100, epsilon=1, delta="1e-6")
    assert approximate.rate > 3 * pure.rate
    line = approximate.loss(1).zcdp()
    assert line is not None
    from sfumato.accounting import Zcdp

    assert Zcdp(*line).delta(1.0) <= 1e-6
    assert Zcdp(line[0] * Fraction(102, 100)).delta(1.0) > 1e-6


def test_nobody_is_chosen_twice_and_all_can_be_chosen() -> None:
    draws = TopK(6, 6, 1, 1).repeat([0] * 6, 500, system_source())
    assert all(sorted(draw) == list(range(6)) for draw in draws)
    assert TopK(3, 3, 50, 1).sample([1, 9, 5], system_source()) == (1, 2, 0)


def test_within_holds_for_the_worst_scores_of_every_turn() -> None:
    """One miss in any turn: at a confidence of 0.9, 4 000 draws miss at most 400 times, plus 7 standard deviations."""
    m = TopK(30, 3, 1, 1)
    width = int(m.within("0.9"))
    scores = [0] * 3 + [-width - 1] * 27
    missed = sum(set(draw) != {0, 1, 2} for draw in m.repeat(scores, 4000, system_source()))
    assert missed <= 400 + 7 * 19


@pytest.mark.parametrize(("candidates", "k"), [(3, 4), (3, 0), (0, 0), (3, -1)])
def test_as_many_as_there_are(candidates: int, k: int) -> None:
    with pytest.raises(BadInput) as caught:
        TopK(candidates, k, 1, 1)
    assert caught.value.hint


@pytest.mark.parametrize("scores", [[1, 2], [1, 2, float("nan")], "abc"])
def test_senseless_scores_are_refused(scores: Any) -> None:
    with pytest.raises(BadInput):
        TopK(3, 2, 1, 1).release(scores, sensitivity=1)
