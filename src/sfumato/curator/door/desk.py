"""One data set at the door: what each verb does for an analyst, and what of it may be told."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.core.errors import BadInput, BudgetExceeded, NotFound
from sfumato.core.exact import decimal_text
from sfumato.curator.door import wire
from sfumato.curator.door.leases import Leases
from sfumato.curator.door.names import Names
from sfumato.curator.door.started import mechanism_called, public_of, reply_to_json
from sfumato.curator.door.wording import heard, spelled
from sfumato.curator.ledger.ledger import EVERYONE
from sfumato.curator.ledger.records import Kind
from sfumato.curator.session import Session, would_fit

if TYPE_CHECKING:
    from sfumato.curator.answer import Answer
    from sfumato.curator.dataset import Dataset
    from sfumato.curator.ledger.records import Record
    from sfumato.curator.preview import Preview

_REMEMBERED = 256
"""Priced questions that are kept, so that asking again does not read the text again."""

Price = Mapping[str, Any]
"""`epsilon` or `within`, `at`, `confidence`, as text and whole numbers."""


@final
class Desk:
    """The data set, the names of its answers, and the mechanisms under way. Every verb is one analyst's, named by a token."""

    def __init__(self, dataset: Dataset, *, names: Names, leases: Leases | None = None) -> None:
        self.dataset, self._names = dataset, names
        self.leases = leases or Leases()
        self._lock = threading.Lock()
        self._priced: OrderedDict[str, Preview] = OrderedDict()

    @property
    def id(self) -> str:
        return self.dataset.policy.id

    @property
    def name(self) -> str:
        return self.dataset.policy.document.dataset.name

    # -- what everyone may know ----------------------------------------------------------------------------------------

    def described(self) -> dict[str, Any]:
        """The data set in a list of them."""
        document = self.dataset.policy.document
        return {
            "id": self.id,
            "name": self.name,
            "version": document.dataset.version,
            "unit": document.unit.kind,
            "neighbours": document.unit.neighbours,
            "max_rows": document.unit.max_rows,
            "tables": [table.name for table in self.dataset.schema.tables],
        }

    def tables(self) -> list[dict[str, Any]]:
        """Tables and columns that questions may name: types, ranges, keys, from the policy alone."""
        return [
            {
                "name": table.name,
                "public": table.public,
                "unit": table.unit,
                "columns": [
                    {
                        "name": column.name,
                        "type": column.type,
                        "range": None if column.range is None else [_plain(bound) for bound in column.range],
                        "keys": [_plain(value) for value in column.values]
                        if isinstance(column.values, tuple)
                        else column.values,
                        "null": column.null,
                    }
                    for column in table.columns
                ],
            }
            for table in self.dataset.schema.tables
        ]

    def dummy(self, table: str, rows: int) -> Any:
        """Rows of a table that nobody has: drawn from the policy alone, to try a program on."""
        from sfumato.curator.dummy import tables

        found = tables(self.dataset.schema, rows).get(table)
        if found is None:
            raise NotFound("the policy has no table of this name", hint="GET .../tables lists those there are")
        return found

    def terms(self) -> dict[str, Any]:
        """What a client prices questions with."""
        return wire.terms_to_json(self.dataset.terms)

    def preview(self, question: Mapping[str, Any], price: Price) -> dict[str, Any]:
        """The price of a question; nothing is read or charged."""
        return wire.preview_to_json(self._preview(question, price), self._unit)

    # -- what an analyst pays for --------------------------------------------------------------------------------------

    def ask(
        self, analyst: str, questions: Sequence[tuple[Mapping[str, Any], Price]], *, again: bool = False
    ) -> list[Answer]:
        """Answers, all charged or none; `again`, only such as this analyst has paid for."""
        previews = [self._preview(question, price) for question, price in questions]
        for preview, (_, price) in zip(previews, questions, strict=True):
            _refuse_otherwise(preview, price)
        session = self.dataset.session(analyst)
        if again:
            return [self._handed(session.again(preview)) for preview in previews]
        try:
            answers = session.ask_all(previews)
        except BudgetExceeded as error:
            raise self._own_words(error, session, previews) from None
        return [self._handed(answer) for answer in answers]

    def refine(self, analyst: str, name: str, *, epsilon: str) -> Answer:
        """More for an answer that this analyst has."""
        answer = self._found(analyst, name)
        session = answer.session
        try:
            return self._handed(session.refine(answer, epsilon=epsilon))
        except BudgetExceeded as error:
            raise self._own_words(error, session, [session.refining(answer, epsilon=epsilon)]) from None

    def answer(self, analyst: str, name: str) -> Answer:
        """An answer that this analyst was charged for, once more."""
        return self._handed(self._found(analyst, name))

    def start(
        self, analyst: str, mechanism: str, *, epsilon: str, delta: str, public: Mapping[str, Any]
    ) -> dict[str, Any]:
        """An interactive mechanism, charged whole now."""
        session = self.dataset.session(analyst)
        self.leases.refuse_more(analyst)
        kind = mechanism_called(mechanism)
        try:
            live = session.start(kind, epsilon=epsilon, delta=delta, **public_of(kind, public))
        except BudgetExceeded as error:
            raise self._own_words(error, session, []) from None
        left = session.left()
        return {
            "id": self.leases.take(live, analyst=analyst),
            "mechanism": mechanism,
            "charged": wire.charge_to_json(self._unit, live.charged, rounding="up"),
            "budget": wire.left_to_json(left, analyst),
        }

    def reply(self, analyst: str, name: str, question: Mapping[str, Any]) -> dict[str, Any]:
        """The reply of a mechanism to one count."""
        with self.leases.held(name, analyst=analyst) as live:
            reply = live.ask(heard(question, self.dataset.schema))
            return {"reply": reply_to_json(reply), "closed": live.closed}

    def budget(self, analyst: str) -> dict[str, Any]:
        """An analyst's own book."""
        return wire.left_to_json(self.dataset.ledger.left(analyst), analyst)

    # -- what the owner and the auditor see ----------------------------------------------------------------------------

    def books(self) -> dict[str, Any]:
        """What was spent and is left, of the data set and of everyone."""
        totals = self.dataset.ledger.totals()
        names = sorted({*totals.books, *totals.caps.analysts} - {"default"})
        whole = self.dataset.ledger.left("")
        return {
            "accountant": totals.caps.accountant,
            "cap": wire.charge_to_json(self._unit, totals.caps.total, rounding="down"),
            "spent": wire.charge_to_json(self._unit, totals.spent, rounding="up"),
            "left": wire.charge_to_json(self._unit, whole.total, rounding="down"),
            "frozen": list(totals.frozen),
            "analysts": {name: self.budget(name) for name in names},
        }

    def ledger(self, after: int, most: int) -> dict[str, Any]:
        """Records of the ledger, verified, oldest first."""
        found: list[dict[str, Any]] = []
        for record in self.dataset.ledger.history():
            if record.n > after and len(found) < most:
                found.append(_record(record))
        position = self.dataset.ledger.position()
        return {"records": found, "head": {"n": position.n, "digest": position.digest}}

    def incidents(self) -> list[dict[str, Any]]:
        """Everything that stopped an analyst, and why."""
        stops = (record for record in self.dataset.ledger.history() if record.kind is Kind.FREEZE)
        return [
            {"n": record.n, **{key: record.body[key] for key in ("at", "analyst", "frozen", "reason")}}
            for record in stops
        ]

    def freeze(self, analyst: str | None, *, frozen: bool, reason: str) -> dict[str, Any]:
        """Stop (or let go on) one analyst, or everyone."""
        self.dataset.ledger.freeze(analyst or EVERYONE, frozen=frozen, reason=reason)
        return {"frozen": list(self.dataset.ledger.totals().frozen)}

    # ------------------------------------------------------------------------------------------------------------------

    @property
    def _unit(self) -> str:
        return "epsilon" if self.dataset.policy.document.budget.accountant == "pure" else "rho"

    def _preview(self, question: Mapping[str, Any], price: Price) -> Preview:
        """The priced question; the same words at the same price are read once."""
        terms = {key: price[key] for key in wire.PRICE if price.get(key) is not None}
        said = spelled([question, terms])
        with self._lock:
            known = self._priced.get(said)
            if known is not None:
                self._priced.move_to_end(said)
                return known
        plan = heard(question, self.dataset.schema).plan
        made = self.dataset.session("").preview(plan, **terms).worded(dict(question))
        with self._lock:
            self._priced[said] = made
            while len(self._priced) > _REMEMBERED:
                self._priced.popitem(last=False)
        return made

    def _handed(self, answer: Answer) -> Answer:
        analyst = answer.session.analyst
        return wire.shown_to(answer, analyst=analyst, name=self._names.name(answer.position.n, analyst=analyst))

    def _found(self, analyst: str, name: str) -> Answer:
        """The answer of that name, as the ledger has it. Whoever did not pay for it learns nothing, not even that it is."""
        place = self._names.place(name, analyst=analyst)
        return self._at(analyst, place)

    def _at(self, analyst: str, place: int | None) -> Answer:
        receipt = None if place is None else self.dataset.ledger.receipt(place, analyst=analyst)
        if receipt is None or "asked" not in receipt[1]:
            raise no_answer()
        found, asked = receipt[0], receipt[1]["asked"]
        session = self.dataset.session(analyst)
        if "after" in asked:
            before = self._at(analyst, int(asked["after"]))
            more = session.refining(before, epsilon=Fraction(asked["epsilon"]))
            if more.key != found.key:
                raise no_answer()
            return session.refined(before, more, found)
        wording = {key: value for key, value in asked.items() if key in ("sql", "table", "steps")}
        terms = {key: asked[key] for key in wire.PRICE if key in asked}
        preview = session.preview(heard(wording, self.dataset.schema).plan, **terms).worded(wording)
        if preview.key != found.key:
            raise no_answer()
        return session.answered(preview, found)

    def _own_words(self, error: BudgetExceeded, session: Session, previews: Sequence[Preview]) -> BudgetExceeded:
        """The refusal in figures of the analyst's own book: what the data set has left tells what others have spent."""
        rest = wire.own(session.left(), session.analyst).analyst
        left = decimal_text(rest.amount, rounding="down")
        cost = Fraction(error.cost)
        if cost <= rest.amount and sum((each.charge.failure for each in previews), Fraction(0)) <= rest.failure:
            message = "this costs more than the data set has left for all"
            hint = "the owner can raise the cap (`sfumato policy accept --reason`)"
        else:
            message = f"this costs {self._unit} {error.cost}, and your budget has {self._unit} {left} left"
            fitting = would_fit(previews[0], rest.amount) if len(previews) == 1 else None
            hint = (
                fitting or "ask for less precision, or let the owner raise the cap (`sfumato policy accept --reason`)"
            )
        return BudgetExceeded(message, hint=hint, code="SF003", cost=error.cost, left=left)


def _refuse_otherwise(preview: Preview, price: Price) -> None:
    """A client that priced the question itself says how it read it: nothing is charged when it was read otherwise here."""
    expected = price.get("key")
    if expected is not None and expected != preview.key:
        raise BadInput(
            "this question was priced otherwise where it was asked, so nothing was charged",
            hint="connect again; if that does not help, use the same version of sfumato on both sides",
        )


def no_answer() -> NotFound:
    return NotFound(
        "there is no answer of this name that you were charged for, under the policy that is now in force",
        hint="ask the question: an answer that you have paid for is replayed for free",
    )


def _record(record: Record) -> dict[str, Any]:
    body = {key: value for key, value in record.body.items() if key != "owner"}
    return {"n": record.n, "kind": record.kind.value, "body": body, "digest": record.digest}


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else decimal_text(value)
    return value.isoformat() if hasattr(value, "isoformat") else value
