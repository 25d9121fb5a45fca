"""Filters admit what keeps the promise and nothing that breaks it, in exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting import (
    Approximate,
    Currency,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    Filter,
    Gdp,
    Loss,
    Pure,
    PureFilter,
    PureOdometer,
    Spent,
    Zcdp,
    ZcdpFilter,
    compose,
)
from sfumato.core import Neighbours
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.sensitivity import Sensitivity

ONE = Fraction(1)
MILLIONTH = Fraction(1, 10**6)


def spend(budget: Filter, losses: list[Loss]) -> tuple[Spent, list[Loss]]:
    """Ask for each in turn; what was admitted, and what it came to."""
    spent, admitted = budget.nothing, []
    for loss in losses:
        if budget.admits(spent, loss):
            spent = budget.add(spent, loss)
            admitted.append(loss)
    return spent, admitted


def test_a_pure_budget_is_spent_to_the_last_tenth() -> None:
    budget = PureFilter(ONE)
    spent, admitted = spend(budget, [DiscreteLaplaceLoss(Fraction(10), ONE)] * 12)
    assert len(admitted) == 10
    assert spent == budget.total
    assert budget.left(spent) == budget.nothing
    assert sum([0.1] * 10) < 1  # floats would have admitted an eleventh


def test_failure_is_charged_against_delta_and_epsilon_against_epsilon() -> None:
    budget = PureFilter(ONE, MILLIONTH)
    tenth = Approximate(Fraction(1, 100), MILLIONTH / 2)
    spent, admitted = spend(budget, [tenth] * 3)
    assert len(admitted) == 2
    assert spent == Spent(Currency.EPSILON, Fraction(1, 50), MILLIONTH)
    assert budget.admits(spent, Pure(Fraction(49, 50)))
    assert not budget.admits(spent, Pure(Fraction(49, 50) + Fraction(1, 10**30)))
    assert budget.left(spent) == Spent(Currency.EPSILON, Fraction(49, 50), Fraction(0))


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "8", "50"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.01", "0.9"])
@pytest.mark.parametrize("share", ["0.5", "1", "0.01"])
def test_the_rectangle_is_as_large_as_its_conversion_allows(epsilon: str, delta: str, share: str) -> None:
    budget = ZcdpFilter(Fraction(epsilon), Fraction(delta), Fraction(share))
    assert budget.delta_conversion + budget.delta_failure == Fraction(delta)
    assert budget.delta_conversion == Fraction(delta) * Fraction(share)
    rho = budget.rho_max
    assert rho > 0
    assert Zcdp(rho).delta(float(epsilon)) <= budget.delta_conversion
    assert Zcdp(rho * (1 + Fraction(1, 10**8))).delta(float(epsilon)) > budget.delta_conversion
    assert len(str(rho.numerator)) < 20
    assert budget.total == Spent(Currency.RHO, rho, budget.delta_failure)


def test_the_rectangle_beats_the_textbook_conversion() -> None:
    """epsilon = rho + 2 sqrt(rho ln(1/delta)) would leave a smaller rho."""
    rho = float(ZcdpFilter(ONE, MILLIONTH).rho_max)
    textbook = rho + 2 * math.sqrt(rho * math.log(2e6))
    assert 1 < textbook < 1.2


kinds = st.one_of(
    st.builds(Pure, st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=1000)),
    st.builds(
        Approximate,
        st.fractions(Fraction(1, 1000), Fraction(1, 2), max_denominator=1000),
        st.fractions(0, Fraction(1, 2 * 10**6), max_denominator=10**9),
    ),
    st.builds(Zcdp, st.fractions(Fraction(1, 10**4), Fraction(1, 30), max_denominator=10**4)),
    st.builds(Gdp, st.fractions(Fraction(1, 50), Fraction(1, 4), max_denominator=50)),
    st.builds(
        lambda v: DiscreteGaussianLoss(v, Sensitivity.of_cells(3)),
        st.fractions(Fraction(20), Fraction(900), max_denominator=3),
    ),
)


@settings(max_examples=60)
@given(st.lists(kinds, max_size=12))
def test_whatever_was_admitted_keeps_the_promise(losses: list[Loss]) -> None:
    budget = ZcdpFilter(ONE, MILLIONTH)
    spent, admitted = spend(budget, losses)
    assert spent.within(budget.total)
    assert spent.amount == sum((line[0] for loss in admitted if (line := loss.zcdp())), Fraction(0))
    assert spent.failure == sum((loss.failure for loss in admitted), Fraction(0))
    if spent.amount:
        assert Zcdp(spent.amount, spent.failure).delta(1.0) <= budget.delta
    assert Spent.from_json(spent.to_json()) == spent
    assert spent + budget.left(spent) == budget.total
    for loss in losses:
        assert budget.admits(spent, loss) == (
            spent.amount + budget.cost(loss).amount <= budget.rho_max
            and spent.failure + budget.cost(loss).failure <= budget.delta_failure
        )


def test_a_filter_that_trades_rho_for_failure_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: an unused half of delta pays for more rho; then the whole is no longer (1, 1e-6)."""
    budget = ZcdpFilter(ONE, MILLIONTH)
    small = [Gdp(Fraction(1, 50))] * 400

    def kept() -> bool:
        _, admitted = spend(budget, list(small))
        return compose(admitted).delta(1.0) <= budget.delta

    assert kept()

    def traded(self: Spent, most: Spent) -> bool:
        return self.amount / most.amount + self.failure / most.failure <= 2

    with monkeypatch.context() as broken:
        broken.setattr(Spent, "within", traded)
        assert not kept()


def test_a_loss_without_the_form_is_refused_with_what_to_do() -> None:
    with pytest.raises(NotSupported, match="gdp") as pure:
        PureFilter(ONE).admits(PureFilter(ONE).nothing, Gdp(ONE))
    assert "zcdp" in pure.value.hint

    class Opaque(Loss):
        about = Neighbours.ADD_REMOVE
        failure = Fraction(0)

        def delta(self, epsilon: float) -> float:
            return 1.0

        def renyi(self, order: float) -> float:
            return math.inf

        def zcdp(self) -> None:
            return None

        def pure(self) -> None:
            return None

        def describe(self) -> dict[str, str]:
            return {"kind": "opaque"}

    with pytest.raises(NotSupported, match="opaque") as line:
        ZcdpFilter(ONE, MILLIONTH).cost(Opaque())
    assert "Approximate" in line.value.hint


def test_an_approximate_loss_enters_a_line_as_half_its_square() -> None:
    budget = ZcdpFilter(ONE, MILLIONTH)
    assert budget.cost(Approximate(Fraction(1, 10), MILLIONTH / 10)) == Spent(
        Currency.RHO, Fraction(1, 200), MILLIONTH / 10
    )


def test_other_neighbours_are_refused_when_the_budget_says_whom_it_is_about() -> None:
    person = Neighbours.ADD_REMOVE.protecting("person")
    budget = PureFilter(ONE, about=person)
    assert budget.admits(budget.nothing, Pure(ONE, person))
    for about in (Neighbours.ADD_REMOVE, Neighbours.REPLACE.protecting("person")):
        with pytest.raises(BadInput, match="neighbours"):
            budget.admits(budget.nothing, Pure(ONE, about))


@given(st.fractions(min_value=0), st.fractions(min_value=0), st.sampled_from(Currency))
def test_totals_survive_text(amount: Fraction, failure: Fraction, currency: Currency) -> None:
    spent = Spent(currency, amount, failure)
    assert Spent.from_json(spent.to_json()) == spent


@pytest.mark.parametrize(
    "text",
    [
        {},
        {"epsilon": "1"},
        {"epsilon": "1", "failure": "-1"},
        {"epsilon": "2/4", "failure": "0"},
        {"epsilon": "1", "rho": "1", "failure": "0"},
        {"epsilon": " 1", "failure": "0"},
        {"epsilon": "one", "failure": "0"},
        {"epsilon": "1/0", "failure": "0"},
    ],
)
def test_text_that_is_not_ours_is_refused(text: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        Spent.from_json(text)


def test_amounts_of_two_currencies_do_not_add() -> None:
    with pytest.raises(BadInput):
        Spent(Currency.EPSILON) + Spent(Currency.RHO)
    assert not Spent(Currency.EPSILON).within(Spent(Currency.RHO, ONE, ONE))


def test_a_lowered_cap_leaves_nothing_rather_than_less() -> None:
    lowered = PureFilter(Fraction(1, 2))
    spent = Spent(Currency.EPSILON, ONE)
    assert lowered.left(spent) == lowered.nothing
    assert not lowered.admits(spent, Pure(MILLIONTH))


def test_an_odometer_reads_the_exact_sum_and_takes_pure_losses_only() -> None:
    reading = PureOdometer()
    for _ in range(10):
        reading = reading.add(DiscreteLaplaceLoss(Fraction(10), ONE))
    assert reading.epsilon == 1
    for loss in (Gdp(ONE), Approximate(ONE, MILLIONTH)):
        with pytest.raises(NotSupported):
            reading.add(loss)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "x", True])
def test_budgets_of_no_sense_are_refused(epsilon: object) -> None:
    for build in (lambda e: PureFilter(e), lambda e: ZcdpFilter(e, MILLIONTH)):
        with pytest.raises(BadInput) as caught:
            build(epsilon)
        assert caught.value.hint


@pytest.mark.parametrize("delta", [-1, 1, 2, math.nan, math.inf])
def test_deltas_of_no_sense_are_refused(delta: float) -> None:
    for build in (lambda d: PureFilter(ONE, d), lambda d: ZcdpFilter(ONE, d)):
        with pytest.raises(BadInput):
            build(delta)
    with pytest.raises(BadInput, match="above 0"):
        ZcdpFilter(ONE, Fraction(0))
    for share in (Fraction(0), Fraction(2), Fraction(-1)):
        with pytest.raises(BadInput):
            ZcdpFilter(ONE, MILLIONTH, share)
