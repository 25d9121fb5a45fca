"""How a server is set up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sfumato.curator.door.padding import Padding


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """Limits that keep one caller from taking the server away from the others."""

    padding: Padding = Padding()
    body: int = 256 * 1024
    """Bytes of a request's body."""
    patience: float = 10.0
    """Seconds that a caller has to send a body, and that a question waits for its turn."""
    rate: float = 50.0
    """Requests a second of one token in the long run; 0 is no limit."""
    burst: int = 200
    threads: int = 8
    """Questions that are worked on at a time."""
    queue: int = 256
    """Questions that may wait for their turn; more are sent away."""
