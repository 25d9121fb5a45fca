"""What the server writes down: one JSON line for each request, without questions, answers, addresses or durations.

How long a reply took depends on the rows, so it is not here either.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO, final


@final
class Log:
    """Lines on a stream, whole even when threads write at once."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def request(
        self, *, method: str, route: str, status: int, token: str, name: str, dataset: str, code: str, request: str
    ) -> None:
        """Who did what, in words that are fixed: the route's pattern, not the path."""
        self.write(
            {
                "event": "request",
                "method": method,
                "route": route,
                "status": status,
                "code": code,
                "token": token,
                "name": name,
                "dataset": dataset,
                "request": request,
            }
        )

    def write(self, body: Mapping[str, object]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._stream.write(json.dumps({"at": at, **body}) + "\n")
        self._stream.flush()


@final
class Quiet(logging.Handler):
    """What the HTTP server itself has to say: the kind of an error, never its words or its traceback."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        self._log.write({"event": "server", "level": record.levelname.lower(), "kind": kind})
