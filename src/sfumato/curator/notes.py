"""What is allowed and should be known of a question: a filter on one person, groups too small for the price, negative counts.

Notes stop nothing and cost nothing. They follow from the question, the policy and what was released.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.queries.answer import Estimate, Result
from sfumato.queries.expression import Call, Expression, Field, Literal, Measure
from sfumato.queries.plan import Derive, Filter, Gather, Join, Read, Rows, Select, Weigh, Window

if TYPE_CHECKING:
    from sfumato.curator.preview import Preview

_COUNTS = frozenset({"rows", "present", "units", "distinct"})


def notes(preview: Preview, result: Result | None = None) -> tuple[str, ...]:
    """The codes of what should be known; `sfumato explain` tells the rest."""
    return tuple(_found(preview, result))


def _found(preview: Preview, result: Result | None) -> Iterator[str]:
    below = preview.bounded.tally.child
    if _on_one(below.child if isinstance(below, Weigh) else below):
        yield "SF009"
    if _too_small(preview):
        yield "SF012"
    if result is not None and any(_negative(preview, result)):
        yield "SF020"


def _on_one(rows: Rows) -> bool:
    """Whether a condition asks for units by name."""
    match rows:
        case Read():
            return False
        case Join(left, right):
            return _on_one(left) or _on_one(right)
        case Filter(child, conditions):
            return any(_names(each, _units(child)) for each in conditions) or _on_one(child)
        case Derive(child) | Gather(child) | Window(child):
            return _on_one(child)
        case _:
            return False


def _units(rows: Rows) -> frozenset[str]:
    """The columns that hold the unit."""
    match rows:
        case Read(unit=str() as unit, prefix=prefix, path=()):
            return frozenset({prefix + unit})
        case Join(left, right):
            return _units(left) | _units(right)
        case Filter(child) | Derive(child) | Window(child):
            return _units(child)
        case _:
            return frozenset()


def _names(condition: Expression, units: frozenset[str]) -> bool:
    match condition:
        case Call("eq" | "in", arguments) if any(isinstance(each, Literal) for each in arguments):
            return any(isinstance(each, Field) and each.name in units for each in arguments)
        case Call("and" | "or", arguments):
            return any(_names(each, units) for each in arguments)
        case _:
            return False


def _too_small(preview: Preview) -> bool:
    """Whether the bars of counts are as wide as an average group is large, by the size that the policy declares."""
    bounded = preview.bounded
    if bounded.private or bounded.rows == 0 or bounded.size == 1:
        return False
    rows = bounded.rows // bounded.size
    question = bounded.question
    columns = question.columns if isinstance(question, Select) else ()
    counted = [name for name, each in columns if isinstance(each, Measure) and each.kind in {"rows", "present"}]
    widths = preview.within(at=max(1, rows))
    return any(widths[name] >= rows for name in counted)


def _negative(preview: Preview, result: Result) -> Iterator[bool]:
    """For each released count, whether noise has taken it below zero."""
    question = preview.bounded.question
    columns = dict(question.columns) if isinstance(question, Select) else {}
    counts = {name for name, each in columns.items() if isinstance(each, Measure) and each.kind in _COUNTS}
    for row in result.rows:
        for name, cell in zip(result.columns, row, strict=True):
            if name in counts and isinstance(cell, Estimate) and cell.unbiased is not None:
                yield cell.unbiased < 0
