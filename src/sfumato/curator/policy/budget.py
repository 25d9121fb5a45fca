"""The policy's budget as the caps of a ledger."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.curator.ledger.records import Caps, Charge

if TYPE_CHECKING:
    from sfumato.curator.policy.document import Document


def caps(document: Document) -> Caps:
    """The rectangle of the whole data set, one for each analyst who is named, and whom the amounts are about."""
    budget = document.budget
    return Caps(
        budget.accountant,
        _rectangle(budget.accountant, budget.epsilon, budget.delta),
        {name: _rectangle(budget.accountant, cap, budget.delta) for name, cap in budget.per_analyst.items()},
        about(document),
    )


def about(document: Document) -> dict[str, str]:
    """Whom the amounts protect: a change of any of these changes the meaning of what was already spent."""
    promise: dict[str, str] = {"unit": document.unit.kind, "neighbours": document.unit.neighbours}
    for name, table in document.tables.items():
        promise[f"table {name}"] = "public" if table.public else table.unit or "row"
    return promise


def _rectangle(accountant: str, epsilon: Fraction, delta: Fraction) -> Charge:
    from sfumato.accounting.filter import PureFilter, ZcdpFilter

    if epsilon == 0:
        return Charge()
    total = (PureFilter(epsilon, delta) if accountant == "pure" else ZcdpFilter(epsilon, delta)).total
    return Charge(total.amount, total.failure)
