"""The groups of a question as the cells of a grid, one axis for each key: what ranges and cumulative counts are asked of."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import NotSupported
from sfumato.core.sensitivity import Sensitivity
from sfumato.queries.bins import is_ordered
from sfumato.queries.expression import Field
from sfumato.queries.infer import infer
from sfumato.queries.plan import Key, Rowwise, Statistic
from sfumato.queries.rewrites.tally import ROOM, SIZE
from sfumato.queries.rows import declared_of, reads_of, scope_of

if TYPE_CHECKING:
    from sfumato.mechanisms.histogram.axis import Kind
    from sfumato.mechanisms.histogram.compare import Comparison
    from sfumato.queries.bounded import Bounded


def ordered(key: Key, bounded: Bounded) -> bool:
    """Whether the key's values have an order: numbers, dates, bins, and categories that the policy declares in order."""
    if is_ordered(key.of) or infer(key.of, scope_of(bounded.tally.child)).kind in {"number", "date", "boolean"}:
        return True
    declared = declared_of(bounded.tally.child)
    return isinstance(key.of, Field) and key.of.name in declared and declared[key.of.name].ordered


def levels_of(bounded: Bounded) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The names of the levels above the only key, coarse to fine, and each of its values' nodes there."""
    keys, rows = bounded.tally.keys, bounded.tally.child
    declared = declared_of(rows)
    for levels in bounded.levels:
        for read in reads_of(rows):
            if read.table == levels.table and len(keys) == 1 and keys[0].of == Field(read.prefix + levels.column):
                listed = dict(zip(declared[read.prefix + levels.column].values or (), levels.paths, strict=True))
                nowhere = ("",) * (len(levels.lookup.columns) - 1)
                names = tuple(column.name for column in levels.lookup.columns[:-1])
                return names, [listed.get(value, nowhere) if value is not None else nowhere for value in keys[0].values]
    raise NotSupported(
        "levels are asked of a key that has none",
        hint="group by one column with `levels` in the policy, and by nothing else",
        code="SF021",
    )


def compared(
    bounded: Bounded,
    statistic: Statistic,
    reach: Sensitivity,
    workload: Kind,
    *,
    epsilon: Fraction | None = None,
    rho: Fraction | None = None,
) -> Comparison:
    """Every strategy for one statistic over all groups, by its expected error on the workload.

    Keys without an order are asked value by value, whatever the others are asked for. A NULL group is the last of its axis.
    """
    from sfumato.mechanisms.histogram.axis import Categories
    from sfumato.mechanisms.histogram.compare import choose
    from sfumato.mechanisms.histogram.grid import choose_grid

    if statistic.width != 1:
        raise NotSupported(
            "a workload speaks of counts and sums",
            hint="ask COUNT or SUM by themselves, or leave the workload out",
            code="SF021",
        )
    one_cell = bounded.whole == 1 and isinstance(statistic, Rowwise) and statistic.kind != "total"
    if workload == "levels":
        from sfumato.mechanisms.histogram.levels import choose_levels

        _, paths = levels_of(bounded)
        return choose_levels(paths, epsilon=epsilon, rho=rho, sensitivity=reach, one_cell=one_cell)
    keys = [(len(key.values), ordered(key, bounded)) for key in bounded.tally.keys]
    if workload != "bins" and not any(order for _, order in keys):
        raise NotSupported(
            "ranges are asked of groups that have no order",
            hint="group by a number, a date or HISTOGRAM(x, ...), or let the owner declare `ordered = true`",
            code="SF021",
        )
    asked = [
        Categories(tuple(range(size)), ordered=order).workload(workload if order else "bins") for size, order in keys
    ]
    terms: dict[str, Any] = {
        "epsilon": epsilon,
        "rho": rho,
        "sensitivity": reach,
        "one_cell": one_cell,
        "most": ROOM
        * (bounded.rows or SIZE)
        * bounded.whole
        * (statistic.top if isinstance(statistic, Rowwise) else 1),
    }
    if len(asked) == 1:
        return choose(asked[0], **terms)
    return choose_grid(asked, **terms)
