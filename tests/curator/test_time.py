"""Versions reopen questions, not budgets; files that change under one; and what questions may cost until a day."""

from __future__ import annotations

import json
import os
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sfumato.accounting import PureFilter, ZcdpFilter
from sfumato.apps.cli import cli
from sfumato.core.errors import BadInput, BudgetExceeded, NotAllowed, NotSupported
from sfumato.curator.dataset import open_dataset
from sfumato.curator.forecast import forecast
from sfumato.curator.home import Home
from sfumato.curator.ledger.records import Charge
from sfumato.curator.policy import Policy

POLICY = """[dataset]
name = "people"
id = "d-time"
version = "2026-01"
[unit]
kind = "person"
[budget]
epsilon = 1
[tables.people]
source = "csv:people.csv"
unit = "who"
[tables.people.columns.sex]
values = ["F", "M"]
"""
COUNT = "SELECT COUNT(*) AS n FROM people"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.csv").write_text("who,sex\n1,F\n2,M\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_HOME", str(tmp_path / "home"))
    Policy.load("policy.toml").new_ledger(Home.default())
    return tmp_path


def test_a_version_reopens_questions_and_not_the_budget(folder: Path) -> None:
    first = open_dataset("policy.toml").session("ana")
    assert not first.ask(COUNT, epsilon="0.4").replayed
    assert first.ask(COUNT, epsilon="0.4").replayed
    assert first.left().analyst.amount == Fraction(6, 10)
    assert CliRunner().invoke(cli, ["version", "2026-02"]).exit_code == 0
    second = open_dataset("policy.toml").session("ana")
    assert second.left().analyst.amount == Fraction(6, 10)
    assert not second.ask(COUNT, epsilon="0.4").replayed
    assert second.left().analyst.amount == Fraction(2, 10)
    CliRunner().invoke(cli, ["version", "2026-03"])
    with pytest.raises(BudgetExceeded):
        open_dataset("policy.toml").session("ana").ask(COUNT, epsilon="0.4")


def test_a_file_that_changes_under_its_version_stops_new_questions(folder: Path) -> None:
    asked = open_dataset("policy.toml").session("ana").ask(COUNT, epsilon="0.1")
    (folder / "people.csv").write_text("who,sex\n1,F\n2,M\n3,F\n")
    data = open_dataset("policy.toml")
    before = data.ledger.totals()
    assert data.session("ana").ask(COUNT, epsilon="0.1").rows == asked.rows  # what was answered is replayed
    with pytest.raises(NotAllowed) as caught:
        data.session("ana").ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon="0.1")
    assert caught.value.code == "SF019"
    assert data.ledger.totals() == before
    CliRunner().invoke(cli, ["version", "2026-02"])
    assert open_dataset("policy.toml").session("ana").ask(COUNT, epsilon="0.1").replayed is False


def test_what_was_seen_holds_sizes_and_times_only(folder: Path) -> None:
    open_dataset("policy.toml").session("ana").ask(COUNT, epsilon="0.1")
    (seen,) = (folder / "home" / "seen").iterdir()
    assert seen.stat().st_mode & 0o077 == 0
    text = seen.read_text()
    size, moment = (folder / "people.csv").stat().st_size, (folder / "people.csv").stat().st_mtime_ns
    (folder / "people.csv").write_text("who,sex\n7,M\n8,F\n")  # other people, the same size
    os.utime(folder / "people.csv", ns=(moment, moment))
    assert (folder / "people.csv").stat().st_size == size
    open_dataset("policy.toml").session("ana").ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon="0.1")
    assert seen.read_text() == text


def left(amount: str) -> Charge:
    return Charge(Fraction(amount))


@pytest.mark.parametrize(
    ("until", "every", "times"),
    [
        (date(2026, 1, 31), "month", 1),
        (date(2026, 2, 28), "month", 2),  # the 31st of February is its last day
        (date(2026, 12, 31), "month", 12),
        (date(2027, 1, 31), "quarter", 5),
        (date(2030, 1, 31), "year", 5),
        (date(2026, 2, 14), "week", 3),
    ],
)
def test_questions_are_counted_to_the_day(until: date, every: Any, times: int) -> None:
    found = forecast(left("1"), PureFilter(Fraction(3)), today=date(2026, 1, 31), until=until, every=every)
    assert found.times == times
    assert found.each == Fraction(1, times)
    assert found.epsilon <= found.each


def test_when_the_budget_runs_out() -> None:
    budget = PureFilter(Fraction(3))
    terms: Any = {"today": date(2026, 1, 15), "until": date(2026, 12, 31), "every": "month"}
    assert forecast(left("1"), budget, price=Fraction(1, 4), **terms).runs_out == date(2026, 5, 15)
    assert forecast(left("1"), budget, price=Fraction(1, 12), **terms).runs_out is None
    assert forecast(left("1"), budget, price=Fraction(1, 12), each=2, **terms).runs_out == date(2026, 7, 15)
    assert forecast(left("0.1"), budget, price=Fraction(1), **terms).runs_out == date(2026, 1, 15)


def test_under_zcdp_a_share_of_rho_is_a_price_in_epsilon() -> None:
    budget = ZcdpFilter(Fraction(1), Fraction(1, 10**6))
    found = forecast(Charge(budget.rho_max), budget, today=date(2026, 1, 1), until=date(2026, 12, 1), every="month")
    cost = ZcdpFilter(found.epsilon, budget.delta, budget.conversion).rho_max
    assert cost <= found.each
    assert cost * Fraction(101, 100) > found.each
    assert found.epsilon > Fraction(1, 12)  # twelve questions of rho cost less than twelve of epsilon


def test_nonsense_is_refused() -> None:
    budget, today = PureFilter(Fraction(1)), date(2026, 1, 1)
    with pytest.raises(BadInput):
        forecast(left("1"), budget, today=today, until=date(2025, 1, 1), every="month")
    with pytest.raises(BadInput):
        forecast(left("1"), budget, today=today, until=date(9999, 12, 31), every="week")
    with pytest.raises(BadInput):
        forecast(left("1"), budget, today=today, until=today, every="week", each=0)
    with pytest.raises(NotSupported):
        forecast(left("0"), budget, today=today, until=today, every="week")


def test_the_command(folder: Path) -> None:
    run = CliRunner()
    day = f"{date.today().year + 2}-12-31"
    told = run.invoke(cli, ["budget", "forecast", COUNT, "--until", day, "--epsilon", "0.3", "--as", "ana"])
    assert told.exit_code == 0, told.output
    assert "the budget runs out on" in told.stdout
    assert len(told.stdout.splitlines()) == 3
    said = run.invoke(cli, ["budget", "forecast", "--until", day, "--as", "ana", "--format", "json"])
    assert json.loads(said.stdout)["runs_out"] is None
    assert "n ±" in told.stdout
    french = run.invoke(cli, ["budget", "forecast", "--until", day, "--as", "ana", "--lang", "fr"])
    assert "chacune à" in french.stdout
    plain = run.invoke(cli, ["budget"])
    assert plain.exit_code == 0
    assert "people" in plain.stdout or "data set" in plain.stdout
    assert open_dataset("policy.toml").ledger.totals().spent == Charge()
