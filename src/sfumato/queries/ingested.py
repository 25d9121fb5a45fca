"""What an ingest has found out about a table, so that a question to all of it need not count again: the same answer, sooner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

from sfumato.core import Bug
from sfumato.queries.expression import Call, Expression, Field, Literal, call
from sfumato.queries.plan import Filter, Read, Rowwise, Tally, Weigh
from sfumato.queries.schema import Column, Table


@final
@dataclass(frozen=True, slots=True)
class Ingested:
    """`counts` names the column that says how many rows of the table the row's unit has. In no row is a column in `complete`
    NULL, or outside of its public list when it has one."""

    counts: str
    complete: frozenset[str] = frozenset()


def counted_at_ingest(tally: Tally, ingested: Mapping[str, Ingested]) -> Tally:
    """The same tally with the rows of each unit counted by an ingest, where its conditions leave every row of the table.

    A filter that leaves fewer rows leaves a unit fewer, and a join more or fewer; then they are counted as they are left.
    """
    weigh = tally.child
    if not isinstance(weigh, Weigh):
        raise Bug("a tally without weights was about to be counted")
    if tally.most is not None:
        return tally  # rows outside of a unit's first groups are left out, so it has fewer than were counted
    match weigh.child:
        case Read(unit=str(), path=()) as read:
            conditions: tuple[Expression, ...] = ()
        case Filter(Read(unit=str(), path=()) as read, conditions):
            pass
        case _:
            return tally
    found = ingested.get(read.table)
    if found is None or not all(_holds(condition, read, found.complete) for condition in conditions):
        return tally
    return replace(tally, child=replace(weigh, child=replace(read, counts=found.counts), counted="ingest"))


def _holds(condition: Expression, read: Read, complete: frozenset[str]) -> bool:
    """Whether a condition is true in every row, as far as can be told from what is complete."""
    match condition:
        case Call("not", (Call("is_null", (Field(name),)),)):
            return name in complete
        case Call("in", (Field(name), *listed)):
            values = next(column.values for column in read.columns if column.name == name)
            return (
                name in complete
                and isinstance(values, tuple)
                and set(values) <= {each.value for each in listed if isinstance(each, Literal)}
            )
        case Call("or", parts):
            return any(_holds(part, read, complete) for part in parts)
        case _:
            return False


def incomplete(table: Table, column: Column) -> Tally:
    """One exact cell: in how many rows of the table the column is NULL, or not on its list. For the owner's own ingest."""
    field = Field(column.name)
    outside: Expression = call("is_null", field)
    if isinstance(column.values, tuple) and column.values:
        outside = call("or", outside, call("not", call("in", field, *map(Literal, column.values))))
    rows = Filter(Read(table.name, None, (column,)), (outside,))
    return Tally(Weigh(rows, 1, 1), (), (Rowwise("count"),))
