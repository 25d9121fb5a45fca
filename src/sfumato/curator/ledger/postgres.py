"""A ledger in PostgreSQL, which several hosts share: they share its key too (SFUMATO_KEY_FILE)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, final

from sfumato.core.errors import BadInput, LedgerDamaged
from sfumato.curator.ledger.sqlite import SqliteStore
from sfumato.curator.ledger.store import QUIET, HeadRow, Row, rows, say_waiting
from sfumato.engines.connection import Held, conninfo

if TYPE_CHECKING:
    import psycopg

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sfumato_record (
    dataset text NOT NULL, n bigint NOT NULL, kind text NOT NULL, key text, body text NOT NULL, previous text NOT NULL,
    digest text NOT NULL, PRIMARY KEY (dataset, n)
);
CREATE INDEX IF NOT EXISTS sfumato_record_key ON sfumato_record (dataset, key) WHERE key IS NOT NULL;
CREATE TABLE IF NOT EXISTS sfumato_head (
    dataset text PRIMARY KEY, n bigint NOT NULL, digest text NOT NULL, totals text NOT NULL, mac text NOT NULL
);
"""
_MAKING = 7_366_636
"""The advisory lock under which the tables are made: CREATE ... IF NOT EXISTS of two sessions can collide."""
_COLUMNS = "n, kind, key, body, previous, digest"
_ALIVE = {"connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
_SETTINGS = """
SET lock_timeout = '120s'; SET statement_timeout = '120s'; SET idle_in_transaction_session_timeout = '60s';
SET synchronous_commit = on; SET client_min_messages = warning;
"""
"""A host that vanishes in the middle of a transaction holds the head for a minute at most."""


@final
class PostgresStore:
    """The ledger of one data set among others in a database. Writers take the head row (FOR UPDATE), one after the other.

    A connection per process and thread. When it breaks during a commit nobody here knows whether the records are there:
    the next look at the ledger tells, and asking again takes a charge over that was written.
    """

    def __init__(self, where: str, *, dataset: str) -> None:
        self.where, self.dataset = where, dataset
        self._local = threading.local()
        self._left_to_parent: list[Held] = []

    def exists(self) -> bool:
        with self._speaking() as connection:
            made = connection.execute("SELECT to_regclass('sfumato_head')").fetchone()
            if made is None or made[0] is None:
                return False
            return _Transaction(connection, self.dataset).head() is not None

    def create(self) -> None:
        with self._speaking() as connection:
            from psycopg import errors

            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                connection.execute(_SCHEMA)
            try:
                connection.execute("INSERT INTO sfumato_head VALUES (%s, 0, '', '', '')", (self.dataset,))
            except errors.UniqueViolation:
                raise BadInput(
                    "there is already a ledger for this data set in that database",
                    hint="a ledger is created once; keep it with its policy",
                ) from None

    @contextmanager
    def writing(self) -> Iterator[_Transaction]:
        with self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED", alone=True) as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[_Transaction]:
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", alone=False) as transaction:
            yield transaction

    def backup(self, path: str) -> None:
        """A SQLite ledger of the same records: it can be verified, and opened with `at = "sqlite:FILE"`."""
        copy = SqliteStore(path)
        with self.reading() as transaction:
            head, found = transaction.head(), transaction.rows_after(0)
        if head is None:
            raise _missing()
        copy.create()
        with copy.writing() as target:
            for row in found:
                target.append(row, head)

    @contextmanager
    def _transaction(self, begin: str, *, alone: bool) -> Iterator[_Transaction]:
        with self._speaking() as connection:
            connection.execute(begin)
            try:
                if alone:
                    self._take(connection, begin)
                yield _Transaction(connection, self.dataset)
            except BaseException:
                with suppress(Exception):  # a broken connection has rolled back by itself
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _take(self, connection: psycopg.Connection[Any], begin: str) -> None:
        """The head row: tried for a short while, then said to be waited for, then for as long as anyone waits."""
        from psycopg import errors

        taken = "SELECT n FROM sfumato_head WHERE dataset = %s FOR UPDATE"
        connection.execute(f"SET LOCAL lock_timeout = '{int(QUIET * 1000)}ms'")
        try:
            connection.execute(taken, (self.dataset,))
        except errors.LockNotAvailable:
            connection.execute("ROLLBACK")
            say_waiting()
            connection.execute(begin)
            connection.execute(taken, (self.dataset,))

    @contextmanager
    def _speaking(self) -> Iterator[psycopg.Connection[Any]]:
        """This thread's connection; what the server or the driver says stays inside."""
        import psycopg
        from psycopg import errors

        connection: psycopg.Connection[Any] | None = None
        try:
            connection = self._connection()
            yield connection
        except (errors.LockNotAvailable, errors.QueryCanceled):
            raise _busy() from None
        except errors.UndefinedTable:
            raise _missing() from None
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self._forget()
            raise _unreachable() from None
        except psycopg.Error:
            raise _refused() from None

    def _connection(self) -> psycopg.Connection[Any]:
        """This thread's connection in this process: a forked child must neither use nor close its parent's."""
        import psycopg

        held: Held | None = getattr(self._local, "held", None)
        if held is not None and held.usable:
            return held.connection
        if held is not None and held.process != os.getpid():
            self._left_to_parent.append(held)
        connection = psycopg.connect(conninfo(self.where), autocommit=True, **_ALIVE)  # type: ignore[arg-type]
        connection.execute(_SETTINGS)
        self._local.held = Held(connection)
        return connection

    def _forget(self) -> None:
        self._local.held = None


@final
class _Transaction:
    def __init__(self, connection: psycopg.Connection[Any], dataset: str) -> None:
        self._connection, self._dataset = connection, dataset

    def head(self) -> HeadRow | None:
        """None as long as nothing was written after `create`."""
        found = self._connection.execute(
            "SELECT dataset, n, digest, totals, mac FROM sfumato_head WHERE dataset = %s AND n > 0", (self._dataset,)
        ).fetchone()
        return None if found is None else HeadRow(*found)

    def rows_after(self, n: int) -> list[Row]:
        return self._rows("n > %s", n)

    def row(self, n: int) -> Row | None:
        found = self._rows("n = %s", n)
        return found[0] if found else None

    def rows_about(self, key: str) -> list[Row]:
        return self._rows("key = %s", key)

    def append(self, row: Row, head: HeadRow) -> None:
        self._connection.execute(
            f"INSERT INTO sfumato_record (dataset, {_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (self._dataset, row.n, row.kind, row.key, row.body, row.previous, row.digest),
        )
        self._connection.execute(
            "UPDATE sfumato_head SET n = %s, digest = %s, totals = %s, mac = %s WHERE dataset = %s",
            (head.n, head.digest, head.totals, head.mac, self._dataset),
        )

    def _rows(self, condition: str, value: object) -> list[Row]:
        return rows(
            self._connection.execute(
                f"SELECT {_COLUMNS} FROM sfumato_record WHERE dataset = %s AND {condition} ORDER BY n",
                (self._dataset, value),
            )
        )


def _busy() -> LedgerDamaged:
    return LedgerDamaged(
        "another writer has held the ledger for too long",
        hint="look for a process that hangs, end it, and ask again",
        code="SF014",
    )


def _missing() -> LedgerDamaged:
    return LedgerDamaged(
        "the database holds no ledger, so nobody knows what was spent: spending stops",
        hint="restore it from a backup; of a new data set, `sfumato init --policy FILE` makes the first one",
        code="SF013",
    )


def _unreachable() -> LedgerDamaged:
    return LedgerDamaged(
        "the ledger's database cannot be reached, so spending stops; what was written stays written",
        hint="check that the server runs and that you may connect (PGPASSFILE or a service file hold the password)",
        code="SF014",
    )


def _refused() -> LedgerDamaged:
    return LedgerDamaged(
        "the ledger's database refuses to read or write the ledger, so spending stops",
        hint="grant SELECT, INSERT and UPDATE on sfumato_record and sfumato_head; `sfumato ledger verify` checks the rest",
        code="SF013",
    )
