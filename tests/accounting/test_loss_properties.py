"""What every loss is, whatever its kind: a falling curve of probabilities that composes, repeats and grows with groups."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting import (
    Approximate,
    BoundedRange,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    Gdp,
    Group,
    Loss,
    Pair,
    Pure,
    Subsampled,
    Zcdp,
    compose,
)
from sfumato.core import Neighbours
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.sensitivity import Sensitivity

ONE = Fraction(1)


def rationals(low: str, high: str) -> st.SearchStrategy[Fraction]:
    return st.fractions(Fraction(low), Fraction(high), max_denominator=64)


@st.composite
def vectors(draw: st.DrawFn) -> Sensitivity:
    l1, linf = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    return Sensitivity(Fraction(l1), Fraction(linf), Fraction(draw(st.integers(1, 20))))


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    size = draw(st.integers(2, 4))
    laws = []
    for _ in range(2):
        parts = draw(st.lists(st.integers(1, 20), min_size=size, max_size=size))
        laws.append([Fraction(part, sum(parts)) for part in parts])
    return Pair.of(*laws)


bounded = st.one_of(
    st.builds(Pure, rationals("1/64", "5")),
    st.builds(DiscreteLaplaceLoss, rationals("1/4", "20"), st.integers(1, 6).map(Fraction)),
    st.builds(BoundedRange, rationals("1/64", "5")),
    pairs(),
)
exact = st.one_of(
    bounded,
    st.builds(Approximate, rationals("1/64", "5"), st.fractions(0, Fraction(1, 100), max_denominator=10**7)),
    st.builds(Gdp, rationals("1/32", "4")),
    st.builds(DiscreteGaussianLoss, rationals("1/16", "50"), st.integers(1, 5).map(Sensitivity.of)),
)
simple = st.one_of(
    exact,
    st.builds(DiscreteGaussianLoss, rationals("1/16", "50"), vectors()),
    st.builds(Zcdp, rationals("1/64", "4")),
)
losses = st.one_of(
    simple,
    st.builds(Subsampled, exact, rationals("1/64", "63/64")),
    st.builds(Group, bounded, st.integers(2, 4)),
)
reals = st.floats(-30, 30)


@settings(max_examples=250)
@given(losses, reals, reals)
def test_curves_fall_from_one_to_the_failure(loss: Loss, first: float, second: float) -> None:
    low, high = sorted((first, second))
    at_low, at_high = loss.delta(low), loss.delta(high)
    assert 0 <= at_high <= 1
    # A group's bound may rise a little between steps of its curve, never above where it started.
    start = max(at_low, loss.delta(0.0)) if isinstance(loss, Group) else at_low
    assert at_high <= start * (1 + 1e-9) + 1e-15
    assert loss.delta(-math.inf) == 1
    assert loss.delta(math.inf) <= float(loss.failure) * (1 + 1e-12)
    assert at_low >= -math.expm1(low) * (1 - 1e-12)  # all outcomes together


@settings(max_examples=120)
@given(losses, st.sampled_from(["1e-15", "1e-9", "1e-4", "0.2"]))
def test_epsilon_inverts_delta(loss: Loss, delta: str) -> None:
    epsilon = loss.epsilon(delta)
    bounded = loss.pure()
    if math.isinf(epsilon):
        assert loss.failure > Fraction(delta) or bounded is None
        return
    assert loss.delta(epsilon) <= Fraction(delta) or (bounded is not None and epsilon >= bounded[0])
    if epsilon > 1e-6 and (bounded is None or epsilon < bounded[0]):
        assert loss.delta(epsilon * (1 - 1e-6)) > float(delta) * (1 - 1e-9)


@settings(max_examples=100)
@given(losses)
def test_pure_and_line_bound_the_curve(loss: Loss) -> None:
    bounded, line = loss.pure(), loss.zcdp()
    if bounded is not None:
        assert loss.delta(math.nextafter(float(bounded[0]), math.inf)) <= float(bounded[1]) * (1 + 1e-9) + 1e-15
        assert loss.epsilon(loss.failure) <= math.nextafter(float(bounded[0]), math.inf)
    if line is not None and line[0] > 0 and line[1] < 1:
        for epsilon in (0.0, 0.5, 2.0, 7.0):
            assert loss.delta(epsilon) <= Zcdp(*line).delta(epsilon) * (1 + 1e-9) + 1e-15


@settings(max_examples=100)
@given(losses, losses, losses)
def test_composition_commutes_and_associates(a: Loss, b: Loss, c: Loss) -> None:
    assert a + b == b + a
    assert (a + a) + b == b + a * 2
    left, right = (a + b) + c, a + (b + c)
    for name in ("zcdp", "pure"):
        x, y = getattr(left, name)(), getattr(right, name)()
        assert (x is None) == (y is None)
        if x is not None:
            assert float(x[0]) == pytest.approx(float(y[0]), rel=1e-15)
            assert x[1] == y[1]
    assert left.failure == right.failure == min(ONE, a.failure + b.failure + c.failure)
    assert left.describe() == compose([c, b, a]).describe() or "gdp" in str(left.describe())


@settings(max_examples=25)
@given(exact, exact, st.floats(-2, 6))
def test_composition_never_lowers_the_curve(a: Loss, b: Loss, epsilon: float) -> None:
    both = (a + b).delta(epsilon)
    assert both >= max(a.delta(epsilon), b.delta(epsilon)) * (1 - 1e-6) - 1e-11
    assert both <= 1
    assert (a + a + b).delta(epsilon) >= both * (1 - 1e-4) - 1e-9
    if (bounded := (a + b).pure()) is not None:
        top = math.nextafter(float(bounded[0]), math.inf)
        assert (a + b).delta(top) <= float(bounded[1]) * (1 + 1e-9) + 1e-15


@settings(max_examples=40)
@given(exact, exact, st.floats(0, 4), st.floats(0, 4))
def test_composition_stays_below_the_basic_sum(a: Loss, b: Loss, first: float, second: float) -> None:
    """(e1, d1) and (e2, d2) together are (e1 + e2, d1 + d2): what is numeric may not be worse than that."""
    assert (a + b).delta(first + second) <= a.delta(first) + b.delta(second) + 1e-5


@settings(max_examples=60)
@given(simple, simple, st.integers(2, 4))
def test_adding_then_grouping_is_grouping_then_adding(a: Loss, b: Loss, size: int) -> None:
    def known(build: Callable[[], Loss]) -> Loss | None:
        try:
            return build()
        except NotSupported:
            return None

    together = known(lambda: (a + b).group(size))
    apart = known(lambda: a.group(size) + b.group(size))
    assert (together is None) == (apart is None)
    if together is not None and apart is not None:
        for name in ("zcdp", "pure"):
            x, y = getattr(together, name)(), getattr(apart, name)()
            assert (x is None) == (y is None)
            if x is not None:
                assert [float(v) for v in x] == pytest.approx([float(v) for v in y], rel=1e-12)


@settings(max_examples=100)
@given(losses)
def test_descriptions_are_canonical_text(loss: Loss) -> None:
    text = loss.describe()
    assert all(isinstance(value, str) for value in text.values())
    assert json.loads(json.dumps(dict(text))) == dict(text)
    assert text["relation"] == "add-remove"
    assert text["unit"] == "unit"


def test_descriptions_tell_losses_apart() -> None:
    many: list[Loss] = [
        Pure(ONE),
        Pure(Fraction(2)),
        Pure(ONE, Neighbours.REPLACE),
        Pure(ONE, Neighbours.ADD_REMOVE.protecting("person")),
        Approximate(ONE, Fraction(1, 10)),
        BoundedRange(ONE),
        Gdp(ONE),
        Zcdp(ONE),
        Zcdp(ONE, Fraction(1, 10)),
        DiscreteLaplaceLoss(ONE, ONE),
        DiscreteLaplaceLoss(ONE, Fraction(2)),
        DiscreteGaussianLoss(ONE, Sensitivity.of(1)),
        DiscreteGaussianLoss(ONE, Sensitivity.of_cells(2)),
        Pair.of(["1/2", "1/2"], ["1/4", "3/4"]),
        Pair.of(["1/4", "3/4"], ["1/2", "1/2"]),
        Subsampled(Gdp(ONE), Fraction(1, 2)),
        Subsampled(Gdp(ONE), Fraction(1, 3)),
        Group(Pure(ONE), 2),
        Pure(ONE) * 2,
        Pure(ONE) * 3,
    ]
    texts = [json.dumps(dict(loss.describe())) for loss in many]
    assert len(set(texts)) == len(many) == len(set(many))


def test_a_bounded_range_is_the_worst_two_outcomes_of_every_interval() -> None:
    width = 1.3
    loss = BoundedRange(Fraction("1.3"))
    for epsilon in (-1.0, -0.2, 0.0, 0.4, 1.0, 1.29):

        def two_outcomes(top: float, epsilon: float = epsilon) -> float:
            """Ratios e^top and e^(top - width) with mean 1 under the second law."""
            chance = -math.expm1(top - width) / (math.exp(top) - math.exp(top - width))
            first, second = (chance * math.exp(top), 1 - chance * math.exp(top)), (chance, 1 - chance)
            return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(first, second, strict=True))

        worst = max(two_outcomes(width * k / 400) for k in range(1, 400))
        assert worst <= loss.delta(epsilon)
        assert loss.delta(epsilon) == pytest.approx(two_outcomes((epsilon + width) / 2), rel=1e-9)


BAD = (0, -1, math.nan, math.inf, -math.inf, "nan", "x", True, None)


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_parameters_of_no_sense_are_refused_with_a_hint(value: object) -> None:
    def refused(build: Callable[[], object]) -> None:
        with pytest.raises(BadInput) as caught:
            build()
        assert caught.value.hint

    wrong: Fraction = value  # type: ignore[assignment]
    refused(lambda: Pure(wrong))
    refused(lambda: Approximate(wrong, Fraction(0)))
    refused(lambda: Gdp(wrong))
    refused(lambda: Zcdp(wrong))
    refused(lambda: DiscreteLaplaceLoss(wrong, ONE))
    refused(lambda: DiscreteGaussianLoss(wrong, Sensitivity.of(1)))
    refused(lambda: Subsampled(Gdp(ONE), wrong))
    if value != 0 or value is None:
        refused(lambda: DiscreteLaplaceLoss(ONE, wrong))
        refused(lambda: DiscreteGaussianLoss(ONE, Sensitivity.of(wrong)))
        refused(lambda: BoundedRange(wrong))


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, math.nan, math.inf, "x"])
def test_deltas_of_no_sense_are_refused(delta: float) -> None:
    with pytest.raises(BadInput):
        Gdp(ONE).epsilon(delta)
    with pytest.raises(BadInput):
        Approximate(ONE, delta)  # type: ignore[arg-type]
    with pytest.raises(BadInput):
        Zcdp(ONE, delta)  # type: ignore[arg-type]


def test_a_curve_at_no_number_is_refused() -> None:
    for loss in (Pure(ONE), Gdp(ONE), Zcdp(ONE), DiscreteGaussianLoss(ONE, Sensitivity.of(1)), Pure(ONE) * 2):
        with pytest.raises(BadInput):
            loss.delta(math.nan)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([], []),
        (["1"], ["1/2", "1/2"]),
        (["1.5", "-0.5"], ["1/2", "1/2"]),
        (["0.6", "0.6"], ["1/2", "1/2"]),
        (["1/2", "nan"], ["1/2", "1/2"]),
        ([0.5, math.inf], ["1/2", "1/2"]),
    ],
)
def test_vectors_that_are_no_laws_are_refused(first: list[str], second: list[str]) -> None:
    with pytest.raises(BadInput):
        Pair.of(first, second)


def test_nothing_moved_costs_nothing() -> None:
    for loss in (DiscreteLaplaceLoss(ONE, Fraction(0)), DiscreteGaussianLoss(ONE, Sensitivity.of(0))):
        assert loss.epsilon() == 0
        assert loss.delta(0.0) == 0
        assert loss.pure() == (Fraction(0), Fraction(0))
        assert loss.delta(-1.0) == pytest.approx(-math.expm1(-1))
        assert (loss + Pure(ONE)).epsilon() == 1
        assert loss.renyi(math.inf) == 0


def test_what_asking_needs_loads_no_heavy_library() -> None:
    program = """
import sys
from fractions import Fraction as F
import sfumato.accounting as a
from sfumato.core.sensitivity import Sensitivity
light = {"numpy"} & set(sys.modules)
losses = [a.Pure(F(1)), a.Approximate(F(1), F(1, 10**6)), a.DiscreteLaplaceLoss(F(2), F(3)), a.Gdp(F(1)), a.Zcdp(F(1)),
          a.BoundedRange(F(1)), a.Pure(F(1)) * 3 + a.DiscreteLaplaceLoss(F(2), F(3))]
for loss in losses:
    loss.pure(), loss.zcdp(), loss.epsilon(), loss.describe()
for loss in losses[:-1]:
    loss.delta(0.5), loss.epsilon("1e-6"), loss.group(2)
for budget in (a.PureFilter(F(10), F(1, 1000)), a.ZcdpFilter(F(10), F(1, 1000))):
    budget.admits(budget.nothing, losses[-1])
a.gaussian_sigma(1, epsilon=1, delta="1e-5")
light |= {"numpy"} & set(sys.modules)
a.DiscreteGaussianLoss(F(100), Sensitivity.of(1)).epsilon("1e-6")
a.calibrate(lambda s: a.DiscreteGaussianLoss(s * s, 1), epsilon=1, delta="1e-6")
a.ZcdpFilter(F(10), F(1, 1000)).cost(a.DiscreteGaussianLoss(F(100), Sensitivity.of_cells(9)) * 4)
heavy = {"scipy", "dp_accounting"} & {name.split(".")[0] for name in sys.modules}
print(sorted(light), sorted(heavy))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[] []", done.stderr


def test_orders_of_magnitude_compose_without_trouble() -> None:
    """From a thousandth to a million: a coarse grid may be wasteful, never below the truth of the largest part."""
    parts = [Gdp(Fraction(1000)), DiscreteGaussianLoss(Fraction(1, 10**6), Sensitivity.of(1)), Pure(Fraction(1, 10**6))]
    for a, b in itertools.combinations(parts, 2):
        for epsilon in (0.0, 1.0, 50.0):
            assert (a + b).delta(epsilon) >= max(a.delta(epsilon), b.delta(epsilon)) * (1 - 1e-6)
