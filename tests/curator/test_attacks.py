"""Known attacks, each a test: averaging, differencing, probing, error oracles, sentinels, refunds, kills in the middle."""

from __future__ import annotations

import io
import json
import logging
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.errors import BudgetExceeded, SfumatoError
from sfumato.curator.dataset import open_dataset
from sfumato.curator.home import Home
from sfumato.curator.ledger.records import Charge
from sfumato.testing.ledger import wait_until_longer

SENTINEL = "xSENTINELx"
NUMBER = 987_654_321
fork = multiprocessing.get_context("fork")


def test_averaging_ends_at_the_budget(make: Any) -> None:
    """Asking again replays; asking at other prices costs; nothing gives fresh noise for free."""
    data = make(epsilon="1")
    session = data.session("eve")
    seen = {session.ask("SELECT COUNT(*) AS n FROM people", epsilon="0.1").rows[0]["n_unbiased"] for _ in range(50)}
    assert len(seen) == 1
    prices = [Fraction(1, 10) + Fraction(i, 10**6) for i in range(1, 9)]
    for price in prices:
        session.ask("SELECT COUNT(*) AS n FROM people", epsilon=price)
    with pytest.raises(BudgetExceeded):
        session.ask("SELECT COUNT(*) AS n FROM people", epsilon="0.11")


@pytest.mark.parametrize(
    "spelling",
    [
        "SELECT COUNT(*) AS n FROM people WHERE 1 = 1",
        "SELECT COUNT(*) AS n FROM people WHERE age = age OR age IS NULL",
        "SELECT COUNT(*) + 0 AS n FROM people",
        "SELECT COUNT(*) AS m FROM people LIMIT 5",
    ],
)
def test_other_spellings_of_a_question_are_paid_or_replayed(make: Any, spelling: str) -> None:
    data = make(epsilon="10")
    session = data.session("eve")
    first = session.ask("SELECT COUNT(*) AS n FROM people", epsilon="0.1").rows[0]
    again = session.ask(spelling, epsilon="0.1")
    spent = data.ledger.totals().spent.amount
    same = next(value for name, value in again.rows[0].items() if name.endswith("_unbiased")) == first["n_unbiased"]
    assert spent == (Fraction(1, 10) if same else Fraction(2, 10))


@pytest.mark.slow
def test_differencing_sees_noise(make: Any) -> None:
    """With and without one person: 200 pairs; the sign of the difference says nothing. 1e-9 false alarms at 58 off 100."""
    session = make(epsilon="100000").session("eve")
    wins = 0
    for i in range(200):
        price = Fraction(1, 10) + Fraction(i, 10**6)
        whole = session.ask("SELECT COUNT(*) AS n FROM people", epsilon=price).rows[0]["n_unbiased"]
        less = session.ask("SELECT COUNT(*) AS n FROM people WHERE NOT (age = 7 AND hours = 7)", epsilon=price).rows[0][
            "n_unbiased"
        ]
        wins += whole > less
    assert 42 <= wins <= 170


def poisoned(kind: str) -> Any:
    """A table in which one person's row holds what breaks expressions, and a sentinel in every cell."""
    base = {
        "person_id": [f"p{i}" for i in range(50)] + [SENTINEL],
        "sex": ["F"] * 50 + [SENTINEL],
        "age": [30] * 50 + [NUMBER],
        "hours": [1.0] * 50 + [{"zero": 0.0, "nan": float("nan"), "inf": float("inf"), "huge": 1e308}[kind]],
        "notes": [1] * 50 + [NUMBER],
    }
    return pa.table(base)


ORACLES = [
    "SELECT AVG(100 / (hours - 1)) AS a FROM people",
    "SELECT SUM(CASE WHEN hours = 0 THEN 1 / 0 ELSE 1 END) AS a FROM people",
    "SELECT SUM(age * age * age * age * age * age * age) AS a FROM people",
    "SELECT AVG(hours * 1e300 * 1e300) AS a FROM people",
    "SELECT COUNT(*) AS a FROM people WHERE CAST(sex AS INTEGER) > 0",
    "SELECT SUM(notes) AS a FROM people",
    "SELECT COUNT(*) AS a FROM people WHERE ln(hours - 1) > 0",
    "SELECT COUNT(*) AS a FROM people WHERE sqrt(0 - hours) > 0",
    "SELECT SUM(hours) AS a FROM people",
    "SELECT sex, AVG(age) AS a FROM people GROUP BY sex",
    f"SELECT COUNT(*) AS a FROM people WHERE sex = '{SENTINEL[:3]}'",
]


@pytest.mark.parametrize("question", ORACLES)
def test_what_is_said_does_not_depend_on_anyones_row(make: Any, tmp_path: Path, question: str) -> None:
    """The same question on tables that differ in one person's row: refused alike or answered alike, by the same words."""
    outcomes = set()
    for kind in ("zero", "nan", "inf", "huge"):
        (tmp_path / "policy.toml").unlink(missing_ok=True)
        for old in tmp_path.glob("policy.ledger*"):
            old.unlink()
        for old in (tmp_path / "home").glob("heads/*"):
            old.unlink()
        try:
            make(data=poisoned(kind)).session("eve").ask(question, epsilon=1)
            outcomes.add("answered")
        except SfumatoError as error:
            outcomes.add(f"{type(error).__name__} {error}")
    assert len(outcomes) == 1, outcomes


def test_a_sentinel_in_every_cell_appears_nowhere(make: Any, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    caplog.set_level(logging.DEBUG)
    data = make(data=poisoned("huge"))
    session = data.session("eve")
    said = io.StringIO()
    questions = [
        *ORACLES,
        "SELECT * FROM people",
        "SELECT sex FROM people",
        "SELECT MAX(age) FROM people",
        "garbage(",
        "SELECT",
    ]
    for i, question in enumerate(questions):
        try:
            answer = session.ask(question, epsilon=Fraction(1, 10) + Fraction(i, 1000))
            said.write(repr(answer) + json.dumps(answer.to_json()))
        except SfumatoError as error:
            said.write(str(error) + error.hint)
            said.write("".join(traceback.format_exception(error)))
    out, err = capfd.readouterr()
    everything = said.getvalue() + caplog.text + out + err
    assert SENTINEL not in everything
    assert str(NUMBER) not in everything
    ledger = "".join(json.dumps(dict(record.body)) for record in data.ledger.history())
    assert SENTINEL not in ledger
    assert str(NUMBER) not in ledger


def test_groups_outside_the_public_keys_never_appear(make: Any) -> None:
    a = make(data=poisoned("zero")).session("eve").ask("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", epsilon=1)
    assert [row["sex"] for row in a.rows] == ["F", "M"]


def test_there_is_no_refund(make: Any) -> None:
    data = make()
    verbs = [name for name in dir(data.ledger) if not name.startswith("_")]
    assert not {"refund", "release", "cancel", "rollback", "delete"} & set(verbs)
    with pytest.raises(ValueError, match="no refunds"):
        data.ledger.reserve("x", analyst="eve", charge=Charge(Fraction(-1)), what={})


# Kill -9 at a random moment of an ask.


def _asker(policy: Path, home: Path, log: str, people: Any) -> None:
    session = open_dataset(policy, {"people": people}, home=Home(home)).session("ana")
    with open(log, "a") as out:
        for i in range(100_000):
            answer = session.ask("SELECT COUNT(*) AS n FROM people", epsilon=Fraction(1, 1000) + Fraction(i, 10**8))
            out.write(json.dumps([i, answer.rows[0]["n_unbiased"]]) + "\n")
            out.flush()


def _kill_asks(data: Any, tmp_path: Path, people: Any, kills: int) -> None:
    log = tmp_path / "released.jsonl"
    log.touch()
    for i in range(kills):
        victim = fork.Process(target=_asker, args=(tmp_path / "policy.toml", tmp_path / "home", str(log), people))
        victim.start()
        if i % 3 == 2:
            wait_until_longer(log)
        time.sleep(0.12 + 0.0011 * ((i * 37) % 100))
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
    data.ledger.verify()
    released: dict[int, set[float]] = {}
    for line in log.read_text().splitlines():
        try:
            question, value = json.loads(line)
        except json.JSONDecodeError:
            continue
        released.setdefault(question, set()).add(value)
    assert released, "nothing was released: the kills came too early to mean anything"
    assert all(len(values) == 1 for values in released.values()), "two different answers for one charge"
    paid = [r.body["key"] for r in data.ledger.history() if r.kind == "reserve" and r.body["total"]["amount"] != "0"]
    assert len(paid) == len(set(paid)), "a question was paid twice"
    assert len(released) <= len(paid), "something was released without a charge"
    assert (
        sum((Fraction(1, 1000) + Fraction(i, 10**8) for i in released), Fraction(0))
        <= data.ledger.totals().spent.amount
    )


def test_kill_nine_in_the_middle_of_asks(make: Any, tmp_path: Path) -> None:
    people = poisoned("zero")
    _kill_asks(make(epsilon="100000", data=people), tmp_path, people, 6)


@pytest.mark.torture
def test_five_hundred_kills_in_the_middle_of_asks(
    make: Any, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    people = poisoned("zero")
    _kill_asks(make(epsilon="100000", data=people), tmp_path, people, 500)
    record_property("kills", 500)
