"""Expressions over the columns of one row, or over the keys and measures of one released group: a closed tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Literal as OneOf
from typing import final

from sfumato.queries.schema import Value

Operation = OneOf[
    "and",
    "or",
    "not",
    "eq",
    "lt",
    "le",
    "is_null",
    "in",
    "like",
    "case",
    "coalesce",
    "add",
    "subtract",
    "multiply",
    "divide",
    "ratio",
    "negate",
    "absolute",
    "floor",
    "modulo",
    "least",
    "greatest",
    "root",
    "lower",
    "upper",
    "trim",
    "length",
    "substring",
    "concat",
    "year",
    "quarter",
    "month",
    "day",
    "week",
    "weekday",
    "truncate",
    "add_days",
    "days_between",
    "bin",
    "clamp",
    "steps",
    "spread",
]
"""Every operation there is. All are total: no row makes one fail, and none yields NaN or infinity.

`divide` floors to a grid (its third argument) and is NULL for a zero divisor; `ratio` and `root` are exact or floating
and work on released numbers only; `floor(x, step)` goes down to a multiple of `step`; `case` is condition, value,
condition, value, ..., otherwise; `bin` is the name of the bin between edges, its other arguments. `clamp`, `steps` and
`spread` are written by the rewrites:
steps(x, low, step) = floor((x - low) / step + 1/2), and spread(v, top) = floor(((2 v - top)^2 + top // 2) / top).
"""

MeasureKind = OneOf[
    "rows", "present", "units", "distinct", "sum", "mean", "var_pop", "var_samp", "std_pop", "std_samp", "quantile"
]
LATER = {"later": True}
"""Fields that came after the first answers: left out of canonical text where they say nothing, so that keys stay."""


@final
@dataclass(frozen=True, slots=True)
class Field:
    """A column of the rows below."""

    name: str


@final
@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of the question. Numbers are exact; None is NULL."""

    value: Value


@final
@dataclass(frozen=True, slots=True)
class Call:
    """An operation on other expressions."""

    operation: Operation
    arguments: tuple[Expression, ...]


@final
@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured in each group: COUNT(*), COUNT(x), COUNT(DISTINCT unit), SUM(x), AVG(x), VAR_POP(x), ...

    `at` are the quantiles that a quantile is asked at, increasing; the answer is a number where there is one of them, and
    a list where there are more.
    """

    kind: MeasureKind
    of: Expression | None = None
    at: tuple[Fraction, ...] = field(default=(), metadata=LATER)


Expression = Field | Literal | Call | Measure
"""Below the release no Measure occurs; above it, an expression equal to a key stands for that key."""


def call(operation: Operation, *arguments: Expression) -> Call:
    return Call(operation, arguments)


def number(value: int | Fraction) -> Literal:
    """A numeric constant, an int whenever it is whole."""
    exact = Fraction(value)
    return Literal(exact.numerator if exact.denominator == 1 else exact)


def children(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Call(arguments=arguments):
            return arguments
        case Measure(of=of) if of is not None:
            return (of,)
        case _:
            return ()


def fields(expression: Expression) -> frozenset[str]:
    """The columns it reads."""
    if isinstance(expression, Field):
        return frozenset({expression.name})
    return frozenset().union(*(fields(child) for child in children(expression)))


def measures(expression: Expression) -> frozenset[Measure]:
    """The measures it stands on."""
    if isinstance(expression, Measure):
        return frozenset({expression})
    return frozenset().union(*(measures(child) for child in children(expression)))


def plain(value: Value) -> Value:
    """One spelling per value: whole numbers are ints."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value


def encode(value: Value) -> object:
    """A constant in canonical JSON, its type kept."""
    match value:
        case bool() | None | str():
            return value
        case int() | Fraction():
            return {"number": str(Fraction(value))}
        case date():
            return {"date": value.isoformat()}
