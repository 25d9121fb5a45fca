"""BigQuery's way to ask: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-6, privacy_unit_column = id) ...

The options are taken out of the text, and what they say is compared with the policy and with the price that was given: the
policy decides who is protected, and two prices for one question are refused. Nothing in them is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.core import NotSupported
from sfumato.core.exact import Number, fraction

if TYPE_CHECKING:
    from sfumato.queries.schema import Schema

_HEAD = ("SELECT", "WITH", "DIFFERENTIAL_PRIVACY", "OPTIONS", "(")
_KNOWN = ("epsilon", "delta", "privacy_unit_column")


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The question without its options, every other word in its place, and what they said."""

    sql: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    unit: str | None = None


def taken_out(sql: str) -> Options:
    """What OPTIONS said; the text as it is where there are none."""
    from sqlglot.errors import SqlglotError

    from sfumato.queries.sql.text import Asked

    if "DIFFERENTIAL_PRIVACY" not in sql.upper():
        return Options(sql)
    try:
        tokens = Asked().tokenize(sql)
    except SqlglotError:
        return Options(sql)  # the parser says what cannot be read
    start = next((n for n in range(len(tokens)) if _words(tokens[n : n + len(_HEAD)]) == _HEAD), None)
    before = [each.text for each in tokens[: start or 0]]
    if before.count("(") != before.count(")"):
        raise _wrong("OPTIONS stand inside of the question, and it has one price")
    if start is None:
        return Options(sql)
    inside = start + len(_HEAD)
    end = next((n for n in range(inside, len(tokens)) if tokens[n].text == ")"), None)
    if end is None:
        raise _wrong("OPTIONS has no end")
    said = _said([token.text for token in tokens[inside:end]])
    first, last = tokens[start + 1].start, tokens[end].end + 1
    blank = "".join(each if each == "\n" else " " for each in sql[first:last])
    numbers = {name: fraction(said[name], name=name) for name in ("epsilon", "delta") if name in said}
    return Options(
        sql[:first] + blank + sql[last:], numbers.get("epsilon"), numbers.get("delta"), said.get("privacy_unit_column")
    )


def priced(
    sql: str, schema: Schema, *, epsilon: Number | None, within: Number | None, delta: Number | None
) -> tuple[str, Number | None, Number | None]:
    """The text without OPTIONS, and the epsilon and delta at which it is asked."""
    found = taken_out(sql)
    if found.unit is not None and found.unit.casefold() not in {(t.unit or "").casefold() for t in schema.tables}:
        raise NotSupported(
            "privacy_unit_column is not the unit that the policy protects",
            hint="leave it out: the policy says whose rows these are",
            code="SF021",
        )
    if found.epsilon is not None and within is not None:
        raise _two("epsilon stands in OPTIONS, and a precision beside it")
    return (
        found.sql,
        _agreed("epsilon", found.epsilon, epsilon),
        _agreed("delta", found.delta if _private(found, schema) else None, delta),
    )


def _private(found: Options, schema: Schema) -> bool:
    """Whether there is anything that a delta pays for: public groups cost none, whatever the most is that was offered."""
    from sfumato.queries.bounded import bound
    from sfumato.queries.sql.parse import parse

    return found.delta is not None and bound(parse(found.sql, schema), schema).private


def _agreed(name: str, said: Fraction | None, given: Number | None) -> Number | None:
    if said is None or given is None:
        return given if said is None else said
    if fraction(given, name=name) != said:
        raise _two(f"{name} stands in OPTIONS, and another {name} beside it")
    return given


def _words(tokens: Sequence[Any]) -> tuple[str, ...]:
    return tuple(token.text.upper() for token in tokens)


def _said(words: Sequence[str]) -> dict[str, str]:
    """name = value, name = value; a number may have a sign."""
    said: dict[str, str] = {}
    rest = [*words, ","]
    while len(rest) > 1:
        end = rest.index(",")
        name, sign, *value = rest[:end] if end > 1 else ("", "")
        name, rest = name.lower(), rest[end + 1 :]
        if name not in _KNOWN or name in said or sign != "=" or not value:
            raise _wrong("OPTIONS holds something else than epsilon, delta and privacy_unit_column, each once")
        said[name] = "".join(value)
    return said


def _wrong(what: str) -> NotSupported:
    return NotSupported(what, hint="write OPTIONS(epsilon = 1, delta = 1e-6, privacy_unit_column = id)", code="SF021")


def _two(what: str) -> NotSupported:
    return NotSupported(what, hint="give the price once", code="SF004")
