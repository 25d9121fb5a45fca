"""Public keys that stand in a file of their own: `values = "csv:icd10.csv:code"`."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import final

from sfumato.core.canonical import digest
from sfumato.queries.schema import Kind, Value

LONGEST = 1_000_000
"""No public list is longer: a question over it would be refused anyway."""


@final
@dataclass(frozen=True, slots=True)
class PublicList:
    """The keys in the order of the file, each once, with their coarser levels; the digest is of both."""

    keys: tuple[Value, ...]
    levels: tuple[tuple[str, ...], ...]
    digest: str


def read(values: str, *, folder: Path, kind: Kind, levels: tuple[str, ...]) -> PublicList:
    """ValueError with what is wrong with the list, which is public."""
    file, colon, column = values.removeprefix("csv:").rpartition(":")
    if not colon or not file or not column:
        raise ValueError('is not "csv:FILE:COLUMN"')
    try:
        with (folder / file).open(newline="", encoding="utf-8-sig") as handle:
            found = dict(_keys(csv.DictReader(handle), column, levels, kind))
    except OSError:
        raise ValueError(f"names the file {file}, which cannot be read") from None
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"names the file {file}, which is not a CSV file in UTF-8") from None
    if not found:
        raise ValueError(f"names the file {file}, which holds no key")
    texts = {str(key): list(level) for key, level in found.items()}
    return PublicList(tuple(found), tuple(found.values()), digest({"keys": list(texts), "levels": texts}))


def _keys(
    rows: csv.DictReader[str], column: str, levels: tuple[str, ...], kind: Kind
) -> Iterable[tuple[Value, tuple[str, ...]]]:
    header = rows.fieldnames or ()
    for name in (column, *levels):
        if name not in header:
            raise ValueError(f"needs the column {name}, which the file does not have")
    seen: dict[Value, tuple[str, ...]] = {}
    for row in rows:
        text = (row[column] or "").strip()
        if not text:
            continue
        key = _read_as(text, kind)
        above = tuple((row[name] or "").strip() for name in levels[:-1])
        if seen.setdefault(key, above) != above:
            raise ValueError(f"puts one key under two different levels, in line {rows.line_num} of its file")
        if len(seen) > LONGEST:
            raise ValueError(f"lists more than {LONGEST:,} keys")
    return seen.items()


def _read_as(text: str, kind: Kind) -> Value:
    try:
        match kind:
            case "integer":
                return int(text)
            case "number":
                return Fraction(text)
            case "date":
                return date.fromisoformat(text)
            case _:
                return text
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"lists a key that is not of type {kind}") from None
