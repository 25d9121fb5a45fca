"""Connections to PostgreSQL: how it is addressed, and who closes what."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import psycopg


def conninfo(where: str) -> str:
    """`//host/database` is an address; anything else is keywords such as `service=clinic` or `host=db dbname=clinic`.

    Passwords are not among them: they come from PGPASSFILE, a service file or the environment.
    """
    return f"postgresql:{where}" if where.startswith("//") else where


@final
class Held:
    """A connection that is closed when whoever holds it goes, by the process that opened it and by no other."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.process, self.connection = os.getpid(), connection
        self.close = weakref.finalize(self, _close, connection, self.process)

    @property
    def usable(self) -> bool:
        return self.process == os.getpid() and not self.connection.closed


def _close(connection: psycopg.Connection[Any], process: int) -> None:
    if process == os.getpid():
        with suppress(Exception):
            connection.close()
