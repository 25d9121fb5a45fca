"""What travels, in JSON: terms and prices that everyone may know, and answers with the integers that the ledger stored.

An answer travels as what it is made of, so that the other side holds the same `Answer`, not a picture of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadInput, Bug
from sfumato.core.exact import decimal_text
from sfumato.core.neighbours import Relation
from sfumato.curator.ledger.ledger import Left
from sfumato.curator.ledger.records import Caps, Charge
from sfumato.curator.terms import Terms
from sfumato.queries.schema import Column, Levels, Schema, Step, Table, Unit

if TYPE_CHECKING:
    from sfumato.accounting import Filter
    from sfumato.curator.answer import Answer
    from sfumato.curator.preview import Preview

PARTS: Mapping[str, type] = {kind.__name__: kind for kind in (Schema, Table, Column, Levels, Unit, Step)}
"""The classes that terms are made of. No other is ever made from what comes in."""

PRICE = ("epsilon", "within", "at", "confidence", "workload", "delta")
"""What a question is asked on: the options of `preview`."""


# -- terms -------------------------------------------------------------------------------------------------------------


def terms_to_json(terms: Terms) -> dict[str, Any]:
    """All that a question is priced under."""
    total = terms.budget.total
    return {
        "version": terms.version,
        "policy": terms.policy,
        "accountant": "pure" if total.currency.value == "epsilon" else "zcdp",
        "epsilon": str(terms.budget.epsilon),  # type: ignore[attr-defined]
        "delta": str(terms.budget.delta),  # type: ignore[attr-defined]
        "confidence": str(terms.confidence),
        "nonnegative": terms.nonnegative,
        "schema": _sent(terms.schema),
    }


def terms_from_json(body: Mapping[str, Any]) -> Terms:
    """What `terms_to_json` wrote."""
    try:
        schema = _received(body["schema"])
        if not isinstance(schema, Schema):
            raise TypeError
        return Terms(
            schema,
            _filter(body["accountant"], Fraction(body["epsilon"]), Fraction(body["delta"])),
            str(body["version"]),
            str(body["policy"]),
            Fraction(body["confidence"]),
            bool(body["nonnegative"]),
        )
    except (KeyError, TypeError, ValueError):
        raise BadInput(
            "the server's terms cannot be read here",
            hint="use the same version of sfumato on both sides",
        ) from None


def _filter(accountant: str, epsilon: Fraction, delta: Fraction) -> Filter:
    from sfumato.accounting import PureFilter, ZcdpFilter

    return PureFilter(epsilon, delta) if accountant == "pure" else ZcdpFilter(epsilon, delta)


def _sent(value: object) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case Relation():
            return {"relation": value.value}
        case Fraction():
            return {"number": str(value)}
        case date():
            return {"day": value.isoformat()}
        case tuple():
            return [_sent(each) for each in value]
        case _ if is_dataclass(value) and type(value).__name__ in PARTS:
            body = {field.name: _sent(getattr(value, field.name)) for field in fields(value)}
            return {"part": type(value).__name__, **body}
    raise Bug("the terms hold something that does not travel")


def _received(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case list():
            return tuple(_received(each) for each in value)
        case {"relation": str(text)}:
            return Relation(text)
        case {"number": str(text)}:
            return Fraction(text)
        case {"day": str(text)}:
            return date.fromisoformat(text)
        case {"part": str(name), **body}:
            return PARTS[name](**{str(key): _received(each) for key, each in body.items()})
    raise TypeError


# -- money -------------------------------------------------------------------------------------------------------------


def charge_to_json(unit: str, charge: Charge, *, rounding: Any) -> dict[str, str]:
    """An amount as people read it, and exactly."""
    return {
        unit: decimal_text(charge.amount, rounding=rounding),
        "delta": decimal_text(charge.failure, rounding=rounding),
        "exact": str(charge.amount),
        "exact_delta": str(charge.failure),
    }


def charge_from_json(body: Mapping[str, str]) -> Charge:
    return Charge(Fraction(body["exact"]), Fraction(body["exact_delta"]))


def own(left: Left, analyst: str) -> Left:
    """What one analyst may know of the books: their own. What the data set has left tells what others have spent."""
    cap = left.caps.of(analyst)
    rest = Charge(max(cap.amount - left.book.amount, Fraction(0)), max(cap.failure - left.book.failure, Fraction(0)))
    return Left(Caps(left.caps.accountant, cap, {analyst: cap}), rest, rest, left.book, left.book)


def left_to_json(left: Left, analyst: str) -> dict[str, Any]:
    """An analyst's own book: cap, spent, left."""
    mine, unit = own(left, analyst), left.caps.unit
    return {
        "accountant": left.caps.accountant,
        "analyst": analyst,
        "cap": charge_to_json(unit, mine.caps.total, rounding="down"),
        "spent": charge_to_json(unit, mine.book, rounding="up"),
        "left": charge_to_json(unit, mine.analyst, rounding="down"),
    }


def left_from_json(body: Mapping[str, Any]) -> Left:
    cap, spent, rest = (charge_from_json(body[key]) for key in ("cap", "spent", "left"))
    return Left(Caps(body["accountant"], cap, {body["analyst"]: cap}), rest, rest, spent, spent)


# -- questions and answers ---------------------------------------------------------------------------------------------


def preview_to_json(preview: Preview, unit: str) -> dict[str, Any]:
    """A price, and what it buys."""
    return {
        "cost": charge_to_json(unit, preview.charge, rounding="up"),
        "epsilon": decimal_text(preview.epsilon),
        "within": preview.within(),
        "at": preview.at,
        "confidence": decimal_text(preview.confidence),
        "counted": preview.counted,
        "noise": preview.noise(),
        "cells": None if preview.bounded.private else preview.bounded.size,
        "threshold": preview.threshold,
        "columns": list(preview.columns),
        "key": preview.key,
    }


def answer_to_json(answer: Answer) -> dict[str, Any]:
    """An answer as `--format json` prints it, and what it is made of: the price and the integers of each release."""
    previews = answer.sources or (answer.preview,)
    made_of = [
        {"epsilon": str(preview.epsilon), "stored": stored}
        for preview, stored in zip(previews, answer.stored, strict=True)
    ]
    wording = {key: value for key, value in (answer.preview.wording or {}).items() if key in {"sql", "table", "steps"}}
    return answer.to_json() | {
        "question": wording,
        "terms": answer.preview.priced(),
        "key": answer.preview.key,
        "releases": made_of,
        "charged": charge_to_json(answer.left.caps.unit, answer.charged, rounding="up"),
        "budget": left_to_json(answer.left, next(iter(answer.left.caps.analysts))),
    }


def shown_to(answer: Answer, *, analyst: str, name: str) -> Answer:
    """The same answer without what would tell of others: their spending, and its place among their questions."""
    return replace(answer, left=own(answer.left, analyst), name=name)


def answer_from_json(body: Mapping[str, Any], terms: Terms, preview: Preview | None, session: Any) -> Answer:
    """What `answer_to_json` wrote; `preview` is the question where it was priced on this side."""
    from sfumato.curator.answer import Answer
    from sfumato.curator.door.wording import heard
    from sfumato.curator.ledger.ledger import Position
    from sfumato.curator.opened import opened, pooled

    releases = body["releases"]
    priced = [{**_terms(body["terms"]), "epsilon": str(each["epsilon"])} for each in releases]
    first = preview or terms.preview(heard(body["question"], terms.schema).plan, **priced[0]).worded(body["question"])
    if first.key != body["key"]:
        raise BadInput("the server answered another question", hint="use the same version of sfumato on both sides")
    more = [terms.preview(first.bounded.question, **each) for each in priced[1:]]
    stored = tuple(each["stored"] for each in releases)
    return Answer(
        preview=first,
        result=pooled([first, *more], stored) if more else opened(first, stored[0]),
        position=Position(0, ""),
        charged=charge_from_json(body["charged"]),
        left=left_from_json(body["budget"]),
        replayed=bool(body["replayed"]),
        session=session,
        sources=(first, *more) if more else (),
        stored=stored,
        name=str(body["answer"]),
    )


def _terms(body: Mapping[str, Any]) -> dict[str, Any]:
    return {key: body[key] for key in PRICE if key in body}
