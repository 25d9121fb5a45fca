"""What a database must offer to carry a ledger: one serial transaction at a time over a record table and a head row."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, final

QUIET = 3
"""Seconds to wait for another writer before saying so; hardly anyone ever waits so long."""

_LOG = logging.getLogger("sfumato.ledger")


def say_waiting() -> None:
    """On stderr, unless the program around has its own mind about logs: silence for two minutes looks like a crash."""
    _LOG.warning("another writer holds the ledger; waiting for it, two minutes at most")


@final
@dataclass(frozen=True, slots=True)
class Row:
    """A record as stored, not yet believed."""

    n: int
    kind: str
    key: str | None
    body: str
    previous: str
    digest: str


@final
@dataclass(frozen=True, slots=True)
class HeadRow:
    """The head as stored, not yet believed."""

    dataset: str
    n: int
    digest: str
    totals: str
    mac: str


class Transaction(Protocol):
    """Reads and writes that happen whole, alone, or not at all."""

    @abstractmethod
    def head(self) -> HeadRow | None: ...
    @abstractmethod
    def rows_after(self, n: int) -> list[Row]: ...
    @abstractmethod
    def row(self, n: int) -> Row | None: ...
    @abstractmethod
    def rows_about(self, key: str) -> list[Row]: ...
    @abstractmethod
    def append(self, row: Row, head: HeadRow) -> None: ...


class Store(Protocol):
    """A place for one ledger."""

    @abstractmethod
    def create(self) -> None:
        """Make the empty tables; refuse when they are there."""

    @abstractmethod
    def exists(self) -> bool: ...

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that no other writer can overlap, durable when it ends."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """A consistent view."""

    @abstractmethod
    def backup(self, path: str) -> None:
        """A consistent copy in a file of its own."""


def rows(cursor: Iterator[Any]) -> list[Row]:
    """What either database driver returns, as rows."""
    return [Row(*values) for values in cursor]
