"""Contract suites that ship with the product: what a mechanism, an engine or a ledger must pass to be one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "ScriptedSource": "sfumato.testing.scripted",
    "check_ledger": "sfumato.testing.ledger",
    "check_mechanism": "sfumato.testing.mechanism",
}

__all__ = ["ScriptedSource", "check_ledger", "check_mechanism"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato.testing' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
