"""What becomes of missing values in a question: said of every answer, from the plan alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from sfumato.queries.expression import Expression, fields
from sfumato.queries.infer import infer
from sfumato.queries.plan import Distinct, Filter, Ranked, Rows, Rowwise, Tally, Weigh
from sfumato.queries.rows import declared_of, scope_of


@final
@dataclass(frozen=True, slots=True)
class Missing:
    """Columns by name: those whose missing values are a `group`, those without which rows are `dropped` (where it is not on
    the list either), and those of which a sum, a mean or a count takes what is `there`."""

    group: tuple[str, ...]
    dropped: tuple[str, ...]
    there: tuple[str, ...]


def missing_of(tally: Tally) -> Missing:
    """What is done about values that may be missing, in keys and in measures."""
    base: Rows | Weigh = tally.child
    while isinstance(base, Filter | Weigh):
        base = base.child
    before, after = scope_of(base), scope_of(tally.child)
    keys = [key for key in tally.keys if infer(key.of, before).nullable]
    measured = [
        each.of for each in tally.statistics if isinstance(each, Rowwise | Distinct | Ranked) and each.of is not None
    ]
    return Missing(
        group=_named((key.of for key in keys if None in key.values), base),
        dropped=_named((key.of for key in keys if None not in key.values), base),
        there=_named((of for of in measured if infer(of, after).nullable), base),
    )


def _named(expressions: Iterable[Expression], rows: Rows) -> tuple[str, ...]:
    declared = declared_of(rows)
    found = {declared[name].name for of in expressions for name in fields(of) if name in declared}
    return tuple(sorted(found))
