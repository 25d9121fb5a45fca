"""Random bytes for keys and identifiers; never for noise."""

from __future__ import annotations

import os


def secret_bytes(count: int) -> bytes:
    """From the operating system, each time."""
    return os.urandom(count)
