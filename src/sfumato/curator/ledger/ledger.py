"""The books of one data set: reserve before computing, commit once, replay what was committed, never give back."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from sfumato.core.canonical import canonical
from sfumato.core.errors import BadInput, BadPolicy, BudgetExceeded, LedgerDamaged, NotAllowed
from sfumato.core.exact import decimal_text
from sfumato.curator.home import Home
from sfumato.curator.ledger.records import GENESIS, NOTHING, Caps, Charge, Head, Kind, Record, Totals, body_of
from sfumato.curator.ledger.seen import Seen
from sfumato.curator.ledger.store import HeadRow, Row, Store, Transaction
from sfumato.noise.secret import secret_bytes

EVERYONE = "*"
"""The name under which all analysts are frozen."""

_LONGEST = 500
"""Letters that say what was released unprotected: every later certificate repeats them."""

_REMEMBERED = 10_000
"""Questions of which it is remembered who has paid for them."""

_POLL = 0.02
_WAIT = 20.0
"""Seconds to wait for another process that took over a reservation, before taking it over in turn."""


@final
@dataclass(frozen=True, slots=True)
class Position:
    """Where something stands in the ledger, as answers and certificates print it."""

    n: int
    digest: str


@final
@dataclass(frozen=True, slots=True)
class Reserved:
    """The charge is written down; whoever holds this may compute, and commit once."""

    key: str
    owner: str
    position: Position
    charged: Charge = Charge()


@final
@dataclass(frozen=True, slots=True)
class Committed:
    """An answer that exists. `replayed`: it existed before it was asked for now, and cost the total nothing."""

    key: str
    answer: Mapping[str, Any]
    position: Position
    replayed: bool
    charged: Charge = Charge()


@final
@dataclass(frozen=True, slots=True)
class Left:
    """What may still be spent, in all and by one analyst, beside the caps."""

    caps: Caps
    total: Charge
    analyst: Charge
    spent: Charge
    book: Charge

    def __repr__(self) -> str:
        """In the words of `sfumato budget`; of the data set only where it is not this analyst's book alone."""
        sign = "ε" if self.caps.unit == "epsilon" else "ρ"
        left, whole = (decimal_text(each.amount, rounding="down") for each in (self.analyst, self.total))
        own = f"{sign} {left} left, {decimal_text(self.book.amount, rounding='up')} spent"
        if (self.total, self.spent) == (self.analyst, self.book):
            return own
        return f"{own}; data set: {whole} left of {decimal_text(self.caps.total.amount)}"


@final
class Ledger:
    """Every verb reads the head, checks its signature and all records since the last look, and only then acts."""

    def __init__(self, store: Store, *, dataset: str, home: Home) -> None:
        self._store, self._dataset, self._home = store, dataset, home
        self._key = home.ledger_key()
        self._seen = Seen(home, dataset)
        self._known: _Known = _UNKNOWN
        self._good: HeadRow | None = None
        self._bought: dict[tuple[str, str], int] = {}
        self._digests: dict[int, str] = {}
        self._places: dict[str, dict[int, None]] = {}
        with self._reading():
            pass

    @classmethod
    def create(cls, store: Store, *, dataset: str, home: Home, caps: Caps, policy: str) -> Ledger:
        """A new ledger for a new data set. Nothing else ever makes one: a missing ledger stops spending."""
        if not store.exists() and Seen(home, dataset).read() is not None:
            raise LedgerDamaged(
                "a ledger of this data set was seen here before, and is missing now: a new one would forget what was spent",
                hint="restore it from a backup; a new data set has an id of its own",
                code="SF013",
            )
        key = home.make_ledger_key()
        store.create()
        record = Record(
            1, Kind.GENESIS, {"at": _now(), "dataset": dataset, "caps": caps.to_json(), "policy": policy}, GENESIS
        )
        head = Head(dataset, 1, record.digest, NOTHING.after(record))
        with store.writing() as transaction:
            transaction.append(_row(record, None), _head_row(head, key))
        Seen(home, dataset).advance(1, record.digest)
        return cls(store, dataset=dataset, home=home)

    def reserve(
        self, key: str, *, analyst: str, charge: Charge, what: Mapping[str, Any], policy: str | None = None
    ) -> Reserved | Committed:
        """Write the charge for question `key`, or find its answer.

        A committed key replays: the total pays nothing, the analyst's own book pays once. A key that is reserved and not
        committed is taken over: a process that died, or lost the race, paid for it already.
        """
        return self.reserve_all([(key, charge, what)], analyst=analyst, policy=policy)[0]

    def reserve_all(
        self, wanted: Sequence[tuple[str, Charge, Mapping[str, Any]]], *, analyst: str, policy: str | None = None
    ) -> list[Reserved | Committed]:
        """Several questions on one budget, all or none: in one transaction.

        `policy` is the digest of the policy that the charges were computed under: amounts mean nothing under another.
        """
        if (replayed := self._replayed([key for key, _, _ in wanted], analyst=analyst, policy=policy)) is not None:
            return replayed
        found: list[Reserved | Committed] = []
        with self._writing() as (transaction, head):
            self._refuse_asking(head.totals, analyst, policy)
            for key, charge, what in wanted:
                outcome, head = self._reserve(transaction, head, key, analyst, charge, what)
                found.append(outcome)
        self._seen.advance(head.n, head.digest)
        return found

    def _replayed(self, keys: Sequence[str], *, analyst: str, policy: str | None) -> list[Reserved | Committed] | None:
        """The answers, when this analyst has paid for all of them: nothing is written, so no writer is waited for."""
        found: list[Reserved | Committed] = []
        with self._reading() as (transaction, head):
            self._refuse_asking(head.totals, analyst, policy)
            for key in keys:
                done = self._paid_for(transaction, head, key, analyst)
                if done is None:
                    return None
                found.append(_committed(key, done, replayed=True))
        return found

    def _paid_for(self, transaction: Transaction, head: Head, key: str, analyst: str) -> Record | None:
        """The answer of a question that this analyst has paid for. That they have is remembered: it stays true."""
        place = self._bought.get((key, analyst))
        if place is not None and (row := transaction.row(place)) is not None and row.key == key:
            return self._unchanged(_record(row))
        earlier = self._about(transaction, head, key)
        done = next((record for record in earlier if record.kind is Kind.COMMIT), None)
        if done is None or not _paid(earlier, analyst):
            return None
        if len(self._bought) >= _REMEMBERED:
            self._bought.clear()
        self._bought[key, analyst] = done.n
        return done

    def _refuse_asking(self, totals: Totals, analyst: str, policy: str | None) -> None:
        if policy is not None and policy != totals.policy:
            raise BadPolicy(
                "the ledger was told of another policy since this one was opened, so its prices do not count",
                hint="open the data set again and preview the question again",
                code="SF017",
            )
        self._refuse_frozen(totals, analyst)

    def _reserve(
        self, transaction: Transaction, head: Head, key: str, analyst: str, charge: Charge, what: Mapping[str, Any]
    ) -> tuple[Reserved | Committed, Head]:
        if charge.amount < 0 or charge.failure < 0:
            raise BadInput("a charge was negative, and there are no refunds", hint="charge what the loss says")
        earlier = self._about(transaction, head, key)
        paid = _paid(earlier, analyst)
        done = next((record for record in earlier if record.kind is Kind.COMMIT), None)
        if done is not None and paid:
            return _committed(key, done, replayed=True), head
        total = Charge() if earlier else charge
        book = Charge() if paid else charge
        self._refuse_overspending(head.totals, analyst, total=total, book=book)
        owner = secret_bytes(16).hex()
        body = {
            "at": _now(),
            "key": key,
            "analyst": analyst,
            "owner": owner,
            "total": total.to_json(),
            "book": book.to_json(),
            "what": dict(what) if not earlier else {name: what[name] for name in ("asked",) if name in what},
        }
        record = self._append(transaction, head, Kind.RESERVE, body)
        after = Head(head.dataset, record.n, record.digest, head.totals.after(record))
        if done is not None:
            return _committed(key, done, replayed=True, charged=book), after
        return Reserved(key, owner, Position(record.n, record.digest), book), after

    def commit(self, reserved: Reserved, answer: Mapping[str, Any]) -> Committed | None:
        """Store the answer if this reservation is still the last one; None when another process took it over.

        Whatever is stored first is the answer: the caller must hand out what comes back, not what it computed.
        """
        with self._writing() as (transaction, head):
            earlier = self._about(transaction, head, reserved.key)
            done = next((record for record in earlier if record.kind is Kind.COMMIT), None)
            if done is not None:
                return _committed(reserved.key, done, replayed=True)
            if earlier[-1].body["owner"] != reserved.owner:
                return None
            body = {"at": _now(), "key": reserved.key, "owner": reserved.owner, "answer": dict(answer)}
            record = self._append(transaction, head, Kind.COMMIT, body)
        self._seen.advance(record.n, record.digest)
        return _committed(reserved.key, record, replayed=False)

    def wait(self, key: str) -> Committed | None:
        """The answer of whoever took the reservation over; None when it does not come."""
        until = time.monotonic() + _WAIT
        while time.monotonic() < until:
            if (done := self.find(key)) is not None:
                return done
            time.sleep(_POLL)
        return None

    def find(self, key: str) -> Committed | None:
        """A committed answer, charging nobody: for those who have paid."""
        with self._reading() as (transaction, head):
            done = next((each for each in self._about(transaction, head, key) if each.kind is Kind.COMMIT), None)
        return None if done is None else _committed(key, done, replayed=True)

    def paid(self, key: str, *, analyst: str) -> Committed | None:
        """The answer of a question that this analyst has paid for, charging nothing; None for whoever has not."""
        with self._reading() as (transaction, head):
            done = self._paid_for(transaction, head, key, analyst)
        return None if done is None else _committed(key, done, replayed=True)

    def receipt(self, n: int, *, analyst: str) -> tuple[Committed, Mapping[str, Any]] | None:
        """The answer at record `n`, and what the ledger kept of its question when this analyst paid for it.

        None for whoever did not, and for a record that is no answer: nobody learns which.
        """
        with self._reading() as (transaction, head):
            row = transaction.row(n)
            if row is None or row.kind != Kind.COMMIT.value or row.key is None:
                return None
            about = self._about(transaction, head, row.key)
        done = next((record for record in about if record.n == n), None)
        paid = [record for record in about if record.kind is Kind.RESERVE and record.body["analyst"] == analyst]
        if done is None or not paid:
            return None
        kept = [record.body["what"] for record in paid]
        return _committed(row.key, done, replayed=True), next((what for what in kept if "asked" in what), kept[0])

    def accept(self, caps: Caps, *, policy: str, reason: str | None, version: str = "") -> bool:
        """Bring a changed policy into the books; True when something was written. Raising a cap needs a reason.

        `version` is the owner's word for the rows, so that whoever reads the books sees when it changed.
        """
        with self._writing() as (transaction, head):
            before = head.totals
            caps = replace(caps, about={**before.caps.about, **caps.about})
            if before.policy == policy and before.caps == caps:
                return False
            self._refuse_mixing(before, caps)
            if reason is None and caps.raises(before.caps):
                raise BadPolicy(
                    "this policy lets more be spent than the ledger was told, or counts it otherwise, and people were protected"
                    " by the old cap",
                    hint='`sfumato policy accept --reason "..."` writes the change and its reason into the ledger',
                    code="SF017",
                )
            if reason is None and caps.about_others(before.caps):
                raise BadPolicy(
                    "this policy protects others, or otherwise, than what the ledger's sums are about",
                    hint='`sfumato policy accept --reason "..."` writes the change and its reason into the ledger',
                    code="SF017",
                )
            body = {"at": _now(), "caps": caps.to_json(), "policy": policy, "reason": reason or ""}
            body |= {"version": version} if version else {}
            record = self._append(transaction, head, Kind.POLICY, body)
        self._seen.advance(record.n, record.digest)
        return True

    def freeze(self, analyst: str = EVERYONE, *, frozen: bool = True, reason: str) -> None:
        """Stop (or let go on) one analyst, or everyone."""
        with self._writing() as (transaction, head):
            body = {"at": _now(), "analyst": analyst, "frozen": frozen, "reason": reason}
            record = self._append(transaction, head, Kind.FREEZE, body)
        self._seen.advance(record.n, record.digest)

    def unprotected(self, text: str) -> Position:
        """Write down that something exact, or merely anonymised, was released about the same people: no budget covers it."""
        said = " ".join(text.split())
        if not 0 < len(said) <= _LONGEST:
            raise BadInput(
                f"what was released is not said, or in more than {_LONGEST} letters",
                hint='say it in one sentence: "exact counts by town, annual report 2025, page 12"',
            )
        with self._writing() as (transaction, head):
            record = self._append(transaction, head, Kind.UNPROTECTED, {"at": _now(), "text": said})
        self._seen.advance(record.n, record.digest)
        return Position(record.n, record.digest)

    def about(self, key: str) -> list[Record]:
        """Every record of one question or release, oldest first."""
        with self._reading() as (transaction, head):
            return self._about(transaction, head, key)

    def refuse_frozen(self, analyst: str) -> None:
        """NotAllowed while the owner has stopped this analyst, or everyone."""
        self._refuse_frozen(self.totals(), analyst)

    def left(self, analyst: str) -> Left:
        """What may still be spent. Under `zcdp` the amounts are rho."""
        totals = self.totals()
        caps, book = totals.caps, totals.book(analyst)
        return Left(
            caps=caps,
            total=_rest(caps.total, totals.spent),
            analyst=_least(_rest(caps.of(analyst), book), _rest(caps.total, totals.spent)),
            spent=totals.spent,
            book=book,
        )

    def totals(self) -> Totals:
        """What the chain adds up to now."""
        with self._reading() as (_, head):
            return head.totals

    def position(self) -> Position:
        """The head, as answers print it."""
        with self._reading() as (_, head):
            return Position(head.n, head.digest)

    def since(self) -> str:
        """The moment of the first record: the budget belongs to the people since then."""
        with self._reading() as (transaction, _):
            first = transaction.row(1)
        if first is None:
            raise _broken("its first record is missing")
        return str(_record(first).body["at"])

    def history(self) -> Iterator[Record]:
        """Every record, verified, oldest first."""
        with _Opened(self, writing=False, afresh=True) as (transaction, _):
            return iter([_record(row) for row in transaction.rows_after(0)])

    def verify(self) -> Position:
        """The whole chain again from its first record; LedgerDamaged at the first thing that is wrong."""
        list(self.history())
        return self.position()

    def backup(self, path: str) -> None:
        """A consistent copy in one file. Putting it back later is noticed, because the last head seen is further on."""
        self.verify()
        self._store.backup(path)

    # How the chain is believed, and how it grows.

    def _writing(self) -> _Opened:
        return _Opened(self, writing=True)

    def _reading(self) -> _Opened:
        return _Opened(self, writing=False)

    def _check(self, transaction: Transaction, known: _Known, seen: tuple[int, str] | None) -> Head:
        """The head, after everything that can be wrong with it and with the records since the last look was looked at."""
        stored = transaction.head()
        if stored is None or stored.dataset != self._dataset:
            raise _broken("its head is missing or belongs to another data set")
        n, last, totals = known
        _must_hold(transaction, n, last, "it is not the ledger that was read before")
        for row in transaction.rows_after(n):
            record = _record(row)
            if row.n != n + 1 or row.previous != last or record.digest != row.digest:
                raise _broken(f"the chain breaks at record {n + 1}")
            if row.key != record.body.get("key"):
                raise _broken(f"the index of record {row.n} does not match its content")
            n, last, totals = row.n, row.digest, _after(totals, record)
            self._digests[n] = last
            if row.key is not None:
                self._places.setdefault(row.key, {})[n] = None
        head = Head(stored.dataset, n, last, totals)
        # A head that is letter for letter the one that was found good with the same records needs no second look.
        if stored != self._good or known == _UNKNOWN:
            if (stored.n, stored.digest) != (n, last) or stored.totals != canonical(totals.to_json()):
                raise _broken("its head does not say what the records add up to")
            if not head.signed_by(self._key, stored.mac):
                raise _broken("its head is not signed with this home's key")
        elif (stored.n, stored.digest) != (n, last):
            raise _broken("its head does not say what the records add up to")
        if seen is not None:
            _must_hold(transaction, *seen, "an old copy was put back, or its tail was cut")
        if n > self._known[0]:
            self._known = (n, last, totals)
        self._good = stored
        return head

    def _append(self, transaction: Transaction, head: Head, kind: Kind, body: Mapping[str, Any]) -> Record:
        record = Record(head.n + 1, kind, body, head.digest)
        after = Head(head.dataset, record.n, record.digest, head.totals.after(record))
        transaction.append(_row(record, body.get("key")), _head_row(after, self._key))
        return record

    def _about(self, transaction: Transaction, head: Head, key: str) -> list[Record]:
        """The records of a question, all of them and each as it was when the chain was verified.

        An answer that was changed since is not replayed, and one that was hidden since is not computed again for nothing.
        """
        found = [self._unchanged(_record(row)) for row in transaction.rows_about(key)]
        # Another thread may have read further than this view goes.
        seen = [n for n in list(self._places.get(key, ())) if n <= head.n]
        missing = set(seen) - {record.n for record in found}
        if missing:
            raise _broken(f"record {min(missing)} is no longer where it was when it was read before")
        return found

    def _unchanged(self, record: Record) -> Record:
        if self._digests.get(record.n) != record.digest:
            raise _broken(f"record {record.n} is not what it was when it was read before")
        return record

    def _refuse_mixing(self, before: Totals, caps: Caps) -> None:
        """Amounts of two accountants, or about two kinds of neighbours, have no sum."""
        for name, one, other in (
            ("accountant", before.caps.accountant, caps.accountant),
            ("neighbours", before.caps.about.get("neighbours"), caps.about.get("neighbours")),
        ):
            if one != other and before.spent != Charge():
                raise BadPolicy(
                    f"the {name} cannot change once something was spent: what was spent and what is asked do not add up",
                    hint=f"keep the {name} that the ledger began with",
                    code="SF017",
                )

    def _refuse_frozen(self, totals: Totals, analyst: str) -> None:
        by = [name for name in (EVERYONE, analyst) if name in totals.frozen]
        if by:
            whose = "everyone's questions" if EVERYONE in by else "this analyst's questions"
            commands = " and ".join("`sfumato unfreeze" + ("`" if name == EVERYONE else f" {name}`") for name in by)
            raise NotAllowed(
                f"{whose} are frozen, by the owner or because the engine failed, until the owner has looked",
                hint=f"ask the owner, who lets them go on with {commands}",
            )

    def _refuse_overspending(self, totals: Totals, analyst: str, *, total: Charge, book: Charge) -> None:
        for spent, charge, cap, whose in (
            (totals.spent, total, totals.caps.total, "the data set's"),
            (totals.book(analyst), book, totals.caps.of(analyst), "your"),
        ):
            if charge != Charge() and not (spent + charge).fits(cap):
                rest = _rest(cap, spent)
                raise BudgetExceeded(
                    f"this costs {_cost(charge, totals.caps)}, and {whose} budget has {_rest_of(rest, totals.caps)} left",
                    hint="ask for less precision, or let the owner raise the cap (`sfumato policy accept --reason`)",
                    code="SF003",
                    cost=decimal_text(charge.amount),
                    left=decimal_text(rest.amount, rounding="down"),
                )


_Known = tuple[int, str, Totals]
_UNKNOWN: _Known = (0, GENESIS, NOTHING)


def _must_hold(transaction: Transaction, n: int, digest: str, otherwise: str) -> None:
    row = transaction.row(n) if n else None
    if n and (row is None or row.digest != digest):
        raise _broken(f"record {n} is not the one that was seen here, so {otherwise}")


@final
class _Opened:
    """A transaction together with its verified head."""

    def __init__(self, ledger: Ledger, *, writing: bool, afresh: bool = False) -> None:
        self._ledger = ledger
        self._context = ledger._store.writing() if writing else ledger._store.reading()
        self._afresh = afresh

    def __enter__(self) -> tuple[Transaction, Head]:
        # What was known must be older than the view that it is compared with, so it is read before the view is taken.
        known = _UNKNOWN if self._afresh else self._ledger._known
        seen = self._ledger._seen.read()
        transaction = self._context.__enter__()
        try:
            return transaction, self._ledger._check(transaction, known, seen)
        except BaseException as error:
            self._context.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(self, *error: Any) -> bool | None:
        return self._context.__exit__(*error)


def _broken(what: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"the ledger does not verify: {what}. Nobody can say what was spent, so spending stops",
        hint="restore the newest backup; `sfumato ledger verify` checks the whole chain",
        code="SF013",
    )


def _record(row: Row) -> Record:
    try:
        return Record(row.n, Kind(row.kind), body_of(row.body), row.previous)
    except (ValueError, TypeError, json.JSONDecodeError):
        raise _broken(f"record {row.n} cannot be read") from None


def _after(totals: Totals, record: Record) -> Totals:
    try:
        return totals.after(record)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        raise _broken(f"record {record.n} lacks what its kind needs") from None


def _row(record: Record, key: str | None) -> Row:
    return Row(record.n, record.kind.value, key, canonical(record.body), record.previous, record.digest)


def _head_row(head: Head, key: bytes) -> HeadRow:
    return HeadRow(head.dataset, head.n, head.digest, canonical(head.totals.to_json()), head.mac(key))


def _paid(about: Sequence[Record], analyst: str) -> bool:
    """Whether this analyst's book was charged for a question."""
    return any(record.kind is Kind.RESERVE and record.body["analyst"] == analyst for record in about)


def _committed(key: str, record: Record, *, replayed: bool, charged: Charge | None = None) -> Committed:
    position = Position(record.n, record.digest)
    return Committed(key, record.body["answer"], position, replayed, charged or Charge())


def _rest(cap: Charge, spent: Charge) -> Charge:
    return Charge(max(cap.amount - spent.amount, cap.amount * 0), max(cap.failure - spent.failure, cap.failure * 0))


def _least(one: Charge, other: Charge) -> Charge:
    return Charge(min(one.amount, other.amount), min(one.failure, other.failure))


def _cost(charge: Charge, caps: Caps) -> str:
    failure = f" and delta {decimal_text(charge.failure)}" if charge.failure else ""
    return f"{caps.unit} {decimal_text(charge.amount)}{failure}"


def _rest_of(rest: Charge, caps: Caps) -> str:
    failure = f" and delta {decimal_text(rest.failure, rounding='down')}" if rest.failure else ""
    return f"{caps.unit} {decimal_text(rest.amount, rounding='down')}{failure}"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
