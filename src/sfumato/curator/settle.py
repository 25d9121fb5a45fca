"""From a reservation to what is stored: compute, commit, and hand out whatever the ledger kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sfumato.curator.ledger.ledger import Committed, Ledger, Reserved
from sfumato.curator.ledger.records import Charge


def settle(
    ledger: Ledger,
    found: Reserved | Committed,
    *,
    compute: Callable[[], Mapping[str, Any]],
    analyst: str,
    charge: Charge,
    policy: str,
) -> Committed:
    """Compute, and commit. Whoever was overtaken waits for the answer that was stored, and takes over if none comes."""
    charged = found.charged
    while isinstance(found, Reserved):
        done = ledger.commit(found, compute()) or ledger.wait(found.key)
        found = done or ledger.reserve(found.key, analyst=analyst, charge=charge, what={}, policy=policy)
    return replace(found, charged=charged)
