"""How a CSV file is read: settled by its first line, which holds names. What is guessed from rows would depend on one."""

from __future__ import annotations

import csv

from sfumato.core import BadInput

SEPARATORS = (",", ";", "\t", "|")
QUOTE = '"'


def separator(line: str) -> str:
    """The separator that gives the header the most names; a comma where it has one name."""
    return max(SEPARATORS, key=lambda each: len(_cells(line, each)))


def names(line: str) -> tuple[str, ...]:
    """The names of the columns, each once: empty ones are called by their place, and later ones of a name are numbered."""
    found: dict[str, None] = {}
    for place, cell in enumerate(_cells(line, separator(line))):
        name = first = cell or f"column{place}"
        number = 0
        while name.lower() in map(str.lower, found):
            number += 1
            name = f"{first}_{number}"
        found[name] = None
    if not found:
        raise BadInput("a CSV file is empty", hint="its first line names the columns", code="SF019")
    return tuple(found)


def _cells(line: str, separated: str) -> list[str]:
    return next(csv.reader([line.removeprefix("\ufeff")], delimiter=separated, quotechar=QUOTE), [])
