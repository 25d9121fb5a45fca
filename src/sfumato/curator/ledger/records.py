"""What a ledger holds: a chain of records, and a signed head with the running totals."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self, final

from sfumato.core.canonical import canonical, digest

GENESIS = "0" * 64


class Kind(StrEnum):
    """What a record says. There is no refund: spent is the sum of the reserves."""

    GENESIS = "genesis"
    POLICY = "policy"
    RESERVE = "reserve"
    COMMIT = "commit"
    FREEZE = "freeze"
    UNPROTECTED = "unprotected"


@final
@dataclass(frozen=True, slots=True)
class Charge:
    """An amount (epsilon under `pure`, rho under `zcdp`) and a mass of failure; both only ever add."""

    amount: Fraction = Fraction(0)
    failure: Fraction = Fraction(0)

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.amount + other.amount, self.failure + other.failure)

    def fits(self, cap: Charge) -> bool:
        """Both sides of the rectangle hold; one is never traded against the other."""
        return self.amount <= cap.amount and self.failure <= cap.failure

    def to_json(self) -> dict[str, str]:
        return {"amount": str(self.amount), "failure": str(self.failure)}

    @classmethod
    def from_json(cls, body: Mapping[str, str]) -> Self:
        return cls(Fraction(body["amount"]), Fraction(body["failure"]))


@final
@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be spent, in all and by each analyst, under one accountant. The total always wins."""

    accountant: str
    total: Charge
    analysts: Mapping[str, Charge] = field(default_factory=dict)
    """By name; "default" speaks for everyone else."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Whom the amounts protect: the unit, what neighbours are, and the column of each table that says whose a row is."""

    @property
    def unit(self) -> str:
        """What the amounts are counted in."""
        return "epsilon" if self.accountant == "pure" else "rho"

    def of(self, analyst: str) -> Charge:
        return self.analysts.get(analyst) or self.analysts.get("default") or self.total

    def raises(self, before: Caps) -> bool:
        """Whether anyone could spend more than `before` allowed, or under other rules."""
        names = {*self.analysts, *before.analysts, "default"}
        return (
            self.accountant != before.accountant
            or not self.total.fits(before.total)
            or any(not self.of(name).fits(before.of(name)) for name in names)
        )

    def about_others(self, before: Caps) -> bool:
        """Whether what `before` was about means something else here. A table that is new or gone changes nothing."""
        return any(self.about.get(key, meaning) != meaning for key, meaning in before.about.items())

    def to_json(self) -> dict[str, Any]:
        return {
            "about": dict(self.about),
            "accountant": self.accountant,
            "total": self.total.to_json(),
            "analysts": {name: cap.to_json() for name, cap in self.analysts.items()},
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        analysts = {name: Charge.from_json(cap) for name, cap in body["analysts"].items()}
        return cls(body["accountant"], Charge.from_json(body["total"]), analysts, dict(body["about"]))


@final
@dataclass(frozen=True, slots=True)
class Record:
    """One line of the chain. Its digest covers its number, its content and the digest before it."""

    n: int
    kind: Kind
    body: Mapping[str, Any]
    previous: str

    @property
    def digest(self) -> str:
        return digest({"n": self.n, "kind": self.kind.value, "body": self.body, "previous": self.previous})


@final
@dataclass(frozen=True, slots=True)
class Totals:
    """What the chain adds up to: spent in all, by each analyst, who is frozen, and the caps now in force."""

    caps: Caps
    policy: str
    spent: Charge = field(default_factory=Charge)
    books: Mapping[str, Charge] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    unprotected: tuple[str, ...] = ()
    """What was released about the same people without noise, each with its day: no budget covers it."""

    def book(self, analyst: str) -> Charge:
        return self.books.get(analyst, Charge())

    def after(self, record: Record) -> Totals:
        """The totals once this record is in; the only place that knows what a record does to them."""
        body = record.body
        match record.kind:
            case Kind.GENESIS | Kind.POLICY:
                return replace(self, caps=Caps.from_json(body["caps"]), policy=body["policy"])
            case Kind.RESERVE:
                analyst = body["analyst"]
                books = {**self.books, analyst: self.book(analyst) + Charge.from_json(body["book"])}
                return replace(self, spent=self.spent + Charge.from_json(body["total"]), books=books)
            case Kind.COMMIT:
                return self
            case Kind.FREEZE:
                others = tuple(name for name in self.frozen if name != body["analyst"])
                frozen = (*others, body["analyst"]) if body["frozen"] else others
                return replace(self, frozen=tuple(sorted(frozen)))
            case Kind.UNPROTECTED:
                return replace(self, unprotected=(*self.unprotected, f"{body['at'][:10]} {body['text']}"))

    def to_json(self) -> dict[str, Any]:
        # Heads that were signed before there was such a word say nothing of it, so nothing is said while there is nothing.
        said = {"unprotected": list(self.unprotected)} if self.unprotected else {}
        return said | {
            "caps": self.caps.to_json(),
            "policy": self.policy,
            "spent": self.spent.to_json(),
            "books": {name: book.to_json() for name, book in self.books.items()},
            "frozen": list(self.frozen),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        return cls(
            Caps.from_json(body["caps"]),
            body["policy"],
            Charge.from_json(body["spent"]),
            {name: Charge.from_json(book) for name, book in body["books"].items()},
            tuple(body["frozen"]),
            tuple(body.get("unprotected", ())),
        )


NOTHING = Totals(Caps("pure", Charge()), "")


@final
@dataclass(frozen=True, slots=True)
class Head:
    """Where the chain ends. The MAC needs the key, which is kept outside of the database."""

    dataset: str
    n: int
    digest: str
    totals: Totals

    def mac(self, key: bytes) -> str:
        content = {"dataset": self.dataset, "n": self.n, "digest": self.digest, "totals": self.totals.to_json()}
        return hmac.new(key, canonical(content).encode(), hashlib.sha256).hexdigest()

    def signed_by(self, key: bytes, mac: str) -> bool:
        return hmac.compare_digest(self.mac(key), mac)


def body_of(text: str) -> dict[str, Any]:
    """A stored body; what is not canonical JSON was not written by sfumato and cannot have the right digest."""
    body = json.loads(text)
    if not isinstance(body, dict) or canonical(body) != text:
        raise ValueError("not a canonical body")
    return body
