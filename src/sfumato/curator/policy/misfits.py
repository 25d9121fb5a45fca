"""What pydantic found wrong with a policy file, in our words and with the nearest known name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from sfumato.curator.policy.document import Document, part_at
from sfumato.curator.policy.problem import Problem, section

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_TYPES = {
    "string_type": "must be text, in quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list in brackets",
    "dict_type": "must be a table",
    "mapping_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}


def validated(raw: Mapping[str, Any]) -> tuple[Document | None, list[Problem]]:
    """The document, or what keeps the file from being one."""
    from pydantic import ValidationError

    try:
        return Document.model_validate(raw), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    mistyped = {(each["loc"][:-1], _nearest(each["loc"])) for each in details if each["type"] == "extra_forbidden"}
    return None, [
        _problem(each)
        for each in details
        if each["type"] != "missing" or (each["loc"][:-1], each["loc"][-1]) not in mistyped
    ]


def _problem(error: ErrorDetails) -> Problem:
    path, kind = error["loc"], error["type"]
    name, inside = str(path[-1]), section(path[:-1])
    match kind:
        case "extra_forbidden":
            nearest = _nearest(path)
            hint = f"did you mean {nearest}?" if nearest else f"its keys are {', '.join(_known(path[:-1]))}"
            return Problem(path, f"{inside} has no key {name}", hint, about="key")
        case "missing":
            what = f"[{name}]" if len(path) == 1 else name
            return Problem(path, f"{what} is missing in {inside}", _example(path), about="key")
        case "literal_error":
            return Problem(
                path, f"{_shown(path)} has a value that is not on the list", f"write one of {_choices(error)}"
            )
        case "string_pattern_mismatch":
            return Problem(
                path,
                f"{_shown(path)} holds something other than letters, digits, dots and dashes, or is too long",
                "`sfumato init` writes one, where there is none",
            )
        case "greater_than_equal":
            return Problem(path, f"{_shown(path)} must be {error['ctx']['ge']} or more", "write a larger number")
        case "value_error":
            return Problem(path, f"{_shown(path)} {error['ctx']['error']}", _example(path))
        case _:
            return Problem(path, f"{_shown(path)} {_TYPES.get(kind, 'has a value of the wrong kind')}", _example(path))


def _shown(path: tuple[str | int, ...]) -> str:
    """The name of what is wrong: an item of a list by the list's name."""
    named = path[:-1] if isinstance(path[-1], int) else path
    return f"{named[-1]} in {section(named[:-1])}" if len(named) > 1 else f"[{named[-1]}]"


def _choices(error: ErrorDetails) -> str:
    return str(error["ctx"]["expected"]).replace(" or ", ", ")


def _known(path: tuple[str | int, ...]) -> list[str]:
    part = part_at(path)
    return [] if part is None else list(part.model_fields)


def _nearest(path: tuple[str | int, ...]) -> str | None:
    return next(iter(get_close_matches(str(path[-1]), _known(path[:-1]), n=1)), None)


def _example(path: tuple[str | int, ...]) -> str:
    """A line that would do."""
    name = next((str(part) for part in reversed(path) if isinstance(part, str)), "")
    if "per_analyst" in path:
        return "write per_analyst = { default = 1.0 }"
    return f"write {_EXAMPLES[name]}" if name in _EXAMPLES else f"see `sfumato policy schema` for {name}"


_EXAMPLES = {
    "dataset": "[dataset], with name, id and version",
    "unit": '[unit] with kind = "person", or in a table the column of the unit: unit = "person_id"',
    "budget": "[budget], with epsilon = 1.0",
    "tables": "[tables.NAME], with source and unit",
    "columns": "[tables.NAME.columns.COLUMN]",
    "answers": "[answers], with confidence = 0.95",
    "ledger": '[ledger], with at = "sqlite:FILE"',
    "name": 'name = "adult"',
    "id": "the id that `sfumato init` made; `sfumato init --policy FILE` gives a new data set one",
    "version": 'version = "2026-11"',
    "size": "size = 50_000",
    "missing": 'missing = ["", "NA"]',
    "timezone": 'timezone = "Europe/Paris"',
    "contact": 'contact = "dpo@example.org"',
    "kind": 'kind = "person"',
    "max_rows": "max_rows = 1",
    "max_groups": "max_groups = 5",
    "max_rows_is_fact": "max_rows_is_fact = true",
    "epsilon": "epsilon = 1.0",
    "delta": "delta = 1e-6",
    "source": 'source = "csv:people.csv"',
    "public": "public = true",
    "unique": 'unique = ["code"]',
    "type": 'type = "integer"',
    "range": "range = [0, 100], or two dates without quotes",
    "why": 'why = "limits of the questionnaire"',
    "values": 'values = ["F", "M"], "private" or "csv:FILE:COLUMN"',
    "ordered": "ordered = true",
    "null": 'null = "group"',
    "levels": 'levels = ["chapter", "code"]',
    "grain": "grain = 0.01",
    "confidence": "confidence = 0.95",
    "post_process": 'post_process = ["nonnegative"]',
    "at": 'at = "sqlite:FILE"',
}
