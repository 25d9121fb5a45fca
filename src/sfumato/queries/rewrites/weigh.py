"""Bounding without sampling: every row of a unit weighs the same, and no more than max_rows together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.core import Bug
from sfumato.queries.plan import Filter, Plan, Read, Tally, Weigh
from sfumato.queries.schema import Schema

WHOLE = 2**20
"""What a row of full weight weighs. A weight is a whole number of millionths, roughly."""


def weighed(plan: Plan, schema: Schema) -> Plan:
    """Weights attach to the last relation of rows, so that n counts what every filter and derivation has left."""
    if not isinstance(plan, Tally) or isinstance(plan.child, Weigh):
        raise Bug("only a tally of unweighed rows can be weighed")
    rows = plan.child
    whole = 1 if _read(rows).unit is None else WHOLE
    return replace(plan, child=Weigh(rows, schema.unit.max_rows, whole))


def _read(rows: object) -> Read:
    while isinstance(rows, Filter):
        rows = rows.child
    if not isinstance(rows, Read):
        raise Bug("rows were weighed before they were normalised")
    return rows


def counted_at_ingest(tally: Tally, counts: Mapping[str, str]) -> Tally:
    """The same weights from row counts that an ingest wrote beside every row, in the columns `counts` names by table.

    They count the whole table, so they take the place of n only where the whole table is left: the same answer, sooner.
    """
    weigh = tally.child
    if not isinstance(weigh, Weigh):
        raise Bug("a tally without weights was about to be counted")
    match weigh.child:
        case Read(table=table, unit=str()) as read if table in counts:
            whole = replace(read, counts=counts[table])
            return replace(tally, child=replace(weigh, child=whole, counted="ingest"))
        case _:
            return tally
