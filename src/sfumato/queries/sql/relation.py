"""Rows as a SELECT: tables read and settled, filtered, joined, gathered by unit, with windows.

Numbers are integers, in steps of their grain, throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never, final

from sqlglot import exp

from sfumato.core import Bug
from sfumato.queries.expression import Expression
from sfumato.queries.infer import STEPS, Type, infer
from sfumato.queries.plan import Derive, Filter, Fold, Gather, Join, Order, Over, Read, Rows, Window
from sfumato.queries.rows import scope_of
from sfumato.queries.schema import FIRST_DAY, LAST_DAY, Column
from sfumato.queries.sql.formula import Formula, clamped, constant, formula, grain_of, integer


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """A SELECT, and what its columns are called: each field by a name of our own, keys as they are stored, `u` the unit."""

    query: exp.Select
    fields: Mapping[str, str]
    keys: Mapping[str, str]
    unit: bool

    @property
    def every(self) -> tuple[str, ...]:
        """The names of all fields, in the order of the fields' own."""
        return tuple(self.fields[field] for field in sorted(self.fields))

    def formulas(self, scope: Mapping[str, Type], table: str = "") -> dict[str, Formula]:
        """The fields as expressions can use them, read from this SELECT under the name `table`."""
        return {field: Formula(column(name, table), scope[field]) for field, name in self.fields.items()}


def filtered(rows: Rows) -> tuple[Rows, tuple[Expression, ...]]:
    """The conditions on top of some rows, and the rows below them."""
    if not isinstance(rows, Filter):
        return rows, ()
    below, others = filtered(rows.child)
    return below, (*others, *rows.conditions)


def shaped(rows: Rows) -> Shape:
    """The SELECT of some rows."""
    match rows:
        case Read():
            return _read(rows)
        case Filter():
            return _filtered(rows)
        case Derive():
            return _derived(rows)
        case Join():
            return _joined(rows)
        case Gather():
            return _gathered(rows)
        case Window():
            return _windowed(rows)
        case _:
            raise Bug("rows were about to reach an engine before they were normalised")


def _filtered(rows: Filter) -> Shape:
    below, conditions = filtered(rows)
    shape = shaped(below)
    columns = shape.formulas(scope_of(rows))
    query = exp.select("*").from_(shape.query.subquery("r", copy=False), copy=False)
    for condition in conditions:
        query = query.where(formula(condition, columns).sql, copy=False)
    return Shape(query, shape.fields, shape.keys, shape.unit)


def _derived(rows: Derive) -> Shape:
    shape = shaped(rows.child)
    columns = shape.formulas(scope_of(rows.child))
    query, fields = exp.select("*"), dict(shape.fields)
    for name, expression in rows.columns:
        fields[name] = f"x{len(fields)}"
        query = query.select(exp.alias_(formula(expression, columns).sql, fields[name]), copy=False)
    return Shape(query.from_(shape.query.subquery("r", copy=False), copy=False), fields, shape.keys, shape.unit)


# -- what is joined ----------------------------------------------------------------------------------------------------


def _joined(rows: Join) -> Shape:
    """One SELECT over both sides. Every name below becomes a new one, so that no side hides the other."""
    left, right = shaped(rows.left), shaped(rows.right)
    if rows.unique is not None:
        right = _once(right, rows.unique)
    scope = scope_of(rows.left) | scope_of(rows.right)
    columns = left.formulas(scope, "l") | right.formulas(scope, "r")
    conditions = [formula(condition, columns).sql for condition in rows.on]
    if left.unit and right.unit:
        conditions.insert(0, exp.EQ(this=column("u", "l"), expression=column("u", "r")))
    if rows.link is not None:
        stored = [column(left.keys[rows.link[0]], "l"), column(right.keys[rows.link[1]], "r")]
        conditions.append(exp.EQ(this=stored[0], expression=stored[1]))
    if not conditions:
        raise Bug("a join without a condition was about to reach an engine")
    fields: dict[str, str] = {}
    keys_: dict[str, str] = {}
    query = exp.select()
    for shape, side in ((left, "l"), (right, "r")):
        for field, name in shape.fields.items():
            fields[field] = f"x{len(fields)}"
            query = query.select(exp.alias_(column(name, side), fields[field]), copy=False)
        for field, name in shape.keys.items():
            keys_[field] = f"j{len(keys_)}"
            query = query.select(exp.alias_(column(name, side), keys_[field]), copy=False)
    if left.unit or right.unit:
        query = query.select(exp.alias_(column("u", "l" if left.unit else "r"), "u"), copy=False)
    if not query.expressions:
        query = query.select(exp.alias_(integer(1), "one"), copy=False)
    query = query.from_(left.query.subquery("l", copy=False), copy=False).join(
        right.query.subquery("r", copy=False), on=exp.and_(*conditions, copy=False), join_type=rows.kind, copy=False
    )
    return Shape(query, fields, keys_, left.unit or right.unit)


def _once(shape: Shape, unique: str) -> Shape:
    """The public rows whose key stands once: what is declared unique and is not matches nothing, and multiplies nobody."""
    key, names = shape.fields[unique], list(shape.fields.values())
    times = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[column(key)])
    query = exp.select(*(column(name) for name in names), exp.alias_(times, "m"))
    query = query.from_(shape.query.subquery("p", copy=False), copy=False)
    only = exp.select(*(column(name) for name in names)).from_(query.subquery("p", copy=False), copy=False)
    return Shape(only.where(exp.EQ(this=column("m"), expression=integer(1)), copy=False), shape.fields, {}, unit=False)


# -- what happens inside one unit --------------------------------------------------------------------------------------


def _gathered(rows: Gather) -> Shape:
    """GROUP BY the unit. A first row is the one with number 1 in the order, found before the rows are gathered."""
    shape, scope = shaped(rows.child), scope_of(rows.child)
    columns = shape.formulas(scope)
    keys = [(f"g{place}", formula(of, columns).sql) for place, (_, of) in enumerate(rows.keys)]
    inner = exp.select(exp.alias_(column("u"), "u"), *(exp.alias_(sql, name) for name, sql in keys))
    fields = {name: f"x{place}" for place, (name, _) in enumerate(rows.keys)}
    chosen = exp.select(exp.alias_(column("u"), "u"), *(exp.alias_(column(f"g{n}"), f"x{n}") for n in range(len(keys))))
    for place, (name, fold) in enumerate(rows.folds):
        if fold.of is not None:
            inner = inner.select(exp.alias_(formula(fold.of, columns).sql, f"a{place}"), copy=False)
        if fold.kind in {"first", "last"}:
            terms = _ordered(fold.by, columns, shape.every, backwards=fold.kind == "last")
            numbered = _over(exp.RowNumber(), [column("u"), *(sql.copy() for _, sql in keys)], terms)
            inner = inner.select(exp.alias_(numbered, f"o{place}"), copy=False)
        fields[name] = f"x{len(fields)}"
        low = infer(fold.of, scope).low if fold.kind == "mean" and fold.of is not None else None
        lowest = int(low / columns_grain(fold.of, scope)) if isinstance(low, Fraction) else 0
        chosen = chosen.select(exp.alias_(_folded(fold, place, lowest), fields[name]), copy=False)
    chosen = chosen.from_(inner.from_(shape.query.subquery("r", copy=False), copy=False).subquery("q", copy=False))
    return Shape(chosen.group_by("u", *(name for name, _ in keys), copy=False), fields, {}, unit=True)


def columns_grain(of: Expression | None, scope: Mapping[str, Type]) -> Fraction:
    assert of is not None
    return grain_of(infer(of, scope))


def _folded(fold: Fold, place: int, low: int) -> exp.Expr:
    """One aggregate over the rows of a unit."""
    value = column(f"a{place}")
    match fold.kind:
        case "rows":
            return exp.cast(exp.Count(this=exp.Star()), "bigint")
        case "present":
            return exp.cast(exp.Count(this=value), "bigint")
        case "distinct":
            return exp.cast(exp.Count(this=exp.Distinct(expressions=[value])), "bigint")
        case "sum":
            return _short(exp.Sum(this=value))
        case "mean":
            count = exp.cast(exp.Nullif(this=exp.Count(this=value), expression=integer(0)), "hugeint")
            shifted = exp.Sub(this=exp.Sum(this=value.copy()), expression=_times(count, low))
            return exp.cast(
                exp.Add(
                    this=exp.paren(
                        exp.IntDiv(this=exp.paren(_times(exp.paren(shifted), 1000)), expression=count.copy())
                    ),
                    expression=integer(1000 * low),
                ),
                "bigint",
            )
        case "least" | "most":
            return (exp.Min if fold.kind == "least" else exp.Max)(this=value)
        case "first" | "last":
            first = exp.EQ(this=column(f"o{place}"), expression=integer(1))
            return exp.Max(this=exp.Case(ifs=[exp.If(this=first, true=value)]))
        case _:
            assert_never(fold.kind)


def _times(of: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=of.copy(), expression=integer(factor))


def _short(total: exp.Expr) -> exp.Expr:
    """A sum as a 64-bit integer, which stops where two of them would no longer add."""
    return exp.cast(clamped(total, integer(-STEPS), integer(STEPS)), "bigint")


def _windowed(rows: Window) -> Shape:
    """One SELECT of all windows. Rows alike in every column may stand in any order, and several windows must agree on it.

    Each by itself gives the same rows whichever of two twins comes first. Two that order them apart would not: which values
    meet on one row would depend on how the engine met the rows, and so on everybody else's. A number below settles it.
    """
    shape, scope = shaped(rows.child), scope_of(rows.child)
    columns = shape.formulas(scope)
    below, ties = shape.query, shape.every
    if sum(_apart(over) for _, over in rows.columns) > 1:
        number = _over(exp.RowNumber(), [column("u")], _ordered((), columns, ties))
        ties = (f"o{len(shape.fields)}",)
        below = exp.select("*", exp.alias_(number, ties[0])).from_(below.subquery("r", copy=False), copy=False)
    query, fields = exp.select("*"), dict(shape.fields)
    for name, over in rows.columns:
        fields[name] = f"x{len(fields)}"
        query = query.select(exp.alias_(_seen(over, ties, columns), fields[name]), copy=False)
    return Shape(query.from_(below.subquery("r", copy=False), copy=False), fields, shape.keys, shape.unit)


def _apart(over: Over) -> bool:
    """Whether rows that are alike in every column see different things."""
    return over.frame == "rows" and over.kind != "first"


def _seen(over: Over, ties: tuple[str, ...], columns: Mapping[str, Formula]) -> exp.Expr:
    """One window, always within the unit."""
    within = [column("u"), *(formula(each, columns).sql for each in over.within)]
    of = exp.null() if over.of is None else formula(over.of, columns).sql
    terms = _ordered(over.by, columns, ties if over.frame == "rows" else ())
    match over.kind:
        case "place":
            return exp.cast(_over(exp.RowNumber(), within, terms), "bigint")
        case "before" | "after":
            function = (exp.Lag if over.kind == "before" else exp.Lead)(this=of, offset=integer(over.offset))
            return _over(function, within, terms)
        case "first":
            return _over(exp.FirstValue(this=of), within, terms)
        case "rows" | "present":
            count = exp.Count(this=exp.Star() if over.kind == "rows" else of)
            return exp.cast(_over(count, within, terms, over.frame), "bigint")
        case "sum":
            return _short(_over(exp.Sum(this=of), within, terms, over.frame))
        case "least" | "most":
            return _over((exp.Min if over.kind == "least" else exp.Max)(this=of), within, terms, over.frame)
        case _:
            assert_never(over.kind)


def _ordered(
    by: tuple[Order, ...], columns: Mapping[str, Formula], ties: tuple[str, ...], *, backwards: bool = False
) -> list[exp.Expr]:
    """The terms of an order. With every column as `ties`, only rows alike in all of them are equal."""
    terms = [(formula(each.by, columns).sql, each.descending, each.nulls_first) for each in by]
    terms += [(column(name), False, False) for name in ties]
    return [
        exp.Ordered(this=sql, desc=descending != backwards, nulls_first=first != backwards)
        for sql, descending, first in terms
    ]


def _over(function: exp.Expr, within: list[exp.Expr], terms: list[exp.Expr], frame: str = "") -> exp.Expr:
    spec = None
    if frame in {"rows", "peers"}:
        kind = "ROWS" if frame == "rows" else "RANGE"
        spec = exp.WindowSpec(kind=kind, start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    order = exp.Order(expressions=terms) if terms else None
    return exp.Window(this=function, partition_by=within, order=order, spec=spec)


# -- what is read ------------------------------------------------------------------------------------------------------


def _read(read: Read) -> Shape:
    """The table's rows with a unit, every column settled: no NaN, no infinity, nothing out of range."""
    fields = {read.prefix + each.name: f"x{place}" for place, each in enumerate(read.columns)}
    keys = {read.prefix + key: f"j{place}" for place, key in enumerate(read.keys)}
    query = exp.select(*(exp.alias_(settled(each), f"x{place}") for place, each in enumerate(read.columns)))
    query = query.select(*(exp.alias_(_raw(key), f"j{place}") for place, key in enumerate(read.keys)), copy=False)
    if read.unit is not None:
        unit = _raw(read.unit, "t" if not read.path else f"t{len(read.path)}")
        query = query.select(exp.alias_(unit, "u"), copy=False)
        query = query.where(exp.Not(this=exp.Is(this=unit.copy(), expression=exp.null())), copy=False)
    if not query.expressions:
        query = query.select(exp.alias_(integer(1), "one"), copy=False)
    query = query.from_(_table(read.table), copy=False)
    for place, step in enumerate(read.path):
        here, there = f"t{place or ''}", f"t{place + 1}"
        same = exp.EQ(this=_raw(step.column, here), expression=_raw(step.key, there))
        query = query.join(_table(step.table, there), on=same, join_type="inner", copy=False)
    return Shape(query, fields, keys, read.unit is not None)


def counted(query: exp.Select, rows: Rows) -> exp.Select:
    """The rows with the count that an ingest wrote beside each, `n`."""
    if not isinstance(rows, Read):
        raise Bug("rows that an ingest did not count were taken for counted")
    return query.select(exp.alias_(_raw(rows.counts or ""), "n"), copy=False)


def settled(column: Column) -> exp.Expr:
    """A raw column as the policy declares it; a number in steps of its grain. NULL stays NULL."""
    raw = _raw(column.name)
    match column.type:
        case "integer":
            return raw if column.range is None else clamped(raw, *(integer(_steps(column, b)) for b in column.range))
        case "number":
            return _from_double(column, raw)
        case "date":
            low, high = (constant(day) for day in (column.range or (FIRST_DAY, LAST_DAY)))
            if column.range is not None:
                return clamped(raw, low, high)
            outside = exp.Or(this=exp.LT(this=raw, expression=low), expression=exp.GT(this=raw.copy(), expression=high))
            return exp.Case(ifs=[exp.If(this=outside, true=exp.null())], default=raw.copy())
        case _:
            return raw


def _from_double(column: Column, raw: exp.Expr) -> exp.Expr:
    """A double to its nearest step by floor(x / grain + 1/2), after NaN is NULL and both ends are cut off.

    Both ends lie on the grid and below 2^49 steps, where rounding errors stay under half a step: what is strictly
    between the ends as doubles lands between them as steps.
    """
    nothing = exp.If(this=exp.IsNan(this=raw), true=exp.null())
    if column.range is None:
        return exp.Case(ifs=[nothing], default=raw.copy())
    assert column.grain is not None
    (low, high), ends = (
        (_double(bound) for bound in column.range),
        [integer(_steps(column, bound)) for bound in column.range],
    )
    below = exp.If(this=exp.LTE(this=raw.copy(), expression=low), true=ends[0])
    above = exp.If(this=exp.GTE(this=raw.copy(), expression=high), true=ends[1])
    per = exp.Mul if column.grain.numerator == 1 else exp.Div
    factor = column.grain.denominator if column.grain.numerator == 1 else column.grain.numerator
    scaled = per(this=raw.copy(), expression=_double(Fraction(factor)))
    nearest = exp.Floor(this=exp.Add(this=exp.paren(scaled, copy=False), expression=_double(Fraction(1, 2))))
    return exp.Case(ifs=[nothing, below, above], default=exp.cast(nearest, "bigint"))


def _steps(column: Column, bound: object) -> int:
    assert isinstance(bound, Fraction)
    assert column.grain is not None
    return int(bound / column.grain)


def _double(value: Fraction | object) -> exp.Expr:
    return exp.cast(exp.Literal.string(repr(float(value))), "double")  # type: ignore[arg-type]


def column(name: str, table: str = "") -> exp.Column:
    """A column of our own making."""
    return exp.column(exp.to_identifier(name), table=table or None)


def _raw(name: str, table: str = "t") -> exp.Column:
    """A column of the owner's table, never to be taken for one of ours."""
    return exp.column(exp.to_identifier(name, quoted=True), table=table)


def _table(name: str, alias: str = "t") -> exp.Expr:
    return exp.alias_(exp.Table(this=exp.to_identifier(name, quoted=True)), alias, table=True)
