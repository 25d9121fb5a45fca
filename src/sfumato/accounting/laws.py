"""How the log-ratio of two neighbours' laws is distributed under the first: what numeric composition starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]


class Direction(Enum):
    """Which neighbour comes first. Add composes with add, remove with remove; the larger cost is taken last."""

    ADD = "add"
    """The first law is without the unit, the second with it."""

    REMOVE = "remove"
    """The first law is with the unit, the second without it. Other relations: the same pair, turned round."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rungs:
    """Mass `masses[i]` at `highest - i * spacing`, exactly there; `infinite` where the second law has none."""

    highest: Fraction
    spacing: Fraction
    masses: Array
    infinite: float


@final
@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Mass `masses[i]` at `ratios[i]`; `infinite` where the second law has none."""

    ratios: Array
    masses: Array
    infinite: float


@final
@dataclass(frozen=True, slots=True)
class Normals:
    """N(0, 1), and the mixture of it with weight 1 - rate and N(mu, 1) with weight rate: the law with the unit.

    Both up to a factor e^(+-ripple).
    """

    mu: float
    rate: float
    direction: Direction
    ripple: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Curve:
    """All that is known is a bound of delta at every epsilon."""

    delta: Callable[[float], float]


Law = Rungs | Points | Normals | Curve
