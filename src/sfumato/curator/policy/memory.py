"""Tables in memory as an engine opens them, by what is public of them: which columns are matched, and lists with levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.engines.base import UNITS, Source
from sfumato.queries.schema import Column, Levels, Schema


def in_memory(schema: Schema, tables: Mapping[str, Any]) -> dict[str, Source]:
    """Every table of the schema, given as data, and its public lists."""
    matched = matched_keys(schema)
    given = {
        table.name: Source(
            {column.name: column.type for column in table.columns},
            data=tables[table.name],
            unit=None if table.path else table.unit,
            keys=matched[table.name],
        )
        for table in schema.tables
    }
    return {**given, **lookups(schema)}


def lookups(schema: Schema) -> dict[str, Source]:
    """The public lists whose levels may be asked for."""
    import pyarrow as pa

    found = {}
    for levels in schema.levels:
        names = [column.name for column in levels.lookup.columns]
        rows = [(*above, str(key)) for key, above in zip(_listed(levels, schema), levels.paths, strict=True)]
        data = pa.table({name: pa.array([row[n] for row in rows], pa.string()) for n, name in enumerate(names)})
        types = {column.name: column.type for column in levels.lookup.columns}
        found[levels.lookup.name] = Source(types, data=data, missing=())
    return found


def _listed(levels: Levels, schema: Schema) -> tuple[Any, ...]:
    table = schema.table(levels.table)
    column: Column | None = None if table is None else table.column(levels.column)
    return column.values if column is not None and isinstance(column.values, tuple) else ()


def matched_keys(schema: Schema) -> dict[str, dict[str, str]]:
    """For each table the columns that declared foreign keys compare, with one name for all that are compared together."""
    names = {(table.name, table.unit): UNITS for table in schema.tables if table.unit is not None and not table.path}
    pairs = [((table.name, table.path[0].column), table.path[0]) for table in schema.tables if table.path]
    for here, step in pairs:
        there = (step.table, step.key)
        name = min(names.get(here, f"{step.table}.{step.key}"), names.get(there, f"{step.table}.{step.key}"))
        for old in {names.get(here), names.get(there)} - {None}:
            names.update({each: name for each, known in names.items() if known == old})
        names[here] = names[there] = name
    return {
        table.name: {column: name for (owner, column), name in names.items() if owner == table.name and column}
        for table in schema.tables
    }
