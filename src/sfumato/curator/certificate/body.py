"""The body of a release's certificate: canonical JSON of texts and whole numbers, as the ledger keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

from sfumato.core.canonical import digest
from sfumato.core.exact import decimal_text
from sfumato.core.neighbours import Relation
from sfumato.curator.certificate.certificate import FORMAT
from sfumato.curator.certificate.limits import BIAS, COVERS, LIMITS, UNMOVED
from sfumato.curator.certificate.odds import told
from sfumato.curator.ledger.ledger import Position
from sfumato.queries.bounded import of_own_rows

if TYPE_CHECKING:
    from sfumato.curator.dataset import Dataset
    from sfumato.curator.home import Home
    from sfumato.curator.ledger.records import Record
    from sfumato.curator.release.offer import Offer


def body(offer: Offer, *, products: Sequence[Mapping[str, Any]], record: Record) -> dict[str, Any]:
    """Everything but the files and the signature. `record` is the release's reservation: its time is the time of issue."""
    dataset = offer.dataset
    document = dataset.policy.document
    return {
        "format": FORMAT,
        "id": f"r-{record.n:06d}",
        "issued": record.body["at"],
        "issuer": {
            "name": offer.heading.issuer or document.dataset.contact or document.dataset.name,
            "contact": document.dataset.contact or "",
        },
        "product": {"name": "sfumato", "version": installed()},
        "release": {
            "name": offer.heading.name,
            "edition": offer.edition,
            "title": offer.heading.title or offer.heading.name,
            "supersedes": offer.supersedes() or {},
        },
        "dataset": {
            "id": dataset.policy.id,
            "name": document.dataset.name,
            "version": dataset.policy.version,
            "policy": dataset.policy.digest,
        },
        "protects": _protects(offer),
        "guarantee": guarantee(offer),
        "ledger": _ledger(offer, record),
        "products": [dict(each) for each in products],
        "rows": _rows(dataset),
        "covers": COVERS,
        "bias": BIAS if dataset.terms.nonnegative else UNMOVED,
        "audit": _audit(dataset.home),
        "also_public": {
            "unprotected": list(dataset.ledger.totals().unprotected),
            "declared": list(offer.heading.public),
        },
        "limits": {lang: list(said) for lang, said in LIMITS.items()},
    }


def _protects(offer: Offer) -> dict[str, Any]:
    """What is declared as a fact is said as one where it is one of every table that was read."""
    unit, schema = offer.dataset.policy.document.unit, offer.dataset.schema
    return {
        "unit": unit.kind,
        "max_rows": str(unit.max_rows),
        "max_rows_is_fact": unit.max_rows_is_fact
        and all(of_own_rows(part.reads, schema) for part in offer.parts.values()),
        "neighbours": unit.neighbours,
    }


def guarantee(offer: Offer) -> dict[str, Any]:
    """What holds of this release alone: the tight epsilon at its delta, beside the sum that the ledger was charged."""
    unit = offer.dataset.schema.unit
    epsilon, delta, how = offer.tight
    return {
        "variant": "epsilon-differential privacy" if delta == 0 else "(epsilon, delta)-differential privacy",
        "epsilon": _up(epsilon),
        "delta": decimal_text(offer.delta) if delta else "0",
        "accounting": how,
        "charged": offer.amounts(),
        "odds": told(epsilon, delta, unit=unit.kind, replace=unit.neighbours is Relation.REPLACE),
    }


def _up(value: float) -> str:
    """Six digits, upward."""
    if value in {float("inf"), float("-inf")}:
        return "infinite"
    exact = Decimal(value)
    places = Decimal(1).scaleb(exact.adjusted() - 5) if exact else Decimal(1)
    return format(exact.quantize(places, rounding=ROUND_CEILING).normalize(), "f")


def _ledger(offer: Offer, record: Record) -> dict[str, Any]:
    ledger = offer.dataset.ledger
    totals, head = ledger.totals(), ledger.position()
    caps = totals.caps
    budget = offer.dataset.policy.document.budget
    return {
        "accountant": caps.accountant,
        "position": _position(Position(record.n, record.digest)),
        "head": _position(head),
        "since": ledger.since(),
        "unit": caps.unit,
        "spent": {caps.unit: decimal_text(totals.spent.amount), "delta": decimal_text(totals.spent.failure)},
        "cap": {
            caps.unit: decimal_text(caps.total.amount, rounding="down"),
            "delta": decimal_text(caps.total.failure, rounding="down"),
        },
        "promise": {"epsilon": decimal_text(budget.epsilon), "delta": decimal_text(budget.delta)},
    }


def _position(at: Position) -> dict[str, str]:
    return {"n": str(at.n), "digest": at.digest}


def _rows(dataset: Dataset) -> dict[str, Any]:
    """Whether the number of rows is public. The declared size is a public figure, and was never read from the rows."""
    replace = dataset.schema.unit.neighbours is Relation.REPLACE
    size = dataset.policy.document.dataset.size
    return {
        "count": "private; the number of units is public, as one is replaced and none added or removed"
        if replace
        else "private",
        "declared": "" if size is None else str(size),
    }


def _audit(home: Home) -> dict[str, str]:
    """The digest of what `sfumato audit --record` found of this version in this home."""
    try:
        found = json.loads(home.audit_file.read_text())
    except (OSError, ValueError):
        found = {}
    if found.get("version") != installed():
        return {"digest": "", "says": "no audit of this version is recorded here: `sfumato audit --record` makes one"}
    caught = [each["mechanism"] for each in found["mechanisms"] if not each["passed"]]
    says = (
        f"{len(found['mechanisms'])} mechanisms attacked, {'caught: ' + ', '.join(caught) if caught else 'none caught'}"
    )
    return {"digest": digest(found), "says": f"{says}, {found['at']}"}


def installed() -> str:
    """The version of sfumato that runs here."""
    from importlib.metadata import version

    return version("sfumato")
