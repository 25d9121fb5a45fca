"""Measures become cells of integers: keys listed from what is public, numbers shifted and scaled to whole steps."""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction

from sfumato.core import Bug, NotSupported
from sfumato.queries.bins import is_ordered
from sfumato.queries.domain import KEYS, domain
from sfumato.queries.expression import Expression, Field, Literal, Measure, call, fields
from sfumato.queries.infer import Scope, infer, limited_by
from sfumato.queries.plan import (
    Aggregate,
    Distinct,
    Filter,
    Having,
    Heads,
    Key,
    Limit,
    Plan,
    Ranked,
    Rows,
    Rowwise,
    Select,
    Sort,
    Statistic,
    Tally,
    Units,
    tables_of,
)
from sfumato.queries.rewrites.order import in_order
from sfumato.queries.rewrites.weigh import WHOLE
from sfumato.queries.rows import alone, declared_of, scope_of
from sfumato.queries.schema import Column, Schema, Value

SIZE = 10**8
"""The number of rows planned for when the policy declares none."""
ROOM = 4
"""Sums stay exact up to this many times the declared size, at full weight; beyond it they stop at the largest integer."""
FINE = 2**14
"""A variance is kept in at least so many steps of its range."""
PLACES = 2**20
"""A quantile is found among at most about so many places."""
GROUPS = 10**4
"""Quantiles are drawn group by group, in at most so many."""
MOMENTS = frozenset({"var_pop", "var_samp", "std_pop", "std_samp"})


def integers(plan: Plan, schema: Schema, *, most_groups: float = KEYS) -> Plan:
    """The Aggregate under a question as a Tally; what stands above it works on answers and is not the engine's."""
    match plan:
        case Having() | Sort() | Limit() | Select():
            return integers(plan.child, schema, most_groups=most_groups)
        case Aggregate(child, keys, measures):
            size = max((t.size or 0 for t in schema.tables if t.name in tables_of(child)), default=0)
            listed = tuple(_key(key, child) for key in keys)
            sizes = [len(key.values) for key in listed if not key.private]
            if math.prod(sizes) > most_groups:
                product = f"{' x '.join(f'{size:,}' for size in sizes)} = " if len(sizes) > 1 else ""
                raise NotSupported(
                    f"the combinations of these keys are {product}{math.prod(sizes):,} cells, more than a million",
                    hint="group by fewer columns, or by coarser keys: a range of ages, a month for a day",
                    code="SF005",
                )
            if math.prod(len(key.values) for key in listed) > GROUPS and any(m.kind == "quantile" for m in measures):
                raise NotSupported(
                    "quantiles are asked of more than ten thousand groups",
                    hint="group by fewer columns, or by coarser keys",
                    code="SF005",
                )
            rows = in_order(
                Filter(child, tuple(c for key in listed for c in _membership(key, scope_of(child)))), schema
            )
            most = max((size or SIZE) * ROOM, schema.unit.max_rows)
            found = statistics(measures, rows, most)  # type: ignore[arg-type]
            if not any(key.private for key in listed):
                return Tally(rows, listed, found)  # type: ignore[arg-type]
            if any(isinstance(each, Ranked) for each in found):
                raise NotSupported(
                    "quantiles are asked of groups that nobody lists",
                    hint="ask for the groups first, then for the quantiles WHERE the key is IN those that were told",
                    code="SF005",
                )
            bound = 1 if alone(rows) else schema.unit.max_groups or 1  # type: ignore[arg-type]
            return Tally(rows, listed, _headed(found, alone(rows)), bound)  # type: ignore[arg-type]
        case _:
            raise Bug("only an aggregated question can be tallied")


def _key(key: Expression, rows: Rows) -> Key:
    """The public values of a key, and NULL after them when the policy groups it."""
    columns = declared_of(rows)
    scope = scope_of(rows)
    listed = {name: c.values for name, c in columns.items() if isinstance(c.values, tuple)}
    used = [columns[name] for name in sorted(fields(key)) if name in columns]
    values = domain(key, scope, listed)
    private = values is None and any(column.values == "private" for column in used)
    if values is None and not private:
        raise NotSupported(
            "the groups asked for have no public list",
            hint="group by a column whose values or range the policy lists, or by CASE WHEN ... of it",
            code="SF005",
        )
    if private and any(domain(Field(name), scope, listed) is None for name in _undeclared(key, columns)):
        raise NotSupported(
            "the groups asked for are made of a column that is neither listed nor declared private",
            hint='the owner can declare values = "private" in the policy; or group by fewer columns',
            code="SF005",
        )
    shown = values or ()
    if not infer(key, scope).nullable:
        return Key(key, shown, private)
    if is_ordered(key) and not any(column.null == "refuse" for column in used):
        return Key(key, shown, private)  # what lies in no bin is in no group
    if any(column.null == "refuse" for column in used):
        raise _nulls()
    grouped = not used or any(column.null == "group" for column in used)
    return Key(key, (*shown, None), private) if grouped else Key(key, shown, private)


def _undeclared(key: Expression, columns: dict[str, Column]) -> list[str]:
    """The columns of a key that are not declared private."""
    return [name for name in sorted(fields(key)) if name not in columns or columns[name].values != "private"]


def _headed(found: tuple[Statistic, ...], single: bool) -> tuple[Statistic, ...]:
    """The number of units of each group first. Where it answers a measure by itself, nothing else is bought for that."""
    same: set[Statistic] = {Units(), Rowwise("count")} if single else {Units()}
    told = any(each in same for each in found)
    return (Heads(told), *(each for each in found if each not in same))


def _nulls() -> NotSupported:
    return NotSupported(
        "a column that the policy does not allow to be NULL here may be NULL",
        hint="add WHERE column IS NOT NULL, or use COALESCE(column, ...)",
        code="SF021",
    )


def _membership(key: Key, scope: Scope) -> tuple[Expression, ...]:
    """Conditions that leave only rows whose key is listed; none where every value it can take is."""
    of = infer(key.of, scope)
    if key.private:
        return (call("not", call("is_null", key.of)),) if of.nullable and None not in key.values else ()
    known = tuple(value for value in key.values if value is not None)
    there = call("not", call("is_null", key.of))
    if of.kind == "boolean" or (of.kind in {"number", "date"} and _complete(key.of, known, scope)):
        return (there,) if of.nullable and None not in key.values else ()
    listed = call("in", key.of, *(Literal(value) for value in known)) if known else Literal(False)
    return (call("or", call("is_null", key.of), listed),) if None in key.values else (listed,)


def _complete(key: Expression, known: tuple[Value, ...], scope: Scope) -> bool:
    """Whether these are all the values that its type allows, so that no row can be outside of them."""
    every = domain(key, scope, {})
    return every is not None and (every == known or set(every) <= set(known))


def statistics(measures: tuple[Measure, ...], rows: Rows, most: int) -> tuple[Statistic, ...]:
    """The fewest cells that answer every measure. One column's mean gives its count and sum; its variance, all three.

    `most` rows of full weight have to fit in a 64-bit cell; what one unit has at its bound is no more.
    """
    scope = scope_of(rows)
    columns = declared_of(rows)
    whole = 1 if alone(rows) else WHOLE
    found: dict[Statistic, None] = {}
    wanted: dict[Expression, set[str]] = {}
    levels: dict[Expression, set[Fraction]] = {}
    for measure in measures:
        if measure.of is not None:
            _check_nulls(measure.of, scope, columns)
        if measure.of is not None and measure.kind == "distinct":
            found[Distinct(measure.of)] = None
        elif measure.of is not None and measure.kind == "quantile":
            levels.setdefault(measure.of, set()).update(measure.at)
        elif measure.of is not None:
            wanted.setdefault(measure.of, set()).add(measure.kind)
    for of, kinds in wanted.items():
        found.update(dict.fromkeys(_of_column(of, kinds, scope, 2**63 // (whole * most))))
    found.update(dict.fromkeys(_ranked(of, tuple(sorted(at)), scope, columns) for of, at in levels.items()))
    if any(measure.kind == "units" for measure in measures):
        found[Units()] = None
    if any(measure.kind == "rows" for measure in measures) and counting(Measure("rows"), tuple(found), scope) is None:
        found[Rowwise("count")] = None
    return tuple(found)


def _check_nulls(of: Expression, scope: Scope, columns: dict[str, Column]) -> None:
    if infer(of, scope).nullable and any(columns[name].null == "refuse" for name in fields(of) if name in columns):
        raise _nulls()


def _of_column(of: Expression, kinds: set[str], scope: Scope, room: int) -> tuple[Statistic, ...]:
    kind = infer(of, scope)
    if kinds == {"present"}:
        return (Rowwise("present", of),) if kind.nullable else (Rowwise("count"),)
    if kind.kind != "number" or not isinstance(kind.low, Fraction) or not isinstance(kind.high, Fraction):
        raise NotSupported(
            "a sum or a mean is asked of something without a public range, so one person could move it without limit",
            hint=f"the owner can declare a range in the policy; {limited_by([kind])}",
            code="SF002",
        )
    assert kind.grain is not None
    if room < 2:
        raise NotSupported("the table is too large for exact sums", hint="declare a smaller size", code="SF002")
    if kinds <= {"sum", "present"}:
        if kind.low == kind.high == 0:
            raise _constant()
        step = kind.grain * max(1, math.ceil(max(abs(kind.low), abs(kind.high)) / kind.grain / room))
        total = Rowwise("total", of, kind.low, kind.high, step)
        return (total, *_of_column(of, {"present"}, scope, room)) if "present" in kinds else (total,)
    if kind.low == kind.high:
        raise _constant()
    step = kind.grain * max(1, math.ceil((kind.high - kind.low) / kind.grain / room))
    if not kinds & MOMENTS:
        return (Rowwise("mean", of, kind.low, kind.high, step),)
    steps = (kind.high - kind.low) / step
    if steps < min(FINE, room):
        step /= math.ceil(min(FINE, room) / steps) if math.ceil(min(FINE, room) / steps) * steps <= room else 1
    return (Rowwise("moments", of, kind.low, kind.high, step),)


def _ranked(of: Expression, at: tuple[Fraction, ...], scope: Scope, columns: dict[str, Column]) -> Ranked:
    """All the quantiles asked of one column together; places as fine as its grid, as long as they are few enough."""
    kind = infer(of, scope)
    column = columns.get(of.name) if isinstance(of, Field) else None
    if column is not None and column.ordered and isinstance(column.values, tuple) and kind.kind == "text":
        last = Fraction(len(column.values) - 1)
        if not last:
            raise _constant()
        return Ranked(of, Fraction(0), last, Fraction(1), at, "order", column.values)
    if kind.kind == "date" and isinstance(kind.low, date) and isinstance(kind.high, date):
        days = (kind.high - kind.low).days
        if not days:
            raise _constant()
        return Ranked(
            of, Fraction(0), Fraction(days), Fraction(max(1, math.ceil(days / PLACES))), at, "day", (kind.low,)
        )
    if kind.kind != "number" or not isinstance(kind.low, Fraction) or not isinstance(kind.high, Fraction):
        raise NotSupported(
            "a quantile is asked of something without a public range or a public order",
            hint=f"the owner can declare a range, or ordered = true; {limited_by([kind])}",
            code="SF002",
        )
    assert kind.grain is not None
    if kind.low == kind.high:
        raise _constant()
    step = kind.grain * max(1, math.ceil((kind.high - kind.low) / kind.grain / PLACES))
    return Ranked(of, kind.low, kind.high, step, at)


def _constant() -> NotSupported:
    return NotSupported(
        "this is always the same number: there is nothing to measure", hint="count the rows", code="SF021"
    )


def counting(measure: Measure, found: tuple[Statistic, ...], scope: Scope) -> Statistic | None:
    """A statistic among `found` that already counts what COUNT(*) or COUNT(x) asks for."""
    for each in found:
        if not isinstance(each, Rowwise) or each.kind == "total":
            continue
        everywhere = each.of is None or not infer(each.of, scope).nullable
        if (measure.kind == "rows" and everywhere) or (measure.of is not None and each.of == measure.of):
            return each
        if measure.of is not None and everywhere and not infer(measure.of, scope).nullable:
            return each
    return None
