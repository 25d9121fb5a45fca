"""A sign of life on long work: on a terminal only, on stderr only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 0.5


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Seconds that pass, from the first half second on. How long it takes depends on the data: it is for the asker only."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    started = time.monotonic()

    def tick() -> None:
        shown = False
        while not done.wait(_PATIENCE):
            sys.stderr.write(f"\r {what} {time.monotonic() - started:.0f} s")
            sys.stderr.flush()
            shown = True
        if shown:
            sys.stderr.write("\r" + " " * 40 + "\r")
            sys.stderr.flush()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
