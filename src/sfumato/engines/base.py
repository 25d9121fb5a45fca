"""What every engine offers: a dialect, the types of its tables, and the exact answer to one statement as Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, final, runtime_checkable

from sfumato.core import EngineFailed

Type = Literal["integer", "number", "category", "text", "boolean", "date"]


UNITS = ""
"""The set of the columns that name units."""


@final
@dataclass(frozen=True, slots=True)
class Source:
    """Where a table's rows are, and what its columns are to be read as.

    `location` is "csv:PATH", "parquet:GLOB" or "duckdb:FILE:TABLE"; `data` is a table in memory instead. Values that
    cannot be read as their type are NULL, and so are the texts in `missing`. The column that names the unit, and the
    `keys` that lead from table to table, keep every value apart: none is read as a number that two spellings could share.
    `keys` gives each such column the name of the set of columns that it is compared with, and an engine reads all of one
    set alike; the columns that name units are a set too. A moment of a known offset is of the day that it falls on in
    `timezone`, wherever the engine runs.
    """

    columns: Mapping[str, Type]
    location: str | None = None
    data: Any = None
    unit: str | None = None
    counts: str | None = None
    missing: tuple[str, ...] = field(default=("",))
    keys: Mapping[str, str] = field(default_factory=dict)
    timezone: str = "UTC"

    @property
    def matched(self) -> dict[str, str]:
        """Every column that rows are matched by, with the name of its set."""
        return ({} if self.unit is None else {self.unit: UNITS}) | dict(self.keys)


@runtime_checkable
class Engine(Protocol):
    """Computes exact answers. Integers come as 64-bit, numbers as doubles, categories and text as strings, dates as dates."""

    dialect: str

    def schema(self, table: str) -> dict[str, str]:
        """The columns of a table, hidden ones too, and the engine's names for their types."""
        ...

    def look(self) -> None:
        """Refuse if a table is no longer what it was opened as, or can no longer be reached: asked before every charge."""
        ...

    def execute(self, sql: str) -> Any:
        """The statement's result as a pyarrow Table; any failure is `failure()`, without the engine's words."""
        ...


def failure() -> EngineFailed:
    """The one sentence for every failure: what the engine says could hold data."""
    return EngineFailed(
        "the engine could not compute the exact answer; what it reported is not shown, because it may hold data",
        hint="the owner can look at the source with `sfumato doctor`",
    )
