"""From released places to quantiles: values, how far in ranks they may be off, and in values where neighbours were asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import assert_never, final

from sfumato.queries.plan import Ranked
from sfumato.queries.schema import Value


@final
@dataclass(frozen=True, slots=True)
class Located:
    """A released quantile. `share` is how far its rank may be off, as a part of all rows; the true one is in [low, high]."""

    value: Value
    share: Fraction | None = None
    low: Value = None
    high: Value = None


def located(
    asked: Sequence[Fraction],
    statistic: Ranked,
    places: Sequence[int],
    *,
    share: Fraction | None = None,
    coarse: int = 0,
) -> tuple[Located, ...]:
    """The quantiles `asked` among all that were released together, the one place for each of `statistic.at`.

    If, at some confidence, every released place is a quantile within `share` of the one asked, then one that was asked at
    `share` or more below q is at or below the true q-quantile, and one at `share` or more above q at or above it: the two
    nearest such are its bar, and nothing more is paid for it. Places that are known to a run of `coarse` only give their
    run's outer ends.
    """
    found = dict(zip(statistic.at, places, strict=True))
    located = []
    for q in asked:
        below = above = None
        if share is not None:
            below = max((found[p] for p in found if p <= q - share), default=None)
            above = min((found[p] for p in found if p >= q + share), default=None)
        located.append(
            Located(
                _value(found[q], statistic),
                share,
                None if below is None else _value(min(found[q], below - coarse), statistic),
                None if above is None else _value(max(found[q], above + coarse), statistic),
            )
        )
    return tuple(located)


def _value(place: int, statistic: Ranked) -> Value:
    """A place as a number, a day or a category; within x's range where a lattice is coarser than x."""
    number = min(max(statistic.low + place * statistic.step, statistic.low), statistic.high)
    match statistic.scale:
        case "number":
            return number
        case "day":
            first = statistic.names[0]
            assert isinstance(first, date)
            return first + timedelta(days=int(number))
        case "order":
            return statistic.names[int(number)]
        case _:
            assert_never(statistic.scale)
