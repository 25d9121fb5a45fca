"""The SQLite ledger: the contract, races, kills, and every way to tamper with it."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import BudgetExceeded, LedgerDamaged
from sfumato.curator.home import Home
from sfumato.curator.ledger.ledger import Committed, Ledger, Reserved
from sfumato.curator.ledger.records import Caps, Charge
from sfumato.curator.ledger.sqlite import SqliteStore
from sfumato.testing.ledger import caps, check_ledger, check_promise, check_rectangle, wait_until_longer

TENTH = Charge(Fraction(1, 10))
spawn = multiprocessing.get_context("spawn")
fork = multiprocessing.get_context("fork")


def make(path: Path, limits: Caps) -> Ledger:
    return Ledger.create(SqliteStore(path), dataset=path.stem, home=Home(path.parent / "home"), caps=limits, policy="p")


def reopen(path: Path) -> Ledger:
    return Ledger(SqliteStore(path), dataset=path.stem, home=Home(path.parent / "home"))


def test_contract(tmp_path: Path) -> None:
    check_ledger(lambda limits: make(tmp_path / "contract.ledger", limits))


def test_amount_and_failure_are_not_traded(tmp_path: Path) -> None:
    check_rectangle(lambda limits: make(tmp_path / "rectangle.ledger", limits))


def test_what_the_sums_are_about_does_not_change_in_silence(tmp_path: Path) -> None:
    check_promise(lambda limits: make(tmp_path / "promise.ledger", limits))


def test_what_is_written_is_there_for_the_next_process(tmp_path: Path) -> None:
    ledger = make(tmp_path / "a.ledger", caps("1"))
    reserved = ledger.reserve("q", analyst="ana", charge=TENTH, what={"question": "x"})
    assert isinstance(reserved, Reserved)
    ledger.commit(reserved, {"value": "7"})
    again = reopen(tmp_path / "a.ledger")
    replay = again.reserve("q", analyst="ana", charge=TENTH, what={})
    assert isinstance(replay, Committed)
    assert replay.answer == {"value": "7"}
    assert again.totals().spent == TENTH


# Tampering. Each way must stop spending with SF013, for an open ledger and for one opened later.


def _script(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _byte_in_a_body(path: Path) -> None:
    _script(path, "UPDATE record SET body = replace(body, 'ana', 'eve') WHERE n = 3")


def _smaller_charge(path: Path) -> None:
    _script(path, """UPDATE record SET body = replace(body, '"amount":"1/10"', '"amount":"1/99"') WHERE n = 4""")


def _row_removed(path: Path) -> None:
    _script(path, "DELETE FROM record WHERE n = 3")


def _rows_swapped(path: Path) -> None:
    _script(
        path,
        "UPDATE record SET n = -1 WHERE n = 3",
        "UPDATE record SET n = 3 WHERE n = 4",
        "UPDATE record SET n = 4 WHERE n = -1",
    )


def _tail_cut(path: Path) -> None:
    """By someone who knows the format, but not the key."""
    _script(
        path,
        "DELETE FROM record WHERE n > 4",
        "UPDATE head SET n = 4, digest = (SELECT digest FROM record WHERE n = 4)",
    )


def _head_forged(path: Path) -> None:
    _script(path, """UPDATE head SET totals = replace(totals, '"spent":{"amount":"1/2"', '"spent":{"amount":"0"')""")


def _mac_gone(path: Path) -> None:
    _script(path, "UPDATE head SET mac = ''")


def _key_moved(path: Path) -> None:
    """A question pointed at another's answer."""
    _script(path, "UPDATE record SET key = 'q0' WHERE n = 5")


def _file_garbled(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = os.urandom(len(content) - len(content) // 2)
    path.write_bytes(bytes(content))


TAMPERINGS: tuple[Callable[[Path], None], ...] = (
    _byte_in_a_body,
    _smaller_charge,
    _row_removed,
    _rows_swapped,
    _tail_cut,
    _head_forged,
    _mac_gone,
    _key_moved,
)


def _five_questions(path: Path) -> Ledger:
    ledger = make(path, caps("10"))
    for i in range(5):
        assert isinstance(ledger.reserve(f"q{i}", analyst="ana", charge=TENTH, what={}), Reserved)
    return ledger


@pytest.mark.parametrize("tamper", [*TAMPERINGS, _file_garbled], ids=lambda f: f.__name__.strip("_"))
def test_a_ledger_that_was_touched_stops_spending(tmp_path: Path, tamper: Callable[[Path], None]) -> None:
    path = tmp_path / "t.ledger"
    _five_questions(path)
    _script(path, "PRAGMA user_version = 0")
    tamper(path)
    with pytest.raises(LedgerDamaged) as caught:
        reopen(path).reserve("new", analyst="ana", charge=TENTH, what={})
    assert caught.value.code == "SF013"
    assert "ana" not in str(caught.value)


def test_an_open_ledger_does_not_replay_an_answer_that_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    ledger = make(path, caps("1"))
    reserved = ledger.reserve("q", analyst="ana", charge=TENTH, what={})
    assert isinstance(reserved, Reserved)
    ledger.commit(reserved, {"value": "42"})
    ledger.reserve("later", analyst="ana", charge=TENTH, what={})
    _script(path, "UPDATE record SET body = replace(body, '42', '43') WHERE n = 3")
    with pytest.raises(LedgerDamaged, match="not what it was"):
        ledger.reserve("q", analyst="ana", charge=TENTH, what={})


@pytest.mark.parametrize(
    "hide", ["UPDATE record SET key = NULL WHERE n = 3", "DELETE FROM record WHERE n = 3"], ids=["unlisted", "removed"]
)
def test_an_open_ledger_does_not_compute_again_what_was_hidden_from_it(tmp_path: Path, hide: str) -> None:
    """Record 3 is the answer. Without it the charge would stand alone, to be taken over: new noise for nothing."""
    path = tmp_path / "t.ledger"
    ledger = make(path, caps("1"))
    reserved = ledger.reserve("q", analyst="ana", charge=TENTH, what={})
    assert isinstance(reserved, Reserved)
    ledger.commit(reserved, {"value": "42"})
    for later in ("one", "two"):
        ledger.reserve(later, analyst="ana", charge=TENTH, what={})
    _script(path, hide)
    with pytest.raises(LedgerDamaged, match="no longer where it was"):
        ledger.reserve("q", analyst="ana", charge=TENTH, what={})
    with pytest.raises(LedgerDamaged):
        reopen(path)


def test_what_another_thread_has_read_since_is_not_missed(tmp_path: Path) -> None:
    """A view that was taken before a record was written does not have it, and nothing is wrong with that."""
    ledger = make(tmp_path / "t.ledger", caps("1"))

    def ask() -> None:
        reserved = ledger.reserve("q", analyst="ana", charge=TENTH, what={})
        assert isinstance(reserved, Reserved)
        ledger.commit(reserved, {"value": "42"})
        assert ledger.find("q") is not None

    with ledger._reading() as (transaction, head):
        other = threading.Thread(target=ask)
        other.start()
        other.join()
        assert ledger._about(transaction, head, "q") == []
    assert [record.n for record in ledger.about("q")] == [2, 3]


def test_an_old_backup_put_back_is_noticed(tmp_path: Path) -> None:
    path, copy = tmp_path / "t.ledger", tmp_path / "old.ledger"
    ledger = _five_questions(path)
    ledger.backup(str(copy))
    ledger.reserve("after the backup", analyst="ana", charge=TENTH, what={})
    for leftover in (path, path.with_name("t.ledger-wal"), path.with_name("t.ledger-shm")):
        leftover.unlink(missing_ok=True)
    shutil.copy(copy, path)
    with pytest.raises(LedgerDamaged, match="old copy was put back") as caught:
        reopen(path)
    assert caught.value.code == "SF013"


def test_a_backup_of_now_can_be_put_back(tmp_path: Path) -> None:
    path, copy = tmp_path / "t.ledger", tmp_path / "now.ledger"
    _five_questions(path).backup(str(copy))
    for leftover in (path, path.with_name("t.ledger-wal"), path.with_name("t.ledger-shm")):
        leftover.unlink(missing_ok=True)
    shutil.copy(copy, path)
    assert reopen(path).totals().spent.amount == Fraction(1, 2)


def test_a_missing_ledger_stops_spending_and_nothing_makes_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    _five_questions(path)
    path.unlink()
    with pytest.raises(LedgerDamaged, match="missing"):
        reopen(path)
    assert not path.exists()


def test_a_missing_or_foreign_key_stops_spending(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    _five_questions(path)
    key = tmp_path / "home" / "ledger.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    key.write_bytes(bytes(32))
    with pytest.raises(LedgerDamaged, match="not signed"):
        reopen(path)
    key.unlink()
    with pytest.raises(LedgerDamaged, match="key"):
        reopen(path)


def test_without_the_mac_a_forged_head_would_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above is not about something else: with the signature check gone, the tampering goes through."""
    path = tmp_path / "t.ledger"
    _five_questions(path)
    _mac_gone(path)
    monkeypatch.setattr("sfumato.curator.ledger.records.Head.signed_by", lambda *_: True)
    assert reopen(path).totals().spent.amount == Fraction(1, 2)


# Races.


def _spender(path: Path, worker: int, threads: int, results: str) -> None:
    ledger = reopen(path)
    spent: list[str] = []

    def spend(thread: int) -> None:
        for i in range(1000):
            try:
                reserved = ledger.reserve(f"{worker}/{thread}/{i}", analyst=f"a{worker}", charge=TENTH, what={})
            except BudgetExceeded:
                return
            assert isinstance(reserved, Reserved)
            assert ledger.commit(reserved, {"value": str(i)}) is not None
            spent.append(reserved.key)

    workers = [threading.Thread(target=spend, args=(i,)) for i in range(threads)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    Path(results).write_text(json.dumps(spent))


def _race(tmp_path: Path, processes: int, threads: int, budget: str) -> None:
    path = tmp_path / "race.ledger"
    ledger = make(path, caps(budget))
    outputs = [str(tmp_path / f"spent-{i}.json") for i in range(processes)]
    workers = [fork.Process(target=_spender, args=(path, i, threads, outputs[i])) for i in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    keys = [key for output in outputs for key in json.loads(Path(output).read_text())]
    assert len(keys) == len(set(keys)) == Fraction(budget) * 10
    assert ledger.totals().spent.amount == Fraction(budget)
    assert sum(book.amount for book in ledger.totals().books.values()) == Fraction(budget)
    ledger.verify()


def test_a_few_processes_cannot_overspend(tmp_path: Path) -> None:
    _race(tmp_path, 4, 3, "6")


@pytest.mark.torture
def test_sixteen_processes_of_sixteen_threads_cannot_overspend(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _race(tmp_path, 16, 16, "100")
    record_property("writers", "16 x 16")
    record_property("charges", 1000)


def _racer(path: Path, barrier: object, results: str) -> None:
    ledger = reopen(path)
    barrier.wait()  # type: ignore[attr-defined]
    found = ledger.reserve("same", analyst="ana", charge=TENTH, what={})
    while isinstance(found, Reserved):
        time.sleep(0.005)
        committed = ledger.commit(found, {"value": str(os.getpid())}) or ledger.wait("same")
        found = committed or ledger.reserve("same", analyst="ana", charge=TENTH, what={})
    Path(results).write_text(json.dumps(found.answer))


def test_racers_on_one_question_get_one_answer_for_one_charge(tmp_path: Path) -> None:
    path = tmp_path / "race.ledger"
    ledger = make(path, caps("1"))
    barrier = fork.Barrier(6)
    outputs = [str(tmp_path / f"answer-{i}.json") for i in range(6)]
    workers = [fork.Process(target=_racer, args=(path, barrier, output)) for output in outputs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    answers = {Path(output).read_text() for output in outputs}
    assert len(answers) == 1
    assert ledger.totals().spent == TENTH
    assert sum(1 for record in ledger.history() if record.kind == "commit") == 1


# Kills.


def _asker(path: Path, log: str) -> None:
    ledger = reopen(path)
    with open(log, "a") as out:
        for i in range(100_000):
            found = ledger.reserve(f"q{i}", analyst="ana", charge=TENTH, what={})
            if isinstance(found, Reserved):
                found = ledger.commit(found, {"value": os.urandom(4).hex()}) or ledger.wait(f"q{i}") or found
            assert isinstance(found, Committed)
            out.write(json.dumps([f"q{i}", found.answer["value"]]) + "\n")
            out.flush()


def _kill_and_check(tmp_path: Path, kills: int) -> None:
    path, log = tmp_path / "kill.ledger", tmp_path / "released.jsonl"
    ledger = make(path, caps("100000"))
    log.touch()
    for i in range(kills):
        victim = fork.Process(target=_asker, args=(path, str(log)))
        victim.start()
        if i % 5 == 4:
            wait_until_longer(log)
        time.sleep(0.02 + 0.0007 * ((i * 37) % 100))
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
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
    paid = [
        record.body["key"]
        for record in ledger.history()
        if record.kind == "reserve" and record.body["total"]["amount"] != "0"
    ]
    assert len(paid) == len(set(paid)), "a question was paid twice"
    assert set(released) <= set(paid), "something was released without a charge"
    assert position == ledger.position()


def test_kill_nine_leaves_the_books_right(tmp_path: Path) -> None:
    _kill_and_check(tmp_path, 15)


@pytest.mark.torture
def test_five_hundred_kills_leave_the_books_right(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _kill_and_check(tmp_path, 500)
    record_property("kills", 500)


def test_threads_share_a_ledger(tmp_path: Path) -> None:
    ledger = make(tmp_path / "threads.ledger", caps("100"))
    failures: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for i in range(25):
                ledger.reserve(f"{name}-{i}", analyst="ana", charge=TENTH, what={})
                ledger.totals()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    assert ledger.totals().spent.amount == 20


def test_who_waits_for_another_writer_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setattr("sfumato.curator.ledger.sqlite.QUIET", 0.05)
    ledger = make(tmp_path / "a.ledger", caps("1"))
    assert isinstance(ledger.reserve("p", analyst="ana", charge=TENTH, what={}), Reserved)
    assert not caplog.messages, "who does not wait is told nothing"
    other = sqlite3.connect(tmp_path / "a.ledger", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, lambda: other.execute("ROLLBACK")).start()
    assert isinstance(ledger.reserve("q", analyst="ana", charge=TENTH, what={}), Reserved)
    assert [text for text in caplog.messages if "another writer" in text]
    other.close()
