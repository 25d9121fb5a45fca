"""A scan becomes a read: only the columns the question needs, each normalised by its public declaration."""

from __future__ import annotations

from dataclasses import replace

from sfumato.core import Bug
from sfumato.queries.expression import fields
from sfumato.queries.plan import Aggregate, Filter, Having, Limit, Plan, Read, Scan, Select, Sort
from sfumato.queries.schema import Schema


def normalised(plan: Plan, schema: Schema) -> Plan:
    """Every Scan below an Aggregate reads the declared columns that its conditions, keys and measures name."""
    match plan:
        case Having() | Sort() | Limit() | Select():
            return replace(plan, child=normalised(plan.child, schema))  # type: ignore[arg-type]
        case Aggregate(child, keys, measures):
            wanted = frozenset().union(*map(fields, keys), *map(fields, measures))
            return replace(plan, child=_read(child, schema, wanted))
        case _:
            raise Bug("only an aggregated question can be bounded")


def _read(plan: Plan, schema: Schema, wanted: frozenset[str]) -> Filter | Read:
    match plan:
        case Filter(child, conditions):
            return Filter(_read(child, schema, wanted.union(*map(fields, conditions))), conditions)
        case Scan(name):
            table = schema.table(name)
            if table is None:
                raise Bug("a question reads a table that its schema does not have")
            columns = tuple(sorted((c for c in table.columns if c.name in wanted), key=lambda column: column.name))
            return Read(name, table.unit, columns)
        case _:
            raise Bug("this cannot be read row by row")
