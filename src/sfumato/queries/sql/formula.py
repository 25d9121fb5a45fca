"""Row-level expressions as SQL over bare integers: every number is counted in steps of its grain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import assert_never, final

from sqlglot import exp

from sfumato.core import Bug, NotSupported
from sfumato.queries.bins import labels
from sfumato.queries.evaluate import LOWER, UPPER
from sfumato.queries.expression import Call, Expression, Field, Literal, Measure
from sfumato.queries.infer import Type, literal_type, result, shared_grain
from sfumato.queries.schema import Value


@final
@dataclass(frozen=True, slots=True)
class Formula:
    """SQL text in the making, and what it is. A number's SQL is an integer: the number divided by its grain."""

    sql: exp.Expr
    type: Type
    size: int = 1


REPEATS = {"divide": 5, "clamp": 3, "spread": 2}
"""How many times an argument may be written out."""
LARGEST = 50_000


def formula(expression: Expression, columns: Mapping[str, Formula]) -> Formula:
    """The SQL of a row-level expression."""
    match expression:
        case Field(name):
            return Formula(columns[name].sql.copy(), columns[name].type)
        case Literal(value):
            return Formula(constant(value), literal_type(value))
        case Call(operation, arguments):
            parts = [formula(each, columns) for each in arguments]
            of = result(operation, [part.type for part in parts], arguments)
            size = 1 + sum(part.size for part in parts) * REPEATS.get(operation, 1)
            if operation == "bin":
                size += parts[0].size * len(parts)
            if size > LARGEST:
                raise NotSupported("this expression is too long", hint="ask for less at a time", code="SF021")
            return Formula(_call(operation, parts, of, arguments), of, size)
        case Measure():
            raise Bug("a measure stands below the release")
        case _:
            assert_never(expression)


def constant(value: Value) -> exp.Expr:
    """A constant; a number in steps of its own grain, which is one over its denominator.

    Numbers are 64-bit even where every branch is a constant: engines would add two small literals in 32 bits, and fail
    on the rows where they meet.
    """
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.true() if value else exp.false()
        case int() | Fraction():
            return exp.cast(integer(Fraction(value).numerator), "bigint")
        case str():
            return exp.Literal.string(value)
        case date():
            return exp.cast(exp.Literal.string(value.isoformat()), "date")
        case _:
            assert_never(value)


def integer(value: int) -> exp.Expr:
    return exp.Literal.number(value) if value >= 0 else exp.paren(exp.Neg(this=exp.Literal.number(-value)), copy=False)


def key_value(value: Value, grain: Fraction | None) -> Value:
    """A key as the engine returns it: a number in steps of its grain."""
    if grain is not None and isinstance(value, int | Fraction) and not isinstance(value, bool):
        return int(Fraction(value) / grain)
    return value


def _call(operation: str, parts: list[Formula], of: Type, arguments: tuple[Expression, ...]) -> exp.Expr:
    match operation:
        case "and" | "or":
            return exp.paren(
                (exp.and_ if operation == "and" else exp.or_)(*(part.sql for part in parts), copy=False), copy=False
            )
        case "not":
            return exp.paren(exp.Not(this=parts[0].sql), copy=False)
        case "is_null":
            return exp.paren(exp.Is(this=parts[0].sql, expression=exp.null()), copy=False)
        case "eq" | "lt" | "le":
            left, right = _aligned(parts, arguments)
            kind = {"eq": exp.EQ, "lt": exp.LT, "le": exp.LTE}[operation]
            return exp.paren(kind(this=left, expression=right), copy=False)
        case "in":
            among, *listed = _aligned(parts, arguments)
            bare = [each.this if isinstance(each, exp.Cast) and each.is_type("bigint") else each for each in listed]
            return exp.paren(exp.In(this=among, expressions=bare), copy=False)
        case "like":
            return exp.paren(exp.Like(this=parts[0].sql, expression=parts[1].sql), copy=False)
        case "case":
            branches = _on_grid([*parts[1::2], parts[-1]], of)
            ifs = [exp.If(this=when.sql, true=then) for when, then in zip(parts[:-1:2], branches[:-1], strict=True)]
            return exp.Case(ifs=ifs, default=branches[-1])
        case "coalesce":
            first, *others = _on_grid(parts, of)
            return exp.Coalesce(this=first, expressions=others)
        case "least" | "greatest":
            first, *others = _on_grid(parts, of)
            return (exp.Least if operation == "least" else exp.Greatest)(
                this=first, expressions=others, ignore_nulls=True
            )
        case "bin":
            x, *edges = _aligned(parts, arguments)
            names = labels([Fraction(part.type.constant or 0) for part in parts[1:]])
            inside = exp.and_(exp.LTE(this=edges[0], expression=x), exp.LTE(this=x.copy(), expression=edges[-1].copy()))
            return exp.Case(ifs=[exp.If(this=inside, true=_halved(x, edges, names))])
        case "lower" | "upper" | "trim" | "length" | "substring" | "concat":
            return _text(operation, [part.sql for part in parts])
        case "year" | "quarter" | "month" | "day" | "week" | "weekday" | "truncate" | "add_days" | "days_between":
            return _day(operation, parts, arguments)
        case _:
            return _number(operation, parts, of)


def _halved(x: exp.Expr, edges: list[exp.Expr], names: tuple[str, ...]) -> exp.Expr:
    """The name of the bin that x lies in, by halves: as many comparisons for a row as the number of bins has digits."""
    if len(names) == 1:
        return exp.Literal.string(names[0])
    middle = len(names) // 2
    below = exp.If(
        this=exp.LT(this=x.copy(), expression=edges[middle].copy()),
        true=_halved(x, edges[: middle + 1], names[:middle]),
    )
    return exp.Case(ifs=[below], default=_halved(x, edges[middle:], names[middle:]))


def _text(operation: str, parts: list[exp.Expr]) -> exp.Expr:
    match operation:
        case "lower":
            return exp.func("TRANSLATE", parts[0], exp.Literal.string(UPPER), exp.Literal.string(LOWER))
        case "upper":
            return exp.func("TRANSLATE", parts[0], exp.Literal.string(LOWER), exp.Literal.string(UPPER))
        case "trim":
            return exp.Trim(this=parts[0], expression=exp.Literal.string(" "))
        case "length":
            return exp.cast(exp.Length(this=parts[0]), "bigint")
        case "substring":
            return exp.Substring(this=parts[0], start=parts[1], length=parts[2])
        case "concat":
            joined = parts[0]
            for part in parts[1:]:
                joined = exp.DPipe(this=joined, expression=part, safe=True)
            return exp.paren(joined, copy=False)
    raise Bug(f"the operation {operation} has no SQL")


def _day(operation: str, parts: list[Formula], arguments: tuple[Expression, ...]) -> exp.Expr:
    day = parts[0].sql
    match operation:
        case "year" | "quarter" | "month" | "day" | "week":
            return exp.cast(exp.Extract(this=exp.var(operation.upper()), expression=day), "bigint")
        case "weekday":
            return exp.cast(exp.Extract(this=exp.var("ISODOW"), expression=day), "bigint")
        case "truncate":
            step = arguments[1]
            assert isinstance(step, Literal)
            return exp.cast(exp.func("DATE_TRUNC", exp.Literal.string(str(step.value)), day, dialect="duckdb"), "date")
        case "days_between":
            return exp.DateDiff(this=day, expression=parts[1].sql)
        case "add_days":
            days = _times(parts[1].sql, int((parts[1].type.grain or Fraction(1)) / 1))
            return exp.DateAdd(this=day, expression=exp.cast(days, "int"))
    raise Bug(f"the operation {operation} has no SQL")


def _number(operation: str, parts: list[Formula], of: Type) -> exp.Expr:
    types = [part.type for part in parts]
    match operation:
        case "negate":
            return exp.paren(exp.Neg(this=exp.paren(parts[0].sql, copy=False)), copy=False)
        case "absolute":
            return exp.Abs(this=parts[0].sql)
        case "add" | "subtract":
            left, right = _on_grid(parts, of)
            kind = exp.Add if operation == "add" else exp.Sub
            return exp.paren(kind(this=left, expression=right), copy=False)
        case "multiply":
            return _product(parts)
        case "divide":
            return _quotient(parts)
        case "floor":
            ratio = grain_of(types[0]) / (types[1].constant or 1)
            numerator = _times(parts[0].sql, ratio.numerator)
            return floor_division(
                numerator, _low(types[0]) * ratio.numerator, integer(ratio.denominator), ratio.denominator
            )
        case "modulo":
            left, right = _on_grid(parts, of)
            return exp.paren(exp.Mod(this=left, expression=right), copy=False)
        case "clamp":
            grain = grain_of(of)
            low, high = (integer(int((each.type.constant or 0) / grain)) for each in parts[1:])
            return clamped(parts[0].sql, low, high)
        case "steps":
            return _steps(parts)
        case "spread":
            top = int(types[1].constant or 0)
            doubled = exp.paren(exp.Sub(this=_times(parts[0].sql, 2), expression=integer(top)), copy=False)
            square = exp.Mul(this=doubled, expression=doubled.copy())
            return floor_division(_plus(square, top // 2), 0, integer(top), top)
    raise Bug(f"the operation {operation} has no SQL")


def clamped(x: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """x within [low, high], and NULL if it is NULL: LEAST and GREATEST would make NULL a number."""
    below = exp.If(this=exp.LT(this=x, expression=low), true=low.copy())
    above = exp.If(this=exp.GT(this=x.copy(), expression=high), true=high.copy())
    return exp.Case(ifs=[below, above], default=x.copy())


def _product(parts: list[Formula]) -> exp.Expr:
    """A constant factor goes into the grain, all but its sign."""
    first, second = parts
    for factor, other in ((second, first), (first, second)):
        if factor.type.constant:
            return _times(other.sql, 1 if factor.type.constant > 0 else -1)
    return exp.paren(exp.Mul(this=first.sql, expression=second.sql), copy=False)


def _quotient(parts: list[Formula]) -> exp.Expr:
    of, by = parts[0], parts[1]
    ratio = grain_of(of.type) / grain_of(by.type) / (parts[2].type.constant or 1)
    numerator, divisor = _times(of.sql, ratio.numerator), _times(by.sql, ratio.denominator)
    low, high = _low(of.type) * ratio.numerator, _high(of.type) * ratio.numerator
    by_low, by_high = _low(by.type) * ratio.denominator, _high(by.type) * ratio.denominator
    if by_low > 0:
        return floor_division(numerator, low, divisor, by_high)
    negated = exp.paren(exp.Neg(this=exp.paren(numerator.copy(), copy=False)), copy=False)
    opposite = exp.paren(exp.Neg(this=exp.paren(divisor.copy(), copy=False)), copy=False)
    nothing = integer(0)
    above = floor_division(numerator, low, exp.Nullif(this=divisor, expression=nothing), max(by_high, 0))
    below = floor_division(negated, -high, opposite, -by_low)
    positive = exp.LTE(this=nothing.copy(), expression=divisor.copy())
    return exp.Case(ifs=[exp.If(this=positive, true=above)], default=below)


def floor_division(numerator: exp.Expr, low: int, divisor: exp.Expr, largest: int) -> exp.Expr:
    """floor(numerator / divisor) for a positive divisor, by dividing non-negative integers only.

    `low` bounds the numerator from below, `largest` the divisor from above. A numerator that may be negative is first
    raised by a multiple of the divisor: floor((n + k d) / d) - k is floor(n / d).
    """
    if isinstance(divisor, exp.Literal) and largest == 1:
        return numerator
    if low >= 0:
        return exp.paren(
            exp.IntDiv(this=exp.paren(numerator, copy=False), expression=exp.paren(divisor, copy=False)), copy=False
        )
    lift = -(low // largest) if isinstance(divisor, exp.Literal) else -low
    lifted = exp.Add(this=numerator, expression=_times(divisor, lift))
    quotient = exp.IntDiv(this=exp.paren(lifted, copy=False), expression=exp.paren(divisor.copy(), copy=False))
    return exp.paren(exp.Sub(this=quotient, expression=integer(lift)), copy=False)


def _steps(parts: list[Formula]) -> exp.Expr:
    x = parts[0]
    grain = grain_of(x.type)
    origin, step = parts[1].type.constant or Fraction(0), parts[2].type.constant or Fraction(1)
    lowest = int(origin / grain)
    above = _plus(x.sql, -lowest)
    if step <= grain:
        return _times(above, int(grain / step))
    wide = int(step / grain)
    return floor_division(_plus(above, wide // 2), _low(x.type) - lowest + wide // 2, integer(wide), wide)


def _aligned(parts: list[Formula], arguments: Sequence[Expression]) -> list[exp.Expr]:
    """Numbers on their common grid; anything else as it is."""
    common = shared_grain([part.type for part in parts], arguments)
    return [part.sql if common is None else _rescaled(part, common) for part in parts]


def _on_grid(parts: list[Formula], of: Type) -> list[exp.Expr]:
    return [part.sql if of.grain is None else _rescaled(part, of.grain) for part in parts]


def _rescaled(part: Formula, grain: Fraction) -> exp.Expr:
    if part.type.kind != "number" or part.type.grain is None:
        return part.sql
    if part.type.constant is not None and isinstance(part.sql, exp.Cast):
        return constant(int(part.type.constant / grain))
    return _times(part.sql, int(part.type.grain / grain))


def _times(x: exp.Expr, factor: int) -> exp.Expr:
    if factor == 1:
        return x
    if isinstance(x, exp.Literal) and not x.is_string:
        return integer(int(x.this) * factor)
    return exp.paren(exp.Mul(this=x, expression=integer(factor)), copy=False)


def _plus(x: exp.Expr, addend: int) -> exp.Expr:
    if addend == 0:
        return x
    kind = exp.Add if addend > 0 else exp.Sub
    return exp.paren(kind(this=x, expression=integer(abs(addend))), copy=False)


def grain_of(of: Type) -> Fraction:
    if of.grain is None:
        raise Bug("a number without a grid reached the engine")
    return of.grain


def _low(of: Type) -> int:
    assert isinstance(of.low, Fraction)
    return int(of.low / grain_of(of))


def _high(of: Type) -> int:
    assert isinstance(of.high, Fraction)
    return int(of.high / grain_of(of))
