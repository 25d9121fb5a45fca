"""A scan becomes a read: only the columns the question needs, each normalised by its public declaration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never, final

from sfumato.core import Bug
from sfumato.queries.expression import Expression, fields
from sfumato.queries.plan import (
    Aggregate,
    Derive,
    Filter,
    Fold,
    Gather,
    Having,
    Join,
    Limit,
    Over,
    Plan,
    Read,
    Rows,
    Scan,
    Select,
    Sort,
    Window,
    scans_of,
)
from sfumato.queries.schema import Schema


def normalised(plan: Plan, schema: Schema) -> Plan:
    """Every Scan below an Aggregate reads the declared columns that its conditions, keys and measures name."""
    match plan:
        case Having() | Sort() | Limit() | Select():
            return replace(plan, child=normalised(plan.child, schema))  # type: ignore[arg-type]
        case Aggregate(child, keys, measures):
            wanted = frozenset().union(*map(fields, keys), *map(fields, measures))
            return replace(plan, child=_Reading(schema).read(child, wanted))
        case _:
            raise Bug("only an aggregated question can be bounded")


@final
@dataclass(frozen=True, slots=True)
class _Reading:
    """The way down one question: which keys links compare, and which scans get their unit through one."""

    schema: Schema
    keys: frozenset[str] = frozenset()
    borrowing: frozenset[str] = frozenset()

    def read(self, plan: Rows, wanted: frozenset[str]) -> Rows:
        match plan:
            case Filter(child, conditions):
                return Filter(self.read(child, wanted.union(*map(fields, conditions))), conditions)
            case Derive(child, columns):
                used = tuple((name, each) for name, each in columns if name in wanted)
                below = self.read(child, wanted.union(*(fields(each) for _, each in used)))
                return Derive(below, used) if used else below
            case Gather(child, keys, folds):
                kept = tuple((name, fold) for name, fold in folds if name in wanted)
                below = self.read(child, used_by((of for _, of in keys), (fold for _, fold in kept)))
                return Gather(below, keys, kept)
            case Window(child, columns):
                overs = tuple((name, over) for name, over in columns if name in wanted)
                inside = (each for _, over in overs for each in over.within)
                below = self.read(child, wanted | used_by(inside, (over for _, over in overs)))
                return Window(below, overs) if overs else below
            case Join():
                return self._join(plan, wanted)
            case Scan():
                return self._scan(plan, wanted)
            case Read():
                raise Bug("rows were normalised twice")
            case _:
                assert_never(plan)

    def _join(self, join: Join, wanted: frozenset[str]) -> Rows:
        if join.kind == "left" and join.unique is not None and not _reads(join.right, wanted):
            return self.read(join.left, wanted)  # it would add no row, take none away, and show nothing
        wanted = wanted.union(*map(fields, join.on))
        below = self
        if join.link is not None:
            below = replace(below, keys=below.keys.union(join.link))
            if join.kind == "inner":
                below = replace(below, borrowing=below.borrowing.union(self._borrowing(join)))
        if join.unique is not None:
            wanted |= {join.unique}
        return replace(join, left=below.read(join.left, wanted), right=below.read(join.right, wanted))

    def _borrowing(self, join: Join) -> frozenset[str]:
        """The side whose unit would be looked up along the very link that joins it: the join itself says whose it is."""
        assert join.link is not None
        (left, right), (mine, other) = join.link, (_scanned(join.left), _scanned(join.right))
        for scan, key, far, there in ((other, right, left, join.left), (mine, left, right, join.right)):
            table = None if scan is None else self.schema.table(scan.table)
            if scan is None or table is None or not table.path or key != scan.prefix + table.path[0].column:
                continue
            if any(
                far == each.prefix + table.path[0].key and each.table == table.path[0].table for each in scans_of(there)
            ):
                return frozenset({scan.prefix})
        return frozenset()

    def _scan(self, scan: Scan, wanted: frozenset[str]) -> Read:
        table, prefix = self.schema.table(scan.table), scan.prefix
        if table is None:
            raise Bug("a question reads a table that its schema does not have")
        columns = tuple(sorted((c for c in table.columns if prefix + c.name in wanted), key=lambda column: column.name))
        keys = tuple(sorted(key for key in self.schema.keys(scan.table) if prefix + key in self.keys))
        if table.public or prefix in self.borrowing:
            return Read(scan.table, None, columns, None, prefix, owned=False, keys=keys)
        return Read(scan.table, table.unit, columns, None, prefix, table.path, keys=keys)


def used_by(expressions: Iterable[Expression], ordered: Iterable[Fold | Over]) -> frozenset[str]:
    """The columns that keys, folds and what rows see of one another are made from."""
    every = list(expressions)
    for each in ordered:
        every += [order.by for order in each.by] + ([] if each.of is None else [each.of])
    return frozenset().union(*map(fields, every))


def _reads(rows: Rows, wanted: frozenset[str]) -> bool:
    """Whether any of these columns is one of the rows'."""
    match rows:
        case Scan(prefix=prefix):
            return any(name.startswith(prefix) for name in wanted)
        case _:
            return True


def _scanned(rows: Rows) -> Scan | None:
    """The one table that these rows are taken from as they are."""
    while isinstance(rows, Filter | Derive):
        rows = rows.child
    return rows if isinstance(rows, Scan) else None
