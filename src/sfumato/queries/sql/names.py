"""What names mean in one place of a question: rows, the columns of each table under its name, and which is the unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import final

from sfumato.core import NotSupported
from sfumato.queries.expression import Field
from sfumato.queries.infer import visible
from sfumato.queries.plan import Rows, Scan
from sfumato.queries.rename import named, tagged
from sfumato.queries.schema import Schema, Table
from sfumato.queries.sql.scalar import Typed


@final
@dataclass(frozen=True, slots=True)
class Relation:
    """Rows, what each of their visible columns is, and what is known of the fields below.

    `units` are the fields that hold the unit on every row. `links` are fields with the table and key that a declared
    foreign key leads to, `keys` such keys themselves. `uniques` hold each value once. Rows that are not `owned` are public.
    `limits` are the ranges that counts and sums of one unit are taken to have where one is needed.
    """

    rows: Rows
    columns: Mapping[str, Typed]
    fields: frozenset[str]
    units: frozenset[str] = frozenset()
    links: frozenset[tuple[str, str, str]] = frozenset()
    keys: frozenset[tuple[str, str, str]] = frozenset()
    uniques: frozenset[str] = frozenset()
    owned: bool = True
    limits: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)

    def is_unit(self, of: Typed) -> bool:
        return isinstance(of.expression, Field) and of.expression.name in self.units

    def tagged(self, tag: str) -> Relation:
        """The same rows, their fields called `tag` and what they were called."""
        return replace(
            self,
            rows=tagged(self.rows, tag),
            columns={name: replace(of, expression=named(of.expression, tag)) for name, of in self.columns.items()},
            fields=frozenset(tag + name for name in self.fields),
            units=frozenset(tag + name for name in self.units),
            links=frozenset((tag + name, table, key) for name, table, key in self.links),
            keys=frozenset((tag + name, table, key) for name, table, key in self.keys),
            uniques=frozenset(tag + name for name in self.uniques),
            limits={tag + name: limit for name, limit in self.limits.items()},
        )


def relation_of(table: Table, schema: Schema) -> Relation:
    """A table as it is, with the columns that the policy names, the unit to be counted, and the keys to be joined."""
    keys = schema.keys(table.name)
    columns = {name: Typed(Field(name), kind) for name, kind in visible(table, keys).items()}
    # The unit of a linked table stands at the end of its path; a column of the table's own may have the same name.
    mine = table.unit is not None and not (table.path and table.column(table.unit) is not None)
    return Relation(
        Scan(table.name),
        columns,
        frozenset(columns),
        units=frozenset({table.unit}) if mine and table.unit is not None else frozenset(),
        links=frozenset((step.column, step.table, step.key) for step in table.path[:1]),
        keys=frozenset((key, table.name, key) for key in keys),
        uniques=frozenset(table.unique) if table.public else frozenset(),
        owned=not table.public,
    )


@final
@dataclass(frozen=True, slots=True)
class Names:
    """Columns by name: computed ones first, then those of each table under its own name; `shared` ones are the same in all.

    `levels` are the columns that LEVEL(field, name) stands for.
    """

    parts: tuple[tuple[str, Mapping[str, Typed]], ...]
    shared: frozenset[str] = frozenset()
    computed: Mapping[str, Typed] = field(default_factory=dict)
    levels: Mapping[tuple[str, str], Typed] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether a name without a table means a column."""
        return any(lookup(columns, name) is not None for columns in self._searched())

    def find(self, name: str, table: str = "") -> Typed:
        """The column of this name; refuses what is hidden, and what could be one of two."""
        if table:
            parts = [columns for alias, columns in self.parts if alias == table.casefold()]
            if not parts:
                raise NotSupported("this table is not the one in FROM", hint="use its name or its alias", code="SF021")
            found = [lookup(columns, name) for columns in parts]
        else:
            found = list(self.candidates(name))
        known = [each for each in found if each is not None]
        if not known:
            raise hidden()
        if len(known) > 1 and name.casefold() not in self.shared:
            raise NotSupported(
                "two tables have a column of this name", hint="write the table before it: table.column", code="SF021"
            )
        return known[0]

    def candidates(self, name: str) -> list[Typed]:
        """What a name without a table could mean."""
        own = lookup(self.computed, name)
        found = [own] if own is not None else [lookup(columns, name) for _, columns in self.parts]
        return [each for each in found if each is not None]

    def every(self) -> dict[str, Typed]:
        """All columns, as * lists them."""
        return {name: self.find(name) for columns in self._searched() for name in columns}

    def _searched(self) -> tuple[Mapping[str, Typed], ...]:
        return (*(columns for _, columns in self.parts), self.computed)


def lookup(columns: Mapping[str, Typed], name: str) -> Typed | None:
    """By its exact name, or by the only one that differs in case."""
    if name in columns:
        return columns[name]
    close = [each for each in columns if each.casefold() == name.casefold()]
    return columns[close[0]] if len(close) == 1 else None


def shown(of: Typed) -> None:
    """Refuses what may be counted or joined on, and nothing else: the unit, and the keys of links."""
    if of.type.kind == "unit":
        raise NotSupported(
            "the column that names the unit is hidden",
            hint="it can be counted with COUNT(DISTINCT ...), or declared in the policy as a column",
            code="SF022",
        )
    if of.type.kind == "key":
        raise NotSupported(
            "this column leads from one table to another, and is hidden otherwise",
            hint="it can stand in ON; declare it in the policy as a column to do more with it",
            code="SF022",
        )


def hidden() -> NotSupported:
    return NotSupported(
        "this column is not declared in the policy: hidden, or not there at all",
        hint="see `sfumato tables` for what can be asked",
        code="SF022",
    )
