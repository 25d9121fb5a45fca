"""Interactive mechanisms before a data set: paid whole when they start, asked count by count."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import pytest

from sfumato.core.errors import BadInput, BudgetExceeded, EngineFailed, NotAllowed, NotSupported
from sfumato.curator.ledger.records import Charge
from sfumato.mechanisms import AboveThreshold, BoundedNoise, OnlineBoundedNoise, RunningCount, SparseVector

OLDER = "SELECT COUNT(*) FROM people WHERE age >= {}"


def test_every_not_yet_is_free(make: Any) -> None:
    """The note's loop. 1 000 people, ages 0 to 89: at epsilon 5 a count misjudged by 150 has probability below 1e-9."""
    data = make()
    session = data.session("ana")
    alarm = session.start(AboveThreshold, threshold=500, epsilon=5)
    assert data.ledger.totals().spent == Charge(Fraction(5))
    visits = session.table("people")
    replies = [alarm.ask(visits.filter("age >= ?", limit).count()) for limit in (85, 80, 75, 60, 10)]
    assert [bool(reply) for reply in replies] == [False, False, False, False, True]
    assert abs(replies[-1].gap - (890 - 500)) < 150
    assert alarm.closed
    with pytest.raises(BadInput, match="last reply"):
        alarm.ask(OLDER.format(1))
    assert data.ledger.totals().spent == Charge(Fraction(5))


def test_counts_only_move_one_way_under_add_remove_and_a_unit_weighs_its_bound(make: Any) -> None:
    alarm = make(max_rows=3).session("ana").start(AboveThreshold, threshold=10, epsilon=1)
    assert alarm.running.mechanism.monotone
    assert alarm.reach.linf == 3 * 2**20
    assert alarm.running.mechanism.loss(alarm.reach).epsilon() == 1


def test_under_replace_counts_move_both_ways_whoever_says_otherwise(make: Any) -> None:
    """One person leaves the count of the young and joins that of the old: half the noise would be half the promise."""
    data = make(neighbours="replace")
    alarm = data.session("ana").start(AboveThreshold, threshold=10, epsilon=1)
    assert not alarm.running.mechanism.monotone
    assert alarm.running.mechanism.loss(alarm.reach).epsilon() == 1
    with pytest.raises(BadInput, match="move one way"):
        data.session("ana").start(AboveThreshold, threshold=10, epsilon=1, monotone=True)
    assert data.ledger.totals().spent == Charge(Fraction(1))


def test_a_start_is_never_replayed(make: Any) -> None:
    data = make()
    for times in (1, 2):
        data.session("ana").start(AboveThreshold, threshold=10, epsilon="0.5")
        assert data.ledger.totals().spent == Charge(Fraction(times, 2))


def test_what_the_budget_does_not_hold_does_not_start(make: Any) -> None:
    data = make(epsilon="1")
    with pytest.raises(BudgetExceeded):
        data.session("ana").start(AboveThreshold, threshold=10, epsilon=2)
    assert data.ledger.totals().spent == Charge()


@pytest.mark.slow
@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_bounded_noise_answers_within_its_limit(make: Any, accountant: str) -> None:
    data = make(accountant=accountant)
    live = data.session("ana").start(BoundedNoise, queries=5, epsilon=1, delta="1e-7")
    limit = live.running.mechanism.limit / 2**20
    for age in (0, 10, 50):
        assert abs(live.ask(OLDER.format(age)) - sum(i % 90 >= age for i in range(1000))) < limit
    assert data.ledger.totals().spent == Charge(
        Fraction(1) if accountant == "pure" else Fraction(1, 2), Fraction(1, 10**7)
    )


@pytest.mark.slow
def test_online_bounded_noise_answers_within_its_limit(make: Any) -> None:
    live = make().session("ana").start(OnlineBoundedNoise, horizon=10, epsilon=1, delta="1e-7")
    limit = live.running.mechanism.limit(1) / 2**20
    assert abs(live.ask(OLDER.format(50)) - sum(i % 90 >= 50 for i in range(1000))) < limit


def test_a_count_of_units_and_of_values_is_a_count(make: Any) -> None:
    live = make().session("ana").start(SparseVector, positives=2, threshold=500, epsilon=5)
    assert live.ask("SELECT COUNT(DISTINCT person_id) FROM people")
    assert live.ask("SELECT COUNT(hours) FROM people")
    assert live.closed


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sex, COUNT(*) FROM people GROUP BY sex",
        "SELECT SUM(hours) FROM people",
        "SELECT COUNT(*), SUM(age) FROM people",
    ],
)
def test_what_is_not_one_count_is_refused_and_costs_nothing_of_the_session(make: Any, text: str) -> None:
    live = make().session("ana").start(AboveThreshold, threshold=10**6, epsilon=1)
    with pytest.raises(NotSupported, match="one count"):
        live.ask(text)
    assert not live.ask(OLDER.format(0))


@pytest.mark.parametrize("mechanism", [RunningCount])
def test_mechanisms_without_a_bound_per_number_are_refused(make: Any, mechanism: Any) -> None:
    with pytest.raises(NotSupported, match="no such bound"):
        make().session("ana").start(mechanism, horizon=5, epsilon=1)


def test_a_frozen_analyst_gets_no_more_replies(make: Any) -> None:
    data = make()
    live = data.session("ana").start(AboveThreshold, threshold=10**6, epsilon=1)
    data.ledger.freeze("ana", reason="looking")
    with pytest.raises(NotAllowed):
        live.ask(OLDER.format(0))
    with pytest.raises(NotAllowed):
        data.session("ana").start(AboveThreshold, threshold=1, epsilon=1)


def test_an_engine_that_fails_freezes_the_analyst(make: Any, monkeypatch: Any) -> None:
    data = make()
    live = data.session("ana").start(AboveThreshold, threshold=1, epsilon=1)

    def broken(_: Any) -> Any:
        raise EngineFailed("no", hint="look")

    monkeypatch.setattr(data, "exact", broken)
    with pytest.raises(EngineFailed):
        live.ask(OLDER.format(0))
    with pytest.raises(NotAllowed):
        live.ask(OLDER.format(0))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_no_reply(make: Any) -> None:
    live = make().session("ana").start(AboveThreshold, threshold=10**6, epsilon=1)
    child = os.fork()
    if child == 0:
        try:
            live.running.ask(0)
        except NotSupported:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert not live.ask(OLDER.format(0))
