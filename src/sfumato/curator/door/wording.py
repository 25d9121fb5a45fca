"""What an analyst says, as JSON: SQL text, or the steps of a frame. Whoever reads it takes every step again.

Plans do not travel. A plan is what the parser and the frames conclude after their checks, and a join that never passed
them could multiply a person's rows; so the other side hears what was said, and draws its own conclusions.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadInput, Bug, SfumatoError
from sfumato.core.exact import fraction
from sfumato.queries.frame import Aggregation, Frame, Grouped, Question, frame
from sfumato.queries.sql.parse import parse

if TYPE_CHECKING:
    from sfumato.queries.schema import Schema

Wording = Mapping[str, Any]

NOT_SAID = {"rows", "measure", "sql", "preview", "ask", "plan", "schema", "asker", "relation", "names", "name", "frame"}
"""What frames and questions offer besides the verbs that make another question of them."""

STEPS = 64
"""A question is made of at most so many steps."""

_NUMERAL = re.compile(r"-?[0-9]{1,60}(/[0-9]{1,60}|\.[0-9]{1,60})?")
_WORD = re.compile(r"[a-z][a-z_]{0,40}")


def in_sql(text: str) -> Wording:
    """A question in SQL."""
    return {"sql": text}


def in_steps(table: str) -> Wording:
    """A question that begins with a table and goes on step by step."""
    return {"table": table, "steps": []}


def then(wording: Wording, verb: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Wording:
    """What was said so far, and one verb more with what it was given."""
    said = [verb, [_encoded(each) for each in arguments], {name: _encoded(each) for name, each in named.items()}]
    return {**wording, "steps": [*wording.get("steps", ()), said]}


def heard(wording: object, schema: Schema) -> Question:
    """The question that was said, checked as if it were said here; BadInput or NotSupported if it is none."""
    if not isinstance(wording, dict) or not _is_text(wording):
        raise _nonsense()
    made = _taken(wording, schema)
    if not isinstance(made, Question):
        raise _nonsense()
    return made


def verbs(kind: type[Any]) -> Mapping[str, inspect.Signature]:
    """What can be said to a frame, to a grouped one, or to a question, and how."""
    return {
        name: inspect.signature(verb)
        for name, verb in vars(kind).items()
        if _WORD.fullmatch(name) and name not in NOT_SAID and inspect.isfunction(verb)
    }


def _taken(wording: Mapping[str, Any], schema: Schema) -> Frame | Grouped | Question:
    made: Any
    match wording:
        case {"sql": str(text), **rest} if rest.keys() <= {"steps"}:
            made = Question(parse(text, schema), schema)
        case {"table": str(name), "steps": list(), **rest} if not rest:
            made = frame(schema, name)
        case _:
            raise _nonsense()
    steps = wording.get("steps", [])
    if not isinstance(steps, list) or len(steps) > STEPS:
        raise _nonsense()
    for each in steps:
        match each:
            case [str(verb), list(arguments), dict(named)] if verb in verbs(type(made)):
                given = [_decoded(a, schema) for a in arguments]
                made = _said(made, verb, given, {name: _decoded(a, schema) for name, a in named.items()})
            case _:
                raise _nonsense()
    return made  # type: ignore[no-any-return]


def _said(made: Any, verb: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    try:
        given = verbs(type(made))[verb].bind(made, *arguments, **named)
    except TypeError:
        raise _nonsense() from None
    for name, value in given.arguments.items():
        parameter = given.signature.parameters[name]
        match parameter.kind:
            case parameter.VAR_POSITIONAL:
                values = list(value)
            case parameter.VAR_KEYWORD:
                values = list(value.values())
            case _:
                values = [value]
        if name != "self" and not all(fits(each, str(parameter.annotation)) for each in values):
            raise _nonsense()
    try:
        return getattr(made, verb)(*arguments, **named)
    except SfumatoError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError):
        raise _nonsense() from None


def fits(value: object, annotation: str) -> bool:
    """Whether a value that came in is one that a verb's parameter takes; Bug for a parameter that nobody thought of."""
    for one in annotation.split(" | "):
        match one:
            case "object" | "Value" | "Number":
                known = value is None or isinstance(value, str | int | Fraction | date)
            case "str":
                known = isinstance(value, str)
            case "int":
                known = isinstance(value, int) and not isinstance(value, bool)
            case "float":
                known = isinstance(value, Fraction)
            case "bool":
                known = isinstance(value, bool)
            case "None":
                known = value is None
            case "Frame" | "Aggregation":
                known = type(value).__name__ == one
            case "Sequence[str]":
                known = isinstance(value, list) and all(isinstance(each, str) for each in value)
            case "Sequence[Number]":
                known = isinstance(value, list) and all(fits(each, "Number") for each in value)
            case "Mapping[str, str]":
                known = isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
            case _ if one.startswith(("OneOf[", "Literal[")):
                known = isinstance(value, str)
            case _:
                raise Bug(f"a verb of frames takes {one}, which cannot travel")
        if known:
            return True
    return False


def _encoded(value: object) -> Any:
    from sfumato.curator.door.recorded import Recorded

    match value:
        case None | bool() | str() | int():
            return value
        case float() | Decimal() | Fraction():
            return {"number": str(fraction(value, name="a parameter"))}
        case date() if type(value) is date:
            return {"day": value.isoformat()}
        case Recorded():
            return {"frame": value.wording}
        case Mapping():
            return {"pairs": {str(key): str(each) for key, each in value.items()}}
        case list() | tuple():
            return [_encoded(each) for each in value]
        case _ if is_dataclass(value) and isinstance(value, Aggregation):
            said = {field.name: getattr(value, field.name) for field in fields(value)}
            return {"aggregate": {name: _encoded(each) for name, each in said.items() if each is not None}}
    raise BadInput("a parameter is of a type that no column has", hint="give a number, a text, a date, True or False")


def _decoded(value: object, schema: Schema) -> Any:
    match value:
        case None | bool() | str() | int():
            return value
        case {"number": str(text), **rest} if not rest and _NUMERAL.fullmatch(text):
            return fraction(text, name="a parameter")
        case {"day": str(text), **rest} if not rest:
            try:
                return date.fromisoformat(text)
            except ValueError:
                raise _nonsense() from None
        case {"frame": {"table": str()} as inner, **rest} if not rest:
            return _taken(inner, schema)
        case {"pairs": dict(pairs), **rest} if not rest:
            return pairs
        case {"aggregate": dict(said), **rest} if not rest:
            return _aggregation({name: _decoded(each, schema) for name, each in said.items()})
        case list():
            return [_decoded(each, schema) for each in value]
    raise _nonsense()


def _aggregation(said: Mapping[str, Any]) -> Aggregation:
    from typing import get_args

    from sfumato.queries.expression import MeasureKind

    known = {field.name for field in fields(Aggregation)}
    if not set(said) <= known or said.get("kind") not in get_args(MeasureKind):
        raise _nonsense()
    if not isinstance(said.get("of"), str | None) or not all(
        isinstance(each, list) and all(isinstance(one, Fraction) for one in each)
        for name, each in said.items()
        if name not in {"kind", "of"}
    ):
        raise _nonsense()
    given: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in said.items()}
    return Aggregation(**given)


def spelled(wording: object) -> str:
    """One spelling for the same words, whether or not they make a question."""
    try:
        return json.dumps(wording, sort_keys=True)
    except (ValueError, TypeError, RecursionError):
        raise _nonsense() from None


def _is_text(wording: object) -> bool:
    """Whether every letter of it can be written down: in a ledger, and in a statement."""
    try:
        json.dumps(wording, ensure_ascii=False).encode()
        return "\\u0000" not in json.dumps(wording)
    except (ValueError, RecursionError):
        return False


def _nonsense() -> BadInput:
    return BadInput(
        "these words make no question",
        hint='send {"sql": "SELECT ..."}, or the steps as sfumato.connect sends them',
    )
