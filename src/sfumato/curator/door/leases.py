"""Interactive mechanisms behind a door: each belongs to who started it, answers one question at a time, and ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from sfumato.core.errors import NotAllowed, NotFound
from sfumato.noise.secret import secret_bytes

if TYPE_CHECKING:
    from sfumato.curator.live import Live

MOST = 16
"""Mechanisms that one analyst may have under way at a time."""


@final
@dataclass(slots=True)
class _Lease:
    live: Live
    analyst: str
    until: float
    lock: threading.Lock = field(default_factory=threading.Lock)


@final
class Leases:
    """What is under way in this process. A lease ends when nothing was asked for `seconds`; the charge stays."""

    def __init__(self, seconds: float = 3600.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock = threading.Lock()
        self._held: dict[str, _Lease] = {}

    def refuse_more(self, analyst: str) -> None:
        """NotAllowed when this analyst has as many under way as anyone may; said before anything is charged."""
        with self._lock:
            self._sweep()
            if sum(each.analyst == analyst for each in self._held.values()) >= MOST:
                raise NotAllowed(
                    f"{MOST} mechanisms are under way, and nobody may have more",
                    hint="ask those to their end, or wait until their leases have ended",
                )

    def take(self, live: Live, *, analyst: str) -> str:
        """A name for a mechanism that was just started."""
        name = "m-" + secret_bytes(16).hex()
        with self._lock:
            self._held[name] = _Lease(live, analyst, self._clock() + self._seconds)
        return name

    def holds(self, name: str, *, analyst: str) -> bool:
        """Whether this analyst has a mechanism of that name under way here."""
        with self._lock:
            self._sweep()
            return name in self._held and self._held[name].analyst == analyst

    @contextmanager
    def held(self, name: str, *, analyst: str) -> Iterator[Live]:
        """The mechanism, for one question. Another's is as unknown as one that never was."""
        with self._lock:
            self._sweep()
            lease = self._held.get(name)
        if lease is None or lease.analyst != analyst:
            raise unknown()
        with lease.lock:
            yield lease.live
        with self._lock:
            lease.until = self._clock() + self._seconds
            if lease.live.closed:
                self._held.pop(name, None)

    def _sweep(self) -> None:
        now = self._clock()
        for name in [name for name, each in self._held.items() if each.until < now or each.live.closed]:
            del self._held[name]


def unknown() -> NotFound:
    """What is said of a mechanism that is not there, or not yours."""
    return NotFound(
        "there is no such mechanism under way: it has given its last reply, its lease has ended, or the server has "
        "started anew; what it was charged stays",
        hint="start another one, which is charged anew",
    )
