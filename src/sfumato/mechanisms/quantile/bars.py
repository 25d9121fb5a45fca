"""How far a released quantile may be from the truth: in ranks for nothing, in values when its neighbours are paid for too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction, probability, up
from sfumato.mechanisms.quantile.asked import OnLattice

Truth = Literal["sample", "population"]
"""The quantile of the rows that are there, or of what they were drawn from, independently."""


@final
@dataclass(frozen=True, slots=True)
class RankBar:
    """At this confidence every released point is a quantile within `half` of the one asked: 0.5 may be 0.49 or 0.51.

    Of the sample: its noise only, from a bound that holds whatever the data. Of the population: sampling too.
    """

    half: float
    confidence: Fraction
    of: Truth


def rank_bar(mechanism: OnLattice, *, rows: int, confidence: Number = "0.95", of: Truth = "sample") -> RankBar:
    """`rows` is a public number of rows (their weight, where rows have weights), or one that was paid for.

    For the population half of the risk goes to how far a sample's distribution is from it: at most sqrt(ln(2/r) / (2 n)) with
    probability 1 - r (Massart 1990).
    """
    sure = probability(confidence, name="confidence")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise BadInput("a bar is about 1 row or more", hint="give a public number of rows")
    if of == "sample":
        return RankBar(min(1.0, up(Fraction(mechanism.within(sure)) / rows)), sure, of)
    miss = (1 - sure) / 2
    sampling = math.sqrt(math.log(2 / float(miss)) / (2 * rows)) * (1 + 1e-12)
    return RankBar(min(1.0, up(Fraction(mechanism.within(1 - miss)) / rows) + sampling), sure, of)


def around(quantile: Number, half: Number) -> tuple[Fraction, ...]:
    """What to ask for a bar in values: the quantile, and its neighbours `half` to either side, in one release.

    If `half` is a `RankBar`'s of the mechanism that finds all three, the outer two points hold the true quantile between them,
    at that confidence.
    """
    level, width = fraction(quantile, name="a quantile"), fraction(half, name="half")
    if not 0 <= level <= 1 or width <= 0:
        raise BadInput(
            "a quantile lies outside [0, 1], or a bar has no width", hint="give 0.5 and a half-width such as 0.01"
        )
    return tuple(dict.fromkeys((max(Fraction(0), level - width), level, min(Fraction(1), level + width))))
