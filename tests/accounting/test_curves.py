"""delta() beside certified arithmetic: never below the truth, and next to it where the curve is exact."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq

from sfumato.accounting import (
    Approximate,
    Direction,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    Gdp,
    Loss,
    Pair,
    Pure,
    Subsampled,
    Zcdp,
)
from sfumato.accounting.gaussian import Blur
from sfumato.accounting.lattice import ladder
from sfumato.accounting.normal import normal_delta
from sfumato.core.sensitivity import Sensitivity

Probability = Callable[[int], arb]
Weights = dict[int, arb]


@pytest.fixture(autouse=True)
def precise() -> Iterator[None]:
    before = ctx.prec
    ctx.prec = 600
    yield
    ctx.prec = before


def real(x: Fraction | float | int) -> arb:
    q = Fraction(x)
    return arb(fmpq(q.numerator, q.denominator))


def covers(claimed: float, truth: arb) -> bool:
    """The claim is at least the truth, for certain."""
    return bool(arb(claimed) >= truth) or claimed == 1.0


def assert_tight(claimed: float, truth: arb, *, relative: float = 1e-9, absolute: float = 1e-299) -> None:
    assert covers(claimed, truth), (claimed, truth)
    assert claimed <= float(truth.upper()) * (1 + relative) + absolute, (claimed, truth)


def laplace(scale: Fraction) -> Probability:
    a = (-1 / real(scale)).exp()
    return lambda x: a ** abs(x) * (1 - a) / (1 + a)


def gaussian(variance: Fraction) -> Probability:
    def weight(x: int) -> arb:
        return (-real(x * x) / (2 * real(variance))).exp()

    total = sum(
        (weight(x) for x in range(-int(60 * math.sqrt(variance)) - 20, int(60 * math.sqrt(variance)) + 21)), arb(0)
    )
    return lambda x: weight(x) / total


def stick(first: Probability, second: Probability, outcomes: Iterable[int], epsilon: float) -> arb:
    """The sum of max(0, P - e^epsilon Q) over the outcomes: all of the truth, or all but a tail of it."""
    growth = real(epsilon).exp()
    total = arb(0)
    for x in outcomes:
        part = first(x) - growth * second(x)
        total += part if part > 0 else arb(0)
    return total


EPSILONS = (-3.0, -0.7, -1e-9, 0.0, 1e-9, 0.01, 0.3, 0.5, 1.0, 1.7, 2.0, 3.0, 6.0, 20.0)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(12)])
@pytest.mark.parametrize("l1", [1, 2, 3, 8])
def test_discrete_laplace_is_its_exact_sum(scale: Fraction, l1: int) -> None:
    loss = DiscreteLaplaceLoss(scale, Fraction(l1))
    law = laplace(scale)
    outcomes = range(-int(100 * scale) - 20, int(100 * scale) + 20)
    edge = float(Fraction(l1) / scale)
    for epsilon in (*EPSILONS, edge * 0.999, math.nextafter(edge, 0), edge, -edge):
        truth = stick(law, lambda x: law(x - l1), outcomes, epsilon)
        assert_tight(loss.delta(epsilon), truth, absolute=1e-40)


def test_discrete_laplace_in_one_cell_dominates_every_split() -> None:
    """The proof in the docstring, tried: shifts (1, 1), (2, 1), (1, 1, 1) beside 2, 3, 3 in one cell."""
    scale = Fraction(3, 2)
    law = laplace(scale)
    for split in ((1, 1), (2, 1), (1, 1, 1)):
        one = DiscreteLaplaceLoss(scale, Fraction(sum(split)))
        for epsilon in (0.0, 0.4, 0.9, 1.3):
            growth = real(epsilon).exp()
            truth = arb(0)
            for point in itertools.product(range(-9, 10), repeat=len(split)):
                p, q = arb(1), arb(1)
                for x, s in zip(point, split, strict=True):
                    p, q = p * law(x), q * law(x - s)
                truth += max(p - growth * q, arb(0), key=lambda v: float(v.mid()))
            assert covers(one.delta(epsilon), truth)


@pytest.mark.parametrize("variance", [Fraction(1, 10**6), Fraction(1, 4), Fraction(1), Fraction(7, 3), Fraction(100)])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_discrete_gaussian_in_one_cell_is_its_exact_sum(variance: Fraction, shift: int) -> None:
    loss = DiscreteGaussianLoss(variance, Sensitivity.of(shift))
    law = gaussian(variance)
    reach = int(38 * math.sqrt(variance)) + 5
    nodes = [float(Fraction(shift * (shift - 2 * x)) / (2 * variance)) for x in (0, 1, -1, -3)]
    for epsilon in (*EPSILONS, *nodes):
        truth = stick(law, lambda x: law(x - shift), range(-reach, reach), epsilon)
        assert_tight(loss.delta(epsilon), truth)


def test_discrete_gaussian_over_cells_is_its_exact_product() -> None:
    for variance, shift in ((Fraction(1), (1, 1, 1, 1)), (Fraction(3, 4), (2, 1)), (Fraction(1, 4), (1, 1, 1))):
        reach = 9
        law = gaussian(variance)
        sums: Weights = {0: arb(1)}
        for step in shift:
            longer: Weights = {}
            for t, p in sums.items():
                for x in range(-reach, reach + 1):
                    longer[t + step * x] = longer.get(t + step * x, arb(0)) + p * law(x)
            sums = longer
        square = sum(s * s for s in shift)
        for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
            truth = arb(0)
            for t, p in sums.items():
                ratio = real(Fraction(square - 2 * t) / (2 * variance))
                if ratio > real(epsilon):
                    truth += p * (1 - (real(epsilon) - ratio).exp())
            assert_tight(ladder(variance, shift).delta(epsilon), truth, absolute=1e-15)


def test_a_vector_of_cells_takes_the_worst_shift() -> None:
    """l1 = 4, linf = 2, l2 = 2: (2) and (1, 1, 1, 1) are both within, and neither dominates."""
    loss = DiscreteGaussianLoss(Fraction(1), Sensitivity(Fraction(4), Fraction(2), Fraction(4)))
    assert loss.shifts is not None
    assert sorted(loss.shifts) == [(1, 1, 1, 1), (2,)]
    for epsilon in (0.5, 1.0, 2.0, 5.0):
        both = [ladder(Fraction(1), shift).delta(epsilon) for shift in loss.shifts]
        assert loss.delta(epsilon) == max(both)
    assert ladder(Fraction(1), (1, 1, 1, 1)).delta(2.0) > ladder(Fraction(1), (2,)).delta(2.0)
    assert ladder(Fraction(1), (1, 1, 1, 1)).delta(1.0) < ladder(Fraction(1), (2,)).delta(1.0)


def test_the_maximal_shifts_are_all_maximal_and_cover_every_allowed_one() -> None:
    for l1, linf, square, cells in ((6, 3, 11, None), (7, 2, 9, 5), (5, 4, 17, 2), (9, 3, 27, 4)):
        s = Sensitivity(Fraction(l1), Fraction(linf), Fraction(square), cells=cells)
        loss = DiscreteGaussianLoss(Fraction(1), s)
        assert loss.shifts is not None
        width = l1 if cells is None else min(cells, l1)
        for shift in itertools.product(range(min(l1, linf) + 1), repeat=min(width, 5)):
            if sum(shift) > l1 or sum(x * x for x in shift) > square:
                continue
            ordered = sorted(shift, reverse=True)
            padded = [m + (0,) * (len(ordered) - len(m)) for m in loss.shifts]
            assert any(all(a >= b for a, b in zip(m, ordered, strict=False)) for m in padded), shift


@pytest.mark.parametrize(
    ("variance", "shift"), [(Fraction(3), 1), (Fraction(9), 2), (Fraction(400), 7), (Fraction(10**4), 30)]
)
def test_a_blurred_gaussian_covers_the_lattice(variance: Fraction, shift: int) -> None:
    blurs = list(DiscreteGaussianLoss(variance, Sensitivity.of(shift)).blurs())
    exact = ladder(variance, (shift,))
    assert blurs
    for blur in blurs:
        for k in range(-20, 60):
            epsilon = k * shift / (7 * math.sqrt(variance))
            assert blur.delta(epsilon) >= exact.delta(epsilon) * (1 - 1e-11)


def test_a_blur_without_its_width_would_not_cover() -> None:
    """Sabotage: the continuous curve at the same variance is below the lattice at a node, so the width is needed."""
    exact = ladder(Fraction(3), (1,))
    plain = Blur(Fraction(577351, 10**6), 0.0)
    assert any(plain.delta(k / 60) < exact.delta(k / 60) for k in range(120))


def test_normal_curves_over_the_whole_range_of_floats() -> None:
    generator = random.Random(20)
    ctx.prec = 2000
    for _ in range(1500):
        mu = 10 ** generator.uniform(-7, 3.2)
        epsilon = mu * (generator.uniform(-12, 30) + mu / 2) if generator.random() < 0.8 else generator.uniform(-60, 60)
        root, m, e = arb(2).sqrt(), real(mu), real(epsilon)
        truth = ((e / m - m / 2) / root).erfc() / 2 - e.exp() * ((e / m + m / 2) / root).erfc() / 2
        claimed = normal_delta(mu, epsilon)
        assert covers(claimed, truth), (mu, epsilon)
        if truth > arb("1e-290") and mu > 1e-3:
            assert claimed <= float(truth.upper()) * (1 + 1e-9), (mu, epsilon)


@pytest.mark.parametrize("bound", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(12), Fraction(2000)])
def test_randomized_response_is_its_two_outcomes(bound: Fraction) -> None:
    ctx.prec = 8000
    yes = 1 / (1 + (-real(bound)).exp())
    chances = (yes, 1 - yes)
    for epsilon in (*EPSILONS, float(bound) / 2, math.nextafter(float(bound), 0), 1999.5):
        truth = stick(lambda x: chances[x], lambda x: chances[1 - x], (0, 1), epsilon)
        assert_tight(Pure(bound).delta(epsilon), truth)
        slack = Fraction(1, 1000)
        assert_tight(Approximate(bound, slack).delta(epsilon), real(slack) + (1 - real(slack)) * truth)


@pytest.mark.parametrize("mu", [Fraction(1, 3), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)])
def test_subsampled_gaussian_in_each_direction(mu: Fraction, rate: Fraction) -> None:
    loss = Subsampled(Gdp(mu), rate)
    m, q, root = real(mu), real(rate), arb(2).sqrt()

    def upper(y: arb, mean: arb) -> arb:
        return ((y - mean) / root).erfc() / 2

    for epsilon in (-2.0, -0.2, -0.004, 0.0, 0.004, 0.1, 0.5, 1.0, 3.0, 8.0):
        growth = real(epsilon).exp()
        # Removing: where (1 - q) + q e^(m y - m^2/2) > e^epsilon.
        inside = (growth - 1 + q) / q
        if inside > 0:
            y = inside.log() / m + m / 2
            removed = (1 - q) * upper(y, arb(0)) + q * upper(y, m) - growth * upper(y, arb(0))
        else:
            removed = 1 - growth
        assert_tight(loss.curve(Direction.REMOVE, epsilon), removed, relative=1e-7)
        # Adding: where its inverse is above e^epsilon.
        inside = (1 / growth - 1 + q) / q
        added = arb(0)
        if inside > 0:
            y = inside.log() / m + m / 2
            added = upper(-y, arb(0)) - growth * ((1 - q) * upper(-y, arb(0)) + q * upper(-y, -m))
        assert_tight(loss.curve(Direction.ADD, epsilon), added, relative=1e-6)
        assert loss.delta(epsilon) == max(loss.curve(direction, epsilon) for direction in Direction)


def test_a_pair_is_its_sum_in_each_direction() -> None:
    with_unit, without = (
        [Fraction(7, 10), Fraction(1, 4), Fraction(1, 20)],
        [Fraction(1, 2), Fraction(1, 2), Fraction(0)],
    )
    pair = Pair.of(with_unit, without)
    for epsilon in EPSILONS:
        for direction, (first, second) in {
            Direction.REMOVE: (with_unit, without),
            Direction.ADD: (without, with_unit),
        }.items():
            p, q = [real(x) for x in first], [real(x) for x in second]
            truth = stick(p.__getitem__, q.__getitem__, range(3), epsilon)
            assert_tight(pair.curve(direction, epsilon), truth, absolute=1e-15)
    assert pair.failure == Fraction(1, 20)
    assert pair.delta(0.0) == pytest.approx(0.25)


def test_what_a_first_vector_lacks_is_infinite_loss_and_what_a_second_lacks_is_nothing() -> None:
    short = Pair.of([Fraction(1, 2), Fraction(49, 100)], [Fraction(49, 100), Fraction(1, 2)])
    assert short.failure == Fraction(1, 100)
    assert short.delta(50.0) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize("rho", [Fraction(1, 10**8), Fraction(1, 200), Fraction(1, 2), Fraction(30)])
def test_the_conversion_of_zcdp_is_the_best_of_its_orders(rho: Fraction) -> None:
    loss = Zcdp(rho)
    for epsilon in (0.0, 1e-3, 0.5, 1.0, 5.0, 40.0):
        # Any order bounds delta; the loss may not be below the least over all orders, whose derivative has one zero.
        e, r = real(epsilon), real(rho)
        low, high = arb(-600), arb(600)
        for _ in range(120):
            middle = arb(((low + high) / 2).mid())
            x = middle.exp()
            if (1 + 2 * x) * r - e < (1 + 1 / x).log():
                low = middle
            else:
                high = middle
        x = high.exp()
        least = (x * ((1 + x) * r - e) - x * (1 + 1 / x).log() - (1 + x).log()).exp()
        assert_tight(loss.delta(epsilon), min(least, arb(1), key=lambda v: float(v.mid())), relative=1e-6)


def test_zcdp_covers_the_gaussians_it_speaks_of() -> None:
    for mu in (Fraction(1, 20), Fraction(1), Fraction(3)):
        for epsilon in (-1.0, 0.0, 0.3, 1.0, 4.0, 9.0):
            assert Zcdp(mu * mu / 2).delta(epsilon) >= Gdp(mu).delta(epsilon) * (1 - 1e-12)


@pytest.mark.parametrize(
    "loss",
    [
        Gdp(Fraction(1000)),
        Gdp(Fraction(1, 10**6)),
        DiscreteGaussianLoss(Fraction(1, 10**6), Sensitivity.of(1)),
        DiscreteGaussianLoss(Fraction(10**12), Sensitivity.of(1)),
        DiscreteGaussianLoss(Fraction(10**12), Sensitivity.of(10**6)),
        DiscreteLaplaceLoss(Fraction(1, 1000), Fraction(1)),
        DiscreteLaplaceLoss(Fraction(10**6), Fraction(10**7)),
        Pure(Fraction(10**6)),
        Pure(Fraction(1, 10**12)),
        Zcdp(Fraction(10**6)),
        Zcdp(Fraction(1, 10**12)),
    ],
    ids=str,
)
def test_extremes_stay_probabilities(loss: Loss) -> None:
    for epsilon in (-math.inf, -1e300, -1e4, -50.0, -1e-300, 0.0, 1e-300, 50.0, 1e4, 1e9, 1e300, math.inf):
        assert 0 <= loss.delta(epsilon) <= 1
    assert loss.delta(-math.inf) == 1
    assert loss.delta(math.inf) == 0
    for delta in ("1e-15", "1e-6", "0.5"):
        epsilon = loss.epsilon(delta)
        assert epsilon >= 0
        assert loss.delta(epsilon) <= Fraction(delta) or epsilon == loss.epsilon(0)


def test_a_large_lattice_is_next_to_the_continuous_gaussian() -> None:
    for variance in (Fraction(10**6), Fraction(1500**2), Fraction(10**12)):
        loss = DiscreteGaussianLoss(variance, Sensitivity.of(1000))
        mu = Fraction(1000, math.isqrt(int(variance)))
        for epsilon in (0.0, 0.3, 1.0):
            assert loss.delta(epsilon) == pytest.approx(Gdp(mu).delta(epsilon), rel=1e-4)
