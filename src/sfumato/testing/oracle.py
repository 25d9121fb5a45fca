"""A tally worked out row by row in plain Python, with nothing shared with what writes SQL."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any

from sfumato.core import Bug
from sfumato.queries.evaluate import evaluate
from sfumato.queries.expression import Expression, Field, Measure
from sfumato.queries.plan import Filter, Read, Rowwise, Tally, Units, Weigh
from sfumato.queries.schema import Column, Value

MOST = 2**63 - 1
Row = dict[Field | Measure, Value]


def exact(tally: Tally, raw: Iterable[Mapping[str, Any]]) -> tuple[tuple[int, ...], ...]:
    """The vectors that an engine and `Bounded.vectors` should give, one per statistic."""
    weigh = tally.child
    assert isinstance(weigh, Weigh)
    read, conditions = _below(weigh)
    kept: dict[Any, list[tuple[tuple[Value, ...], Row]]] = defaultdict(list)
    for place, one in enumerate(raw):
        unit = place if read.unit is None else one[read.unit]
        if unit is None:
            continue
        row: Row = {Field(column.name): settled(one[column.name], column) for column in read.columns}
        if all(evaluate(condition, row) is True for condition in conditions):
            kept[unit].append((tuple(evaluate(key.of, row) for key in tally.keys), row))
    groups = {keys: place for place, keys in enumerate(product(*(key.values for key in tally.keys)))}
    vectors = [[0] * (each.width * len(groups)) for each in tally.statistics]
    for unit, rows in kept.items():
        _add(unit, rows, tally, weigh, groups, vectors)
    return tuple(tuple(max(-MOST, min(MOST, cell)) for cell in vector) for vector in vectors)


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


def _below(node: object) -> tuple[Read, tuple[Expression, ...]]:
    match node:
        case Weigh(child):
            return _below(child)
        case Filter(child, conditions):
            read, others = _below(child)
            return read, (*others, *conditions)
        case Read():
            return node, ()
    raise Bug("a tally stands on rows that cannot be read")


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
