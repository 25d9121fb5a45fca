"""Rows that nobody has: drawn from the policy alone, so that questions can be rehearsed before anything is paid."""

from __future__ import annotations

import hashlib
from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.queries.schema import FIRST_DAY, Column, Schema, Table

if TYPE_CHECKING:
    import pyarrow as pa

STAMP = "DUMMY"
ROWS = 1000
MOST = 1_000_000
_EACH = 3
"""Rows of each unit, about."""
_WORDS, _FEW = 12, 3
"""How many texts stand for those that no policy lists."""
_MISSING = 20
"""One value in so many is missing, where it may be."""


def tables(schema: Schema, rows: int = ROWS) -> dict[str, pa.Table]:
    """A table for each that a question may name: the declared columns, and those that units and links are found by."""
    return {table.name: _Drawn(schema, rows).table(table) for table in schema.tables}


@final
class _Drawn:
    """Values that follow from a table's name, a column's and a row's number: the same policy has the same dummies."""

    def __init__(self, schema: Schema, rows: int) -> None:
        self.schema, self.rows = schema, rows

    def table(self, table: Table) -> pa.Table:
        """Its rows, stamped in the metadata; units and texts say what they are."""
        import pyarrow as pa

        columns = {column.name: self.column(table, column) for column in table.columns}
        for name in sorted(
            {*self.schema.keys(table.name)} | ({table.unit} if table.unit and not table.path else set())
        ):
            declared = table.column(name)
            columns[name] = self.keys(table, name, whole=declared is not None and declared.type == "integer")
        found = pa.table(columns) if columns else pa.table({"one": pa.array([1] * self.rows)})
        return found.replace_schema_metadata({"sfumato": STAMP})

    def column(self, table: Table, column: Column) -> pa.Array:
        import pyarrow as pa

        kinds = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "date": pa.date32()}
        values = [self.value(table, column, row) for row in range(self.rows)]
        return pa.array(values, type=kinds.get(column.type, pa.string()))

    def keys(self, table: Table, name: str, *, whole: bool) -> pa.Array:
        """Units and links: the same few names in every table, so that its rows find each other."""
        import pyarrow as pa

        own = any(step.key == name and step.table == table.name for other in self.schema.tables for step in other.path)
        numbers = [
            row if own else self.below(table.name, name, row, max(1, self.rows // _EACH)) for row in range(self.rows)
        ]
        return pa.array(numbers if whole else [f"{STAMP}-{number}" for number in numbers])

    def value(self, table: Table, column: Column, row: int) -> Any:
        def pick(count: int) -> int:
            return self.below(table.name, column.name, row, count)

        if column.name in table.unique:
            return self.listed(column)[row] if row < len(self.listed(column)) else None
        if column.null != "refuse" and self.below(table.name, f"{column.name}?", row, _MISSING) == 0:
            return None
        match column.type:
            case "boolean":
                return pick(2) == 1
            case "integer" | "number" if column.values is None or column.values == "private":
                low, high = _ends(column)
                step = column.grain or Fraction(1)
                found = low + pick(int((high - low) / step) + 1) * step
                return int(found) if column.type == "integer" else float(found)
            case "date" if column.values is None or column.values == "private":
                first, last = column.range or (date(2020, 1, 1), date(2020, 12, 31))
                assert isinstance(first, date)
                assert isinstance(last, date)
                return max(first, FIRST_DAY) + timedelta(days=pick((last - first).days + 1))
            case _:
                known = self.listed(column)
                found = known[pick(len(known))]
                return float(found) if column.type == "number" else found

    def listed(self, column: Column) -> tuple[Any, ...]:
        """Its public values, or a few words that nobody takes for one."""
        if isinstance(column.values, tuple) and column.values:
            return column.values
        words = _FEW if column.values == "private" else _WORDS  # few enough for groups to pass a threshold
        return tuple(f"{STAMP} {number}" for number in range(words)) if column.type in {"text", "category"} else (1,)

    def below(self, table: str, column: str, row: int, count: int) -> int:
        digest = hashlib.sha256(f"{STAMP}/{table}/{column}/{row}".encode()).digest()
        return int.from_bytes(digest[:16], "big") % max(1, count)


def _ends(column: Column) -> tuple[Fraction, Fraction]:
    if column.range is None:
        return Fraction(0), Fraction(100)
    low, high = column.range
    assert isinstance(low, Fraction)
    assert isinstance(high, Fraction)
    return low, high
