"""A tally as one SQL statement: what is read, weighed and summed, in integers only.

rows: normalised, joined, filtered (see `relation`), keyed, measured.  weights: one aggregation by unit.  The sums: one
join, one aggregation.
Where units are counted, `pairs` first gathers the rows of each unit in each group; where groups are private, it keeps those of
the unit's first groups.
Where quantiles are asked, places stand below the groups: `p` is the statistic that a line is of (-1: all the others), `b`
the place, c0 the weight there.
"""

from __future__ import annotations

from sqlglot import exp

from sfumato.core import Bug, NotSupported
from sfumato.queries.cells import ONE, spread, steps, there
from sfumato.queries.expression import Call, Expression, Literal
from sfumato.queries.infer import infer
from sfumato.queries.plan import (
    Derive,
    Distinct,
    Filter,
    Heads,
    Join,
    Key,
    Ranked,
    Read,
    Rows,
    Rowwise,
    Statistic,
    Tally,
    Units,
    Weigh,
)
from sfumato.queries.rows import alone, scope_of
from sfumato.queries.sql.dialect import APART, LOOKED_UP, NARROW, written
from sfumato.queries.sql.firsts import crowded, first, name_of
from sfumato.queries.sql.formula import Formula, clamped, formula, integer
from sfumato.queries.sql.relation import column, counted, filtered, shaped

LARGEST = 2**63 - 1
LONGEST = 2_000_000


def emit(tally: Tally, dialect: str) -> str:
    """The statement, in an engine's dialect. Its columns are k0, k1, ... then c0, c1, ..., the cells in order, and p and b."""
    weigh = tally.child
    if not isinstance(weigh, Weigh):
        raise Bug("rows without weights were about to reach an engine")
    below, conditions = filtered(weigh.child)
    shape, single = shaped(below), alone(weigh.child)
    columns = shape.formulas(scope_of(weigh.child))
    bases = list(dict.fromkeys(base for each in tally.statistics for base in _bases(each, columns)))
    values = {base: f"v{position}" for position, base in enumerate(base for base in bases if base != ONE)}
    keys = [f"k{position}" for position in range(len(tally.keys))]
    capped = tally.private and not single
    scope = {name: each.type for name, each in columns.items()}
    group = name_of(zip(keys, (infer(key.of, scope) for key in tally.keys), strict=True)) if capped else exp.null()

    rows = exp.select(
        *([] if single else [exp.alias_(column("u"), "u")]),
        *([exp.alias_(_weight(column("n"), weigh), "w")] if weigh.counted == "ingest" else []),
        *(exp.alias_(formula(key.of, columns).sql, name) for key, name in zip(tally.keys, keys, strict=True)),
        *(exp.alias_(formula(base, columns).sql, name) for base, name in values.items()),
        *(exp.alias_(formula(each.of, columns).sql, f"d{place}") for place, each in _different(tally)),
        *(exp.alias_(_short(formula(steps(each), columns).sql), f"q{place}") for place, each in _ranked(tally)),
    )
    if not rows.expressions:
        rows = rows.select(exp.alias_(integer(1), "one"))
    query = counted(shape.query, below) if weigh.counted == "ingest" else shape.query
    last = tuple(each for each in conditions if any(_listing(each, key) for key in tally.keys))
    if last and isinstance(below, Join | Read) and _kept(below):
        query = _before(query, tuple(each for each in conditions if each not in last), columns)
        conditions = last
    rows = _where(rows.from_(query.subquery("r", copy=False), copy=False), conditions, columns)

    paired = not single and (Units() in tally.statistics or capped)
    source = "sfumato_pairs" if paired else "sfumato_rows"
    sums = {base: _summed(base, values, single=single, paired=paired) for base in bases}
    each_cells = (_cells(each, place, sums, columns, single=single) for place, each in enumerate(tally.statistics))
    cells = [cell for found in each_cells for cell in found]
    query = exp.select(
        *(column(name) for name in keys),
        *(exp.alias_(_bounded(cell), f"c{position}") for position, cell in enumerate(cells)),
    ).from_(source, copy=False)
    weighted = any(not isinstance(each, Heads | Distinct) for each in tally.statistics)
    weighed = not single and weighted and (paired or weigh.counted == "left")
    if weighed:
        query = _beside_weights(query)
    if keys:
        query = query.group_by(*(column(name) for name in keys), copy=False)
    different = [] if single else [each for each in tally.statistics if isinstance(each, Distinct)]
    if different:
        whole = query if len(different) < len(tally.statistics) else None
        query = _with_different(whole, tally, keys, weigh, group if capped else None)
        weighed, paired = weighed and whole is not None, paired and (capped or whole is not None)
    if ranked := _ranked(tally):
        whole = query if len(ranked) < len(tally.statistics) else None
        paired = paired and whole is not None
        weighed = not single and (weighed or weigh.counted == "left")
        query = _with_places(whole, tally, keys, weigh, single=single)
    query = query.with_("sfumato_rows", as_=rows, materialized=_kept(below), copy=False)
    if capped:
        assert tally.most is not None
        every, many = "sfumato_all", "sfumato_many"
        query = query.with_(every, as_=_pairs(keys, values, weigh), materialized=True, copy=False)
        query = query.with_(many, as_=crowded(every, tally.most), materialized=True, copy=False)
        kept = first(every, many, group, tally.most)
        query = query.with_("sfumato_pairs", as_=kept, materialized=False, copy=False)
    elif paired:
        query = query.with_("sfumato_pairs", as_=_pairs(keys, values, weigh), copy=False)
    if weighed:
        query = query.with_("sfumato_weights", as_=_weights(weigh, paired=paired), materialized=False, copy=False)
    text = written(query, dialect)
    if len(text) > LONGEST:
        raise NotSupported("the question is too long for an engine", hint="ask for less at a time", code="SF021")
    return text


def _where(query: exp.Select, conditions: tuple[Expression, ...], columns: dict[str, Formula]) -> exp.Select:
    for condition in conditions:
        query = query.where(formula(condition, columns).sql, copy=False)
    return query


def _listing(condition: Expression, key: Key) -> bool:
    """Whether a condition says no more than that a key is among its public values, or NULL."""
    match condition:
        case Call("in", (of, *listed)):
            known = [value for value in key.values if value is not None]
            return of == key.of and listed == [Literal(value) for value in known]
        case Call("or", parts):
            return any(_listing(part, key) for part in parts)
        case _:
            return False


def _before(query: exp.Select, conditions: tuple[Expression, ...], columns: dict[str, Formula]) -> exp.Select:
    """Rows as they are before a condition that nearly all of them meet: an engine is kept from guessing otherwise.

    Taken for one that leaves few rows of a long table, it makes that table the one whose rows are hashed for a join.
    """
    if conditions:
        query = _where(exp.select("*").from_(query.subquery("r", copy=False), copy=False), conditions, columns)
    query.meta[APART] = True
    return query


def _kept(rows: Rows) -> bool:
    """Whether rows that are needed twice, for weights and for sums, are kept in between.

    Reading a table again, or looking a unit or a public key up again, is cheaper than that; matching two long tables row
    by row, sorting and gathering are not.
    """
    match rows:
        case Read(path=path):
            return bool(path)
        case Join(left, right, link=link):
            return link is not None or _kept(left) or _kept(right)
        case Filter(child) | Derive(child):
            return _kept(child)
        case _:
            return True


# -- different values --------------------------------------------------------------------------------------------------


def _different(tally: Tally) -> list[tuple[int, Distinct]]:
    """The statistics that count different values, with their places."""
    return [(place, each) for place, each in enumerate(tally.statistics) if isinstance(each, Distinct)]


def _with_different(
    others: exp.Select | None, tally: Tally, keys: list[str], weigh: Weigh, group: exp.Expr | None
) -> exp.Select:
    """All cells of all groups: what the other statistics have, and what each count of different values adds in its place.

    With a name for each `group`, only the rows in the unit's first groups are looked at.
    """
    starts = [sum(each.width for each in tally.statistics[:place]) for place in range(len(tally.statistics))]
    width = sum(each.width for each in tally.statistics)
    parts = [] if others is None else [others]
    for place, _ in _different(tally):
        parts.append(_owned(f"d{place}", keys, starts[place], width, weigh, group))
    union: exp.Query = parts[0]
    for part in parts[1:]:
        union = exp.union(union, part, distinct=False, copy=False)
    cells = (exp.alias_(exp.cast(_or_zero(_sum(column(f"c{n}"))), "bigint"), f"c{n}") for n in range(width))
    query = exp.select(*(column(name) for name in keys), *cells).from_(union.subquery("s", copy=False), copy=False)
    return query.group_by(*(column(name) for name in keys), copy=False) if keys else query


def _owned(name: str, keys: list[str], start: int, width: int, weigh: Weigh, group: exp.Expr | None) -> exp.Select:
    """Each value of each group counts as far as the shares of the units that have it add up, and once at most.

    Its subqueries bear its name: some dialects bring all subqueries of a statement to one level.
    """
    owned, shared = f"owned_{name}", f"shared_{name}"
    rows: exp.Expr = exp.to_table("sfumato_rows")
    if group is not None:
        named = exp.select("*", exp.alias_(group.copy(), "t")).from_("sfumato_rows").subquery("r", copy=False)
        kept = exp.select("u", exp.alias_(group.copy(), "t")).from_("sfumato_pairs").subquery("f", copy=False)
        first_ones = exp.select(*(column(each, "r") for each in ("u", *keys, name)))
        rows = first_ones.from_(named, copy=False).join(kept, using=["u", "t"], copy=False).subquery("q", copy=False)
    owners = (
        exp.select("u", *keys, name)
        .from_(rows)
        .where(exp.Not(this=exp.Is(this=column(name), expression=exp.null())))
        .distinct()
    )
    shares = exp.select("u", exp.alias_(_weight(exp.Count(this=exp.Star()), weigh), "w")).from_(owned).group_by("u")
    value = clamped(_sum(column("w"), narrow=True), integer(0), integer(weigh.whole))
    values = exp.select(*keys, exp.alias_(value, "s")).from_(owned).join(shared, using=["u"]).group_by(*keys, name)
    values = values.with_(owned, as_=owners).with_(shared, as_=shares)
    cells = (exp.alias_(_bounded(_sum(column("s"))) if n == start else integer(0), f"c{n}") for n in range(width))
    query = exp.select(*(column(key) for key in keys), *cells).from_(values.subquery("v", copy=False), copy=False)
    return query.group_by(*keys, copy=False) if keys else query


# -- places of quantiles ------------------------------------------------------------------------------------------------


def _ranked(tally: Tally) -> list[tuple[int, Ranked]]:
    """The statistics that quantiles are found from, with their places among the statistics."""
    return [(place, each) for place, each in enumerate(tally.statistics) if isinstance(each, Ranked)]


def _short(place: exp.Expr) -> exp.Expr:
    """A place in 32 bits, which it never leaves: groups of short keys are found twice as fast."""
    return exp.cast(place, "int")


def _with_places(others: exp.Select | None, tally: Tally, keys: list[str], weigh: Weigh, *, single: bool) -> exp.Select:
    """The lines of all other statistics, and below them those of every place of each quantile's lattice."""
    width = max(1, sum(each.width for each in tally.statistics))
    names = [*keys, "p", "b", *(f"c{n}" for n in range(width))]
    parts: list[exp.Select] = []
    if others is not None:
        marks = (exp.alias_(exp.cast(integer(-1), "bigint"), "p"), exp.alias_(exp.cast(integer(0), "bigint"), "b"))
        cells = (column(f"c{n}") for n in range(width))
        parts.append(exp.select(*map(column, keys), *marks, *cells).from_(others.subquery("o", copy=False), copy=False))
    parts += [_placed(place, keys, width, weigh, single=single) for place, _ in _ranked(tally)]
    if len(parts) == 1:
        return parts[0]
    union: exp.Query = parts[0]
    for part in parts[1:]:
        union = exp.union(union, part, distinct=False, copy=False)
    return exp.select(*map(column, names)).from_(union.subquery("s", copy=False), copy=False)


def _placed(place: int, keys: list[str], width: int, weigh: Weigh, *, single: bool) -> exp.Select:
    """The weight at each place of each group. Rows without a value have none."""
    name = f"q{place}"
    weight = exp.Count(this=exp.Star()) if single else _sum(column("w"), narrow=True)
    cells = (exp.alias_(_bounded(weight) if n == 0 else exp.cast(integer(0), "bigint"), f"c{n}") for n in range(width))
    query = (
        exp.select(*map(column, keys), exp.alias_(exp.cast(integer(place), "bigint"), "p"))
        .select(exp.alias_(exp.cast(column(name), "bigint"), "b"), *cells)
        .from_("sfumato_rows")
        .where(exp.Not(this=exp.Is(this=column(name), expression=exp.null())))
    )
    if not single and weigh.counted == "left":
        query = _beside_weights(query)
    return query.group_by(*map(column, keys), column(name))


# -- what is weighed ---------------------------------------------------------------------------------------------------


def _weights(weigh: Weigh, *, paired: bool) -> exp.Select:
    """Each unit's weight for a row (w), and for a group (g) where units are counted."""
    if not paired:
        count = _weight(exp.Count(this=exp.Star()), weigh)
        return exp.select("u", exp.alias_(count, "w")).from_("sfumato_rows").group_by("u")
    rows, groups = exp.cast(_sum(column("n")), "bigint"), exp.Count(this=exp.Star())
    chosen = exp.select("u", exp.alias_(_weight(groups, weigh), "g"))
    if weigh.counted == "left":
        chosen = chosen.select(exp.alias_(_weight(rows, weigh), "w"))
    return chosen.from_("sfumato_pairs").group_by("u")


def _beside_weights(query: exp.Select) -> exp.Select:
    """Rows matched with the weight of their unit. There is one for each unit, so they are the ones to be looked up."""
    query = query.join("sfumato_weights", using=["u"], copy=False)
    query.meta[LOOKED_UP] = "sfumato_weights"
    return query


def _weight(count: exp.Expr, weigh: Weigh) -> exp.Expr:
    """min(whole, whole * bound // count), which is whole up to the bound."""
    light = exp.If(this=exp.LTE(this=count, expression=integer(weigh.bound)), true=integer(weigh.whole))
    heavy = exp.IntDiv(this=integer(weigh.whole * weigh.bound), expression=count.copy())
    return exp.Case(ifs=[light], default=heavy)


def _pairs(keys: list[str], values: dict[Expression, str], weigh: Weigh) -> exp.Select:
    """The rows of one unit in one group, added up before they are weighed: their weight is the same."""
    weight = [exp.alias_(exp.Min(this=column("w")), "w")] if weigh.counted == "ingest" else []
    return (
        exp.select("u", *keys, exp.alias_(exp.Count(this=exp.Star()), "n"), *weight)
        .select(*(exp.alias_(_sum(column(name)), name) for name in values.values()))
        .from_("sfumato_rows")
        .group_by("u", *keys)
    )


# -- what is summed ----------------------------------------------------------------------------------------------------


def _bases(statistic: Statistic, columns: dict[str, Formula]) -> tuple[Expression, ...]:
    """The different sums that a statistic's cells are made of. A sum passes over NULLs, which adds nothing, as meant."""
    if isinstance(statistic, Units | Distinct | Ranked | Heads):
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


def _summed(base: Expression, values: dict[Expression, str], *, single: bool, paired: bool) -> exp.Expr:
    """The weighted sum of one base over a group. A count of rows is made as wide as a sum: it is multiplied later."""
    if single:
        count = exp.cast(exp.Count(this=exp.Star()), "hugeint")
        return count if base == ONE else _sum(column(values[base]), narrow=True)
    if base == ONE and not paired:
        return _sum(column("w"), narrow=True)
    return _sum(exp.Mul(this=column("w"), expression=column("n" if base == ONE else values[base])), narrow=not paired)


def _cells(
    statistic: Statistic, place: int, sums: dict[Expression, exp.Expr], columns: dict[str, Formula], *, single: bool
) -> list[exp.Expr]:
    """The cells as `cells.cells` defines them; the half above top comes from the count and the half below."""
    if isinstance(statistic, Distinct):  # of rows that are units; otherwise it is added by `_with_different`
        return [exp.Count(this=exp.Distinct(expressions=[column(f"d{place}")])) if single else integer(0)]
    if isinstance(statistic, Ranked):
        return []
    if isinstance(statistic, Heads):  # one row per unit and group: its rows are one, or pairs
        return [exp.Count(this=exp.Star())]
    if isinstance(statistic, Units):
        return [exp.Count(this=exp.Star()) if single else _sum(column("g"))]
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


def _sum(of: exp.Expr, *, narrow: bool = False) -> exp.Expr:
    """A sum as wide as it becomes. `narrow`: each of its terms has 64 bits, which lets some engines add faster."""
    total = exp.Sum(this=of)
    total.meta[NARROW] = narrow
    return total
