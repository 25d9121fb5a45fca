"""What statisticians ask of an answer: the law of its noise, covariances, bars that hold together, differences, sampling.

All of it is computed from what was released and paid for; nothing here costs, and nothing reads a row.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadInput
from sfumato.curator import mixed, pool
from sfumato.curator.opened import opened, pooled
from sfumato.mechanisms import Gaussian, Laplace
from sfumato.noise import DiscreteGaussian, DiscreteLaplace
from sfumato.queries.answer import Cell, Estimate, Result, estimate, holder
from sfumato.queries.expression import Expression, Measure, measures
from sfumato.queries.plan import Aggregate, Having, Limit, Released, Rowwise, Select, Sort, Weigh, aggregate_of

if TYPE_CHECKING:
    from sfumato.curator.answer import Answer
    from sfumato.curator.preview import Preview

Matrix = tuple[tuple[float, float], tuple[float, float]]


def chosen_by_noise(question: Released) -> tuple[str, ...]:
    """The clauses that order or choose groups by released numbers."""
    found: list[str] = []
    sorted_by_noise = False
    for node in reversed(_above(question)):
        match node:
            case Having(condition=condition) if measures(condition):
                found.append("HAVING")
            case Sort(orders=orders) if any(measures(order.by) for order in orders):
                sorted_by_noise = True
                found.append("ORDER BY")
            case Limit() if sorted_by_noise:
                found.append("LIMIT")
    return tuple(found)


def _above(question: Released) -> list[Released]:
    nodes: list[Released] = []
    while not isinstance(question, Aggregate):
        nodes.append(question)
        question = question.child
    return nodes


def laws(preview: Preview) -> dict[str, dict[str, Any]]:
    """For each column that is a count or a sum: its noise's law, scale and standard deviation, in the column's own unit.

    Beside a mean these are sums of two noises, on each of the mean's two cells: the scale is the larger of both (they are
    equal in a count), the deviation that of their sum. A mean or a variance is a ratio of such cells; scale and deviation
    are those of one, in the unit of what was measured. `covariance` says how they make up sum and count.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, measure in _measured(preview).items():
        statistic = holder(measure, preview.bounded)
        mechanism = preview.mechanisms[preview.bounded.tally.statistics.index(statistic)]
        known = _law(mechanism)
        if known is None:
            found[name] = {"law": type(mechanism).__name__}
            continue
        law, field, scale, deviation = known
        both = mixed.weights(measure, preview.bounded)
        if both is not None:
            most, root = float(max(map(abs, both))), math.hypot(*map(float, both))
            found[name] = {"law": f"sum of two {law}", field: most * scale, "deviation": root * deviation}
            continue
        if statistic.width != 1:
            assert isinstance(statistic, Rowwise)
            unit = float(statistic.step / preview.bounded.whole)
            found[name] = {"law": f"ratio of cells with {law}", field: unit * scale, "deviation": unit * deviation}
            continue
        unit = _unit(measure, preview)
        found[name] = {"law": law, field: unit * scale, "deviation": unit * deviation}
    return found


def _law(mechanism: Any) -> tuple[str, str, float, float] | None:
    match mechanism:
        case Laplace(scale=scale, grain=None):
            return "discrete Laplace", "scale", float(scale), math.sqrt(DiscreteLaplace(scale).mean_square)
        case Gaussian(sigma=sigma, grain=None):
            return "discrete Gaussian", "sigma", float(sigma), math.sqrt(DiscreteGaussian(sigma**2).mean_square)
        case _:
            return None


def _unit(measure: Measure, preview: Preview) -> float:
    """What one step of the noise of a linear column is worth."""
    statistic = holder(measure, preview.bounded)
    one = estimate(measure, statistic, [1], None, preview.bounded.whole).unbiased
    nothing = estimate(measure, statistic, [0], None, preview.bounded.whole).unbiased
    assert one is not None
    assert nothing is not None
    return float(one - nothing)


def covariance(preview: Preview, column: str) -> Matrix:
    """The covariance of the noise of (sum, count) that a mean is the ratio of, in any group.

    With v the variance of one cell, the two halves P and Q have noises of their own: count = (P + Q)/(top W) has variance
    2 v/(top W)^2; sum = low count + step P/W; their covariance is low var(count) + step v/(top W^2).
    """
    measure = _measured(preview).get(column)
    if measure is None or measure.kind != "mean":
        raise BadInput("only a mean is a ratio of two noisy numbers", hint="name a column that is an AVG")
    statistic = holder(measure, preview.bounded)
    assert isinstance(statistic, Rowwise)
    known = _law(preview.mechanisms[preview.bounded.tally.statistics.index(statistic)])
    if known is None:
        raise BadInput(
            "this mean was not released with noise on each cell", hint="ask it with Laplace or Gaussian noise"
        )
    v = known[3] ** 2 / preview.bounded.whole**2
    low, step, top = float(statistic.low), float(statistic.step), statistic.top
    count = 2 * v / top**2
    both = low * count + step * v / top
    total = low * low * count + 2 * low * step * v / top + step * step * v
    return (total, both), (both, count)


def reopened(answer: Answer, *, confidence: Fraction, columns: tuple[tuple[str, Expression], ...] = ()) -> Answer:
    """The same releases with bars of another confidence, and with more columns where they were paid for already."""
    previews = tuple(
        replace(
            each, confidence=confidence, bounded=replace(each.bounded, question=_with(each.bounded.question, columns))
        )
        for each in answer.sources or (answer.preview,)
    )
    stored = answer.stored
    if len(stored) != len(previews):
        raise BadInput(
            "this answer does not hold what was released", hint="ask the question again: it is replayed free"
        )
    result = opened(previews[0], stored[0]) if len(previews) == 1 else pooled(previews, stored)
    return replace(answer, preview=previews[0], result=result, sources=previews if answer.sources else ())


def _with(question: Released, columns: tuple[tuple[str, Expression], ...]) -> Released:
    if not columns:
        return question
    assert isinstance(question, Select)
    asked = tuple(each for _, each in columns if isinstance(each, Measure))
    return Select(_measuring(question.child, asked), (*question.columns, *columns))


def _measuring(question: Released, more: tuple[Measure, ...]) -> Released:
    if isinstance(question, Aggregate):
        return replace(question, measures=tuple(dict.fromkeys((*question.measures, *more))))
    return replace(question, child=_measuring(question.child, more))


def together(answer: Answer) -> Answer:
    """Bars of which all hold at once with the answer's confidence: each has an equal part of what may go wrong."""
    ranked = [place for place, name in enumerate(answer.columns) if name in answer.preview.quantiles]
    bars = sum(
        (isinstance(cell, Estimate) and cell.within is not None) or place in ranked
        for row in answer.result.rows
        for place, cell in enumerate(row)
    )
    confidence = answer.preview.confidence
    wide = reopened(answer, confidence=1 - (1 - confidence) / max(1, bars))
    narrow = replace(wide.preview, confidence=confidence)
    return replace(wide, preview=narrow, sources=wide.sources or (wide.preview,), bars=f"together, {bars}")


def paid(answer: Answer, column: str) -> list[Estimate]:
    """How many rows each mean is over: a noisy number that the mean has already paid for, group by group as shown."""
    measure = _measured(answer.preview).get(column)
    if measure is None or measure.kind not in {"mean", "var_pop", "var_samp", "std_pop", "std_samp"}:
        raise BadInput("only a mean or a variance has paid for its number of rows", hint="name a column that is an AVG")
    found = reopened(answer, confidence=answer.preview.confidence, columns=(("n", Measure("present", measure.of)),))
    return [cell for row in found.result.rows if isinstance(cell := row[-1], Estimate)]


def compare(answer: Answer, first: Any, second: Any, column: str | None = None) -> Estimate:
    """The second group's number less the first's, with a bar for the difference.

    For counts and sums the bar comes from the law of the difference of two noises; for means it is the sum of two bars, each
    with half of what may go wrong.
    """
    name = column or next((each for each in answer.columns if each in answer.measured), None)
    if name is None or name not in answer.measured or name in answer.preview.quantiles:
        raise BadInput("two groups are compared in one measured column", hint="name it: compare(a, b, column='n')")
    confidence = answer.preview.confidence
    halved = reopened(answer, confidence=1 - (1 - confidence) / 2)
    one, other = (_cell(halved, group, name) for group in (first, second))
    if one.unbiased is None or other.unbiased is None or one.value is None or other.value is None:
        return Estimate(None, None, None)
    bar = None if one.within is None or other.within is None else one.within + other.within
    exact = _difference(answer, name)
    known = [each for each in (bar, exact) if each is not None]
    return Estimate(other.value - one.value, other.unbiased - one.unbiased, min(known, default=None))


def _difference(answer: Answer, name: str) -> Fraction | None:
    """The half-width of the difference of two cells of a linear column, from its law."""
    preview, measure = answer.preview, _measured(answer.preview).get(name)
    if measure is None or answer.sources:
        return None
    statistic = holder(measure, preview.bounded)
    mechanism = preview.mechanisms[preview.bounded.tally.statistics.index(statistic)]
    if statistic.width != 1 or _law(mechanism) is None:
        return None
    width = pool.within((mechanism, mechanism), (Fraction(1), Fraction(1)), preview.confidence)
    return Fraction(width) * Fraction(_unit(measure, preview))


def _cell(answer: Answer, group: Any, name: str) -> Estimate:
    keys = [place for place, each in enumerate(answer.columns) if each not in answer.measured]
    wanted = group if isinstance(group, tuple) else (group,)
    for row in answer.result.rows:
        if tuple(row[place] for place in keys) == wanted:
            cell = row[answer.columns.index(name)]
            assert isinstance(cell, Estimate)
            return cell
    raise BadInput("the answer has no such group", hint="give the key as the answer shows it; several keys as a tuple")


def covering(answer: Answer, what: str) -> Answer:
    """Bars of the means for the population that the rows are a sample of, too.

    The sampling part is z sqrt(B s^2/n): n is the noisy number of rows at the low end of its bar, s^2 the released variance at
    the high end of its own where VARIANCE of the same column was asked, and otherwise a quarter of the squared range, which no
    variance exceeds. The rows of one unit may be alike, and there are B of them at most. The mean's noise, n's,
    s^2's, and sampling (by its normal approximation) have a quarter each of what may go wrong.
    """
    if what == "noise":
        return answer
    if what != "noise+sampling":
        raise BadInput("a bar covers noise, or noise+sampling", hint="write covers='noise+sampling'")
    means = {name: each for name, each in _measured(answer.preview).items() if each.kind == "mean"}
    if not means:
        raise BadInput("sampling is of means: a count here is of the rows that there are", hint="ask AVG(x)")
    confidence = answer.preview.confidence
    risk = (1 - confidence) / 4
    more = [(f"n of {name}", Measure("present", each.of)) for name, each in means.items()]
    asked = set(aggregate_of(answer.preview.bounded.question).measures)
    spreads = {
        name: each for name, mean in means.items() for each in asked if each.kind in _SPREADS and each.of == mean.of
    }
    more += [(f"s of {name}", each) for name, each in spreads.items()]
    wide = reopened(answer, confidence=1 - risk, columns=tuple(more))
    z = NormalDist().inv_cdf(float(1 - risk / 2))
    rows = []
    for narrow, row in zip(answer.result.rows, wide.result.rows, strict=True):
        found = _sampled(wide, dict(zip(wide.columns, row, strict=True)), means, spreads, z)
        named = zip(answer.columns, narrow, strict=True)
        rows.append([found[name] if name in means else cell for name, cell in named])
    result = Result(answer.columns, tuple(tuple(row) for row in rows))
    return replace(answer, result=result, covers="noise+sampling")


_SPREADS = ("var_samp", "var_pop")


def _sampled(
    answer: Answer, row: dict[str, Cell], means: dict[str, Measure], spreads: dict[str, Measure], z: float
) -> dict[str, Cell]:
    bounded = answer.preview.bounded
    assert isinstance(bounded.tally.child, Weigh)
    for name, measure in means.items():
        mean, rows = row[name], row[f"n of {name}"]
        assert isinstance(mean, Estimate)
        assert isinstance(rows, Estimate)
        statistic = holder(measure, bounded)
        assert isinstance(statistic, Rowwise)
        least = Fraction(0) if rows.unbiased is None or rows.within is None else rows.unbiased - rows.within
        if mean.within is None or least <= 0:
            row[name] = replace(mean, within=None)
            continue
        widest = (statistic.high - statistic.low) ** 2 / 4
        spread = row.get(f"s of {name}")
        if isinstance(spread, Estimate) and spread.value is not None and spread.within is not None:
            widest = min(widest, spread.value + spread.within)
        sampling = z * math.sqrt(float(bounded.tally.child.bound * widest / least))
        row[name] = replace(mean, within=mean.within + Fraction(sampling))
    return row


def _measured(preview: Preview) -> dict[str, Measure]:
    question = preview.bounded.question
    columns = question.columns if isinstance(question, Select) else ()
    return {name: each for name, each in columns if isinstance(each, Measure)}
