"""What is limited inside each unit: counts and sums of its rows that were moved into a range, because one was needed.

Such a number has no range of its own. Where it is averaged, added up or grouped by, it is taken to be that of `max_rows`
rows at most, unless the question says another limit. Whoever has more is moved, and an answer has to say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.exact import decimal_text
from sfumato.queries.expression import Call, Expression, Field, Literal
from sfumato.queries.plan import (
    Derive,
    Distinct,
    Filter,
    Fold,
    Gather,
    Join,
    Over,
    Ranked,
    Rows,
    Rowwise,
    Weigh,
    Window,
)
from sfumato.queries.rows import declared_of

if TYPE_CHECKING:
    from sfumato.queries.plan import Tally

_COUNTS = {
    "rows": "COUNT(*)",
    "place": "ROW_NUMBER()",
    "present": "COUNT({})",
    "distinct": "COUNT(DISTINCT {})",
    "sum": "SUM({})",
}


def limited(tally: Tally) -> tuple[str, ...]:
    """One sentence part for each: "COUNT(*) of each limited to 10 (max_rows): LEAST(COUNT(*), 20) sets another limit"."""
    base = tally.child.child if isinstance(tally.child, Weigh) else tally.child
    asked = [key.of for key in tally.keys]
    asked += [
        each.of for each in tally.statistics if isinstance(each, Rowwise | Distinct | Ranked) and each.of is not None
    ]
    return tuple(dict.fromkeys(said for of in asked for said in _in(of, base)))


def _in(of: Expression, rows: Rows) -> Iterator[str]:
    """Every number of a unit's rows that is moved into a range, in an expression over these rows and in what it stands on."""
    match of:
        case Call("clamp", (Field(name), Literal(low), Literal(high))):
            found = _made(name, rows)
            if found is not None and isinstance(low, int | Fraction) and isinstance(high, int | Fraction):
                yield _words(*found, Fraction(low), Fraction(high))
        case Call(_, arguments):
            for each in arguments:
                yield from _in(each, rows)
        case Field(name):
            derived = _derived(name, rows)
            if derived is not None:
                yield from _in(*derived)
        case _:
            return


def _made(name: str, rows: Rows) -> tuple[Fold | Over, Rows] | None:
    """The count or sum that a column is, and the rows that it is of."""
    match rows:
        case Gather(child, _, folds) if name in dict(folds):
            return dict(folds)[name], child
        case Window(child, columns) if name in dict(columns):
            return dict(columns)[name], child
        case Derive(child, columns) if isinstance(of := dict(columns).get(name), Field):
            return _made(of.name, child)
        case Filter(child) | Derive(child) | Window(child):
            return _made(name, child)
        case Join(left, right):
            return _made(name, left) or _made(name, right)
        case _:
            return None


def _derived(name: str, rows: Rows) -> tuple[Expression, Rows] | None:
    """The expression that a column is computed by, or is gathered from, and the rows below it."""
    match rows:
        case Derive(child, columns) if name in dict(columns):
            return dict(columns)[name], child
        case Gather(child, keys, folds) if name in dict(keys) or name in dict(folds):
            of = dict(keys).get(name) or dict(folds)[name].of
            return None if of is None else (of, child)
        case Window(child, columns) if name in dict(columns):
            over = dict(columns)[name].of
            return None if over is None else (over, child)
        case Filter(child) | Derive(child) | Window(child):
            return _derived(name, child)
        case Join(left, right):
            return _derived(name, left) or _derived(name, right)
        case _:
            return None


def _words(made: Fold | Over, rows: Rows, low: Fraction, high: Fraction) -> str:
    declared = declared_of(rows)
    named = declared[made.of.name].name if isinstance(made.of, Field) and made.of.name in declared else "..."
    call = _COUNTS.get(made.kind, made.kind).format(named)
    ends = decimal_text(high) if low >= 0 else f"{decimal_text(low, rounding='down')} to {decimal_text(high)}"
    said = f"{call} of each limited to {ends} (max_rows)"
    hint = (isinstance(made, Fold) and named != "...") or made.kind == "rows"
    return f"{said}: LEAST({call}, {decimal_text(2 * high)}) sets another limit" if hint and high > 0 else said
