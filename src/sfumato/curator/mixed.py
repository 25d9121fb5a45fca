"""Counts and sums that are read off the two cells of a mean: what each cell weighs, and how wide the noise of both is.

A mean releases P = sum w(x - low) and Q = sum w(high - x), in grid steps and W pieces of a row. Its number of rows is
(P + Q)/(top W) and its sum is low times that, and P step/W more: sums of two independent noises. A bar of twice one cell's
half-width holds too, and far more often than it says: of two Laplace noises at 95 %, 99 times in 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.exact import probability
from sfumato.curator import pool
from sfumato.mechanisms import Gaussian, Laplace
from sfumato.queries.answer import holder
from sfumato.queries.expression import Measure
from sfumato.queries.plan import Rowwise, aggregate_of

if TYPE_CHECKING:
    from sfumato.core.exact import Number
    from sfumato.curator.preview import Preview
    from sfumato.queries.bounded import Bounded


def weights(measure: Measure, bounded: Bounded) -> tuple[Fraction, Fraction] | None:
    """What P and Q count for in a count or a sum, in the column's own unit; None where it is no sum of two cells."""
    if measure.kind not in {"rows", "present", "sum"}:
        return None
    statistic = holder(measure, bounded)
    if not isinstance(statistic, Rowwise) or statistic.width == 1:
        return None
    if measure.kind != "sum":
        one = Fraction(1, statistic.top * bounded.whole)
        return one, one
    below = statistic.low / (statistic.top * bounded.whole)
    return statistic.step / bounded.whole + below, below


def width(measure: Measure, previews: Sequence[Preview], confidence: Number | None = None) -> Fraction | None:
    """The half-width of a count or a sum of two cells by the law of their noises, of one release or several pooled.

    None where it is no such sum, or not of plain noise on each cell.
    """
    last = previews[-1]
    each = weights(measure, last.bounded)
    if each is None:
        return None
    place = last.bounded.tally.statistics.index(holder(measure, last.bounded))
    mechanisms = tuple(preview.mechanisms[place] for preview in previews)
    if any(not isinstance(mechanism, Laplace | Gaussian) or mechanism.grain is not None for mechanism in mechanisms):
        return None
    sure = last.confidence if confidence is None else probability(confidence, name="confidence")
    shares = pool.weights(mechanisms) if len(mechanisms) > 1 else (Fraction(1),)
    most = max(map(abs, each))
    parts = [
        (mechanism, abs(w) / most * share)
        for w in each
        if w
        for mechanism, share in zip(mechanisms, shares, strict=True)
    ]
    found = pool.within(tuple(one for one, _ in parts), tuple(part for _, part in parts), sure)
    floors = 1 if len(mechanisms) > 1 else 0  # `pool.within` allows for one floor; here two cells may have been floored
    return (Fraction(found) + floors) * most


def widths(previews: Sequence[Preview]) -> dict[Measure, Fraction]:
    """The half-widths of all such columns of a question."""
    measured = aggregate_of(previews[-1].bounded.question).measures
    return {measure: found for measure in measured if (found := width(measure, previews)) is not None}
