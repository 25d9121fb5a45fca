"""A tally worked out row by row in plain Python, with nothing shared with what writes SQL."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any, final

from sfumato.core import Bug
from sfumato.queries.evaluate import evaluate
from sfumato.queries.expression import Field, Measure, plain
from sfumato.queries.infer import Type, infer
from sfumato.queries.plan import (
    Derive,
    Distinct,
    Filter,
    Fold,
    Gather,
    Heads,
    Join,
    Order,
    Over,
    Ranked,
    Read,
    Rows,
    Rowwise,
    Tally,
    Units,
    Weigh,
    Window,
)
from sfumato.queries.rows import reads_of, scope_of
from sfumato.queries.schema import Column, Value

MOST = 2**63 - 1
Row = dict[Field | Measure, Value]


Raw = Iterable[Mapping[str, Any]]


def exact(tally: Tally, raw: Raw | Mapping[str, Raw]) -> tuple[tuple[Any, ...], ...]:
    """The vectors that an engine and `Bounded.vectors` should give, one per statistic; `raw` is a table, or all by name.

    Of a quantile it is lines of group, place and weight.
    """
    kept = _kept(tally, raw)
    return _vectors(tally, kept, {keys: at for at, keys in enumerate(product(*(key.values for key in tally.keys)))})


def found(tally: Tally, raw: Raw | Mapping[str, Raw]) -> dict[tuple[Value, ...], tuple[int, ...]]:
    """The private groups that an engine should find, with all their cells."""
    kept = _kept(tally, raw)
    groups = {keys: at for at, keys in enumerate(dict.fromkeys(keys for rows in kept.values() for keys, _ in rows))}
    vectors = _vectors(tally, kept, groups)
    return {
        keys: tuple(
            v[at + n * len(groups)] for s, v in zip(tally.statistics, vectors, strict=True) for n in range(s.width)
        )
        for keys, at in groups.items()
    }


Kept = Mapping[Any, list[tuple[tuple[Value, ...], Row]]]


def _kept(tally: Tally, raw: Raw | Mapping[str, Raw]) -> Kept:
    """Each unit's rows with their groups; where groups are private, those in its first groups."""
    weigh = tally.child
    assert isinstance(weigh, Weigh)
    kept: dict[Any, list[tuple[tuple[Value, ...], Row]]] = defaultdict(list)
    for one in rows_of(weigh.child, raw):
        kept[one.unit].append((tuple(evaluate(key.of, one.row) for key in tally.keys), one.row))
    if tally.most is None:
        return kept
    scope = scope_of(weigh.child)
    grains = [infer(key.of, scope).grain for key in tally.keys]
    return {unit: _first(unit, rows, grains, tally.most) for unit, rows in kept.items()}


def _first(
    unit: Any, rows: list[tuple[tuple[Value, ...], Row]], grains: list[Fraction | None], most: int
) -> list[tuple[tuple[Value, ...], Row]]:
    """The rows in the unit's first groups: by MD5 of names with their lengths, then by name."""

    def part(value: Value, grain: Fraction | None) -> str:
        match value:
            case None:
                return "-"
            case bool():
                text = str(int(value))
            case int() | Fraction():
                text = str(int(Fraction(value) / (grain or 1)))
            case date():
                text = str((value - date(1970, 1, 1)).days)
            case _:
                text = value
        return f"{len(text)}:{text}"

    def place(keys: tuple[Value, ...]) -> tuple[str, str]:
        name = "".join(map(part, keys, grains))
        return hashlib.md5(f"{len(str(unit))}:{unit}{name}".encode(), usedforsecurity=False).hexdigest(), name

    chosen = set(sorted({keys for keys, _ in rows}, key=place)[:most])
    return [(keys, row) for keys, row in rows if keys in chosen]


def _vectors(tally: Tally, kept: Kept, groups: Mapping[tuple[Value, ...], int]) -> tuple[tuple[Any, ...], ...]:
    weigh = tally.child
    assert isinstance(weigh, Weigh)
    vectors = [[0] * (each.width * len(groups)) for each in tally.statistics]
    for unit, rows in kept.items():
        _add(unit, rows, tally, weigh, groups, vectors)
    for statistic, vector in zip(tally.statistics, vectors, strict=True):
        if isinstance(statistic, Distinct):
            _add_different(statistic, kept, weigh, groups, vector)
    return tuple(
        _standing(statistic, kept, weigh, groups)
        if isinstance(statistic, Ranked)
        else tuple(max(-MOST, min(MOST, cell)) for cell in vector)
        for statistic, vector in zip(tally.statistics, vectors, strict=True)
    )


@final
@dataclass(frozen=True, slots=True)
class Found:
    """One row: whose it is (None: of whom it is joined to), its columns, its keys as they are stored."""

    unit: Any
    row: Row
    keys: Mapping[str, Any]


def rows_of(rows: Rows, raw: Raw | Mapping[str, Raw]) -> list[Found]:
    """The rows, one after the other."""
    match rows:
        case Read():
            return _read(rows, raw)
        case Filter(child, conditions):
            return [
                each
                for each in rows_of(child, raw)
                if all(evaluate(condition, each.row) is True for condition in conditions)
            ]
        case Derive(child, columns):
            return [
                replace(each, row=each.row | {Field(name): evaluate(of, each.row) for name, of in columns})
                for each in rows_of(child, raw)
            ]
        case Join():
            return _joined(rows, raw)
        case Gather():
            return _gathered(rows, rows_of(rows.child, raw))
        case Window():
            return _windowed(rows, rows_of(rows.child, raw))
    raise Bug("a tally stands on rows that cannot be read")


def _read(read: Read, raw: Raw | Mapping[str, Raw]) -> list[Found]:
    def table(name: str) -> list[Mapping[str, Any]]:
        return list(raw[name] if isinstance(raw, Mapping) else raw)

    found = []
    for place, one in enumerate(table(read.table)):
        ends = [one]
        for step in read.path:
            ends = [
                there
                for here in ends
                for there in table(step.table)
                if here[step.column] is not None and here[step.column] == there[step.key]
            ]
        row: Row = {Field(read.prefix + each.name): settled(one[each.name], each) for each in read.columns}
        keys = {read.prefix + key: one[key] for key in read.keys}
        for end in ends:
            unit = (place if read.owned else None) if read.unit is None else end[read.unit]
            if unit is not None or not read.owned:
                found.append(Found(unit, row, keys))
    return found


def _joined(join: Join, raw: Raw | Mapping[str, Raw]) -> list[Found]:
    left, right = rows_of(join.left, raw), rows_of(join.right, raw)
    if join.unique is not None:
        held = [each.row[Field(join.unique)] for each in right]
        right = [each for each, value in zip(right, held, strict=True) if value is not None and held.count(value) == 1]
    found = []
    for one in left:
        matches = [both for other in right if (both := _match(join, one, other)) is not None]
        nothing: Row = {Field(name): None for name in scope_of(join.right)}
        empty = Found(one.unit, one.row | nothing, dict(one.keys) | dict.fromkeys(_keys(join.right)))
        found += matches if matches or join.kind == "inner" else [empty]
    return found


def _match(join: Join, one: Found, other: Found) -> Found | None:
    if one.unit is not None and other.unit is not None and one.unit != other.unit:
        return None
    both = Found(other.unit if one.unit is None else one.unit, one.row | other.row, dict(one.keys) | dict(other.keys))
    if join.link is not None and (
        both.keys[join.link[0]] is None or both.keys[join.link[0]] != both.keys[join.link[1]]
    ):
        return None
    return both if all(evaluate(condition, both.row) is True for condition in join.on) else None


def _gathered(gather: Gather, found: list[Found]) -> list[Found]:
    sets: dict[Any, list[Found]] = defaultdict(list)
    for each in found:
        sets[each.unit, tuple(evaluate(of, each.row) for _, of in gather.keys)].append(each)
    scope = scope_of(gather.child)
    gathered = []
    for (unit, keys), rows in sets.items():
        row: Row = {Field(name): value for (name, _), value in zip(gather.keys, keys, strict=True)}
        for name, fold in gather.folds:
            row[Field(name)] = _folded(fold, rows, scope)
        gathered.append(Found(unit, row, {}))
    return gathered


def _folded(fold: Fold, rows: list[Found], scope: Mapping[str, Type]) -> Value:
    match fold.kind:
        case "rows":
            return len(rows)
        case "first" | "last":
            return evaluate(fold.of, _in_order(rows, fold.by)[0 if fold.kind == "first" else -1].row)  # type: ignore[arg-type]
    values = [value for each in rows if (value := evaluate(fold.of, each.row)) is not None]  # type: ignore[arg-type]
    match fold.kind:
        case "present":
            return len(values)
        case "distinct":
            return len(set(values))
        case "mean" if values:
            step = Fraction(infer(fold.of, scope).grain or 1) / 1000  # type: ignore[arg-type]
            return plain(math.floor(Fraction(sum(values), len(values)) / step) * step)  # type: ignore[arg-type]
    return _added(fold.kind, values)


def _added(kind: str, values: list[Any]) -> Value:
    if not values:
        return None
    match kind:
        case "sum":
            return plain(sum(values))
        case "least":
            return min(values)  # type: ignore[no-any-return]
        case "most":
            return max(values)  # type: ignore[no-any-return]
    return None


def _windowed(window: Window, found: list[Found]) -> list[Found]:
    """Every column looks at the rows as they are below, and at none of the others; twins keep one order for all of them."""
    rows = [replace(each, row=dict(each.row)) for each in found]
    columns: list[tuple[Field, dict[int, Value]]] = []
    for name, over in window.columns:
        sets: dict[Any, list[Found]] = defaultdict(list)
        for each in rows:
            sets[each.unit, tuple(evaluate(of, each.row) for of in over.within)].append(each)
        values = {id(each): value for those in sets.values() for each, value in _seen(over, those)}
        columns.append((Field(name), values))
    return [replace(each, row=each.row | {field: values[id(each)] for field, values in columns}) for each in rows]


def _seen(over: Over, rows: list[Found]) -> list[tuple[Found, Value]]:
    ordered = _in_order(rows, over.by)
    mine = [None if over.of is None else evaluate(over.of, each.row) for each in ordered]
    terms = [tuple(evaluate(order.by, each.row) for order in over.by) for each in ordered]
    seen: list[tuple[Found, Value]] = []
    for place, each in enumerate(ordered):
        upto = {
            "whole": range(len(ordered)),
            "rows": range(place + 1),
            "peers": [p for p in range(len(ordered)) if p <= place or terms[p] == terms[place]],
        }[over.frame]
        away = place - over.offset if over.kind == "before" else place + over.offset
        there = [mine[p] for p in upto if mine[p] is not None]
        match over.kind:
            case "place":
                seen.append((each, place + 1))
            case "before" | "after":
                seen.append((each, mine[away] if 0 <= away < len(mine) else None))
            case "first":
                seen.append((each, mine[0]))
            case "rows":
                seen.append((each, len(upto)))
            case "present":
                seen.append((each, len(there)))
            case _:
                seen.append((each, _added(over.kind, there)))
    return seen


def _in_order(rows: list[Found], by: tuple[Order, ...]) -> list[Found]:
    """By the terms, then by every column: rows that are still equal are alike."""
    ordered = list(rows)
    fields = sorted({field.name for each in rows for field in each.row if isinstance(field, Field)})
    terms = [*by, *(Order(Field(name)) for name in fields)]
    for term in reversed(terms):
        known = [(evaluate(term.by, each.row), each) for each in ordered]
        there = [pair for pair in known if pair[0] is not None]
        there.sort(key=lambda pair: pair[0], reverse=term.descending)  # type: ignore[arg-type,return-value]
        absent = [each for value, each in known if value is None]
        those = [each for _, each in there]
        ordered = [*absent, *those] if term.nulls_first else [*those, *absent]
    return ordered


def _keys(rows: Rows) -> list[str]:
    return [read.prefix + key for read in reads_of(rows) for key in read.keys]


def _add(
    unit: Any,
    rows: list[tuple[tuple[Value, ...], Row]],
    tally: Tally,
    weigh: Weigh,
    groups: Mapping[tuple[Value, ...], int],
    vectors: list[list[int]],
) -> None:
    """What one unit contributes."""
    weight = min(weigh.whole, weigh.whole * weigh.bound // len(rows))
    touched = {keys for keys, _ in rows}
    for statistic, vector in zip(tally.statistics, vectors, strict=True):
        if isinstance(statistic, Distinct | Ranked):
            continue
        if isinstance(statistic, Heads):
            for keys in touched:
                vector[groups[keys]] += 1
            continue
        if isinstance(statistic, Units):
            for keys in touched:
                vector[groups[keys]] += min(weigh.whole, weigh.whole * weigh.bound // len(touched))
            continue
        for keys, row in rows:
            for cell, amount in enumerate(_amounts(statistic, row)):
                vector[groups[keys] + cell * len(groups)] += weight * amount


def _add_different(
    statistic: Distinct,
    kept: Mapping[Any, list[tuple[tuple[Value, ...], Row]]],
    weigh: Weigh,
    groups: Mapping[tuple[Value, ...], int],
    vector: list[int],
) -> None:
    """Each value of each group: the shares of the units that have it, and one whole at most."""
    shares: dict[tuple[tuple[Value, ...], Value], int] = defaultdict(int)
    for rows in kept.values():
        values = {(keys, evaluate(statistic.of, row)) for keys, row in rows}
        values = {(keys, value) for keys, value in values if value is not None}
        for each in values:
            shares[each] += min(weigh.whole, weigh.whole * weigh.bound // len(values))
    for (keys, _), share in shares.items():
        vector[groups[keys]] += min(weigh.whole, share)


def _standing(
    statistic: Ranked,
    kept: Mapping[Any, list[tuple[tuple[Value, ...], Row]]],
    weigh: Weigh,
    groups: Mapping[tuple[Value, ...], int],
) -> tuple[tuple[int, int, int], ...]:
    """The weight of all rows at each place of each group where there is a row."""
    found: dict[tuple[int, int], int] = defaultdict(int)
    for rows in kept.values():
        for keys, row in rows:
            value = evaluate(statistic.of, row)
            if statistic.scale == "order":
                value = statistic.names.index(value) if value in statistic.names else None
            if isinstance(value, date) and isinstance(statistic.names[0], date):
                value = (value - statistic.names[0]).days
            if value is not None:
                assert isinstance(value, int | Fraction)
                x = min(max(Fraction(value), statistic.low), statistic.high)
                place = _nearest((x - statistic.low) / statistic.step)
                found[groups[keys], place] += min(weigh.whole, weigh.whole * weigh.bound // len(rows))
    return tuple((group, place, weight) for (group, place), weight in sorted(found.items()))


def _amounts(statistic: Rowwise, row: Row) -> list[int]:
    """What one row has in each cell, before its weight."""
    if statistic.of is None:
        return [1]
    value = evaluate(statistic.of, row)
    if value is None:
        return [0] * statistic.width
    if statistic.kind == "present":
        return [1]
    assert isinstance(value, int | Fraction)
    x = min(max(Fraction(value), statistic.low), statistic.high)
    if statistic.kind == "total":
        return [_nearest(x / statistic.step)]
    above, top = _nearest((x - statistic.low) / statistic.step), statistic.top
    halves = [above, top - above]
    return halves if statistic.kind == "mean" else [*halves, ((2 * above - top) ** 2 + top // 2) // top]


def _nearest(x: Fraction) -> int:
    return math.floor(x + Fraction(1, 2))


def settled(raw: Any, column: Column) -> Value:
    """A raw cell as an engine should read it: its declared type, then its range and grid."""
    match column.type:
        case "integer":
            whole = _whole(raw)
            if whole is None or column.range is None:
                return whole
            low, high = (Fraction(bound) for bound in column.range if not isinstance(bound, date))
            return int(min(max(Fraction(whole), low), high))
        case "number":
            return _on_grid(raw, column)
        case "date":
            return _day(raw, column)
        case "boolean":
            return None if raw is None else bool(raw)
        case _:
            return None if raw is None else str(raw)


def _whole(raw: Any) -> int | None:
    if raw is None or (isinstance(raw, float) and not math.isfinite(raw)):
        return None
    whole = math.floor(raw)
    return whole if -(2**63) <= whole < 2**63 else None


def _on_grid(raw: Any, column: Column) -> Value:
    if raw is None or math.isnan(raw):
        return None
    if column.range is None:
        return 0
    low, high = (Fraction(bound) for bound in column.range if not isinstance(bound, date))
    grain = Fraction(column.grain or 1)
    if raw <= float(low):
        return low
    if raw >= float(high):
        return high
    scaled = float(raw) * grain.denominator if grain.numerator == 1 else float(raw) / grain.numerator
    return math.floor(scaled + 0.5) * grain


def _day(raw: Any, column: Column) -> Value:
    if raw is None or column.range is None:
        return raw  # type: ignore[no-any-return]
    first, last = column.range
    return min(max(raw, first), last)  # type: ignore[no-any-return]
