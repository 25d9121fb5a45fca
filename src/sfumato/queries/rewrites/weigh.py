"""Bounding without sampling: every row of a unit weighs the same, and no more than max_rows together."""

from __future__ import annotations

from dataclasses import replace

from sfumato.core import Bug
from sfumato.queries.plan import Plan, Tally, Weigh
from sfumato.queries.rows import alone, owned
from sfumato.queries.schema import Schema

WHOLE = 2**20
"""What a row of full weight weighs. A weight is a whole number of millionths, roughly."""


def weighed(plan: Plan, schema: Schema) -> Plan:
    """Weights attach to the last relation of rows, so that n counts what every filter and derivation has left."""
    if not isinstance(plan, Tally) or isinstance(plan.child, Weigh):
        raise Bug("only a tally of unweighed rows can be weighed")
    rows = plan.child
    if not owned(rows):
        raise Bug("rows of nobody were about to be weighed")
    if alone(rows):
        return replace(plan, child=Weigh(rows, 1, 1))
    return replace(plan, child=Weigh(rows, schema.unit.max_rows, WHOLE))
