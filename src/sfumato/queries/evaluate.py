"""What an expression is worth on one row: exact numbers, three-valued logic, total on every row."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, timedelta
from fractions import Fraction
from functools import cache
from typing import TypeVar, assert_never

from sfumato.core import Bug
from sfumato.queries.bins import label_of
from sfumato.queries.expression import Call, Expression, Field, Literal, Measure, plain
from sfumato.queries.schema import Value

_T = TypeVar("_T", Fraction, str, date)

LOWER = (
    "abcdefghijklmnopqrstuvwxyzàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþ"
    "āăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżž"
    "αβγδεζηθικλμνξοπρστυφχψωабвгдежзийклмнопрстуфхцчшщъыьэюяё"
)
UPPER = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ"
    "ĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŹŻŽ"
    "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁ"
)
"""Case by a fixed table of pairs: what engines do beyond it differs (dotless i, sharp s, titlecase)."""

_TO_LOWER, _TO_UPPER = str.maketrans(UPPER, LOWER), str.maketrans(LOWER, UPPER)


def evaluate(expression: Expression, row: Mapping[Field | Measure, Value]) -> Value:
    """The value on one row of columns, or on one released group (where fields are keys, and measures have values)."""
    match expression:
        case Field() | Measure():
            if expression not in row:
                raise Bug("an expression reads what its row does not have")
            return row[expression]
        case Literal(value):
            return value
        case Call("case", arguments):
            for condition, then in zip(arguments[:-1:2], arguments[1::2], strict=True):
                if evaluate(condition, row) is True:
                    return evaluate(then, row)
            return evaluate(arguments[-1], row)
        case Call(operation, arguments):
            return plain(_apply(operation, [evaluate(argument, row) for argument in arguments]))
        case _:
            assert_never(expression)


def _apply(operation: str, values: list[Value]) -> Value:
    """One operation on values. The first block sees NULLs; below it, one NULL makes the result NULL."""
    match operation:
        case "and":
            return False if any(v is False for v in values) else None if None in values else True
        case "or":
            return True if any(v is True for v in values) else None if None in values else False
        case "is_null":
            return values[0] is None
        case "coalesce":
            return next((v for v in values if v is not None), None)
        case "least" | "greatest":
            known = [v for v in values if v is not None]
            return (min if operation == "least" else max)(known, default=None)
    if None in values:
        return None
    match operation, values:
        case "not", [bool(x)]:
            return not x
        case "eq", [x, y]:
            return x == y
        case "lt", [x, y]:
            return x < y  # type: ignore[operator]
        case "le", [x, y]:
            return x <= y  # type: ignore[operator]
        case "in", [x, *listed]:
            return x in listed
        case (("lower" | "upper" | "trim" | "length" | "substring" | "concat" | "like"), _):
            return _text(operation, values)
        case "truncate", [date() as day, str(step)]:
            return truncate(day, step)
        case (("year" | "quarter" | "month" | "day" | "week" | "weekday" | "days_between" | "add_days"), _):
            return _day(operation, values)
        case _:
            return _number(operation, [Fraction(v) for v in values])  # type: ignore[arg-type]


def _text(operation: str, values: list[Value]) -> Value:
    match operation, values:
        case "lower", [str(x)]:
            return x.translate(_TO_LOWER)
        case "upper", [str(x)]:
            return x.translate(_TO_UPPER)
        case "trim", [str(x)]:
            return x.strip(" ")
        case "length", [str(x)]:
            return len(x)
        case "substring", [str(x), int(start), int(size)]:
            return x[start - 1 : start - 1 + size]
        case "concat", _:
            return "".join(str(v) for v in values)
        case "like", [str(x), str(pattern)]:
            return like(pattern).fullmatch(x) is not None
    raise Bug(f"{operation} met values that its types exclude")


def _day(operation: str, values: list[Value]) -> Value:
    match operation, values:
        case "year", [date() as day]:
            return day.year
        case "quarter", [date() as day]:
            return (day.month + 2) // 3
        case "month", [date() as day]:
            return day.month
        case "day", [date() as day]:
            return day.day
        case "week", [date() as day]:
            return day.isocalendar().week
        case "weekday", [date() as day]:
            return day.isoweekday()
        case "days_between", [date() as later, date() as earlier]:
            return (later - earlier).days
        case "add_days", [date() as day, int() | Fraction() as count]:
            return day + timedelta(days=int(count))
    raise Bug(f"{operation} met values that its types exclude")


def _number(operation: str, values: list[Fraction]) -> Value:
    match operation, values:
        case "add", [x, y]:
            return x + y
        case "subtract", [x, y]:
            return x - y
        case "multiply", [x, y]:
            return x * y
        case "divide", [x, y, grain]:
            return None if y == 0 else math.floor(x / y / grain) * grain
        case "ratio", [x, y]:
            return None if y == 0 else x / y
        case "root", [x]:
            return None if x < 0 else Fraction(math.sqrt(x))
        case "negate", [x]:
            return -x
        case "absolute", [x]:
            return abs(x)
        case "floor", [x, step]:
            return math.floor(x / step) * step
        case "modulo", [x, y]:
            return abs(x) % y * (1 if x >= 0 else -1)
        case "clamp", [x, low, high]:
            return min(max(x, low), high)
        case "steps", [x, low, step]:
            return math.floor((x - low) / step + Fraction(1, 2))
        case "bin", [x, *edges]:
            return label_of(x, edges)
        case "spread", [x, top]:
            return ((2 * x - top) ** 2 + top // 2) // top
    raise Bug(f"{operation} met values that its types exclude")


def truncate(day: date, step: str) -> date:
    """The first day of the year, quarter, month or (Monday) week that `day` lies in."""
    match step:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
    raise Bug("a date was truncated to an unknown step")


@cache
def like(pattern: str) -> re.Pattern[str]:
    """LIKE as a regular expression: `%` is any text, `_` one character, nothing escapes."""
    return re.compile("".join({"%": ".*", "_": "."}.get(c) or re.escape(c) for c in pattern), re.DOTALL)
