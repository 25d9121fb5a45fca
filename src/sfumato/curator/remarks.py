"""What a preview says of the constants in a question, before anything is paid: they follow from question and policy only.

A condition that can hold for nobody, or that is compared with rounded numbers, is answered like any other; nothing in the
answer would tell an analyst that a word was mistyped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from sfumato.core.exact import decimal_text
from sfumato.queries.expression import Call, Expression, Field, Literal
from sfumato.queries.plan import Derive, Filter, Gather, Join, Read, Rows, Weigh, Window
from sfumato.queries.rows import declared_of

if TYPE_CHECKING:
    from sfumato.curator.preview import Preview
    from sfumato.queries.schema import Column, Value


@final
@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence, in both languages."""

    en: str
    fr: str


def remarks(preview: Preview) -> tuple[Remark, ...]:
    """Every remark once, in the order in which the plan has them."""
    tally = preview.bounded.tally
    found = [*_of_rows(tally.child)]
    for expression in (*(key.of for key in tally.keys), *(getattr(each, "of", None) for each in tally.statistics)):
        found += _of(expression, declared_of(tally.child))
    return tuple(dict.fromkeys(found))


def _of_rows(rows: Rows | Weigh) -> Iterator[Remark]:
    match rows:
        case Filter(child, conditions):
            yield from _of_rows(child)
            yield from _each(conditions, child)
        case Derive(child, columns):
            yield from _of_rows(child)
            yield from _each((of for _, of in columns), child)
        case Join(left, right, on=on):
            yield from _of_rows(left)
            yield from _of_rows(right)
            yield from _each(on, rows)
        case Gather(child, keys, folds):
            yield from _of_rows(child)
            yield from _each((*(of for _, of in keys), *(fold.of for _, fold in folds)), child)
        case Window(child, columns):
            yield from _of_rows(child)
            yield from _each((over.of for _, over in columns), child)
        case Weigh(child):
            yield from _of_rows(child)
        case Read():
            return


def _each(expressions: Iterable[Expression | None], rows: Rows) -> Iterator[Remark]:
    declared = declared_of(rows)
    for expression in expressions:
        yield from _of(expression, declared)


def _of(expression: Expression | None, declared: Mapping[str, Column]) -> Iterator[Remark]:
    if not isinstance(expression, Call):
        return
    if expression.operation in {"eq", "lt", "le", "in", "bin"}:
        fields = [each for each in expression.arguments if isinstance(each, Field)]
        values = [each.value for each in expression.arguments if isinstance(each, Literal)]
        for column in (declared[each.name] for each in fields if each.name in declared):
            for value in values:
                yield from _beside(column, value)
    for each in expression.arguments:
        yield from _of(each, declared)


def _beside(column: Column, value: Value) -> Iterator[Remark]:
    name = column.name
    if isinstance(value, str) and isinstance(column.values, tuple) and value not in column.values:
        yield Remark(
            f"'{value}' is not among the values that the policy lists for {name}",
            f"« {value} » n'est pas parmi les valeurs que la politique énumère pour {name}",
        )
    number = isinstance(value, int | Fraction) and not isinstance(value, bool)
    grain = column.grain if column.type in {"integer", "number"} else None
    if number and grain is not None and (Fraction(value) / grain).denominator != 1:  # type: ignore[arg-type]
        step, here = decimal_text(grain), decimal_text(Fraction(value))  # type: ignore[arg-type]
        yield Remark(
            f"{name} is kept to multiples of {step}, its grain, and {here} lies between two of them",
            f"{name} est gardé en multiples de {step}, son grain, et {here} est entre deux d'entre eux",
        )
