"""What a question may speak about: tables, columns, their public ranges and keys, and the unit that is protected.

All of it is public knowledge declared by the owner; nothing here is ever read from rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Literal, final

from sfumato.core import BadPolicy, Relation

Kind = Literal["integer", "number", "category", "text", "boolean", "date"]
Value = int | Fraction | str | bool | date | None
Bounds = tuple[Fraction, Fraction] | tuple[date, date]

KINDS: tuple[Kind, ...] = ("integer", "number", "category", "text", "boolean", "date")
FIRST_DAY, LAST_DAY = date(1, 1, 1), date(9999, 12, 31)
WIDEST = 2**49  # steps of a number column: below this, the way from a double to its step is exact at both ends


@final
@dataclass(frozen=True, slots=True)
class Column:
    """One column: its type, the public range and keys, what becomes of NULL, and the step of its grid."""

    name: str
    type: Kind
    range: Bounds | None = None
    values: tuple[Value, ...] | Literal["private"] | None = None
    ordered: bool = False
    null: Literal["group", "drop", "refuse"] = "drop"
    grain: Fraction | None = None

    def __post_init__(self) -> None:
        if self.type not in KINDS:
            raise self._wrong(f"has the unknown type {self.type}", f"use one of {', '.join(KINDS)}")
        self._check_range()
        self._check_values()

    def _check_range(self) -> None:
        match self.type:
            case "integer" | "number":
                if self.range is not None:
                    low, high = (Fraction(bound) for bound in self.range if not isinstance(bound, date))
                    object.__setattr__(self, "range", (low, high))
                grain = _default_grain(self) if self.grain is None else Fraction(self.grain)
                if self.type == "integer" and grain != 1:
                    raise self._wrong("is an integer with a grain", "drop the grain, or say type = 'number'")
                if grain <= 0 or min(grain.numerator, grain.denominator) != 1:
                    raise self._wrong("has a grain that is not a whole number or one over one", "use 0.01, 0.5 or 1000")
                object.__setattr__(self, "grain", grain)
                self._check_steps(grain)
            case "date":
                if self.range is not None and not all(isinstance(bound, date) for bound in self.range):
                    raise self._wrong("is a date with a range that is not of dates", "write [2020-01-01, 2030-12-31]")
            case "category" | "text" | "boolean":
                if self.range is not None:
                    raise self._wrong("has a range, which only numbers and dates have", "remove the range")
        if self.range is not None and self.range[0] > self.range[1]:  # type: ignore[operator]
            raise self._wrong("has a range that ends before it starts", "write [low, high]")

    def _check_steps(self, grain: Fraction) -> None:
        if self.range is None:
            return
        for bound in self.range:
            assert isinstance(bound, Fraction)
            if (bound / grain).denominator != 1:
                raise self._wrong("has a range that does not lie on its grain", "choose a grain that divides both ends")
            if abs(bound / grain) > WIDEST:
                raise self._wrong("has too wide a range for its grain", "narrow the range or widen the grain")

    def _check_values(self) -> None:
        if self.values is None or self.values == "private":
            return
        wanted = {"integer": int, "number": (int, Fraction), "boolean": bool, "date": date}.get(self.type, str)
        for value in self.values:
            if not isinstance(value, wanted) or (isinstance(value, bool) and self.type != "boolean"):  # type: ignore[arg-type]
                raise self._wrong("lists a key of another type", f"every key of this column is of type {self.type}")
        if len(set(self.values)) != len(self.values):
            raise self._wrong("lists a key twice", "list every key once")
        grain = self.grain or Fraction(1)
        if self.type == "number" and any((Fraction(value) / grain).denominator != 1 for value in self.values):  # type: ignore[arg-type]
            raise self._wrong("lists a key between the steps of its grain", f"its grain is {grain}: give a finer one")

    def _wrong(self, what: str, hint: str) -> BadPolicy:
        return BadPolicy(f"column {self.name} {what}", hint=hint)


def _default_grain(column: Column) -> Fraction:
    """A power of ten with 2 000 to 20 000 steps in the range, or finer if an end needs it: 0.01 for a percentage."""
    if column.type == "integer" or column.range is None:
        return Fraction(1)
    low, high = (Fraction(bound) for bound in column.range if not isinstance(bound, date))
    grain = Fraction(10) ** len(str(int(high - low)))
    while 0 < (high - low) / grain < 2000 or not all((bound / grain).denominator == 1 for bound in (low, high)):
        grain /= 10
        if grain < Fraction(1, 10**15):
            return Fraction(1)
    return grain


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A declared foreign key: `column` of the table at hand holds a `key` of `table`, and the row's unit is found there."""

    column: str
    table: str
    key: str


@final
@dataclass(frozen=True, slots=True)
class Table:
    """One table: the columns that may be named, and the column that says whose row it is.

    `size` is a public, approximate number of rows: it only decides how finely sums may be kept. With a `path`, `unit` is
    a column of the table that its last step leads to. `unique` names columns that hold each value once.
    """

    name: str
    columns: tuple[Column, ...]
    unit: str | None = None
    public: bool = False
    size: int | None = None
    path: tuple[Step, ...] = ()
    unique: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [column.name.casefold() for column in self.columns]
        if len(set(names)) != len(names):
            raise BadPolicy(f"table {self.name} declares a column twice", hint="declare every column once")

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)


@final
@dataclass(frozen=True, slots=True)
class Levels:
    """The coarser levels of a column's public list: a public table of them, coarse to fine, the key itself last.

    `paths` are the rows of that table without the key, in the order of the column's values.
    """

    table: str
    column: str
    lookup: Table
    paths: tuple[tuple[str, ...], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """Who is protected, what "differ by one unit" means, and how many rows of each may count."""

    kind: str = "person"
    neighbours: Relation = Relation.ADD_REMOVE
    max_rows: int = 1
    max_groups: int | None = None
    fact: bool = False
    """Whether it is known that nobody has more than max_rows rows in a table: then a count is of rows, and says so."""

    def __post_init__(self) -> None:
        if self.max_rows < 1 or (self.max_groups is not None and self.max_groups < 1):
            raise BadPolicy("a bound of the unit is below 1", hint="let max_rows and max_groups be 1 or more")


@final
@dataclass(frozen=True, slots=True)
class Schema:
    """The tables that a question may name, and the unit protected in all of them."""

    tables: tuple[Table, ...]
    unit: Unit = field(default_factory=Unit)
    levels: tuple[Levels, ...] = ()

    def table(self, name: str) -> Table | None:
        every = (*self.tables, *(levels.lookup for levels in self.levels))
        return next((table for table in every if table.name == name), None)

    def keys(self, name: str) -> frozenset[str]:
        """The columns of a table that declared foreign keys use, on either side."""
        steps = [(table.name, table.path[0]) for table in self.tables if table.path]
        own = {step.column for table, step in steps if table == name}
        return frozenset(own | {step.key for _, step in steps if step.table == name})
