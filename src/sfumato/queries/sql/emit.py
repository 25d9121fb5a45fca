"""A tally as one SQL statement: what is read, weighed and summed, in integers only.

rows: normalised, filtered, keyed, measured.  weights: one aggregation by unit.  The sums: one join, one aggregation.
Where units are counted, `pairs` first gathers the rows of each unit in each group.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from sfumato.core import Bug, NotSupported
from sfumato.queries.cells import ONE, spread, steps, there
from sfumato.queries.expression import Expression
from sfumato.queries.infer import infer
from sfumato.queries.plan import Filter, Read, Rows, Rowwise, Statistic, Tally, Units, Weigh
from sfumato.queries.rewrites.tally import scope_of
from sfumato.queries.schema import FIRST_DAY, LAST_DAY, Column
from sfumato.queries.sql.formula import Formula, clamped, constant, formula, integer

LARGEST = 2**63 - 1
LONGEST = 2_000_000


def emit(tally: Tally, dialect: str) -> str:
    """The statement, in an engine's dialect. Its columns are k0, k1, ... then c0, c1, ..., the cells in order."""
    weigh = tally.child
    if not isinstance(weigh, Weigh):
        raise Bug("rows without weights were about to reach an engine")
    read, conditions = _below(weigh.child)
    scope = scope_of(weigh.child)
    columns = {c.name: Formula(_column(f"x{place}"), scope[c.name]) for place, c in enumerate(read.columns)}
    bases = list(dict.fromkeys(base for each in tally.statistics for base in _bases(each, columns)))
    values = {base: f"v{position}" for position, base in enumerate(base for base in bases if base != ONE)}
    keys = [f"k{position}" for position in range(len(tally.keys))]

    rows = exp.select(
        *([exp.alias_(_column("u"), "u")] if read.unit is not None else []),
        *([exp.alias_(_weight(_column("n"), weigh), "w")] if weigh.counted == "ingest" else []),
        *(exp.alias_(formula(key.of, columns).sql, name) for key, name in zip(tally.keys, keys, strict=True)),
        *(exp.alias_(formula(base, columns).sql, name) for base, name in values.items()),
    )
    if not rows.expressions:
        rows = rows.select(exp.alias_(integer(1), "one"))
    rows = rows.from_(_normalised(read, weigh).subquery("r", copy=False), copy=False)
    for condition in conditions:
        rows = rows.where(formula(condition, columns).sql, copy=False)

    paired = read.unit is not None and Units() in tally.statistics
    source = "sfumato_pairs" if paired else "sfumato_rows"
    sums = {base: _summed(base, values, weigh, read, paired=paired) for base in bases}
    cells = [cell for each in tally.statistics for cell in _cells(each, sums, columns, read)]
    query = exp.select(
        *(_column(name) for name in keys),
        *(exp.alias_(_bounded(cell), f"c{position}") for position, cell in enumerate(cells)),
    ).from_(source, copy=False)
    weighed = read.unit is not None and (paired or weigh.counted == "left")
    if weighed:
        query = query.join("sfumato_weights", using=["u"], copy=False)
    if keys:
        query = query.group_by(*(_column(name) for name in keys), copy=False)
    query = query.with_("sfumato_rows", as_=rows, materialized=False, copy=False)
    if paired:
        query = query.with_("sfumato_pairs", as_=_pairs(keys, values, weigh), copy=False)
    if weighed:
        query = query.with_("sfumato_weights", as_=_weights(weigh, paired=paired), materialized=False, copy=False)
    text = query.sql(dialect=dialect, copy=False, normalize_functions=False, comments=False)
    if len(text) > LONGEST:
        raise NotSupported("the question is too long for an engine", hint="ask for less at a time", code="SF021")
    return text


def _below(rows: Rows) -> tuple[Read, tuple[Expression, ...]]:
    match rows:
        case Read():
            return rows, ()
        case Filter(child, conditions):
            read, others = _below(child)
            return read, (*others, *conditions)
        case _:
            raise Bug("rows were about to reach an engine before they were normalised")


# -- what is read ------------------------------------------------------------------------------------------------------


def _normalised(read: Read, weigh: Weigh) -> exp.Select:
    """The table's rows with a unit, every column settled: no NaN, no infinity, nothing out of range."""
    query = exp.select(*(exp.alias_(settled(column), f"x{place}") for place, column in enumerate(read.columns)))
    if read.unit is not None:
        unit = _raw(read.unit)
        query = query.select(exp.alias_(unit, "u"), copy=False)
        query = query.where(exp.Not(this=exp.Is(this=unit.copy(), expression=exp.null())), copy=False)
    if weigh.counted == "ingest":
        query = query.select(exp.alias_(_raw(read.counts or ""), "n"), copy=False)
    if not query.expressions:
        query = query.select(exp.alias_(integer(1), "one"), copy=False)
    return query.from_(_table(read.table), copy=False)


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


# -- what is weighed ---------------------------------------------------------------------------------------------------


def _weights(weigh: Weigh, *, paired: bool) -> exp.Select:
    """Each unit's weight for a row (w), and for a group (g) where units are counted."""
    if not paired:
        count = _weight(exp.Count(this=exp.Star()), weigh)
        return exp.select("u", exp.alias_(count, "w")).from_("sfumato_rows").group_by("u")
    rows, groups = exp.cast(_sum(_column("n")), "bigint"), exp.Count(this=exp.Star())
    chosen = exp.select("u", exp.alias_(_weight(groups, weigh), "g"))
    if weigh.counted == "left":
        chosen = chosen.select(exp.alias_(_weight(rows, weigh), "w"))
    return chosen.from_("sfumato_pairs").group_by("u")


def _weight(count: exp.Expr, weigh: Weigh) -> exp.Expr:
    """min(whole, whole * bound // count), which is whole up to the bound."""
    light = exp.If(this=exp.LTE(this=count, expression=integer(weigh.bound)), true=integer(weigh.whole))
    heavy = exp.IntDiv(this=integer(weigh.whole * weigh.bound), expression=count.copy())
    return exp.Case(ifs=[light], default=heavy)


def _pairs(keys: list[str], values: dict[Expression, str], weigh: Weigh) -> exp.Select:
    """The rows of one unit in one group, added up before they are weighed: their weight is the same."""
    weight = [exp.alias_(exp.Min(this=_column("w")), "w")] if weigh.counted == "ingest" else []
    return (
        exp.select("u", *keys, exp.alias_(exp.Count(this=exp.Star()), "n"), *weight)
        .select(*(exp.alias_(_sum(_column(name)), name) for name in values.values()))
        .from_("sfumato_rows")
        .group_by("u", *keys)
    )


# -- what is summed ----------------------------------------------------------------------------------------------------


def _bases(statistic: Statistic, columns: dict[str, Formula]) -> tuple[Expression, ...]:
    """The different sums that a statistic's cells are made of. A sum passes over NULLs, which adds nothing, as meant."""
    if isinstance(statistic, Units):
        return ()
    match statistic.kind:
        case "count":
            return (ONE,)
        case "present":
            return (_there(statistic, columns),)
        case "total":
            return (steps(statistic),)
        case "mean":
            return (steps(statistic), _there(statistic, columns))
        case "moments":
            return (steps(statistic), _there(statistic, columns), spread(statistic))


def _there(statistic: Rowwise, columns: dict[str, Formula]) -> Expression:
    scope = {name: column.type for name, column in columns.items()}
    everywhere = statistic.of is None or not infer(statistic.of, scope).nullable
    return ONE if everywhere else there(statistic)


def _summed(base: Expression, values: dict[Expression, str], weigh: Weigh, read: Read, *, paired: bool) -> exp.Expr:
    """The weighted sum of one base over a group."""
    if read.unit is None:
        return exp.Count(this=exp.Star()) if base == ONE else _sum(_column(values[base]))
    if base == ONE and not paired:
        return _sum(_column("w"))
    return _sum(exp.Mul(this=_column("w"), expression=_column("n" if base == ONE else values[base])))


def _cells(
    statistic: Statistic, sums: dict[Expression, exp.Expr], columns: dict[str, Formula], read: Read
) -> list[exp.Expr]:
    """The cells as `cells.cells` defines them; the half above top comes from the count and the half below."""
    if isinstance(statistic, Units):
        return [exp.Count(this=exp.Star()) if read.unit is None else _sum(_column("g"))]
    bases = [sums[base] for base in _bases(statistic, columns)]
    if statistic.kind not in {"mean", "moments"}:
        return bases
    above, count, *spreads = bases
    most = exp.Mul(this=integer(statistic.top), expression=_or_zero(count))
    return [above, exp.Sub(this=most, expression=_or_zero(above)), *spreads]


def _bounded(cell: exp.Expr) -> exp.Expr:
    """A cell as a 64-bit integer: nothing is 0, and a sum beyond the largest integer stops there."""
    return exp.cast(clamped(_or_zero(cell), integer(-LARGEST), integer(LARGEST)), "bigint")


def _or_zero(of: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=of.copy(), expressions=[integer(0)])


def _sum(of: exp.Expr) -> exp.Expr:
    return exp.Sum(this=of)


def _column(name: str) -> exp.Column:
    """A column of our own making."""
    return exp.column(exp.to_identifier(name))


def _raw(name: str) -> exp.Column:
    """A column of the owner's table, never to be taken for one of ours."""
    return exp.column(exp.to_identifier(name, quoted=True), table="t")


def _table(name: str) -> exp.Expr:
    return exp.alias_(exp.Table(this=exp.to_identifier(name, quoted=True)), "t", table=True)
