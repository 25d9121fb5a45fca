"""A published table: keys and numbers, each number with its bar, its unbiased value and the scale of its noise."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Literal, final

from sfumato.core.errors import Bug

ENDS = ("", "_low", "_high", "_unbiased", "_scale")
"""What each number has: a value fit to be shown, the ends of its bar, what the noise left, and the noise's scale."""

Drawn = Literal["bars", "points", "grid", "nothing"]


@final
@dataclass(frozen=True)
class Table:
    """Rows by name of column. `measured` columns have the five ends; the others are public keys, or plain values."""

    name: str
    columns: tuple[str, ...]
    measured: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    drawn: Drawn = "bars"
    whole: frozenset[str] = field(default_factory=frozenset)
    """Measured columns whose shown values are whole numbers."""
    notes: frozenset[str] = field(default_factory=frozenset)
    """Columns that are neither keys nor measured: they say something of the others, and are not drawn."""

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The columns of the file, in order."""
        return tuple(
            f"{name}{end}" if name in self.measured else name
            for name in self.columns
            for end in (ENDS if name in self.measured else ("",))
        )

    def csv(self) -> str:
        """RFC 4180 with a header; a number is written with the digits that bring it back, a missing one as nothing."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.fields)
        writer.writerows([_text(row[name]) for name in self.fields] for row in self.rows)
        return text.getvalue()

    def to_arrow(self) -> Any:
        """A pyarrow Table; numbers that are not whole are doubles."""
        import pyarrow as pa

        floats = {f"{name}{end}" for name in self.measured for end in ENDS} - self.whole
        return pa.table(
            {
                name: pa.array([row[name] for row in self.rows], pa.float64() if name in floats else self._type(name))
                for name in self.fields
            }
        )

    def _type(self, name: str) -> Any:
        """The type of a key: read off its values, text when there are none."""
        import pyarrow as pa

        kinds = {type(row[name]) for row in self.rows} - {type(None)}
        if name in self.whole or kinds == {int}:
            return pa.int64()
        if name in self.notes:
            return pa.float64()
        types = {bool: pa.bool_(), float: pa.float64(), date: pa.date32(), str: pa.string()}
        if not kinds:
            return pa.string()
        if len(kinds) > 1 and kinds <= {int, float}:
            return pa.float64()
        if len(kinds) > 1 or next(iter(kinds)) not in types:
            raise Bug("a published column holds values of several kinds")
        return types[next(iter(kinds))]


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value)
        case date():
            return value.isoformat()
        case _:
            return str(value)
