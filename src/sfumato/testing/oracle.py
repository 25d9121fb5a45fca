"""A tally worked out row by row in plain Python, with nothing shared with what writes SQL."""

from __future__ import annotations

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
from sfumato.queries.expression import Field, Measure
from sfumato.queries.plan import Derive, Filter, Join, Read, Rows, Rowwise, Tally, Units, Weigh
from sfumato.queries.rows import reads_of, scope_of
from sfumato.queries.schema import Column, Value

MOST = 2**63 - 1
Row = dict[Field | Measure, Value]


Raw = Iterable[Mapping[str, Any]]


def exact(tally: Tally, raw: Raw | Mapping[str, Raw]) -> tuple[tuple[int, ...], ...]:
    """The vectors that an engine and `Bounded.vectors` should give, one per statistic; `raw` is a table, or all by name."""
    weigh = tally.child
    assert isinstance(weigh, Weigh)
    kept: dict[Any, list[tuple[tuple[Value, ...], Row]]] = defaultdict(list)
    for found in rows_of(weigh.child, raw):
        kept[found.unit].append((tuple(evaluate(key.of, found.row) for key in tally.keys), found.row))
    groups = {keys: place for place, keys in enumerate(product(*(key.values for key in tally.keys)))}
    vectors = [[0] * (each.width * len(groups)) for each in tally.statistics]
    for unit, rows in kept.items():
        _add(unit, rows, tally, weigh, groups, vectors)
    return tuple(tuple(max(-MOST, min(MOST, cell)) for cell in vector) for vector in vectors)


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
        if isinstance(statistic, Units):
            for keys in touched:
                vector[groups[keys]] += min(weigh.whole, weigh.whole * weigh.bound // len(touched))
            continue
        for keys, row in rows:
            for cell, amount in enumerate(_amounts(statistic, row)):
                vector[groups[keys] + cell * len(groups)] += weight * amount


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
