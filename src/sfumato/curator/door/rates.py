"""How often a token may be used: a bucket that fills at a steady rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import final


@final
class Rates:
    """One bucket for each token. `rate` requests a second in the long run, `burst` at once; a rate of 0 is no limit."""

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, token: str) -> float:
        """0.0 when the token may be used now, and this use counts; else the seconds until it may."""
        if not self._rate:
            return 0.0
        now = self._clock()
        with self._lock:
            level, last = self._buckets.get(token, (float(self._burst), now))
            level = min(float(self._burst), level + (now - last) * self._rate)
            if level < 1:
                self._buckets[token] = level, now
                return (1 - level) / self._rate
            self._buckets[token] = level - 1, now
            return 0.0
