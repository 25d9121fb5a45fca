"""An engine that failed after a charge: the analyst is frozen, and told what stays and who lets them go on."""

from __future__ import annotations

from sfumato.core.errors import EngineFailed
from sfumato.curator.ledger.ledger import Ledger
from sfumato.engines.base import failure


def stopped(ledger: Ledger, analyst: str) -> EngineFailed:
    """The one sentence that is said, once the freeze is written. It depends on nothing but the analyst's name."""
    if analyst not in ledger.totals().frozen:
        ledger.freeze(analyst, reason="the engine failed after a charge")
    return EngineFailed(
        f"{failure().message}. The charge stays, and asking is frozen until the owner has looked",
        hint=f"the owner looks with `sfumato doctor`, then `sfumato unfreeze {analyst}`; the same question asked again costs"
        " nothing more",
    )
