"""The shared ledger: the contract, races, kills of clients and of connections, tampering, servers that are lost."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import BadInput, BudgetExceeded, LedgerDamaged
from sfumato.curator.home import Home
from sfumato.curator.ledger.ledger import Committed, Ledger, Reserved
from sfumato.curator.ledger.postgres import PostgresStore
from sfumato.curator.ledger.records import Caps, Charge
from sfumato.curator.ledger.sqlite import SqliteStore
from sfumato.curator.policy import Policy
from sfumato.testing.ledger import caps, check_ledger, check_promise, check_rectangle, wait_until_longer

from .conftest import POLICY

END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
TENTH = Charge(Fraction(1, 10))
fork = multiprocessing.get_context("fork")


@pytest.fixture
def where(postgres: str) -> Iterator[str]:
    """An empty database of its own, as it stands behind `postgresql:` in a policy."""
    import psycopg

    name = f"ledger_{os.urandom(6).hex()}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    yield f"{postgres} dbname={name}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def make(where: str, home: Path, limits: Caps, dataset: str = "d") -> Ledger:
    store = PostgresStore(where, dataset=dataset)
    return Ledger.create(store, dataset=dataset, home=Home(home), caps=limits, policy="p")


def reopen(where: str, home: Path) -> Ledger:
    return Ledger(PostgresStore(where, dataset="d"), dataset="d", home=Home(home))


def run(where: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(where, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_contract(where: str, tmp_path: Path) -> None:
    check_ledger(lambda limits: make(where, tmp_path, limits))


def test_amount_and_failure_are_not_traded(where: str, tmp_path: Path) -> None:
    check_rectangle(lambda limits: make(where, tmp_path, limits))


def test_what_the_sums_are_about_does_not_change_in_silence(where: str, tmp_path: Path) -> None:
    check_promise(lambda limits: make(where, tmp_path, limits))


def test_several_data_sets_share_a_database(where: str, tmp_path: Path) -> None:
    one, other = make(where, tmp_path, caps("1"), "one"), make(where, tmp_path, caps("1"), "other")
    one.reserve("q", analyst="ana", charge=TENTH, what={})
    assert other.totals().spent == Charge()
    assert isinstance(other.reserve("q", analyst="ana", charge=TENTH, what={}), Reserved)
    with pytest.raises(BadInput, match="already a ledger"):
        make(where, tmp_path, caps("9"), "one")


def test_two_hosts_with_one_key_share_one_budget(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = make(where, tmp_path / "here", caps("0.2"))
    monkeypatch.setenv("SFUMATO_KEY_FILE", str(tmp_path / "here" / "ledger.key"))
    there = reopen(where, tmp_path / "there")
    here.reserve("a", analyst="ana", charge=TENTH, what={})
    there.reserve("b", analyst="bob", charge=TENTH, what={})
    for ledger in (here, there):
        with pytest.raises(BudgetExceeded):
            ledger.reserve("c", analyst="zoe", charge=TENTH, what={})
    assert here.verify() == there.verify()


def test_a_host_with_another_key_is_refused(where: str, tmp_path: Path) -> None:
    make(where, tmp_path / "here", caps("1"))
    Home(tmp_path / "there").make_ledger_key()
    with pytest.raises(LedgerDamaged, match="not signed"):
        reopen(where, tmp_path / "there")


# Tampering and loss.

TAMPER = {
    "byte": ["UPDATE sfumato_record SET body = replace(body, 'ana', 'eve') WHERE n = 3"],
    "removed": ["DELETE FROM sfumato_record WHERE n = 3"],
    "swapped": [
        "UPDATE sfumato_record SET n = -1 WHERE n = 3",
        "UPDATE sfumato_record SET n = 3 WHERE n = 4",
        "UPDATE sfumato_record SET n = 4 WHERE n = -1",
    ],
    "cut": [
        "DELETE FROM sfumato_record WHERE n > 3",
        "UPDATE sfumato_head SET n = 3, digest = (SELECT digest FROM sfumato_record WHERE n = 3)",
    ],
    "forged": ["UPDATE sfumato_head SET totals = replace(totals, '3/10', '0')"],
    "mac": ["UPDATE sfumato_head SET mac = ''"],
    "empty": ["DELETE FROM sfumato_head", "DELETE FROM sfumato_record"],
    "dropped": ["DROP TABLE sfumato_head", "DROP TABLE sfumato_record"],
}


@pytest.mark.parametrize("way", TAMPER)
def test_tampering_stops_spending(where: str, tmp_path: Path, way: str) -> None:
    ledger = make(where, tmp_path, caps("1"))
    for i in range(3):
        ledger.reserve(f"q{i}", analyst="ana", charge=TENTH, what={})
    run(where, *TAMPER[way])
    with pytest.raises(LedgerDamaged) as opened_later:
        reopen(where, tmp_path)
    assert opened_later.value.code == "SF013"


def test_an_old_backup_put_back_is_noticed(where: str, tmp_path: Path) -> None:
    ledger = make(where, tmp_path, caps("1"))
    ledger.reserve("q0", analyst="ana", charge=TENTH, what={})
    run(where, "CREATE TABLE old_record AS TABLE sfumato_record", "CREATE TABLE old_head AS TABLE sfumato_head")
    ledger.reserve("q1", analyst="ana", charge=TENTH, what={})
    run(
        where,
        "TRUNCATE sfumato_record, sfumato_head",
        "INSERT INTO sfumato_record SELECT * FROM old_record",
        "INSERT INTO sfumato_head SELECT * FROM old_head",
    )
    with pytest.raises(LedgerDamaged, match="old copy was put back"):
        reopen(where, tmp_path)


def test_a_backup_is_a_ledger_in_a_file(where: str, tmp_path: Path) -> None:
    ledger = make(where, tmp_path, caps("1"))
    ledger.reserve("q0", analyst="ana", charge=TENTH, what={})
    ledger.backup(str(tmp_path / "copy.ledger"))
    copy = Ledger(SqliteStore(tmp_path / "copy.ledger"), dataset="d", home=Home(tmp_path))
    assert copy.verify() == ledger.position()
    assert copy.totals().spent == TENTH


def test_a_lost_connection_costs_nothing_twice(where: str, tmp_path: Path) -> None:
    """The server ends every connection; the next question finds what was charged and goes on."""
    ledger = make(where, tmp_path, caps("1"))
    first = ledger.reserve("q", analyst="ana", charge=TENTH, what={})
    assert isinstance(first, Reserved)
    run(
        where,
        END_CONNECTIONS,
    )
    with pytest.raises(LedgerDamaged, match="cannot be reached"):
        ledger.commit(first, {"value": "1"})
    again = ledger.reserve("q", analyst="ana", charge=TENTH, what={})
    assert isinstance(again, Reserved)
    assert ledger.commit(again, {"value": "2"}) is not None
    assert ledger.totals().spent == TENTH


def test_no_server_is_said_without_its_words(tmp_path: Path) -> None:
    Home(tmp_path).make_ledger_key()
    with pytest.raises(LedgerDamaged, match="cannot be reached") as error:
        reopen("host=127.0.0.1 port=1 user=nobody password=hunter2", tmp_path)
    assert "hunter2" not in str(error.value)
    assert error.value.__suppress_context__


def test_missing_rights_are_said(where: str, tmp_path: Path) -> None:
    make(where, tmp_path, caps("1"))
    role = f"reader_{os.urandom(4).hex()}"
    run(where, f"CREATE ROLE {role}", f"GRANT SELECT ON sfumato_record, sfumato_head TO {role}")
    try:
        with pytest.raises(LedgerDamaged, match="refuses") as error:
            reopen(f"{where} options='-c role={role}'", tmp_path).reserve("q", analyst="a", charge=TENTH, what={})
        assert "GRANT" in error.value.hint.upper()
    finally:
        run(where, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_the_rights_that_the_guide_grants_are_enough(where: str, tmp_path: Path) -> None:
    """The second block of SQL in docs/engines.md, under a role of a name of our own."""
    make(where, tmp_path, caps("1"))
    role = f"books_{os.urandom(4).hex()}"
    guide = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()
    granted = guide.split("```sql\n")[2].split("```")[0].replace("sfumato_books", role)
    run(where, *granted.strip().splitlines())
    try:
        ledger = reopen(f"{where} options='-c role={role}'", tmp_path)
        reserved = ledger.reserve("q", analyst="a", charge=TENTH, what={})
        assert isinstance(reserved, Reserved)
        assert ledger.commit(reserved, {"vectors": []}) is not None
        ledger.verify()
    finally:
        run(where, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_policy_names_it(where: str, tmp_path: Path) -> None:
    text = POLICY.format(epsilon="1", accountant="pure", max_rows=1, per_analyst="")
    (tmp_path / "policy.toml").write_text(f'{text}\n[ledger]\nat = "postgresql:{where}"\n')
    policy, home = Policy.load(tmp_path / "policy.toml"), Home(tmp_path / "home")
    policy.new_ledger(home)
    assert policy.ledger(home).verify().n == 1


# Races and kills.


def _spender(where: str, home: Path, name: int, threads: int, results: str) -> None:
    ledger, spent = reopen(where, home), []

    def work(thread: int) -> None:
        for i in range(10_000):
            try:
                ledger.reserve(f"{name}/{thread}/{i}", analyst=f"analyst {name % 3}", charge=TENTH, what={})
            except BudgetExceeded:
                return
            spent.append(f"{name}/{thread}/{i}")

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    Path(results).write_text(json.dumps(spent))


def _race(where: str, home: Path, processes: int, threads: int, budget: str) -> None:
    ledger = make(where, home, caps(budget))
    outputs = [str(home / f"spent-{i}.json") for i in range(processes)]
    workers = [fork.Process(target=_spender, args=(where, home, i, threads, outputs[i])) for i in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    keys = [key for output in outputs for key in json.loads(Path(output).read_text())]
    assert len(keys) == len(set(keys)) == Fraction(budget) * 10
    assert ledger.totals().spent.amount == Fraction(budget)
    ledger.verify()


def test_a_few_processes_cannot_overspend(where: str, tmp_path: Path) -> None:
    _race(where, tmp_path, 4, 2, "4")


@pytest.mark.torture
def test_sixteen_processes_of_sixteen_threads_cannot_overspend(
    where: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _race(where, tmp_path, 16, 16, "100")
    record_property("writers", "16 x 16")
    record_property("charges", 1000)


def _asker(where: str, home: Path, log: str) -> None:
    while True:
        try:
            ledger = reopen(where, home)
            break
        except LedgerDamaged:
            time.sleep(0.01)
    with open(log, "a") as out:
        for i in range(100_000):
            done = _answer(ledger, f"q{i}")
            out.write(json.dumps([f"q{i}", done]) + "\n")
            out.flush()


def _answer(ledger: Ledger, key: str) -> Any:
    """As a session would: whoever lost the connection asks again."""
    while True:
        try:
            found = ledger.reserve(key, analyst="ana", charge=TENTH, what={})
            if isinstance(found, Reserved):
                found = ledger.commit(found, {"value": os.urandom(4).hex()}) or ledger.wait(key) or found
            if isinstance(found, Committed):
                return found.answer["value"]
        except LedgerDamaged as error:
            if error.code != "SF014":
                raise
            time.sleep(0.005)


def _kill_and_check(where: str, home: Path, kills: int) -> None:
    """Turn by turn the client's process is killed, or its connection is ended by the server."""
    ledger, log = make(where, home, caps("100000")), home / "released.jsonl"
    log.touch()
    for i in range(kills):
        victim = fork.Process(target=_asker, args=(where, home, str(log)))
        victim.start()
        if i % 4 == 3:
            wait_until_longer(log)
        time.sleep(0.05 + 0.0007 * ((i * 37) % 100))
        if i % 2:
            run(
                where,
                END_CONNECTIONS,
            )
            time.sleep(0.03)
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
    ledger = reopen(where, home)
    position = ledger.verify()
    released: dict[str, set[str]] = {}
    for line in log.read_text().splitlines():
        try:
            key, value = json.loads(line)
        except json.JSONDecodeError:
            continue  # the line that was being written
        released.setdefault(key, set()).add(value)
    assert released, "nothing was released: the kills came too early to mean anything"
    assert all(len(values) == 1 for values in released.values()), "two different answers for one charge"
    reserves = [record for record in ledger.history() if record.kind == "reserve"]
    paid = [record.body["key"] for record in reserves if record.body["total"]["amount"] != "0"]
    assert len(paid) == len(set(paid)), "a question was paid twice"
    assert set(released) <= set(paid), "something was released without a charge"
    assert position == ledger.position()


def test_kill_nine_of_clients_and_connections_leaves_the_books_right(where: str, tmp_path: Path) -> None:
    _kill_and_check(where, tmp_path, 8)


@pytest.mark.torture
def test_five_hundred_kills_of_clients_and_connections(
    where: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _kill_and_check(where, tmp_path, 500)
    record_property("kills", 500)


def test_who_waits_for_another_writer_is_told_so(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    import psycopg

    monkeypatch.setattr("sfumato.curator.ledger.postgres.QUIET", 0.05)
    ledger = make(where, tmp_path, caps("1"))
    with psycopg.connect(where) as other:
        other.execute("SELECT n FROM sfumato_head FOR UPDATE")
        threading.Timer(0.5, other.rollback).start()
        assert isinstance(ledger.reserve("q", analyst="ana", charge=TENTH, what={}), Reserved)
    assert [text for text in caplog.messages if "another writer" in text]
    assert ledger.verify().n == 2
