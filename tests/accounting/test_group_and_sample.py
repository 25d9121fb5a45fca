"""Groups, samples, and vectors under composition: relations that must hold whatever the numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from sfumato.accounting import (
    Approximate,
    Composed,
    Direction,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    Gdp,
    Group,
    Loss,
    Pair,
    Pure,
    Subsampled,
    Zcdp,
)
from sfumato.accounting.laws import Normals
from sfumato.core import Neighbours
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.sensitivity import Sensitivity

ONE = Fraction(1)
EPSILONS = (-2.0, -0.1, 0.0, 0.2, 0.7, 1.0, 2.0, 3.5, 6.0)


def test_two_units_of_a_gaussian() -> None:
    assert Gdp(ONE).group(2) == Gdp(Fraction(2))
    assert Gdp(ONE).group(2).epsilon("1e-6") == pytest.approx(10.997, abs=5e-4)


def test_closed_forms_of_groups() -> None:
    assert Pure(Fraction("0.5")).group(3) == Pure(Fraction("1.5"))
    assert DiscreteLaplaceLoss(Fraction(3), Fraction(2)).group(2) == DiscreteLaplaceLoss(Fraction(3), Fraction(4))
    assert Zcdp(Fraction(1, 8)).group(4) == Zcdp(Fraction(2))
    vector = DiscreteGaussianLoss(Fraction(9), Sensitivity.of_cells(4)).group(2)
    assert vector == DiscreteGaussianLoss(
        Fraction(9), Sensitivity(Fraction(8), Fraction(2), Fraction(16), Neighbours.ADD_REMOVE, 8)
    )
    assert Pure(ONE).group(1) == Pure(ONE)


def test_an_approximate_loss_of_a_group_adds_deltas_along_the_walk() -> None:
    """delta (1 + e + e^2), next to which delta g e^((g - 1) epsilon) is wasteful and g delta is wrong."""
    group = Approximate(ONE, Fraction(1, 10**6)).group(3)
    assert isinstance(group, Approximate)
    assert group.bound == 3
    assert float(group.failure) == pytest.approx(1e-6 * (1 + math.e + math.e**2), rel=1e-9)
    assert float(group.failure) >= 1e-6 * (1 + math.e + math.e**2)
    with pytest.raises(NotSupported):
        Approximate(Fraction(10), Fraction(1, 1000)).group(5)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(
    "loss",
    [
        Pure(Fraction(3, 10)),
        Gdp(Fraction(1, 2)),
        DiscreteLaplaceLoss(Fraction(4), ONE),
        DiscreteGaussianLoss(Fraction(4), Sensitivity.of(1)),
        DiscreteGaussianLoss(Fraction(4), Sensitivity.of_cells(2)),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Loss) else str(v),
)
def test_the_walk_is_never_better_than_what_is_known(loss: Loss, size: int) -> None:
    """The generic bound holds for every loss, so it may not fall below the exact curve of the closed forms."""
    generic, closed = Group(loss, size), loss.group(size)
    for epsilon in EPSILONS:
        assert generic.delta(epsilon) >= closed.delta(epsilon) * (1 - 1e-9)
    for order in (1.5, 2.0, 9.0):
        assert generic.renyi(order) >= closed.renyi(order) * (1 - 1e-9)


def test_a_walk_with_too_few_steps_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: size * delta(epsilon / size), without the growing weights, is below the truth."""
    closed, generic = Gdp(Fraction(1, 2)).group(3), Group(Gdp(Fraction(1, 2)), 3)
    assert generic.delta(2.0) >= closed.delta(2.0)
    assert any(3 * Gdp(Fraction(1, 2)).delta(e / 3) < closed.delta(e) for e in (1.0, 2.0, 3.0, 4.0))


def test_groups_of_compositions_and_compositions_of_groups() -> None:
    a, b = Pure(Fraction(1, 2)), DiscreteLaplaceLoss(Fraction(2), ONE)
    assert (a + b).group(2) == a.group(2) + b.group(2)
    assert ((a * 3) + b).group(2).pure() == (Fraction(4), Fraction(0))
    walked = (Subsampled(Gdp(ONE), Fraction(1, 10)) * 5).group(2)
    assert isinstance(walked, Composed)
    assert walked.parts[0] == (Group(Subsampled(Gdp(ONE), Fraction(1, 10)), 2), 5)


def test_a_larger_group_costs_more() -> None:
    for loss in (
        Subsampled(Gdp(ONE), Fraction(1, 10)),
        Pair.of(["0.7", "0.3"], ["0.4", "0.6"]),
        Zcdp(Fraction(1, 3), Fraction(0)),
    ):
        for epsilon in (0.0, 0.5, 2.0):
            deltas = [loss.group(k).delta(epsilon) for k in (1, 2, 3, 5)]
            assert deltas == sorted(deltas)


def test_a_group_of_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(NotSupported):
        Zcdp(ONE, Fraction(1, 100)).group(2)
    with pytest.raises(BadInput):
        Gdp(ONE).group(0)


def test_a_pair_with_failure_walks_with_its_largest_ratio() -> None:
    pair = Pair.of(["0.6", "0.39", "0.01"], ["0.4", "0.6", "0"])
    group = pair.group(2)
    bound, failure = pair.pure()
    assert float(group.failure) == pytest.approx(float(failure) * (1 + math.exp(float(bound))), rel=1e-9)
    assert group.delta(100.0) == pytest.approx(float(group.failure))


# Sampling.


def test_sampling_pure_noise_is_amplified_by_the_rate() -> None:
    sampled = Subsampled(Pure(ONE), Fraction(1, 10))
    bound, failure = sampled.pure() or (Fraction(0), Fraction(0))
    assert failure == 0
    assert float(bound) == pytest.approx(math.log1p(0.1 * math.expm1(1)), rel=1e-12)
    assert float(bound) >= math.log1p(0.1 * math.expm1(1))
    assert sampled.delta(float(bound)) <= 1e-15
    assert sampled.delta(float(bound) * 0.999) > 0


def test_sampling_a_pair_is_the_pair_of_mixtures() -> None:
    rate = Fraction(3, 10)
    for with_unit, without in (
        (["0.7", "0.2", "0.1"], ["0.2", "0.3", "0.5"]),
        (["0.7", "0.25", "0.05", "0"], ["0.5", "0.4", "0", "0.1"]),
    ):
        p, q = [Fraction(x) for x in with_unit], [Fraction(x) for x in without]
        mixture = [(1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)]
        sampled, expected = Subsampled(Pair.of(p, q), rate), Pair.of(mixture, q)
        for direction in Direction:
            for epsilon in EPSILONS:
                claimed, exact = sampled.curve(direction, epsilon), expected.curve(direction, epsilon)
                assert claimed == pytest.approx(exact, rel=1e-9, abs=1e-13)
        for times in (2, 7):
            for direction, epsilon in itertools.product(Direction, (0.0, 0.5, 1.5)):
                claimed = (sampled * times).curve(direction, epsilon)
                assert claimed == pytest.approx((expected * times).curve(direction, epsilon), rel=1e-5, abs=1e-9)


def test_a_sample_drawn_from_a_sample() -> None:
    twice = Subsampled(Subsampled(Gdp(ONE), Fraction(1, 2)), Fraction(1, 5))
    once = Subsampled(Gdp(ONE), Fraction(1, 10))
    for direction in Direction:
        for epsilon in EPSILONS:
            assert twice.curve(direction, epsilon) == pytest.approx(once.curve(direction, epsilon), rel=1e-6, abs=1e-14)
    law = twice.law(Direction.ADD)
    assert isinstance(law, Normals)
    assert law.rate == pytest.approx(0.1)


def test_sampling_rises_with_the_rate_and_stays_below_the_loss() -> None:
    for loss in (Gdp(ONE), DiscreteLaplaceLoss(ONE, Fraction(2)), DiscreteGaussianLoss(Fraction(2), Sensitivity.of(1))):
        for epsilon in (0.0, 0.3, 1.0):
            deltas = [Subsampled(loss, Fraction(k, 10)).delta(epsilon) for k in (1, 4, 9)] + [loss.delta(epsilon)]
            assert deltas == sorted(deltas)


def test_both_directions_matter_for_a_sample() -> None:
    """Sabotage: with the direction that adds alone, a sampled Gaussian would look several times too cheap."""
    sampled = Subsampled(Gdp(ONE), Fraction(1, 10))
    assert sampled.curve(Direction.REMOVE, 1.0) > 3 * sampled.curve(Direction.ADD, 1.0)
    assert sampled.delta(1.0) == sampled.curve(Direction.REMOVE, 1.0)
    assert not sampled.symmetric


def test_sampling_is_refused_where_its_theorem_does_not_hold() -> None:
    for about in (Neighbours.REPLACE, Neighbours.REPLACE.protecting("household")):
        with pytest.raises(NotSupported, match="replace"):
            Subsampled(Gdp(ONE, about), Fraction(1, 10))
    for rate in (0, 1, 2, -1):
        with pytest.raises(BadInput):
            Subsampled(Gdp(ONE), Fraction(rate))


def test_sampled_failures_shrink_with_the_rate() -> None:
    sampled = Subsampled(Approximate(ONE, Fraction(1, 100)), Fraction(1, 10))
    assert sampled.failure == Fraction(1, 1000)
    assert sampled.curve(Direction.REMOVE, 30.0) == pytest.approx(1e-3)
    assert (sampled * 3).failure == Fraction(3, 1000)
    assert (sampled * 3).delta(30.0) == pytest.approx(3e-3, rel=2e-3)


# Vectors on the integers, composed.


def test_an_envelope_of_shifts_composes_above_each_of_them() -> None:
    both = DiscreteGaussianLoss(ONE, Sensitivity(Fraction(4), Fraction(2), Fraction(4)))
    assert both.shifts is not None
    assert len(both.shifts) == 2
    two = DiscreteGaussianLoss(ONE, Sensitivity.of(2))
    four = DiscreteGaussianLoss(ONE, Sensitivity.of_cells(4))
    for epsilon in (0.0, 1.0, 3.0, 6.0):
        each = [(two * 2).delta(epsilon), (two + four).delta(epsilon), (four * 2).delta(epsilon)]
        assert (both * 2).delta(epsilon) >= max(each) * (1 - 1e-6) - 1e-9


def test_a_spread_shift_can_cost_seven_times_the_same_l2_in_one_cell() -> None:
    two = DiscreteGaussianLoss(ONE, Sensitivity.of(2))
    four = DiscreteGaussianLoss(ONE, Sensitivity.of_cells(4))
    assert two.sensitivity.l2_squared == four.sensitivity.l2_squared
    gaps = [four.delta(k / 100) - two.delta(k / 100) for k in range(-800, 801)]
    assert max(gaps) == pytest.approx(0.049, abs=5e-4)
    assert min(gaps) < -0.04


def test_the_lattice_exceeds_the_continuous_curve() -> None:
    lattice, continuous = DiscreteGaussianLoss(Fraction(1, 4), Sensitivity.of(1)), Gdp(Fraction(2))
    gaps = [lattice.delta(k / 1000) - continuous.delta(k / 1000) for k in range(-8000, 8001)]
    assert max(gaps) == pytest.approx(0.118, abs=5e-4)


def test_the_continuous_curve_instead_of_the_lattice_would_be_caught() -> None:
    """Sabotage: a discrete Gaussian that quotes Gdp understates what summing its own law shows, at sigma 1/2 and 1."""

    def understated(quote: Loss, variance: Fraction) -> float:
        weights = {x: math.exp(-x * x / (2 * float(variance))) for x in range(-12, 13)}
        total = math.fsum(weights.values())

        def truth(epsilon: float) -> float:
            return math.fsum(
                max(0.0, w / total - math.exp(epsilon) * weights.get(x - 1, 0.0) / total)
                for x, w in weights.items()
                if x > -12
            )

        return max(truth(k / 50) - quote.delta(k / 50) for k in range(-200, 400))

    for variance, mu in ((Fraction(1, 4), Fraction(2)), (ONE, ONE)):
        assert understated(DiscreteGaussianLoss(variance, Sensitivity.of(1)), variance) <= 1e-12
        assert understated(Gdp(mu), variance) > 1e-2


def test_large_vectors_compose_like_gaussians_and_not_below() -> None:
    sigma, steps = 5000, 1000
    vector = Sensitivity(Fraction(3 * steps), Fraction(steps), Fraction(3 * steps**2), cells=3)
    loss = DiscreteGaussianLoss(Fraction(sigma**2), vector)
    assert loss.shifts is None
    exact = Gdp(Fraction(1732051, 10**6) * steps / sigma)
    for times in (1, 30):
        for epsilon in (0.0, 1.0, 3.0):
            assert (loss * times).delta(epsilon) == pytest.approx((exact * times).delta(epsilon), rel=1e-3)
            assert (loss * times).delta(epsilon) >= (exact * times).delta(epsilon) * (1 - 1e-5)
