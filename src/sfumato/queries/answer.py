"""From released integers to what a person reads: counts, sums, means and variances, each with its half-width.

Noise is not known here. `released` are the vectors of `Bounded.vectors` after a mechanism, and for quantiles the places
that it chose in each group; `within` is, per statistic, the half-width of the noise of one cell, in cell units, or the
weight by which the rank of a place may be off. All of it is post-processing: nothing here costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, assert_never, final

from sfumato.core import Bug
from sfumato.queries.bounded import Bounded
from sfumato.queries.evaluate import evaluate
from sfumato.queries.expression import Call, Expression, Field, Literal, Measure, measures
from sfumato.queries.plan import (
    Aggregate,
    Distinct,
    Having,
    Heads,
    Limit,
    Ranked,
    Released,
    Rowwise,
    Select,
    Sort,
    Statistic,
    Units,
)
from sfumato.queries.quantiles import Located, located
from sfumato.queries.rewrites.tally import counting
from sfumato.queries.rows import scope_of
from sfumato.queries.schema import Value

if TYPE_CHECKING:
    from sfumato.queries.bounded import Vector


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """A released number: clipped to what is possible, as the noise left it, and the half-width of its bar.

    None is "no estimate": a mean over a group whose released count is not positive, say. A quantile's bar is `ranks`, how
    far it may be from the one asked, 0.01 for "between the 49 % and the 51 % quantile", where the number of rows was
    asked too; `within` only where its neighbours were.
    """

    value: Fraction | None
    unbiased: Fraction | None
    within: Fraction | None = None
    ranks: Fraction | None = None

    def __repr__(self) -> str:
        """The number beside its bar, never bare; and as the noise left it where it was moved."""
        if self.value is None:
            return "no estimate"
        said = _spelled(self.value, self.within)
        if self.within is not None:
            said += f" ±{_spelled(self.within, self.within)}"
        elif self.ranks is not None:
            said += f" ±{float(100 * self.ranks):.2g} % of ranks"
        else:
            said += " (no bar is known)"
        moved = self.unbiased is not None and self.unbiased != self.value
        return (
            f"{said} (unbiased {_spelled(self.unbiased, self.within)})" if moved and self.unbiased is not None else said
        )

    def narrowed(self, within: Fraction | None) -> Estimate:
        """With the narrower of two half-widths that both hold."""
        return self if within is None or self.within is None else replace(self, within=min(self.within, within))

    @property
    def unmoved(self) -> Estimate:
        """As the noise left it, where there is such a number: the root of a negative variance is none, and 0 stays."""
        return self if self.unbiased is None else replace(self, value=self.unbiased)


def _spelled(value: Fraction, width: Fraction | None) -> str:
    """With one digit more than the first of the half-width, as tables spell it."""
    scale = abs(float(width)) if width else abs(float(value)) / 1000
    return f"{float(value):.{max(0, min(6, 1 - math.floor(math.log10(scale)))) if scale > 0 else 0}f}"


NOTHING = Estimate(None, None, None)


@final
@dataclass(frozen=True, slots=True)
class Estimates:
    """Several released numbers in one column: the quantiles of a list."""

    each: tuple[Estimate | Located, ...]


Measured = Estimate | Estimates | Located
"""A number; several; or a quantile that is a day or a category."""
Cell = Measured | Value
Places = Sequence[Sequence[int]]
"""What is released of quantiles: in each group a place for each of them."""


@final
@dataclass(frozen=True, slots=True)
class Ranks:
    """What a quantile's bars are made of: the weight that its rank may be off by, and the half-width of the number of rows
    of a group where that was released too, each with half of the risk; how many places a released one stands for."""

    weight: Fraction
    rows: Fraction | None = None
    coarse: int = 0


@final
@dataclass(frozen=True, slots=True)
class Result:
    """The answer as rows: keys are plain values, measures are estimates."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@final
@dataclass(frozen=True, slots=True)
class _Group:
    keys: tuple[Value, ...]
    measured: Mapping[Measure, Measured]


def answer(
    bounded: Bounded,
    released: Sequence[Vector | Places],
    within: Sequence[Fraction | None] | None = None,
    ranks: Mapping[int, Ranks] = MappingProxyType({}),
    *,
    told: Sequence[tuple[Value, ...]] | None = None,
    nonnegative: bool = True,
    mixed: Mapping[Measure, Fraction] = MappingProxyType({}),
) -> Result:
    """The rows of an answer: what was measured in each group, then HAVING, ORDER BY, LIMIT and the SELECT list.

    `ranks` is for the quantiles among the statistics, by their place. `told` are the private groups that were released, in the
    order of the vectors. Without `nonnegative` numbers are shown, sorted and compared as the noise left them. `mixed` are
    narrower half-widths of counts and sums that are read off several cells, in the column's unit, where they are known.
    """
    statistics = bounded.tally.statistics
    widths = tuple(within) if within is not None else (None,) * len(statistics)
    places = {measure: statistics.index(holder(measure, bounded)) for measure in _asked(bounded.question)}
    every = bounded.groups() if told is None else tuple(told)
    size, whole = len(every), bounded.whole
    columns = [
        [_list(vector[size * row : size * (row + 1)]) for row in range(max(1, statistic.width))]
        for statistic, vector in zip(statistics, released, strict=True)
    ]
    counts = {at: counting_of(statistics[at], bounded) for at in ranks}
    groups = []
    for group, keys in enumerate(every):

        def cells(at: int, group: int = group) -> list[Any]:
            return [row[group] for row in columns[at]]

        measured: dict[Measure, Measured] = {}
        for measure, at in places.items():
            statistic = statistics[at]
            if isinstance(statistic, Ranked):
                known, counted, rows = ranks.get(at), counts.get(at), None
                if counted is not None:
                    by = statistics[counted]
                    rows = estimate(Measure("present", statistic.of), by, cells(counted), None, whole).unbiased
                measured[measure] = _of_ranks(measure, statistic, cells(at)[0], known, rows, whole)
            else:
                found = estimate(measure, statistic, cells(at), widths[at], whole)
                found = found.narrowed(mixed.get(measure))
                measured[measure] = found if nonnegative else found.unmoved
        groups.append(_Group(keys, measured))
    return _finished(bounded, groups)


def _list(vector: Any) -> list[Any]:
    return vector.tolist() if hasattr(vector, "tolist") else list(vector)


def counting_of(ranked: Statistic, bounded: Bounded) -> int | None:
    """The place of a statistic, if there is one, that counts the rows that a quantile is of."""
    assert isinstance(ranked, Ranked)
    statistics = bounded.tally.statistics
    found = counting(Measure("present", ranked.of), statistics, scope_of(bounded.tally.child))
    return None if found is None else statistics.index(found)


def _of_ranks(
    measure: Measure, statistic: Ranked, places: Sequence[int], known: Ranks | None, rows: Fraction | None, whole: int
) -> Measured:
    """The quantiles of one group: a number if one is asked, a list if several are."""
    share = None
    if known is not None and known.rows is not None and rows is not None and rows > known.rows:
        share = min(Fraction(1), known.weight / whole / (rows - known.rows))
    found: list[Estimate | Located] = []
    for each in located(measure.at, statistic, places, share=share, coarse=0 if known is None else known.coarse):
        if not isinstance(each.value, Fraction):
            found.append(each)
            continue
        known_ends = isinstance(each.low, Fraction) and isinstance(each.high, Fraction)
        ends = max(each.value - each.low, each.high - each.value) if known_ends else None  # type: ignore[operator]
        found.append(Estimate(each.value, each.value, ends, each.share))
    return found[0] if len(found) == 1 else Estimates(tuple(found))


def _asked(plan: Released) -> tuple[Measure, ...]:
    while not isinstance(plan, Aggregate):
        plan = plan.child
    return plan.measures


def holder(measure: Measure, bounded: Bounded) -> Statistic:
    """The statistic that a measure is read from."""
    statistics = bounded.tally.statistics
    scope = scope_of(bounded.tally.child)
    heads = Heads(told=True)
    if heads in statistics and (measure.kind == "units" or (measure.kind == "rows" and bounded.whole == 1)):
        return heads
    match measure.kind:
        case "units":
            return Units()
        case "distinct":
            assert measure.of is not None
            return Distinct(measure.of)
        case "rows" | "present":
            found = counting(measure, statistics, scope)
        case "quantile":
            found = next((s for s in statistics if isinstance(s, Ranked) and s.of == measure.of), None)
        case "sum" | "mean" | "var_pop" | "var_samp" | "std_pop" | "std_samp":
            able = (s for s in statistics if isinstance(s, Rowwise) and s.of == measure.of and s.kind != "present")
            found = next(able, None)
        case _:
            assert_never(measure.kind)
    if found is None:
        raise Bug("a measure has no statistic to be read from")
    return found


def estimate(
    measure: Measure, statistic: Statistic, cells: Sequence[int], width: Fraction | None, whole: int
) -> Estimate:
    """A measure from the cells of its statistic.

    With n = (P + Q) / top rows of full weight, a mean is at P / (P + Q) of its range. Its half-width: at the true ratio r,
    (1 - r) P - r Q is 0 before noise, so with noise it is a convex combination of two independent noises, which lies
    within the half-width of one of them at least as often (Proschan 1965, for symmetric log-concave laws). Solving
    |P - r (P + Q)| <= h for r gives h / (P + Q) to either side, exactly. A variance is r(1 - r)-like in its three cells;
    its half-width is that of the linear combination of the noises to first order, by the same theorem, plus (h / n)^2.
    """
    if isinstance(statistic, Heads):
        return _not_negative(Fraction(cells[0]), width)
    if isinstance(statistic, Units | Distinct):
        return _not_negative(Fraction(cells[0], whole), width and width / whole)
    if isinstance(statistic, Ranked):
        raise Bug("a quantile was taken for a number of cells")
    match statistic.kind:
        case "count" | "present":
            return _not_negative(Fraction(cells[0], whole), width and width / whole)
        case "total":
            value, step = Fraction(cells[0], whole) * statistic.step, statistic.step
            return _clipped(value, *_sum_range(statistic), width and width / whole * step)
        case "mean" | "moments":
            return _of_halves(measure, statistic, cells, width, whole)
        case _:
            assert_never(statistic.kind)


def _of_halves(
    measure: Measure, statistic: Rowwise, cells: Sequence[int], width: Fraction | None, whole: int
) -> Estimate:
    above, below = cells[0], cells[1]
    top, step, low = statistic.top, statistic.step, statistic.low
    both = above + below
    count = Fraction(both, whole * top)
    match measure.kind:
        case "rows" | "present":
            return _not_negative(count, width and 2 * width / (whole * top))
        case "sum":
            value = low * count + Fraction(above, whole) * step
            reach = abs(step + low / top) + abs(low / top)
            return _clipped(value, *_sum_range(statistic), width and reach * width / whole)
    if both <= 0:
        return NOTHING
    ratio = Fraction(above, both)
    if measure.kind == "mean":
        high = low + top * step
        return _clipped(low + top * step * ratio, low, high, width and top * step * width / both)
    return _of_spread(measure, statistic, ratio, Fraction(cells[2], both), count, width and width / both)


def _of_spread(
    measure: Measure, statistic: Rowwise, ratio: Fraction, square: Fraction, count: Fraction, width: Fraction | None
) -> Estimate:
    """`ratio` is the mean's place in the range, `square` the mean square of twice the distance to the middle, 0 to 1."""
    size = float(statistic.top * statistic.step) ** 2
    sample = measure.kind in {"var_samp", "std_samp"}
    if sample and count <= 1:
        return NOTHING
    factor = float(count / (count - 1)) if sample else 1.0
    mean, spread = float(ratio), float(square)
    value = factor * size * (spread / 4 - (mean - 0.5) ** 2)
    bar = None
    if width is not None:
        noise = float(width)
        first_order = (1 + 2 * min(abs(spread), 1.0)) / 4 + min(abs(2 * mean - 1), 1.0)
        bar = Fraction(factor * size * (first_order * noise + noise * noise))
    variance = _clipped(Fraction(value), Fraction(0), Fraction(factor * size / 4), bar)
    return variance if measure.kind in {"var_pop", "var_samp"} else _root(variance)


def _root(variance: Estimate) -> Estimate:
    """The standard deviation: the root of a variance and of both ends of its bar."""
    if variance.value is None or variance.unbiased is None:
        return NOTHING
    root = _sqrt(variance.value)
    bar = None
    if variance.within is not None:
        above = _sqrt(variance.value + variance.within) - root
        below = root - _sqrt(max(Fraction(0), variance.value - variance.within))
        bar = max(above, below)
    return Estimate(root, _sqrt(variance.unbiased) if variance.unbiased >= 0 else None, bar)


def _sqrt(value: Fraction) -> Fraction:
    return Fraction(math.sqrt(value))


def _sum_range(statistic: Rowwise) -> tuple[Fraction | None, Fraction | None]:
    """A sum of numbers of one sign keeps it."""
    return (Fraction(0) if statistic.low >= 0 else None), (Fraction(0) if statistic.high <= 0 else None)


def _not_negative(value: Fraction, width: Fraction | None) -> Estimate:
    return _clipped(value, Fraction(0), None, width)


def _clipped(value: Fraction, low: Fraction | None, high: Fraction | None, width: Fraction | None) -> Estimate:
    clipped = value if low is None else max(value, low)
    return Estimate(clipped if high is None else min(clipped, high), value, width)


# -- above the release -------------------------------------------------------------------------------------------------


def _finished(bounded: Bounded, groups: list[_Group]) -> Result:
    places = {key.of: Field(str(place)) for place, key in enumerate(bounded.tally.keys)}
    plan = bounded.question
    columns: tuple[tuple[str, Expression], ...] = (
        *((str(place), key.of) for place, key in enumerate(bounded.tally.keys)),
        *((measure.kind, measure) for measure in _asked(plan)),
    )
    if isinstance(plan, Select):
        columns, plan = plan.columns, plan.child
    kept = _kept(plan, groups, places)
    shown = [_keyed(expression, places) for _, expression in columns]
    rows = tuple(tuple(_cell(expression, group) for expression in shown) for group in kept)
    return Result(tuple(name for name, _ in columns), rows)


def _kept(plan: Released, groups: list[_Group], places: Mapping[Expression, Field]) -> list[_Group]:
    match plan:
        case Aggregate():
            return groups
        case Having(child, condition):
            keyed = _keyed(condition, places)
            return [group for group in _kept(child, groups, places) if evaluate(keyed, _values(group)) is True]
        case Sort(child, orders):
            kept = _kept(child, groups, places)
            for order in reversed(orders):
                by = _keyed(order.by, places)
                known = [(evaluate(by, _values(group)), group) for group in kept]
                there = [pair for pair in known if pair[0] is not None]
                there.sort(key=lambda pair: pair[0], reverse=order.descending)  # type: ignore[arg-type,return-value]
                absent = [group for value, group in known if value is None]
                ordered = [group for _, group in there]
                kept = [*absent, *ordered] if order.nulls_first else [*ordered, *absent]
            return kept
        case Limit(child, count, offset):
            kept = _kept(child, groups, places)[offset:]
            return kept if count is None else kept[:count]
        case Select():
            raise Bug("a list of columns stands in the middle of a question")
        case _:
            assert_never(plan)


def _keyed(expression: Expression, places: Mapping[Expression, Field]) -> Expression:
    """The expression with every key replaced by its place among the keys."""
    if expression in places:
        return places[expression]
    match expression:
        case Call(operation, arguments):
            return Call(operation, tuple(_keyed(each, places) for each in arguments))
        case _:
            return expression


def _values(group: _Group, side: int = 0) -> dict[Field | Measure, Value]:
    """What is known of a group: its keys, and every measure, or one end of its bar."""
    values: dict[Field | Measure, Value] = {Field(str(place)): key for place, key in enumerate(group.keys)}
    for measure, each in group.measured.items():
        if isinstance(each, Estimates):
            continue
        if isinstance(each, Located):
            values[measure] = each.value
            continue
        moved = each.value is not None and each.within is not None and side
        values[measure] = each.value + side * each.within if moved else each.value  # type: ignore[operator]
    return values


def _cell(expression: Expression, group: _Group) -> Cell:
    """A key, a measure, or a number computed from them; its bar is known when it stands on one measure."""
    if isinstance(expression, Measure):
        return group.measured[expression]
    if isinstance(expression, Field):
        return group.keys[int(expression.name)]
    used = measures(expression)
    value = evaluate(expression, _values(group))
    if not used or not (value is None or isinstance(value, int | Fraction)) or isinstance(value, bool):
        return value
    unbiased = _values(group)
    unbiased.update({m: each.unbiased for m, each in group.measured.items() if isinstance(each, Estimate)})
    raw = evaluate(expression, unbiased)
    bar = _bar(expression, group, value) if len(used) == 1 and _monotone(expression) else None
    return Estimate(_fraction(value), _fraction(raw), bar)


def _bar(expression: Expression, group: _Group, value: Value) -> Fraction | None:
    """The larger distance to what the two ends of the measure's bar give."""
    ends = [_fraction(evaluate(expression, _values(group, side))) for side in (-1, 1)]
    middle = _fraction(value)
    known = all(_width(group.measured[measure]) is not None for measure in measures(expression))
    if middle is None or not known or None in ends:
        return None
    return max(abs(end - middle) for end in ends if end is not None)


def _width(of: Measured) -> Fraction | None:
    return of.within if isinstance(of, Estimate) else None


def _monotone(expression: Expression) -> bool:
    """Whether it runs one way in its measure: sums and differences with numbers, multiples, quotients by numbers."""
    match expression:
        case Measure():
            return True
        case Call("negate", (one,)):
            return _monotone(one)
        case Call("add" | "subtract" | "multiply", (one, other)):
            return (_monotone(one) and isinstance(other, Literal)) or (isinstance(one, Literal) and _monotone(other))
        case Call("ratio", (one, Literal())):
            return _monotone(one)
        case _:
            return False


def _fraction(value: Value) -> Fraction | None:
    return Fraction(value) if isinstance(value, int | Fraction) else None
