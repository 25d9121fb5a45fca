"""A policy that was written by hand, made ready for its ledger: it holds together, and it has a name for ever."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from sfumato.core.errors import BadPolicy
from sfumato.curator.policy.policy import Policy
from sfumato.curator.policy.propose import identifier

_HEADER = re.compile(r"^[ \t]*\[[ \t]*dataset[ \t]*\][^\n]*\n", re.MULTILINE)


def identified(text: str) -> str:
    """The text with a random id in [dataset], where it has none; every other letter stays as it is.

    The budget belongs to the id, and two data sets of one id would share it: so nobody has to think of one.
    """
    try:
        raw = tomllib.loads(text)
    except ValueError:
        return text  # reading it says what is wrong, and where
    section = raw.get("dataset")
    found = _HEADER.search(text)
    if not isinstance(section, dict) or "id" in section or found is None:
        return text
    line = f'id = "{identifier()}"  # random; the budget belongs to it, so it never changes\n'
    return text[: found.end()] + line + text[found.end() :]


def adopted(path: Path) -> tuple[Policy | None, tuple[BadPolicy, ...], str]:
    """The policy in a file with its id, all that is wrong with it, and the text with the id. Nothing is written."""
    from sfumato.curator.policy.scan import look

    policy, wrong = Policy.read(path)
    text = path.read_bytes().decode("utf-8-sig")
    named = text if policy is not None else identified(text)
    if named != text:
        policy, wrong = Policy.examine(named, folder=path.parent.absolute(), name=path.name)
    found = wrong if policy is None else look(policy).problems
    return policy, tuple(_as_written(error, text, named) for error in found), named


def _as_written(error: BadPolicy, text: str, named: str) -> BadPolicy:
    """The complaint at its place in the file as its author has it, who has not seen the line with the id."""
    lines = zip(text.splitlines(), named.splitlines(), strict=False)
    inserted = next((n for n, (one, other) in enumerate(lines, start=1) if one != other), None)
    if error.line is None or inserted is None or error.line < inserted:
        return error
    return BadPolicy(error.message, hint=error.hint, code=error.code, line=error.line - 1, column=error.column)
