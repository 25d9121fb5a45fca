"""Sums over ranges of released groups: what was paid for already, with a bar from the exact noise of the sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import BadInput, NotSupported
from sfumato.curator import mixed
from sfumato.curator.axes import levels_of, ordered
from sfumato.mechanisms import Gaussian, GaussianHistogram, Laplace, LaplaceHistogram
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.pooled import within_of_pooled
from sfumato.queries.answer import Estimate, estimate, holder
from sfumato.queries.expression import Measure
from sfumato.queries.plan import Key, Select

if TYPE_CHECKING:
    from sfumato.curator.preview import Preview
    from sfumato.queries.schema import Value

    Floats = np.ndarray[Any, np.dtype[np.float64]]


def ranged(
    sources: tuple[Preview, ...],
    stored: list[list[Any]],
    column: str | None,
    low: Value,
    high: Value,
    fixed: Mapping[str, Value],
) -> Estimate:
    """The sum of a count or a sum over the groups from key `low` to key `high`, both counted in; None is the key's own end.

    `fixed` gives further keys by the name of their column; over those that it leaves out the sum is taken too. `sources` are
    the previews whose releases `stored` are, one or several pooled.
    """
    if sources[-1].bounded.private:
        raise NotSupported(
            "groups that were withheld are in no range of those that were told",
            hint="ask for the range as a question of its own, with WHERE",
            code="SF005",
        )
    return _sum(sources, stored, column, _query(sources[-1], low, high, fixed))


def totalled(sources: tuple[Preview, ...], stored: list[list[Any]], column: str | None) -> Estimate:
    """The sum of a count or a sum over all groups, with the bar of that sum."""
    bounded = sources[-1].bounded
    if bounded.private:
        raise NotSupported(
            "groups that were withheld are in no sum of those that were told",
            hint="ask the total as a question of its own, without GROUP BY",
            code="SF005",
        )
    return _sum(sources, stored, column, np.ones(tuple(len(key.values) for key in bounded.tally.keys)))


def levelled(
    sources: tuple[Preview, ...], stored: list[list[Any]], column: str | None, level: str
) -> dict[str, Estimate]:
    """The sums over all nodes of a declared level; what has no node there is left out."""
    names, paths = levels_of(sources[-1].bounded)
    if level not in names:
        raise BadInput("the key has no such level", hint=f"its levels are {', '.join(names)}")
    nodes = [path[: names.index(level) + 1] for path in paths]
    found = [node for node in dict.fromkeys(nodes) if node[-1]]
    alike = [node[-1] for node in found]
    return {
        node[-1] if alike.count(node[-1]) == 1 else " / ".join(node): _sum(
            sources, stored, column, np.array([float(each == node) for each in nodes])
        )
        for node in found
    }


def _sum(sources: tuple[Preview, ...], stored: list[list[Any]], column: str | None, query: Floats) -> Estimate:
    """The sum of the groups that `query` marks."""
    preview = sources[-1]
    statistic, measure = _summed(preview, column)
    place = preview.bounded.tally.statistics.index(statistic)
    both = mixed.weights(measure, preview.bounded)
    if both is not None:
        query = np.multiply.outer(np.array([*both, *[0] * (statistic.width - 2)], dtype=np.float64), query)
    mechanisms = [_as_histogram(each.mechanisms[place], query.shape) for each in sources]
    parts = _parts(mechanisms, preview.confidence)
    used = [(mechanism, part) for mechanism, part in zip(mechanisms, parts, strict=True) if part]
    width = within_of_pooled([each for each, _ in used], [part for _, part in used], query, preview.confidence)
    lines = query if both is not None else [query]  # one for each cell of the statistic
    totals = [
        sum((part * _chosen(each[place], line, row) for part, each in zip(parts, stored, strict=True)), Fraction(0))
        for row, line in enumerate(lines)
    ]
    found = estimate(measure, statistic, totals, Fraction(width), preview.bounded.whole)  # type: ignore[arg-type]
    found = found if both is None else replace(found, within=Fraction(width))
    return found if preview.nonnegative else found.unmoved


def _summed(preview: Preview, column: str | None) -> tuple[Any, Measure]:
    """The column that is summed over: the only count or sum, unless it is named."""
    question = preview.bounded.question
    columns = question.columns if isinstance(question, Select) else ()
    linear = {
        name: each
        for name, each in columns
        if isinstance(each, Measure) and each.kind in {"rows", "present", "units", "sum"}
    }
    linear = {name: each for name, each in linear.items() if _plain(each, preview)}
    found = linear.get(column) if column is not None else next(iter(linear.values()), None)
    if found is None or (column is None and len(linear) > 1):
        names = ", ".join(f"column='{name}'" for name in linear)
        raise BadInput(
            "only one column of counts or sums can be added up over groups",
            hint=f"name it: {names}" if names else "ask COUNT(*) or SUM(x) in the question",
        )
    if found.kind == "units":
        raise NotSupported(
            "people in several groups would be counted several times", hint="sum a COUNT(*)", code="SF021"
        )
    return holder(found, preview.bounded), found


def _query(preview: Preview, low: Value, high: Value, fixed: Mapping[str, Value]) -> Floats:
    """1 for every group that is meant."""
    keys = preview.bounded.tally.keys
    named = {key.of: name for key in keys for name in [_name(preview, key)] if name is not None}
    unknown = sorted(set(fixed) - set(named.values()))
    if unknown:
        raise BadInput(f"the answer has no key {unknown[0]}", hint="name keys as the answer's columns do")
    line = [key for key in keys if ordered(key, preview.bounded) and named.get(key.of) not in fixed]
    if len(line) != 1:
        raise BadInput(
            "a range runs along one key with an order", hint="give the other keys their values: range(18, 64, sex='F')"
        )
    query = np.ones(())
    for key in keys:
        if key is line[0]:
            first = 0 if low is None else _place(key, low)
            last = len([value for value in key.values if value is not None]) - 1 if high is None else _place(key, high)
            if last < first:
                raise BadInput("a range ends before it starts", hint="give the lower end first")
            chosen = np.array([float(first <= place <= last) for place in range(len(key.values))])
        elif named.get(key.of) in fixed:
            wanted = _place(key, fixed[named[key.of]])
            chosen = np.array([float(place == wanted) for place in range(len(key.values))])
        else:
            chosen = np.ones(len(key.values))
        query = np.multiply.outer(query, chosen)
    return np.asarray(query)


def _name(preview: Preview, key: Key) -> str | None:
    question = preview.bounded.question
    columns = question.columns if isinstance(question, Select) else ()
    return next((name for name, each in columns if each == key.of), None)


def _place(key: Key, value: Value) -> int:
    if value not in key.values:
        raise BadInput("a key is not one of the answer's", hint="give it as the answer writes it, such as '[18, 65)'")
    return key.values.index(value)


def _as_histogram(mechanism: Any, shape: tuple[int, ...]) -> Any:
    """Noise on every group by itself is a flat histogram."""
    size = int(np.prod(shape))
    match mechanism:
        case Laplace(scale=scale):
            return LaplaceHistogram(Flat(size), scale)
        case Gaussian(sigma=sigma):
            return GaussianHistogram(Flat(size), sigma)
        case _:
            return mechanism


def _parts(mechanisms: list[Any], confidence: Fraction) -> tuple[Fraction, ...]:
    """As `pool` mixed them: by their variances under one strategy, the surest alone under several."""
    from sfumato.curator.pool import weights

    if len({mechanism.strategy for mechanism in mechanisms}) == 1:
        return weights(tuple(mechanisms))
    best = min(range(len(mechanisms)), key=lambda place: mechanisms[place].within(confidence))
    return tuple(Fraction(place == best) for place in range(len(mechanisms)))


def _plain(measure: Measure, preview: Preview) -> bool:
    """Whether it is one cell in each group, or the two of a mean with noise of their own on each."""
    statistic = holder(measure, preview.bounded)
    mechanism = preview.mechanisms[preview.bounded.tally.statistics.index(statistic)]
    return statistic.width == 1 or isinstance(mechanism, Laplace | Gaussian)


def _chosen(vector: Any, line: Floats, row: int) -> Fraction:
    """The sum of the groups that a line marks, in the cells of one row of a statistic."""
    cells = vector.tolist() if hasattr(vector, "tolist") else vector
    return sum(
        (Fraction(cells[row * line.size + place]) for place in np.flatnonzero(line.ravel()).tolist()), Fraction(0)
    )
