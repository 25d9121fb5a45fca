"""What one person's row holds can be seen on no engine: not in what is said, nor in whether anything is."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core.errors import BadInput, EngineFailed, NotAllowed, SfumatoError
from sfumato.curator.dataset import Dataset, open_dataset
from sfumato.curator.home import Home
from sfumato.curator.ledger.records import Charge
from sfumato.curator.policy import Policy

SENTINEL = "xSENTINELx"
NUMBER = 987_654_321
POLICY = """
[dataset]
name = "people"
id = "d-{word}"
version = "1"
[unit]
kind = "person"
[budget]
epsilon = 1000
[tables.people]
unit = "person"
{source}
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
[tables.people.columns.age]
type = "integer"
range = [0, 100]
[tables.people.columns.hours]
type = "number"
range = [0, 99]
[tables.people.columns.born]
type = "date"
range = [1900-01-01, 2025-12-31]
"""
ORACLES = [
    "SELECT AVG(100 / (hours - 1)) AS a FROM people",
    "SELECT SUM(CASE WHEN hours = 0 THEN 1 / 0 ELSE 1 END) AS a FROM people",
    "SELECT SUM(age * age * age * age * age * age) AS a FROM people",
    "SELECT COUNT(*) AS a FROM people WHERE age * 9223372036854775807 > 0",
    "SELECT COUNT(*) AS a FROM people WHERE CAST(sex AS INTEGER) > 0",
    "SELECT COUNT(*) AS a FROM people WHERE ln(hours - 1) > 0",
    "SELECT COUNT(*) AS a FROM people WHERE sqrt(0 - hours) > 0",
    "SELECT SUM(hours) AS a FROM people",
    "SELECT VARIANCE(hours) AS a FROM people",
    "SELECT sex, AVG(age) AS a FROM people GROUP BY sex",
    "SELECT YEAR(born), COUNT(*) AS a FROM people GROUP BY 1",
    "SELECT COUNT(*) AS a FROM people WHERE SUBSTRING(sex, age, 2) LIKE '%x%'",
]
"""Each breaks on somebody's row where an engine computes it carelessly."""


def people(odd: bool) -> Any:
    """Fifty people, and, if odd, five whose rows break expressions and hold the sentinel wherever they can."""
    hours = [0.0, float("nan"), float("inf"), -1e308, 1e308] if odd else []
    return pa.table(
        {
            "person": [f"p{i}" for i in range(50)] + [f"{SENTINEL}{i}" for i in range(len(hours))],
            "sex": ["F"] * 50 + [SENTINEL] * len(hours),
            "age": pa.array([30] * 50 + [NUMBER, -NUMBER, 2**63 - 1, -(2**63), None][: len(hours)], pa.int64()),
            "hours": [2.0] * 50 + hours,
            "born": pa.array([7300] * 50 + [-700_000, 0, 2_900_000, 40_000, None][: len(hours)], pa.date32()),
        }
    )


Opened = Callable[[Any], Dataset]


def opened(folder: Path, source: str, data: Any) -> Dataset:
    word = os.urandom(6).hex()
    path, home = folder / f"{word}.toml", Home(folder / word)
    path.write_text(POLICY.format(source=source, word=word))
    Policy.load(path).new_ledger(home)
    return open_dataset(path, data, home=home)


def copied(where: str, table: Any) -> str:
    """The rows in a table of the server, under a name of its own."""
    import psycopg

    name = f"people_{os.urandom(6).hex()}"
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} (person text, sex text, age bigint, hours float8, born date)")
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))
    return f"postgresql:{where}:{name}"


@pytest.fixture(params=["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    match request.param:
        case "postgres":
            where = request.getfixturevalue("database")
            return lambda table: opened(tmp_path, f'source = "{copied(where, table)}"', None)
        case "spark":
            session = request.getfixturevalue("spark")
            return lambda table: opened(tmp_path, "", {"people": session.createDataFrame(table)})
        case _:
            return lambda table: opened(tmp_path, "", {"people": table})


def said_to(data: Dataset, question: str, price: Fraction) -> tuple[str, str]:
    """What an adversary learns apart from the noisy numbers: answered or refused, and in which words; and all there is."""
    try:
        answer = data.session("eve").ask(question, epsilon=price)
    except SfumatoError as error:
        return f"{type(error).__name__} {error}", "".join(traceback.format_exception(error))
    return f"answered {len(answer.rows)} rows", repr(answer) + str(answer.to_json())


def test_nobodys_row_decides_what_is_said(engine: Opened, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    caplog.set_level(logging.DEBUG)
    plain, odd = engine(people(odd=False)), engine(people(odd=True))
    everything = []
    for place, question in enumerate(ORACLES):
        price = Fraction(1, 10) + Fraction(place, 1000)
        (without, _), (with_, full) = said_to(plain, question, price), said_to(odd, question, price)
        assert without == with_, question
        assert not without.startswith("EngineFailed"), question
        everything.append(full)
    out, err = capfd.readouterr()
    ledger = [str(record.body) for record in odd.ledger.history()]
    shown = "".join([*everything, *ledger, caplog.text, out, err])
    assert SENTINEL not in shown
    assert str(NUMBER) not in shown


def test_an_engine_lost_after_the_reservation_keeps_the_charge(database: str, tmp_path: Path) -> None:
    """The connection dies in the middle of the statement: one sentence, the charge stays, the same question takes it over."""
    import psycopg

    rows = people(odd=False)
    source = copied(database, rows)
    data = opened(tmp_path, f'source = "{source}"', None)
    session, question = data.session("ana"), "SELECT COUNT(*) AS n FROM people"
    assert data.engine.execute('SELECT count(*) AS n FROM "people"').num_rows == 1
    execute = data.engine.execute

    def cut_off(sql: str) -> Any:
        with psycopg.connect(database, autocommit=True) as server:
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        return execute(sql)

    data.engine.execute = cut_off  # type: ignore[method-assign]
    with pytest.raises(EngineFailed, match="not shown") as caught:
        session.ask(question, epsilon=1)
    assert "terminat" not in str(caught.value)
    with pytest.raises(NotAllowed):
        session.ask(question, epsilon=1)
    data.ledger.freeze("ana", frozen=False, reason="the server was restarted")
    data.engine.execute = execute  # type: ignore[method-assign]
    assert session.ask(question, epsilon=1).rows
    assert data.ledger.totals().spent == Charge(Fraction(1))


def test_a_table_that_changed_since_it_was_opened_costs_nothing(database: str, tmp_path: Path) -> None:
    """Weeks after a server was started somebody renames a column: no charge, nobody is frozen, and what is wrong is said."""
    import psycopg

    source = copied(database, people(odd=False))
    data = opened(tmp_path, f'source = "{source}"', None)
    data.session("eve").ask("SELECT COUNT(*) AS a FROM people", epsilon=1)
    spent = data.ledger.totals()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"ALTER TABLE {source.rpartition(':')[2]} RENAME COLUMN age TO years")
    with pytest.raises(BadInput, match="SF019 age of people_"):
        data.session("eve").ask("SELECT AVG(age) AS a FROM people", epsilon=1)
    assert data.ledger.totals() == spent
    assert data.session("eve").ask("SELECT COUNT(*) AS a FROM people", epsilon=1).replayed
