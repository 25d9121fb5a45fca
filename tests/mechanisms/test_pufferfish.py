"""Pufferfish: distances, the law of the output under a belief, its price, and what correlation costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from sfumato.accounting import DiscreteLaplaceLoss, Pure, PureFilter
from sfumato.audit import verify
from sfumato.core import BadInput, NotAllowed, NotSupported, Private, Relation, SfumatoError
from sfumato.mechanisms import Gaussian, Laplace, NoisyMax, PufferfishLaplace
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.pufferfish.account import Account
from sfumato.mechanisms.pufferfish.belief import Belief, Discrete, Mixture, NormalVector
from sfumato.mechanisms.pufferfish.cells import cells, window
from sfumato.mechanisms.pufferfish.distance import moves
from sfumato.mechanisms.pufferfish.fit import fit_mixture
from sfumato.mechanisms.pufferfish.framework import Framework
from sfumato.mechanisms.pufferfish.laplace import Given, household_example
from sfumato.mechanisms.pufferfish.loss import BeliefLoss
from sfumato.mechanisms.pufferfish.wasserstein import Wasserstein


def two(left: Any, right: Any, name: str = "test") -> Framework:
    return Framework.of(name, [("yes", "no")], [Belief.of("belief", {"yes": left, "no": right})])


COIN: Discrete = Discrete.of({0: "1/2", 1: "1/2"})
ZERO: Belief = Belief.of("certain", {"a": COIN}, chances={"a": 1, "b": 0})
VECTORS: Framework = two(Discrete.of({(0, 0): 1}), Discrete.of({(1, 1): 1}))


def normal_laplace(y: Any, mean: float, deviation: float, scale: float) -> Any:
    """The density of N(mean, deviation^2) plus Laplace(scale), by scipy: MECHANISMS 3.4."""
    from scipy.special import log_ndtr

    t, a = y - mean, deviation**2 / (2 * scale**2)
    right = a - t / scale + log_ndtr(t / deviation - deviation / scale)
    left = a + t / scale + log_ndtr(-t / deviation - deviation / scale)
    return (np.exp(right) + np.exp(left)) / (2 * scale)


def integrated_delta(left: Mixture, right: Mixture, scale: float, epsilon: float) -> float:
    """By quadrature of the continuous densities, both directions."""
    parts = [list(zip(law.chances, law.means, law.deviations, strict=True)) for law in (left, right)]
    low = min(float(m - 14 * v) for each in parts for _, m, v in each) - 40 * scale
    high = max(float(m + 14 * v) for each in parts for _, m, v in each) + 40 * scale
    grid, width = np.linspace(low, high, 40_001, retstep=True)
    p, q = (sum(float(w) * normal_laplace(grid, float(m), float(v), scale) for w, m, v in each) for each in parts)
    growth = math.exp(epsilon)
    return float(max(np.maximum(p - growth * q, 0).sum(), np.maximum(q - growth * p, 0).sum()) * width)


COUNTEREXAMPLE = two(
    Mixture.of([("0.99", 0, 1), ("0.01", 0, 1)]), Mixture.of([("0.99", 0, 1), ("0.01", 30, 1)]), "counterexample"
)


def test_the_convex_combination_of_component_distances_is_no_promise() -> None:
    """T10: at the average cost, scale .01 * 30 / 1, a delta of .01 is reached; at the largest cost, 30, none."""
    assert 0.01 * (1 - 1e-6) < PufferfishLaplace(COUNTEREXAMPLE, "0.3", "1/64").loss(1).delta(1.0) < 0.01 + 1e-9
    assert PufferfishLaplace(COUNTEREXAMPLE, 30, "1/8").loss(1).delta(1.0) == 0
    ours = PufferfishLaplace.calibrate(framework=COUNTEREXAMPLE, epsilon=1)
    assert 5.8 < float(ours.scale) < 5.9  # the far mass is a hundredth: ln(1 + 172) is what 30 / scale may be


def test_the_verifier_rejects_a_scale_from_the_average_cost() -> None:
    """The same noise under the price that the abstract of Ding 2024 suggests, on a lattice coarse enough to be written down."""

    @dataclass(frozen=True)
    class AverageCost(Mechanism[Any, Any]):
        real: PufferfishLaplace

        def loss(self, sensitivity: Any) -> Any:
            return Pure(Fraction(1), self.real.framework.about)

        def sample(self, value: Any, source: Any) -> Any:
            return self.real.sample(value, source)

        def within(self, confidence: Any) -> float:
            return self.real.within(confidence)

        def law(self, value: Any) -> Any:
            return self.real.law(value)

        def audit_cases(self) -> Any:
            return self.real.audit_cases()

        @classmethod
        def examples(cls) -> Any:
            return ()

    honest = PufferfishLaplace(COUNTEREXAMPLE, "0.3", "1/4")
    assert not any(finding.understated for finding in verify(honest))
    rejected = [finding for finding in verify(AverageCost(honest)) if finding.understated]
    assert any(finding.epsilon == 1.0 and 0.0099 < finding.least < 0.0101 for finding in rejected)


@pytest.mark.parametrize("scale", ["1/2", "2", "10"])
def test_fine_lattices_cost_what_continuous_densities_integrate_to(scale: str) -> None:
    """The closed form of normal plus Laplace as an oracle, to 1e-3 relatively: the lattice is a 128th of a deviation."""
    left = Mixture.of([("0.6", 0, 1), ("0.4", 5, 2)])
    right = Mixture.of([("0.5", 1, "3/2"), ("0.5", 4, 1)])
    loss = PufferfishLaplace(two(left, right), scale, "1/128").loss(1)
    for epsilon in (0.0, 0.1, 0.5):
        expected = integrated_delta(left, right, float(Fraction(scale)), epsilon)
        assert loss.delta(epsilon) == pytest.approx(expected, rel=1e-3, abs=1e-6)


def exact_tail(x: Fraction) -> arb:
    return (arb(x.numerator) / x.denominator / arb(2).sqrt()).erfc() / 2


def test_cells_of_a_normal_law_hold_in_two_hundred_bits() -> None:
    """Bounds on both sides of every cell, tight to 1e-9 relatively where there is mass, and of what lies beyond the window."""
    ctx.prec = 200
    for mean, deviation, grain in (
        (Fraction(1, 3), Fraction(2), Fraction(1, 4)),
        (Fraction(10**6), Fraction(1, 7), Fraction(1, 64)),
    ):
        law = Mixture.normal(mean, deviation)
        ends = window(law, grain, deviation)
        found = cells(law, grain, deviation, ends)
        for i in range(0, found.low.size, 7):
            edges = [((ends[0] + i + k) * grain - mean) / deviation for k in (0, 1)]
            if edges[0] < 0:
                edges = [-edges[1], -edges[0]]
            exact = exact_tail(edges[0]) - exact_tail(edges[1])
            assert arb(found.low[i]) <= exact <= arb(found.high[i])
            if found.high[i] > 1e-12:
                assert found.high[i] - found.low[i] <= 1e-9 * found.high[i]
        beyond = exact_tail(((ends[1] + 1) * grain - mean) / deviation)
        assert beyond <= arb(found.right)
        assert found.right < 1e-30
        far = ((ends[1] + 1) * grain - mean) / deviation
        scale = deviation  # E[e^((x - d)/b); x > d] in closed form
        pull = deviation**2 / (2 * scale**2) - far * deviation / scale
        exact_pull = (arb(pull.numerator) / pull.denominator).exp() * exact_tail(far - deviation / scale)
        assert exact_pull <= arb(found.right_pull)


def test_a_smaller_cell_bound_would_be_caught() -> None:
    """The test above has teeth: a bound that forgets the rounding of the edges fails it."""
    ctx.prec = 200
    law = Mixture.normal(10**6, Fraction(1, 7))
    grain = Fraction(1, 64)
    first, last = window(law, grain, Fraction(1))
    naive = [
        0.5
        * (
            math.erfc((k * 0.015625 - 1e6) * 7 / math.sqrt(2))
            - math.erfc(((k + 1) * 0.015625 - 1e6) * 7 / math.sqrt(2))
        )
        for k in range(first, last + 1)
    ]
    found = cells(law, grain, Fraction(1), (first, last))
    assert any(not low <= value <= high for low, value, high in zip(found.low, naive, found.high, strict=True))


def brute_delta(left: Discrete, right: Discrete, scale: Fraction, epsilon: Fraction) -> arb:
    """Outcome by outcome, for whole points, 400 cells each way, in 200 bits."""
    a = (-arb(scale.denominator) / scale.numerator).exp()
    centre = (1 - a) / (1 + a)
    growth = (arb(epsilon.numerator) / epsilon.denominator).exp()

    def mass(law: Discrete, k: int) -> arb:
        terms = (
            arb(c.numerator) / c.denominator * a ** abs(k - int(p[0]))
            for p, c in zip(law.points, law.chances, strict=True)
        )
        return centre * sum(terms, arb(0))

    gaps = ((mass(left, k), mass(right, k)) for k in range(-400, 400))
    one = other = arb(0)
    for p, q in gaps:
        one += (p - growth * q).max(arb(0))
        other += (q - growth * p).max(arb(0))
    return one.max(other)


def test_discrete_beliefs_cost_their_exact_sum() -> None:
    """Never below, and above by 1e-11 at most."""
    ctx.prec = 200
    rng = np.random.default_rng(8)
    for _ in range(6):
        laws = []
        for _ in range(2):
            shares = rng.integers(1, 20, 5)
            points = rng.choice(12, 5, replace=False)
            laws.append(
                Discrete.of({int(x): Fraction(int(w), int(shares.sum())) for x, w in zip(points, shares, strict=True)})
            )
        scale = Fraction(int(rng.integers(1, 9)), 2)
        loss = PufferfishLaplace(two(laws[0], laws[1]), scale).loss(1)
        for epsilon in (Fraction(0), Fraction(1, 4), Fraction(1)):
            exact = brute_delta(laws[0], laws[1], scale, epsilon)
            claimed = loss.delta(float(epsilon))
            assert arb(claimed) >= exact - arb(1e-60)
            assert claimed <= float(exact.mid()) + 1e-11


def exact_masses(law: Mixture, grain: Fraction, scale: Fraction, outcomes: range) -> list[arb]:
    """Of floor(x / grain) + noise, in 200 bits: cells from erfc, and the sum over noise by its definition."""
    first, last = (edge + side * 40 for edge, side in zip(window(law, grain, scale), (-1, 1), strict=True))
    chances = []
    for f in range(first, last + 1):
        total = arb(0)
        for chance, mean, deviation in zip(law.chances, law.means, law.deviations, strict=True):
            below, above = ((f + k) * grain / deviation - mean / deviation for k in (0, 1))
            part = exact_tail(below) - exact_tail(above) if below > 0 else exact_tail(-above) - exact_tail(-below)
            total += arb(chance.numerator) / chance.denominator * part
        chances.append(total)
    rate = grain / scale
    a = (-arb(rate.numerator) / rate.denominator).exp()
    powers = [(1 - a) / (1 + a)]
    for _ in range(max(outcomes) - min(outcomes) + last - first + 2):
        powers.append(powers[-1] * a)
    return [sum((p * powers[abs(k - first - i)] for i, p in enumerate(chances)), arb(0)) for k in outcomes]


@pytest.mark.slow
def test_mixtures_cost_the_sum_of_their_lattice_law() -> None:
    """Never below two hundred bits, far tails included; above by 1e-11 of delta and 1e-9 of the largest ratio at most."""
    ctx.prec = 200
    left, right = Mixture.of([("0.8", 0, 1), ("0.2", 3, "1/2")]), Mixture.of([("0.5", 1, 2), ("0.5", 2, "3/4")])
    grain, scale = Fraction(1, 2), Fraction(5, 2)
    outcomes = range(-300, 300)
    p, q = (exact_masses(law, grain, scale, outcomes) for law in (left, right))
    loss = PufferfishLaplace(two(left, right), scale, grain).loss(1)
    for epsilon in (0.0, 0.1, 0.3):
        growth = arb(epsilon).exp()
        one = sum(((x - growth * y).max(arb(0)) for x, y in zip(p, q, strict=True)), arb(0))
        other = sum(((y - growth * x).max(arb(0)) for x, y in zip(p, q, strict=True)), arb(0))
        exact = float(one.max(other).mid())
        assert exact * (1 - 1e-12) <= loss.delta(epsilon) <= exact + 1e-11
    largest = max(abs(float((x / y).log().mid())) for x, y in zip(p, q, strict=True))
    bound = loss.pure()
    assert bound is not None
    assert largest <= bound[0] <= largest + 1e-9


def test_the_largest_ratio_is_kept_in_the_far_tails_too() -> None:
    """Normal laws of different variances: infinitely far apart, and yet the log-ratio is bounded, and nearly reached."""
    left, right = Mixture.normal(0, 2), Mixture.normal(0, 1)
    with pytest.raises(NotSupported, match="tails differ"):
        moves(left, right)
    loss = PufferfishLaplace(two(left, right), 3, "1/16").loss(1)
    bound = loss.pure()
    assert bound is not None
    assert bound[1] == 0
    where = np.linspace(-60, 60, 4001)
    ratios = np.abs(np.log(normal_laplace(where, 0, 2, 3) / normal_laplace(where, 0, 1, 3)))
    assert ratios[0] == pytest.approx((4 - 1) / (2 * 9), rel=1e-3)  # v^2 / 2b^2 of each, far out
    assert float(bound[0]) == pytest.approx(ratios.max(), rel=1e-2)  # the narrower law is more peaked
    wide = PufferfishLaplace(two(Mixture.normal(0, 3), Mixture.normal(0, 1)), 1, "1/16").loss(1).pure()
    assert wide is not None
    assert 4 <= wide[0] < Fraction("4.1")  # (9 - 1) / 2: reached in the tails
    assert PufferfishLaplace.calibrate(framework=two(left, right), epsilon=1).loss(1).epsilon() <= 1


def test_equal_variances_cost_the_shift_of_the_means_at_most() -> None:
    framework = two(Mixture.normal(0, 1), Mixture.normal(3, 1))
    shift = Wasserstein.of(framework)
    assert shift.sensitivity.l1 == 3
    assert shift.loss(Laplace(3, grain="1/64")).epsilon() == pytest.approx(1, rel=0.01)
    assert PufferfishLaplace(framework, 3, "1/64").loss(1).epsilon() == pytest.approx(1, rel=1e-9)
    eased = PufferfishLaplace.calibrate(framework=framework, epsilon=1, delta="1e-3")
    assert eased.scale < Fraction(3)  # the adversary's own uncertainty helps once a delta is allowed


def test_the_published_scale_for_two_normal_laws_is_safe_and_larger() -> None:
    """Ding 2024, (|m - m'| + tau |v - v'|) / epsilon with tau the quantile of delta / 2: realised delta 0 at a million."""
    left, right = Mixture.normal(0, 1), Mixture.normal(1, 2)
    published = (1 + 4.8916) / 1.0
    ours = PufferfishLaplace.calibrate(framework=two(left, right), epsilon=1, delta="1e-6")
    assert float(ours.scale) < published / 2
    assert PufferfishLaplace(two(left, right), str(published), "1/64").loss(1).delta(1.0) <= 1e-6


def test_one_dimensional_distances_are_those_of_quantiles() -> None:
    """Against all couplings of equal atoms (permutations), and the known value for a hundredth of the mass moved by 30."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        a, b = (sorted(rng.choice(30, 5, replace=False).tolist()) for _ in range(2))
        share = Fraction(1, 5)
        left, right = (Discrete.of(dict.fromkeys(points, share)) for points in (a, b))
        best = min(max(abs(x - y) for x, y in zip(a, order, strict=True)) for order in permutations(b))
        assert moves(left, right).l1 == best
    assert moves(Discrete.of({0: "0.99", 1: "0.01"}), Discrete.of({0: "0.99", 31: "0.01"})).l1 == 30


def test_distances_of_vectors_are_the_best_of_all_couplings() -> None:
    rng = np.random.default_rng(6)
    for _ in range(6):
        a, b = (
            [tuple(row) for row in rng.permutation(list(product(range(5), range(5))))[:5].tolist()] for _ in range(2)
        )
        left, right = (Discrete.of(dict.fromkeys(points, Fraction(1, 5))) for points in (a, b))
        best = min(
            max((x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2 for x, y in zip(a, order, strict=True))
            for order in permutations(b)
        )
        assert moves(left, right).l2_squared == best
    uneven = Discrete.of({(0, 0): "1/3", (5, 5): "2/3"}), Discrete.of({(0, 0): "2/3", (5, 5): "1/3"})
    assert moves(*uneven).l1 == 10


def test_gaussian_noise_on_vectors_is_renyi_private() -> None:
    """One covariance: the shift of the means. Order alpha costs alpha |shift|^2 / (2 sigma^2), flooring added."""
    covariance = [[2, 1], [1, 2]]
    shift = two(NormalVector.of([0, 0], covariance), NormalVector.of([3, 4], covariance))
    priced = Wasserstein.of(shift)
    assert priced.sensitivity.l2_squared == 25
    assert priced.sensitivity.l1 == 7
    loss = priced.loss(Gaussian(10, grain="1/1024"))
    for order in (2.0, 8.0):
        assert order * 25 / 200 <= loss.renyi(order) <= order * 25 / 200 * 1.01
    assert loss.about.relation is Relation.SECRETS
    vector = np.array([1.0, 2.0])
    assert priced.release(Gaussian(10, grain="1/1024"), vector).value.shape == (2,)


def test_different_covariances_need_a_failure_and_charge_it() -> None:
    """Against the density ratio of the two continuous outputs: delta at epsilon by sampling stays below the claim."""
    framework = two(NormalVector.of([0, 0], [[1, 0], [0, 1]]), NormalVector.of([1, 0], [[4, 1], [1, 2]]))
    with pytest.raises(NotSupported, match="different covariance"):
        _ = Wasserstein.of(framework).sensitivity
    priced = Wasserstein.of(framework, failure="1e-7")
    gaussian = priced.calibrate(Gaussian, epsilon=1, delta="1e-6", grain="1/64")
    loss = priced.loss(gaussian)
    assert 0.9e-6 < loss.delta(1.0) <= 1e-6 * (1 + 1e-9)
    assert loss.failure == Fraction("1e-7")
    assert loss.epsilon("1e-8") == math.inf
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200_000, 2))
    factor = np.linalg.cholesky(np.array([[4.0, 1.0], [1.0, 2.0]]))
    apart = np.linalg.norm((z - (np.array([1.0, 0.0]) + z @ factor.T)), axis=1)
    assert (apart**2 <= float(priced.sensitivity.l2_squared)).all()  # 2e5 draws of an event of chance 1e-7: 2 %, seeded


CONTAGION = [Fraction(share, 10) for share in (0, 5, 9)]


@pytest.mark.parametrize("share", CONTAGION)
def test_one_record_of_differential_privacy_underprotects_a_household(share: Fraction) -> None:
    """Four people; with chance `share` an illness takes all or none. Noise of scale 1 is 1-private about one record.

    Independent records (share 0): the secret is worth 1. A contagion: the count tells up to all four, and measures 4.
    """
    ill = Fraction(1, 4)
    outcomes: list[tuple[tuple[str, ...], int, Fraction]] = []
    for sick in product((True, False), repeat=4):
        count = sum(sick)
        apart = (1 - share) * ill**count * (1 - ill) ** (4 - count)
        together = share * (ill if count == 4 else 1 - ill if count == 0 else 0)
        outcomes.append((("Ana is ill" if sick[0] else "Ana is well",), count, apart + together))
    framework = Framework.of("household", [("Ana is ill", "Ana is well")], [Belief.of_joint(str(share), outcomes)])
    loss = PufferfishLaplace(framework, 1).loss(1)
    assert DiscreteLaplaceLoss(Fraction(1), Fraction(1)).epsilon() == 1
    measured = {Fraction(0): (1.0, 1.0), Fraction(1, 2): (2.6, 2.9), Fraction(9, 10): (3.6, 3.8)}[share]
    assert measured[0] - 1e-9 <= loss.epsilon() <= measured[1] + 1e-9
    kept = PufferfishLaplace.calibrate(framework=framework, epsilon=1)
    assert kept.loss(1).epsilon() <= 1
    assert (kept.scale == 1) == (share == 0)


def test_losses_about_secrets_are_never_added() -> None:
    framework = household_example()
    loss = PufferfishLaplace(framework, 3).loss(1)
    with pytest.raises(BadInput, match="different neighbours"):
        _ = loss + DiscreteLaplaceLoss(Fraction(1), Fraction(1))
    with pytest.raises(BadInput, match="different neighbours"):
        _ = loss + PufferfishLaplace(two(Mixture.normal(0, 1), Mixture.normal(1, 1), "household"), 3).loss(1)
    with pytest.raises(NotSupported, match="do not add up"):
        _ = loss + PufferfishLaplace(framework, 4).loss(1)
    with pytest.raises(NotSupported, match="do not add up"):
        _ = loss * 2
    with pytest.raises(NotSupported, match="groups"):
        _ = loss.group(2)
    for book in (PureFilter(Fraction(2)), PureFilter(Fraction(2), about=framework.about)):
        with pytest.raises(NotSupported, match="charged to a budget"):
            book.cost(loss)


def test_the_account_of_a_framework_takes_one_release() -> None:
    framework = household_example()
    loss = PufferfishLaplace(framework, 3).loss(1)
    account = Account(framework).charge(loss)
    assert account.promised is loss
    with pytest.raises(NotAllowed, match="do not add up"):
        account.charge(loss)
    with pytest.raises(BadInput, match="about another thing"):
        Account(framework).charge(DiscreteLaplaceLoss(Fraction(1), Fraction(1)))
    with pytest.raises(BadInput, match="about another thing"):
        Account(framework).charge(PufferfishLaplace(COUNTEREXAMPLE, 30, "1/8").loss(1))


def test_two_releases_may_tell_what_neither_does() -> None:
    """Why they are not added: a secret hidden in the parity of two numbers that are each fair coins, whatever the secret."""
    pairs = {"same": {(0, 0): "1/2", (1, 1): "1/2"}, "differ": {(0, 1): "1/2", (1, 0): "1/2"}}
    coin = Discrete.of({0: "1/2", 1: "1/2"})
    assert moves(coin, coin).l1 == 0
    joint = Framework.of(
        "parity", [("same", "differ")], [Belief.of("coins", {k: Discrete.of(v) for k, v in pairs.items()})]
    )
    assert Wasserstein.of(joint).sensitivity.l1 == 1


def test_the_multiple_of_the_believed_number_scales_its_price() -> None:
    framework = household_example()
    single, double = PufferfishLaplace(framework, 3).loss(1), PufferfishLaplace(framework, 6).loss(2)
    assert isinstance(single, BeliefLoss)
    for at in (0.0, 0.2, 0.5):
        assert PufferfishLaplace(framework, 6, 2).loss(2).delta(at) == single.delta(at)
        assert double.delta(at) <= single.delta(at) * 1.05
    with pytest.raises(BadInput, match="promise nothing about"):
        PufferfishLaplace(framework, 3).loss(Laplace.examples()[0].audit_cases()[0].sensitivity)


@pytest.mark.slow
def test_a_mixture_is_fitted_on_public_numbers() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(0, 1, 900), rng.normal(8, 2, 300)])
    fitted = fit_mixture(values, components=2)
    assert sum(fitted.chances) == 1
    assert [float(m) for m in fitted.means] == pytest.approx([0, 8], abs=0.5)
    assert [float(s) for s in fitted.deviations] == pytest.approx([1, 2], rel=0.15)
    assert fit_mixture(values) == fit_mixture(values)
    assert 2 <= len(fit_mixture(values).chances) <= 4
    assert PufferfishLaplace.calibrate(framework=two(fitted, Mixture.normal(0, 1)), epsilon=1).loss(1).epsilon() <= 1


def test_a_belief_is_not_fitted_on_private_data() -> None:
    from sfumato.queries.frame import Frame

    for private in (Private([1.0, 2.0]), Frame.__new__(Frame)):
        with pytest.raises(NotAllowed, match="private data"):
            fit_mixture(private)
    with pytest.raises(BadInput, match="private data"):
        Framework.of("x", [("a", "b")], [Private(household_example().beliefs[0])])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mixture.of([("0.5", 0, 1), ("0.4", 1, 1)]), "do not sum to one"),
        (lambda: Mixture.of([("0.5", 0, 1), ("-0.5", 1, 1), (1, 0, 1)]), "must not be negative"),
        (lambda: Mixture.of([(1, 0, 0)]), "must be above 0"),
        (lambda: Mixture.of([]), "not a list of components"),
        (lambda: Mixture((Fraction(1, 2),), (Fraction(0),), (Fraction(1),)), "do not sum to one"),
        (lambda: Mixture((Fraction(1),), (Fraction(0),), (Fraction(0),)), "not above 0"),
        (lambda: Discrete(((Fraction(1),), (Fraction(0),)), (Fraction(1, 2), Fraction(1, 2))), "out of order"),
        (lambda: Discrete(((Fraction(1),),), (Fraction(1), Fraction(0))), "lacks a chance"),
        (lambda: NormalVector((Fraction(0),), ((Fraction(0),),)), "positive diagonal"),
        (lambda: Discrete.of({0: "0.5", 1: "0.6"}), "do not sum to one"),
        (lambda: Discrete.of({0: "0.5", (1, 2): "0.5"}), "differ in length"),
        (lambda: NormalVector.of([0, 0], [[1, 1], [1, 1]]), "singular"),
        (lambda: NormalVector.of([0, 0], [[1, 2], [2, 1]]), "singular, or not positive"),
        (lambda: NormalVector.of([0, 0], [[0, 0], [0, 0]]), "singular"),
        (lambda: NormalVector.of([0, 0], [[1, 2], [0, 1]]), "symmetric"),
        (lambda: Framework.of("x", [("a", "b")], [ZERO]), "no belief thinks both 'a' and 'b' possible"),
        (lambda: Framework.of("x", [("a", "c")], [ZERO]), "does not know the secret 'c'"),
        (lambda: Framework.of("x", [("a", "a")], [ZERO]), "same secret twice"),
        (lambda: Framework.of("x", [], [ZERO]), "lacks"),
        (lambda: Belief.of("b", {"a": COIN}, chances={"a": "0.5", "b": "0.6"}), "do not sum to one"),
        (
            lambda: Framework.of("x", [("a", "b")], [Belief.of("b", {"a": COIN}, chances={"a": "0.5", "b": "0.5"})]),
            "no law given 'b'",
        ),
        (lambda: PufferfishLaplace("framework", 1), "no framework"),  # type: ignore[arg-type]
        (lambda: PufferfishLaplace.calibrate(epsilon=1), "no framework"),
        (lambda: PufferfishLaplace(VECTORS, 1), "beliefs about a vector"),
        (lambda: PufferfishLaplace(household_example(), 1).release(np.array([1, 2]), 1), "one number"),
        (lambda: PufferfishLaplace(household_example(), 1).release(Given("x", "y"), 1), "no contrast"),
        (lambda: Wasserstein.of(two(Mixture.normal(0, 1), Mixture.normal(1, 1))).loss(Laplace(1)), "no grain"),
        (lambda: Wasserstein.of(household_example()).loss(NoisyMax.examples()[0]), "does not add noise"),
        (lambda: fit_mixture([1.0, math.nan]), "finite"),
        (lambda: fit_mixture([1.0, 1.0]), "fewer different"),
        (lambda: fit_mixture("numbers"), "not a list"),
        (lambda: fit_mixture([1.0, 2.0, 3.0], components=0), "1 or more"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(make: Any, words: str) -> None:
    with pytest.raises(SfumatoError, match=words) as error:
        make()
    assert error.value.hint
