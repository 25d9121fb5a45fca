"""The parts of one answer: what each mechanism takes in, and what the ledger keeps of what it gives out."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import Bug
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.queries.places import Places
from sfumato.queries.plan import Ranked, Statistic

if TYPE_CHECKING:
    from sfumato.queries.bounded import Bounded


_STEP = 1 << 20
"""What histograms estimate is a multiple of 2^-20."""


def taken(exact: Any, bounded: Bounded, mechanism: Mechanism[Any, Any]) -> Any:
    """The exact part as its mechanism takes it: a vector, a grid of groups, or a tally for each group of a quantile."""
    if isinstance(mechanism, Histogram):
        return exact.reshape(mechanism.strategy.shape)
    match exact:
        case Places():
            from sfumato.mechanisms.quantile.tally import Tally

            held = [(weights > 0, places, weights) for places, weights in exact.by_group(bounded.size)]
            tallies = [Tally(places[kept], weights[kept]) for kept, places, weights in held]
            return tallies if bounded.size > 1 else tallies[0]
        case _:
            return exact


def stored(released: Any) -> list[Any]:
    """What a mechanism gave, as the ledger writes it: whole numbers, one for a cell or one list for a group."""
    match released:
        case np.ndarray() if released.dtype.kind == "i":
            return list(released.tolist())
        case np.ndarray() if released.dtype.kind == "f":
            return [int(each * _STEP) for each in released.ravel().tolist()]
        case tuple():
            return [list(map(int, released))]
        case list():
            return [list(map(int, points)) for points in released]
        case _:
            raise Bug("a mechanism gave something that the ledger cannot keep")


def restored(kept: list[Any], statistic: Statistic, mechanism: Mechanism[Any, Any]) -> Any:
    """What the ledger kept, as answers are made from it."""
    if isinstance(statistic, Ranked):
        return tuple(tuple(places) for places in kept)
    if isinstance(mechanism, Histogram):
        return [Fraction(each, _STEP) for each in kept]
    return np.array(kept, dtype=np.int64)
