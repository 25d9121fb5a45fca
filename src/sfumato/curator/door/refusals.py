"""Errors that travel: problem+json (RFC 9457) one way, the same error again the other way.

What is said depends on the question and the policy. A ledger's complaint names records, whose numbers tell how much
others ask, so here it is one sentence; the owner reads the rest in the ledger itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.core.errors import (
    BadInput,
    BadPolicy,
    BudgetExceeded,
    Bug,
    EngineFailed,
    LedgerDamaged,
    NotAllowed,
    NotFound,
    NotSupported,
    SfumatoError,
)

MEDIA = "application/problem+json"

FOR_PRIVACY = {"SF001", "SF002", "SF005", "SF007", "SF010", "SF018", "SF022"}
"""The question was understood, and refused because of whom it is about."""

_NAMES: Mapping[str, type[SfumatoError]] = {
    "bad-input": BadInput,
    "not-supported": NotSupported,
    "not-allowed": NotAllowed,
    "not-found": NotFound,
    "budget-exceeded": BudgetExceeded,
    "policy": BadPolicy,
    "ledger": LedgerDamaged,
    "engine": EngineFailed,
    "bug": Bug,
}


def status_of(error: SfumatoError) -> int:
    """403 refused for privacy or to this analyst, 404 not there, 409 budget, 422 question, 5xx ours."""
    match error:
        case NotAllowed():
            return 403
        case NotFound():
            return 404
        case NotSupported():
            return 403 if error.code in FOR_PRIVACY else 422
        case BudgetExceeded():
            return 409
        case BadInput():
            return 422
        case EngineFailed():
            return 502
        case LedgerDamaged() | BadPolicy():
            return 503
        case _:
            return 500


def problem_of(error: SfumatoError) -> dict[str, Any]:
    """The body of a refusal."""
    said = _said(error)
    name = next(name for name, kind in _NAMES.items() if isinstance(error, kind))
    body: dict[str, Any] = {
        "type": f"urn:sfumato:{name}",
        "title": said.message,
        "status": status_of(error),
        "code": said.code,
        "hint": said.hint,
    }
    if isinstance(error, BudgetExceeded):
        body |= {"cost": error.cost, "left": error.left}
    return body


def problem(status: int, title: str, *, hint: str) -> dict[str, Any]:
    """The body of what is refused before any question is looked at."""
    return {"type": "about:blank", "title": title, "status": status, "code": None, "hint": hint}


def error_of(body: Mapping[str, Any]) -> SfumatoError:
    """The error that a server meant."""
    kind = _NAMES.get(str(body.get("type", "")).removeprefix("urn:sfumato:"))
    message, hint = str(body.get("title", "the server refused")), str(body.get("hint", "ask its owner"))
    code = body.get("code") if isinstance(body.get("code"), str) else None
    if kind is BudgetExceeded:
        return BudgetExceeded(message, hint=hint, code=code, cost=str(body.get("cost")), left=str(body.get("left")))
    if kind is None:
        kind = NotAllowed if body.get("status") in {401, 403} else BadInput
    return kind(message, hint=hint, code=code)


def _said(error: SfumatoError) -> SfumatoError:
    match error:
        case LedgerDamaged(code="SF013"):
            return LedgerDamaged(
                "the ledger does not verify, so nobody can say what was spent: spending stops",
                hint="the owner has to look: `sfumato ledger verify`",
                code="SF013",
            )
        case BadPolicy():
            return BadPolicy(
                "the owner has changed the policy since this server opened it, so its prices do not count",
                hint="ask the owner to start the server anew",
                code="SF017",
            )
        case Bug():
            return Bug("an invariant of sfumato broke; no answer was released")
        case _:
            return error
