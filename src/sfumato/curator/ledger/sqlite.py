"""A ledger in one SQLite file, by the standard library. A connection per process and thread; commits are durable."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from sfumato.core.errors import BadInput, LedgerDamaged
from sfumato.curator.ledger.store import QUIET, HeadRow, Row, rows, say_waiting

_PATIENCE = 120.0
"""Seconds to wait for other writers; each holds the file for milliseconds."""

_SCHEMA = """
CREATE TABLE record (
    n INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT, body TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
) STRICT;
CREATE INDEX record_key ON record (key) WHERE key IS NOT NULL;
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1), dataset TEXT NOT NULL, n INTEGER NOT NULL, digest TEXT NOT NULL,
    totals TEXT NOT NULL, mac TEXT NOT NULL
) STRICT;
"""
_COLUMNS = "n, kind, key, body, previous, digest"


@final
class SqliteStore:
    """One file. What SQLite says about a damaged file stays inside: only that it is damaged comes out."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._local = threading.local()
        self._left_to_parent: list[sqlite3.Connection] = []
        self._turns: dict[int, threading.Lock] = {}

    def exists(self) -> bool:
        return self.path.is_file()

    def create(self) -> None:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise BadInput(
                f"there is already a ledger at {self.path.name}",
                hint="a ledger is created once; keep it with its policy",
            ) from None
        except OSError:
            raise BadInput(
                f"the ledger {self.path.name} cannot be created here", hint="choose a folder that you may write to"
            ) from None
        connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)
        finally:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[_Transaction]:
        # SQLite lets writers poll for their turn, ever more slowly; threads of one process need not. (A forked child
        # has a lock of its own: the parent's may have been held by a thread that does not exist there.)
        with self._turns.setdefault(os.getpid(), threading.Lock()), self._transaction("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[_Transaction]:
        with self._transaction("BEGIN") as transaction:
            yield transaction

    def backup(self, path: str) -> None:
        if Path(path).exists():
            raise BadInput(f"{Path(path).name} exists already", hint="name a new file for the backup")
        target = sqlite3.connect(path)
        try:
            self._connection().backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
        finally:
            target.close()
        os.chmod(path, 0o600)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[_Transaction]:
        try:
            connection = self._connection()
            _begin(connection, begin)
            try:
                yield _Transaction(connection)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
            raise (_busy() if busy else _damaged()) from None
        except sqlite3.DatabaseError:
            raise _damaged() from None

    def _connection(self) -> sqlite3.Connection:
        """This thread's connection in this process: SQLite's must not cross a fork."""
        held: tuple[int, sqlite3.Connection] | None = getattr(self._local, "held", None)
        if held is not None and held[0] == os.getpid():
            return held[1]
        if held is not None:  # closing it here would release what the parent still holds
            self._left_to_parent.append(held[1])
        if not self.exists():
            raise LedgerDamaged(
                f"the ledger {self.path.name} is missing, so nobody knows what was spent: spending stops",
                hint="restore it from a backup; of a new data set, `sfumato init --policy FILE` makes the first one",
                code="SF013",
            )
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
        connection.execute("PRAGMA synchronous = FULL")
        self._local.held = (os.getpid(), connection)
        return connection


@final
class _Transaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def head(self) -> HeadRow | None:
        found = self._connection.execute("SELECT dataset, n, digest, totals, mac FROM head").fetchone()
        return None if found is None else HeadRow(*found)

    def rows_after(self, n: int) -> list[Row]:
        return rows(self._connection.execute(f"SELECT {_COLUMNS} FROM record WHERE n > ? ORDER BY n", (n,)))

    def row(self, n: int) -> Row | None:
        found = rows(self._connection.execute(f"SELECT {_COLUMNS} FROM record WHERE n = ?", (n,)))
        return found[0] if found else None

    def rows_about(self, key: str) -> list[Row]:
        return rows(self._connection.execute(f"SELECT {_COLUMNS} FROM record WHERE key = ? ORDER BY n", (key,)))

    def append(self, row: Row, head: HeadRow) -> None:
        self._connection.execute(
            f"INSERT INTO record ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
            (row.n, row.kind, row.key, row.body, row.previous, row.digest),
        )
        self._connection.execute(
            "INSERT OR REPLACE INTO head (one, dataset, n, digest, totals, mac) VALUES (1, ?, ?, ?, ?, ?)",
            (head.dataset, head.n, head.digest, head.totals, head.mac),
        )


def _begin(connection: sqlite3.Connection, begin: str) -> None:
    """The transaction: tried for a short while, then said to be waited for, then for as long as anyone waits."""
    connection.execute(f"PRAGMA busy_timeout = {int(min(QUIET, _PATIENCE) * 1000)}")
    try:
        connection.execute(begin)
        return
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(_PATIENCE * 1000)}")
    say_waiting()
    connection.execute(begin)


def _busy() -> LedgerDamaged:
    return LedgerDamaged(
        "another writer has held the ledger for too long",
        hint="look for a process that hangs, end it, and ask again",
        code="SF014",
    )


def _damaged() -> LedgerDamaged:
    return LedgerDamaged(
        "the ledger's file is damaged or cannot be written, so spending stops",
        hint="`sfumato ledger verify` says where; restore the last backup",
        code="SF013",
    )
