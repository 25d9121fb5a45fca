"""One SQL expression as ours: every node by name, every argument accounted for, everything else refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import final

from sqlglot import exp

from sfumato.core import NotSupported
from sfumato.queries.evaluate import evaluate
from sfumato.queries.expression import Expression, Literal, Operation, call, number, plain
from sfumato.queries.infer import Type, literal_type, quotient_grain, result
from sfumato.queries.schema import Value
from sfumato.queries.sql.text import Text

LARGEST, DEEPEST = 5_000, 80
PARTS: dict[str, Operation] = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "DAY": "day",
    "WEEK": "week",
    "ISODOW": "weekday",
}
FUNCTIONS = (
    "CASE, COALESCE, NULLIF, LEAST, GREATEST, CAST, ABS, FLOOR, CEIL, ROUND, LOWER, UPPER, TRIM, LENGTH, SUBSTRING, LEFT, "
    "STARTS_WITH, EXTRACT, YEAR, QUARTER, MONTH, DAY, WEEK, DATE_TRUNC"
)
"""What a refusal offers instead."""

DAY_FUNCTIONS: dict[type[exp.Expr], Operation] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.Week: "week",
    exp.WeekOfYear: "week",
    exp.DayOfWeekIso: "weekday",
}
COMPARISONS: dict[type[exp.Expr], tuple[Operation, bool, bool]] = {
    exp.EQ: ("eq", False, False),
    exp.NEQ: ("eq", False, True),
    exp.LT: ("lt", False, False),
    exp.LTE: ("le", False, False),
    exp.GT: ("lt", True, False),
    exp.GTE: ("le", True, False),
}
STEPS = {"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "week"}
NUMERAL = re.compile(r"[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,2})?|\.[0-9]{1,40}([eE][+-]?[0-9]{1,2})?")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@final
@dataclass(frozen=True, slots=True)
class Typed:
    """An expression and what it can be. Its size and depth are limited, so that nothing downstream runs away."""

    expression: Expression
    type: Type
    size: int = 1
    depth: int = 1


def apply(operation: Operation, *arguments: Typed) -> Typed:
    """One operation on typed arguments; refuses what has no total, exact meaning."""
    repeated = 5 if operation == "divide" else 1  # an engine is given a signed divisor that many times
    size, depth = 1 + repeated * sum(each.size for each in arguments), 1 + max(each.depth for each in arguments)
    if size > LARGEST or depth > DEEPEST:
        raise NotSupported("this expression is too long", hint="ask for less at a time", code="SF021")
    inner = tuple(each.expression for each in arguments)
    of = result(operation, [each.type for each in arguments], inner)
    if all(isinstance(each, Literal) for each in inner) and not of.released:
        value = evaluate(call(operation, *inner), {})
        return Typed(Literal(value), literal_type(value))
    return Typed(call(operation, *inner), of, size, depth)


@final
class Scalar:
    """Reads expressions in one place of one question.

    `leaf` resolves what the place knows by itself: columns below the release; keys, measures and aliases above it. It
    returns None for what is to be read by its parts.
    """

    def __init__(self, text: Text, leaf: Callable[[exp.Expr], Typed | None], *, released: bool = False) -> None:
        self.text = text
        self.leaf = leaf
        self.released = released

    def read(self, node: exp.Expr) -> Typed:
        known = self.leaf(node)
        if known is not None:
            return known
        with self.text.placed(node):
            return self._read(node)

    def constant(self, value: Value) -> Typed:
        return Typed(Literal(plain(value)), literal_type(value, released=self.released))

    def _read(self, node: exp.Expr) -> Typed:
        match node:
            case exp.Paren():
                self.text.only(node, "this")
                return self.read(node.this)
            case exp.Literal():
                return self.constant(str(node.this) if node.is_string else _numeral(str(node.this)))
            case exp.Boolean():
                return self.constant(bool(node.this))
            case exp.Null():
                return self.constant(None)
            case exp.And() | exp.Or():
                return self._connected(node)
            case exp.Not():
                self.text.only(node, "this")
                return apply("not", self.read(node.this))
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                self.text.only(node, "this", "expression")
                operation, swapped, negated = COMPARISONS[type(node)]
                pair = self._alike(self.read(node.this), self.read(node.expression))
                compared = apply(operation, *(reversed(pair) if swapped else pair))
                return apply("not", compared) if negated else compared
            case exp.NullSafeEQ() | exp.NullSafeNEQ() | exp.Is() | exp.Between() | exp.In() | exp.Like() | exp.ILike():
                return self._condition(node)
            case exp.Case() | exp.If() | exp.Coalesce() | exp.Nullif() | exp.Least() | exp.Greatest():
                return self._choice(node)
            case exp.Cast():
                return self._cast(node)
            case (
                exp.Lower() | exp.Upper() | exp.Trim() | exp.Length() | exp.Substring() | exp.Left() | exp.StartsWith()
            ):
                return self._text(node)
            case exp.DPipe() | exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.IntDiv() | exp.Mod():
                return self._binary(node)
            case exp.Neg() | exp.Abs() | exp.Floor() | exp.Ceil() | exp.Round():
                return self._rounded(node)
            case exp.Extract() | exp.TimestampTrunc() | exp.DateTrunc() | exp.DateDiff() | exp.DayOfWeek():
                return self._day(node)
            case _ if type(node) in DAY_FUNCTIONS:
                self.text.only(node, "this")
                return apply(DAY_FUNCTIONS[type(node)], self._as_day(node.this))
            case _:
                raise self._unknown(node)

    def _unknown(self, node: exp.Expr) -> NotSupported:
        return self.text.unknown(node, hint=f"there are {FUNCTIONS}")

    def _no_part(self, node: exp.Expr, part: str, parts: Iterable[str]) -> NotSupported:
        known = ", ".join(each.lower() for each in parts)
        return self.text.refuse(node, f"dates have no part {part.upper()} here", hint=f"there are {known}")

    # -- conditions ----------------------------------------------------------------------------------------------------

    def _connected(self, node: exp.Expr) -> Typed:
        parts = []
        kind = type(node)
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if type(each) is kind:
                self.text.only(each, "this", "expression")
                waiting += [each.expression, each.this]
            else:
                parts.append(self.read(each))
        return apply("and" if kind is exp.And else "or", *parts)

    def _condition(self, node: exp.Expr) -> Typed:
        match node:
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                self.text.only(node, "this", "expression")
                left, right = self._alike(self.read(node.this), self.read(node.expression))
                both = apply("and", apply("is_null", left), apply("is_null", right))
                same = apply("or", both, apply("coalesce", apply("eq", left, right), self.constant(False)))
                return same if isinstance(node, exp.NullSafeEQ) else apply("not", same)
            case exp.Is():
                return self._is(node)
            case exp.Between():
                self.text.only(node, "this", "low", "high")
                of = self.read(node.this)
                low_of, low = self._alike(of, self.read(node.args["low"]))
                high_of, high = self._alike(of, self.read(node.args["high"]))
                return apply("and", apply("le", low, low_of), apply("le", high_of, high))
            case exp.In():
                self.text.only(node, "this", "expressions")
                return self._in(node)
            case _:
                self.text.only(node, "this", "expression")
                of, pattern = self.read(node.this), self.read(node.expression)
                _pattern(pattern)
                if isinstance(node, exp.ILike):
                    of, pattern = apply("lower", of), _folded(pattern)
                return apply("like", of, pattern)

    def _is(self, node: exp.Expr) -> Typed:
        self.text.only(node, "this", "expression")
        of = self.read(node.this)
        match node.expression:
            case exp.Null():
                return apply("is_null", of)
            case exp.Boolean():
                expected = of if node.expression.this else apply("not", of)
                return apply("coalesce", expected, self.constant(False))
            case _:
                raise self._unknown(node.expression)

    def _in(self, node: exp.Expr) -> Typed:
        of = self.read(node.this)
        listed = [self._alike(of, self.read(each))[1] for each in node.expressions]
        if not listed:
            raise NotSupported("IN has an empty list", hint="list what it may be", code="SF021")
        if not all(isinstance(each.expression, Literal) for each in listed):
            return apply("or", *(apply("eq", of, each) for each in listed))
        known = [each for each in listed if isinstance(each.expression, Literal) and each.expression.value is not None]
        among = apply("in", of, *known) if known else self.constant(False)
        return among if len(known) == len(listed) else apply("or", among, apply("eq", of, self.constant(None)))

    # -- choices -------------------------------------------------------------------------------------------------------

    def _choice(self, node: exp.Expr) -> Typed:
        match node:
            case exp.Case():
                self.text.only(node, "this", "ifs", "default")
                parts: list[Typed] = []
                for branch in node.args["ifs"]:
                    self.text.only(branch, "this", "true")
                    parts += [self._when(node, branch), self.read(branch.args["true"])]
                default = node.args.get("default")
                return apply("case", *parts, self.constant(None) if default is None else self.read(default))
            case exp.If():
                self.text.only(node, "this", "true", "false")
                default = node.args.get("false")
                otherwise = self.constant(None) if default is None else self.read(default)
                return apply("case", self.read(node.this), self.read(node.args["true"]), otherwise)
            case exp.Nullif():
                self.text.only(node, "this", "expression")
                of, same = self._alike(self.read(node.this), self.read(node.expression))
                return apply("case", apply("eq", of, same), self.constant(None), of)
            case exp.Coalesce():
                self.text.only(node, "this", "expressions")
                return apply("coalesce", *(self.read(each) for each in (node.this, *node.expressions)))
            case _:
                self.text.only(node, "this", "expressions", "ignore_nulls")
                operation: Operation = "least" if isinstance(node, exp.Least) else "greatest"
                parts = [self.read(each) for each in (node.this, *node.expressions)]
                if any(each.type.kind not in {"number", "null"} for each in parts):
                    raise NotSupported("LEAST and GREATEST take numbers here", hint="use CASE WHEN", code="SF021")
                return apply(operation, *parts)

    def _when(self, node: exp.Expr, branch: exp.Expr) -> Typed:
        if node.this is None:
            return self.read(branch.this)
        return apply("eq", *self._alike(self.read(node.this), self.read(branch.this)))

    def _cast(self, node: exp.Expr) -> Typed:
        """Casts that change nothing, dates written as text, and truth values as 0 and 1."""
        if type(node) is not exp.Cast:
            raise self._unknown(node)
        self.text.only(node, "this", "to")
        of, kind = self.read(node.this), node.args["to"]
        self.text.only(kind, "this", "nested")
        word = kind.this
        if word in exp.DataType.INTEGER_TYPES and of.type.kind == "boolean":
            return apply("case", of, self.constant(1), apply("not", of), self.constant(0), self.constant(None))
        if word == exp.DataType.Type.DATE:
            return self._day_of(of)
        whole = of.type.kind == "number" and of.type.grain is not None and of.type.grain.denominator == 1
        same = (
            (word in exp.DataType.INTEGER_TYPES and whole)
            or (word in {exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT} and of.type.kind == "number")
            or (word in exp.DataType.TEXT_TYPES and of.type.kind == "text")
        )
        if not same:
            raise NotSupported(
                "this cast could round or fail", hint="use FLOOR(x) or ROUND(x) for whole numbers", code="SF021"
            )
        return of

    # -- text ----------------------------------------------------------------------------------------------------------

    def _text(self, node: exp.Expr) -> Typed:
        match node:
            case exp.Lower():
                self.text.only(node, "this")
                return apply("lower", self.read(node.this))
            case exp.Upper():
                self.text.only(node, "this")
                return apply("upper", self.read(node.this))
            case exp.Trim():
                self.text.only(node, "this")
                return apply("trim", self.read(node.this))
            case exp.Length():
                self.text.only(node, "this")
                return apply("length", self.read(node.this))
            case exp.StartsWith():
                self.text.only(node, "this", "expression")
                of, start = self.read(node.this), self.read(node.expression)
                size = self.constant(len(_word(start)))
                return apply("eq", apply("substring", of, self.constant(1), size), start)
            case exp.Left():
                self.text.only(node, "this", "expression")
                size = self.read(node.expression)
                _count(size, least=0)
                return apply("substring", self.read(node.this), self.constant(1), size)
            case _:
                self.text.only(node, "this", "start", "length")
                start = self.read(node.args["start"]) if node.args.get("start") else self.constant(1)
                size = self.read(node.args["length"]) if node.args.get("length") else self.constant(2**31 - 1)
                _count(start, least=1)
                _count(size, least=0)
                return apply("substring", self.read(node.this), start, size)

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _binary(self, node: exp.Expr) -> Typed:
        self.text.only(node, "this", "expression", "typed", "safe")
        left, right = self.read(node.this), self.read(node.expression)
        match node:
            case exp.DPipe():
                return apply("concat", left, right)
            case exp.Add() if left.type.kind == "date":
                return apply("add_days", left, right)
            case exp.Add() if right.type.kind == "date":
                return apply("add_days", right, left)
            case exp.Sub() if left.type.kind == "date" and right.type.kind == "number":
                return apply("add_days", left, apply("negate", right))
            case exp.Sub() if "date" in (left.type.kind, right.type.kind):
                return apply("days_between", *(self._day_of(each) for each in (left, right)))
            case exp.Add():
                return apply("add", left, right)
            case exp.Sub():
                return apply("subtract", left, right)
            case exp.Mul():
                return apply("multiply", left, right)
            case exp.Mod():
                if self.released:
                    raise self._unknown(node)
                return apply("modulo", left, right)
            case exp.IntDiv():
                return self._whole_quotient(node, left, right)
            case _:
                if self.released:
                    return apply("ratio", left, right)
                _numbers(left, right)
                return apply("divide", left, right, Typed(*_grid(quotient_grain(left.type, right.type))))

    def _whole_quotient(self, node: exp.Expr, left: Typed, right: Typed) -> Typed:
        if self.released:
            raise self._unknown(node)
        _numbers(left, right)
        for each in (left, right):
            if not isinstance(each.type.low, Fraction) or each.type.low < 0:
                raise NotSupported("// is for numbers that cannot be negative", hint="use FLOOR(a / b)", code="SF021")
        return apply("divide", left, right, self.constant(1))

    def _rounded(self, node: exp.Expr) -> Typed:
        match node:
            case exp.Neg():
                self.text.only(node, "this")
                of = self.read(node.this)
                if isinstance(of.expression, Literal) and isinstance(of.expression.value, int | Fraction):
                    return self.constant(-Fraction(of.expression.value))
                return apply("negate", of)
            case exp.Abs():
                self.text.only(node, "this")
                return apply("absolute", self.read(node.this))
            case exp.Floor():
                self.text.only(node, "this")
                return self._floor(self.read(node.this), Fraction(1))
            case exp.Ceil():
                self.text.only(node, "this")
                return apply("negate", self._floor(apply("negate", self.read(node.this)), Fraction(1)))
            case _:
                self.text.only(node, "this", "decimals")
                digits = node.args.get("decimals")
                places = 0 if digits is None else _count(self.read(digits), least=-12, most=12)
                return self._nearest(self.read(node.this), Fraction(10) ** -places)

    def _floor(self, of: Typed, step: Fraction) -> Typed:
        grain = of.type.grain
        if grain is not None and (grain / step).denominator == 1:
            return of
        return apply("floor", of, self.constant(step))

    def _nearest(self, of: Typed, step: Fraction) -> Typed:
        """Halves away from zero, as SQL rounds."""
        half = self.constant(step / 2)
        up = self._floor(apply("add", of, half), step)
        if isinstance(of.type.low, Fraction) and of.type.low >= 0:
            return up
        down = apply("negate", self._floor(apply("add", apply("negate", of), half), step))
        return apply("case", apply("lt", of, self.constant(0)), down, up)

    # -- days ----------------------------------------------------------------------------------------------------------

    def _day(self, node: exp.Expr) -> Typed:
        match node:
            case exp.Extract():
                self.text.only(node, "this", "expression")
                part = PARTS.get(node.this.name.upper())
                if part is None:
                    raise self._no_part(node, node.this.name, PARTS)
                return apply(part, self._as_day(node.expression))
            case exp.DayOfWeek():
                self.text.only(node, "this")
                return apply("modulo", apply("weekday", self._as_day(node.this)), self.constant(7))
            case exp.DateDiff():
                self.text.only(node, "this", "expression", "unit")
                if node.args.get("unit") is not None and node.args["unit"].name.upper() != "DAY":
                    raise self._unknown(node)
                return apply("days_between", self._as_day(node.this), self._as_day(node.expression))
            case _:
                self.text.only(node, "this", "unit")
                step = STEPS.get(node.args["unit"].name.upper())
                if step is None:
                    raise self._no_part(node, node.args["unit"].name, STEPS)
                return apply("truncate", self._as_day(node.this), Typed(Literal(step), literal_type(step)))

    def _as_day(self, node: exp.Expr) -> Typed:
        return self._day_of(self.read(node))

    def _day_of(self, of: Typed) -> Typed:
        """A date as it is; text that spells one as that date."""
        if of.type.kind == "date":
            return of
        value = of.expression.value if isinstance(of.expression, Literal) else None
        if isinstance(value, str) and DAY.fullmatch(value):
            try:
                return self.constant(date.fromisoformat(value))
            except ValueError:
                pass
        raise NotSupported("a date is needed here", hint="write DATE '2026-01-31'", code="SF021")

    def _alike(self, left: Typed, right: Typed) -> tuple[Typed, Typed]:
        """Text beside a date is read as a date."""
        if left.type.kind == "date" and right.type.kind == "text":
            return left, self._day_of(right)
        if right.type.kind == "date" and left.type.kind == "text":
            return self._day_of(left), right
        return left, right


def _grid(grain: Fraction) -> tuple[Expression, Type]:
    return number(grain), literal_type(grain)


def _numeral(text: str) -> Value:
    if not NUMERAL.fullmatch(text):
        raise NotSupported("this number cannot be read", hint="write it with digits, as 0.5 or 1e6", code="SF021")
    return plain(Fraction(text))


def _numbers(*each: Typed) -> None:
    for one in each:
        if one.type.kind != "number":
            raise NotSupported("a number is needed here", hint="divide numbers by numbers", code="SF021")


def _word(of: Typed) -> str:
    value = of.expression.value if isinstance(of.expression, Literal) else None
    if not isinstance(value, str):
        raise NotSupported("a text in quotes is needed here", hint="write 'text'", code="SF021")
    return value


def _pattern(of: Typed) -> None:
    if "\\" in _word(of):
        raise NotSupported("a pattern with a backslash is not understood", hint="use only % and _", code="SF021")


def _folded(pattern: Typed) -> Typed:
    return Typed(Literal(evaluate(call("lower", pattern.expression), {})), pattern.type)


def _count(of: Typed, *, least: int, most: int = 2**31 - 1) -> int:
    value = of.expression.value if isinstance(of.expression, Literal) else None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise NotSupported(
            f"a whole number of {least} or more is needed here", hint="write the number itself", code="SF021"
        )
    return value
