"""Data on stdout: a table for people, JSON or CSV for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import click


def as_json(value: Any) -> None:
    """One JSON value, readable; keys stay in their order."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def as_table(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> None:
    """Left-aligned columns under their names."""
    widths = [max(len(name), *(len(row[name]) for row in rows), 0) if rows else len(name) for name in columns]
    for cells in (columns, *([row[name] for name in columns] for row in rows)):
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        click.echo(f" {line}".rstrip())


def as_csv(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> None:
    """RFC 4180, with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row[name] for name in columns] for row in rows)
    click.echo(text.getvalue(), nl=False)


def records(rows: Sequence[Mapping[str, str]], columns: Sequence[str], *, form: str) -> None:
    """The same rows in the form that was asked for."""
    match form:
        case "json":
            as_json([{name: row[name] for name in columns} for row in rows])
        case "csv":
            as_csv(rows, columns)
        case _:
            as_table(rows, columns)
