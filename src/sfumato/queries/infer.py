"""An interpreter over types, ranges and nulls: what an expression can be on any row, and on how fine a grid.

Numbers are multiples of a grain within [low, high]. The rules refuse what could overflow 61 bits in steps of its
grain, so an engine may compute with bare integers; they refuse what has no range where a range is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Literal as OneOf
from typing import assert_never, final

from sfumato.core import Bug, NotSupported
from sfumato.queries.evaluate import truncate
from sfumato.queries.expression import Call, Expression, Field, Literal, Measure
from sfumato.queries.schema import FIRST_DAY, LAST_DAY, Column, Table, Value

STEPS = 2**61
"""No number may need more steps than this: two of them still add in a 64-bit integer, on every engine."""
LONGEST = 2**32

Edge = Fraction | date


@final
@dataclass(frozen=True, slots=True)
class Type:
    """What a value can be. `released` numbers are answers already: no grid, no range, nothing left to protect."""

    kind: OneOf["number", "text", "boolean", "date", "unit", "key", "list", "null"]
    nullable: bool = True
    low: Edge | None = None
    high: Edge | None = None
    grain: Fraction | None = None
    released: bool = False

    @property
    def bounded(self) -> bool:
        return self.low is not None and self.high is not None and (self.kind != "number" or self.grain is not None)

    @property
    def constant(self) -> Fraction | None:
        """The number it always is, if there is one."""
        same = self.kind == "number" and not self.nullable and self.low is not None and self.low == self.high
        return self.low if same and isinstance(self.low, Fraction) else None


Scope = Mapping[str, Type]
BOOLEAN = Type("boolean")


def column_type(column: Column) -> Type:
    """The type of a declared column, once its rows are normalised."""
    match column.type:
        case "integer" | "number":
            low, high = column.range or (None, None)
            on_grid = column.type == "integer" or column.range is not None
            return Type("number", True, low, high, column.grain if on_grid else None)
        case "category" | "text":
            return Type("text")
        case "boolean":
            return BOOLEAN
        case "date":
            first, last = column.range or (FIRST_DAY, LAST_DAY)
            return Type("date", True, first, last)
        case _:
            assert_never(column.type)


def visible(table: Table, keys: frozenset[str] = frozenset()) -> dict[str, Type]:
    """The columns of a table that a question may name. The unit and `keys`, if not declared, only count and join."""
    scope = {column.name: column_type(column) for column in table.columns}
    if table.unit is not None:
        scope.setdefault(table.unit, Type("unit"))
    for key in sorted(keys):
        scope.setdefault(key, Type("key"))
    return scope


def literal_type(value: Value, *, released: bool = False) -> Type:
    match value:
        case None:
            return Type("null")
        case bool():
            return Type("boolean", nullable=False)
        case int() | Fraction() if released:
            return Type("number", nullable=False, released=True)
        case int() | Fraction():
            exact = Fraction(value)
            return fits(Type("number", False, exact, exact, Fraction(1, exact.denominator)))
        case str():
            return Type("text", nullable=False)
        case date():
            return Type("date", False, value, value)
        case _:
            assert_never(value)


def infer(expression: Expression, scope: Scope) -> Type:
    """The type of a row-level expression."""
    match expression:
        case Field(name):
            if name not in scope:
                raise Bug("an expression reads a column that is not in scope")
            return scope[name]
        case Literal(value):
            return literal_type(value)
        case Call(operation, arguments):
            return result(operation, [infer(argument, scope) for argument in arguments], arguments)
        case Measure():
            raise Bug("a measure stands below the release")
        case _:
            assert_never(expression)


def result(operation: str, types: Sequence[Type], arguments: Sequence[Expression]) -> Type:
    """The type of one operation, given the types of its arguments; refuses what has no total, exact meaning."""
    if any(each.kind == "unit" for each in types):
        raise NotSupported(
            "the column that names the unit is hidden",
            hint="it can be counted with COUNT(DISTINCT ...), or declared in the policy as a column",
            code="SF022",
        )
    if any(each.kind == "key" for each in types):
        raise NotSupported(
            "this column leads from one table to another, and is hidden otherwise",
            hint="it can stand in ON; declare it in the policy as a column to do more with it",
            code="SF022",
        )
    if any(each.kind == "list" for each in types):
        raise _mismatch("several quantiles are a list, and nothing is computed from it", "ask one quantile at a time")
    nullable = any(each.nullable for each in types)
    match operation:
        case "and" | "or" | "not":
            _all(types, "boolean")
            return Type("boolean", nullable)
        case "is_null":
            return Type("boolean", nullable=False)
        case "eq" | "lt" | "le" | "in":
            kind = _same_kind(types)
            if kind == "boolean" and operation in {"lt", "le"}:
                raise _mismatch("true and false have no order", "compare them with =")
            _common_grain(types, arguments)
            return Type("boolean", nullable)
        case "like":
            _all(types, "text")
            return Type("boolean", nullable)
        case "case":
            _all(types[:-1:2], "boolean")
            branches = [*types[1::2], types[-1]]
            return _either(branches, [*arguments[1::2], arguments[-1]], nullable=any(t.nullable for t in branches))
        case "coalesce":
            return _either(types, arguments, nullable=all(each.nullable for each in types))
        case "least" | "greatest":
            return _extreme(operation, types, arguments)
        case "lower" | "upper" | "trim" | "concat":
            _all(types, "text")
            return Type("text", nullable)
        case "substring":
            _all(types[:1], "text")
            return Type("text", types[0].nullable)
        case "bin":
            _all(types, "number")
            _common_grain(types)
            (low, high, _), first, last = edges(types[0]), _constant(types[1]), _constant(types[-1])
            return Type("text", nullable or low < first or high > last)
        case "length":
            _all(types, "text")
            return Type("number", nullable, Fraction(0), Fraction(LONGEST), Fraction(1))
        case "year" | "quarter" | "month" | "day" | "week" | "weekday" | "truncate" | "add_days" | "days_between":
            return _day(operation, types, arguments)
        case _:
            return _number(operation, types)


def _number(operation: str, types: Sequence[Type]) -> Type:
    _all(types, "number")
    nullable = any(each.nullable for each in types)
    if any(each.released for each in types):
        total = operation in {"add", "subtract", "multiply", "negate", "absolute", "floor"}
        return Type("number", nullable or not total, released=True)
    if operation in {"ratio", "root"}:
        raise Bug("a ratio or a root was taken below the release")
    if operation == "modulo":
        return _remainder(types, nullable)
    if operation == "clamp" and not types[0].bounded and types[0].grain is not None:
        bottom, top = _constant(types[1]), _constant(types[2])
        return Type("number", nullable, bottom, top, types[0].grain)
    low, high, grain = edges(types[0])
    match operation:
        case "negate":
            return Type("number", nullable, -high, -low, grain)
        case "absolute":
            least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
            return Type("number", nullable, least, max(abs(low), abs(high)), grain)
        case "add" | "subtract":
            low2, high2, _ = edges(types[1])
            if operation == "subtract":
                low2, high2 = -high2, -low2
            return fits(Type("number", nullable, low + low2, high + high2, _common_grain(types)))
        case "multiply":
            return _product(types, nullable)
        case "divide":
            return _quotient(types)
        case "floor":
            return floored(types[0], types[1])
        case "clamp":
            bottom, top = _constant(types[1]), _constant(types[2])
            if (bottom / grain).denominator != 1 or (top / grain).denominator != 1:
                raise Bug("a clamp does not lie on the grid of what it limits")
            return Type("number", nullable, min(max(low, bottom), top), min(max(high, bottom), top), grain)
        case "steps":
            origin, step = _constant(types[1]), _constant(types[2])
            if min((step / grain).denominator, (grain / step).denominator) != 1 or (origin / grain).denominator != 1:
                raise Bug("steps do not lie on the grid of what they count")
            fits(Type("number", low=low - origin, high=high - origin + step, grain=min(step, grain)))
            first, last = (Fraction(math.floor((edge - origin) / step + Fraction(1, 2))) for edge in (low, high))
            return fits(Type("number", nullable, first, last, Fraction(1)))
        case "spread":
            top = _constant(types[1])
            if low < 0 or high > top or grain != 1:
                raise Bug("a spread was taken of steps outside of their range")
            fits(Type("number", nullable, Fraction(0), top * top + top, Fraction(1)))
            return Type("number", nullable, Fraction(0), top, Fraction(1))
    raise Bug(f"the operation {operation} has no typing rule")


def _product(types: Sequence[Type], nullable: bool) -> Type:
    (low, high, grain), (low2, high2, grain2) = edges(types[0]), edges(types[1])
    corners = [x * y for x in (low, high) for y in (low2, high2)]
    step = grain * grain2
    for one, other in ((types[0], grain2), (types[1], grain)):
        if one.constant:
            step = abs(one.constant) * other
    return fits(Type("number", nullable, min(corners), max(corners), step))


def _quotient(types: Sequence[Type]) -> Type:
    """x / y floored to the grid of the third argument. A divisor is 0 (NULL) or at least one grain away from it."""
    (low, high, grain), (low2, high2, grain2) = edges(types[0]), edges(types[1])
    target = _constant(types[2])
    nearest = [edge for edge in (low2, high2) if edge != 0]
    nearest += [edge for edge in (-grain2, grain2) if low2 <= edge <= high2]
    if not nearest:
        raise _mismatch("the divisor is always 0", "divide by something else")
    corners = [x / y for x in (low, high) for y in nearest]
    ratio = grain / grain2 / target
    fits(Type("number", low=low * ratio.numerator, high=high * ratio.numerator, grain=grain))
    fits(Type("number", low=low2 * ratio.denominator, high=high2 * ratio.denominator, grain=grain2))
    if low < 0 or low2 <= 0:  # the engine raises the numerator by a multiple of the divisor
        reach = max(abs(low), abs(high)) / grain * max(abs(low2), abs(high2)) / grain2
        fits(Type("number", low=Fraction(0), high=reach * ratio.numerator * ratio.denominator, grain=Fraction(1)))
    first, last = (math.floor(edge / target) * target for edge in (min(corners), max(corners)))
    return fits(Type("number", types[0].nullable or types[1].nullable or low2 <= 0 <= high2, first, last, target))


def quotient_grain(dividend: Type, divisor: Type) -> Fraction:
    """A grid for a quotient: six digits of its largest value, and whole numbers at the coarsest."""
    (low, high, _), (low2, high2, grain2) = edges(dividend), edges(divisor)
    smallest = grain2 if low2 <= 0 <= high2 else min(abs(low2), abs(high2))
    largest = max(abs(low), abs(high)) / smallest
    grain = Fraction(1)
    while largest / grain < 10**5 and grain > Fraction(1, 10**9):
        grain /= 10
    return grain


def floored(of: Type, by: Type) -> Type:
    """x down to a multiple of a constant step."""
    low, high, grain = edges(of)
    step = _constant(by)
    if step <= 0:
        raise _mismatch("a step is not positive", "round down to a positive step")
    fits(Type("number", low=low * (grain / step).numerator, high=high * (grain / step).numerator, grain=grain))
    fits(Type("number", low=Fraction(0), high=Fraction((grain / step).denominator), grain=Fraction(1)))
    return Type("number", of.nullable, math.floor(low / step) * step, math.floor(high / step) * step, step)


def _remainder(types: Sequence[Type], nullable: bool) -> Type:
    of, by = types
    modulus = _constant(by)
    if modulus <= 0:
        raise _mismatch("a remainder is taken by a number that is not positive", "take it by 2, 7, 100, ...")
    if of.grain is None:
        raise _no_range([of])
    grain = _common_grain(types)
    assert grain is not None
    low = Fraction(0) if isinstance(of.low, Fraction) and of.low >= 0 else -(modulus - grain)
    high = Fraction(0) if isinstance(of.high, Fraction) and of.high <= 0 else modulus - grain
    if isinstance(of.low, Fraction):
        low = max(low, min(of.low, Fraction(0)))
    if isinstance(of.high, Fraction):
        high = min(high, max(of.high, Fraction(0)))
    return Type("number", nullable, low, high, grain)


def _extreme(operation: str, types: Sequence[Type], arguments: Sequence[Expression]) -> Type:
    """LEAST and GREATEST pass over NULLs, so only a number that is always there limits the other side."""
    hull = _either(types, arguments, nullable=all(each.nullable for each in types))
    if hull.kind != "number" or hull.released:
        return hull
    sure = [each for each in types if not each.nullable]
    lows = [each.low for each in sure if isinstance(each.low, Fraction)]
    highs = [each.high for each in sure if isinstance(each.high, Fraction)]
    if operation == "least" and highs:
        limit = min(highs)
        high = limit if hull.high is None else min(limit, hull.high)
        return replace(hull, high=high)
    if operation == "greatest" and lows:
        limit = max(lows)
        low = limit if hull.low is None else max(limit, hull.low)
        return replace(hull, low=low)
    return hull


def _either(types: Sequence[Type], arguments: Sequence[Expression], *, nullable: bool) -> Type:
    """One of several values: the hull of their ranges on their common grid."""
    known = [each for each in types if each.kind != "null"]
    if not known:
        return Type("null")
    kind = _same_kind(types)
    if any(each.released for each in known):
        return Type(kind, nullable, released=True)
    lows, highs = [each.low for each in known], [each.high for each in known]
    low = None if None in lows else min(lows)  # type: ignore[type-var]
    high = None if None in highs else max(highs)  # type: ignore[type-var]
    return Type(kind, nullable, low, high, _common_grain(types, arguments))


def _day(operation: str, types: Sequence[Type], arguments: Sequence[Expression]) -> Type:
    _all(types[:1], "date")
    first, last = types[0].low, types[0].high
    assert isinstance(first, date)
    assert isinstance(last, date)
    nullable = any(each.nullable for each in types)
    match operation:
        case "year":
            return _whole(first.year, last.year, nullable)
        case "quarter":
            return _whole(1, 4, nullable)
        case "month":
            return _whole(1, 12, nullable)
        case "day":
            return _whole(1, 31, nullable)
        case "week":
            return _whole(1, 53, nullable)
        case "weekday":
            return _whole(1, 7, nullable)
        case "truncate":
            step = arguments[1]
            assert isinstance(step, Literal)
            return Type("date", types[0].nullable, truncate(first, str(step.value)), truncate(last, str(step.value)))
        case "days_between":
            _all(types, "date")
            first2, last2 = types[1].low, types[1].high
            assert isinstance(first2, date)
            assert isinstance(last2, date)
            return _whole((first - last2).days, (last - first2).days, nullable)
        case "add_days":
            _all(types[1:], "number")
            low, high, grain = edges(types[1])
            if grain.denominator != 1:
                raise _mismatch("a date is moved by a part of a day", "add a whole number of days")
            try:
                return Type("date", nullable, first + timedelta(days=int(low)), last + timedelta(days=int(high)))
            except OverflowError:
                raise _mismatch("a date may leave the years 1 to 9999", "declare a narrower range for it") from None
    raise Bug(f"the operation {operation} has no typing rule")


def _whole(low: int, high: int, nullable: bool) -> Type:
    return Type("number", nullable, Fraction(low), Fraction(high), Fraction(1))


def edges(of: Type) -> tuple[Fraction, Fraction, Fraction]:
    if isinstance(of.low, Fraction) and isinstance(of.high, Fraction) and of.grain is not None:
        return of.low, of.high, of.grain
    raise _no_range([of])


def _constant(of: Type) -> Fraction:
    if of.constant is None:
        raise _mismatch("a constant number is needed here", "write a number")
    return of.constant


def _common_grain(types: Sequence[Type], arguments: Sequence[Expression] = ()) -> Fraction | None:
    """The coarsest grid that holds every number among them; refuses if one of them would not fit on it."""
    numbers = [each for each in types if each.kind == "number"]
    if not numbers or any(each.released for each in numbers):
        return None
    common = shared_grain(types, arguments)
    if common is None:
        raise _no_range(numbers)
    for each in numbers:
        if not each.bounded and each.grain != common:
            raise _no_range(numbers)
        fits(replace(each, grain=common))
    return common


def shared_grain(types: Sequence[Type], arguments: Sequence[Expression] = ()) -> Fraction | None:
    """The coarsest grid that holds every number among them; None where one of them has no grid.

    A number without a range cannot be written on a finer grid, because nothing bounds how many more steps it would need
    there. Beside one, a constant that lies on its grid is counted in its steps: 5 000 among multiples of 10 is 500 of them.
    """
    numbers = [(of, n < len(arguments) and isinstance(arguments[n], Literal)) for n, of in enumerate(types)]
    numbers = [(of, constant) for of, constant in numbers if of.kind == "number"]
    grains = [of.grain for of, _ in numbers if of.grain is not None]
    if not grains or len(grains) < len(numbers):
        return None
    wide = [of.grain for of, _ in numbers if of.grain is not None and not of.bounded]
    if wide:
        kept = [of.grain for of, constant in numbers if not (constant and _lies_on(of, wide[0]))]
        grains = [grain for grain in kept if grain is not None]
    common = grains[0]
    for grain in grains[1:]:
        common = Fraction(
            math.gcd(common.numerator * grain.denominator, grain.numerator * common.denominator),
            common.denominator * grain.denominator,
        )
    return common


def _lies_on(of: Type, grain: Fraction) -> bool:
    return of.constant is not None and (of.constant / grain).denominator == 1


def fits(of: Type) -> Type:
    """Refuses numbers that would need more than 61 bits in steps of their grain."""
    if of.grain is not None:
        for edge in (of.low, of.high):
            if isinstance(edge, Fraction) and abs(edge / of.grain) > STEPS:
                raise NotSupported(
                    "a number here could grow beyond what is computed exactly",
                    hint="declare a narrower range or a coarser grain, or write fewer digits",
                    code="SF002",
                )
    return of


def _all(types: Iterable[Type], kind: str) -> None:
    for each in types:
        if each.kind not in {kind, "null"}:
            raise _mismatch(f"a {kind} is needed here, and this is a {each.kind}", "compare and combine like with like")


def _same_kind(types: Iterable[Type]) -> OneOf["number", "text", "boolean", "date", "unit", "key", "list", "null"]:
    kinds = {each.kind for each in types if each.kind != "null"}
    if len(kinds) > 1:
        raise _mismatch(f"a {' and a '.join(sorted(kinds))} meet here", "compare and combine like with like")
    return kinds.pop() if kinds else "null"


def _mismatch(what: str, hint: str) -> NotSupported:
    return NotSupported(what, hint=hint, code="SF021")


def _no_range(numbers: Sequence[Type]) -> NotSupported:
    return NotSupported(
        "a number without a public range is used here",
        hint=f"the owner can declare its range in the policy; {limited_by(numbers)}",
        code="SF002",
    )


def limited_by(numbers: Iterable[Type]) -> str:
    """What else than a declared range would help: a limit, as long as it lies on the grid of what it limits."""
    wide = [each.grain for each in numbers if each.kind == "number" and not each.bounded]
    if None in wide:
        return (
            "a number, unlike an integer, has no public grid without one, so no limit in the question can stand for it"
        )
    if wide and wide[0] not in {None, 1}:
        return f"or compare and limit it with multiples of {wide[0]}, its grain: GREATEST(low, LEAST(high, x))"
    return "or limit it with GREATEST(low, LEAST(high, x))"
