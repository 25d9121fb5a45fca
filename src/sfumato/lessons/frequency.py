"""How often something came out, with the bar that so many repetitions allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.show.picture import Point
from sfumato.show.sheet import Around

MISS = 0.025
"""Each end of a bar fails with this probability: 95 % bars."""


def share(hits: int, runs: int) -> tuple[float, float, float]:
    """The share and its 95 % bar (Clopper and Pearson)."""
    from sfumato.audit.confidence import clopper_pearson

    low, high = clopper_pearson(hits, runs, miss=MISS)
    return hits / runs, low, high


def shares(values: Any, edges: Sequence[float], *, per: float = 1.0) -> tuple[Point, ...]:
    """The share of values between neighbouring edges, at the middle of each; divided by `per` (a width: a density).

    What lies outside of the edges is counted in the whole, and not drawn.
    """
    import numpy as np

    found, _ = np.histogram(np.asarray(values, dtype=float), bins=np.asarray(edges, dtype=float))
    points = []
    for left, right, hits in zip(edges, edges[1:], found.tolist(), strict=False):
        middle, low, high = share(hits, len(values))
        points.append(Point((left + right) / 2, middle / per, low / per, high / per))
    return tuple(points)


def mean(values: Any) -> Around:
    """A mean of independent values and its 95 % bar."""
    return Around(float(values.mean()), 1.96 * float(values.std()) / len(values) ** 0.5)


def up_to(values: Any, places: Sequence[float]) -> tuple[Point, ...]:
    """The share of values at or below each place."""
    import numpy as np

    ordered = np.sort(np.asarray(values, dtype=float))
    hits = np.searchsorted(ordered, np.asarray(places), side="right").tolist()
    return tuple(Point(place, *share(each, len(ordered))) for place, each in zip(places, hits, strict=True))


def among(values: Sequence[Any], names: Sequence[Any]) -> tuple[Point, ...]:
    """The share of each name."""
    found = [share(sum(1 for value in values if value == name), len(values)) for name in names]
    return tuple(Point(str(name), *each) for name, each in zip(names, found, strict=True))
