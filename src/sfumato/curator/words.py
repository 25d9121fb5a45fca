"""How mechanisms are spelled to people, and how wide their bars are."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.exact import decimal_text
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.queries.plan import Ranked
from sfumato.queries.rewrites.tally import ROOM

if TYPE_CHECKING:
    from sfumato.queries.bounded import Bounded

_KINDS = {
    "IndependentQuantiles": "exponential mechanism for each quantile",
    "JointExponential": "exponential mechanism for all quantiles together",
    "RecursiveQuantiles": "exponential mechanism by halves",
    "TreeQuantiles": "discrete Laplace on a tree of counts",
}


def quantile_words(mechanism: Mechanism[Any, Any], statistic: Ranked, whole: int) -> str:
    """How quantiles are found, and on which places."""
    name, field = type(mechanism).__name__, mechanism.noise_field
    amount = getattr(mechanism, field)
    size = decimal_text(amount * whole if field == "rate" else amount / whole)
    run = coarse(mechanism)
    unit = {"number": "", "day": " days", "order": " categories"}[statistic.scale]
    places = (
        f"bins of {decimal_text(run * statistic.step)}" if run else f"places {decimal_text(statistic.step)}{unit} apart"
    )
    return f"{_KINDS.get(name, name)}, {field} {size}, {places}"


def histogram_words(mechanism: Histogram, whole: int) -> str:
    """The noise on the rows of a strategy, and which these are."""
    name, field = ("Laplace", "scale") if mechanism.noise_field == "scale" else ("Gaussian", "sigma")
    amount = decimal_text(getattr(mechanism, mechanism.noise_field) / whole)
    return f"discrete {name}, {field} {amount}, on {mechanism.strategy.summary}"


def half_width(mechanism: Mechanism[Any, Any], confidence: Fraction, bounded: Bounded) -> float:
    """The half-width of one cell, or of a quantile's rank, which rests on how many rows there are at most: four times as many
    as the policy declares, and a million where it declares none."""
    from sfumato.mechanisms import JointExponential, RecursiveQuantiles

    if isinstance(mechanism, JointExponential | RecursiveQuantiles):
        return mechanism.within(confidence, rows=max(1 << 20, ROOM * bounded.rows))
    return mechanism.within(confidence)


def coarse(mechanism: Mechanism[Any, Any]) -> int:
    """How many places a released one stands for, where it is told less finely than it is asked."""
    from sfumato.mechanisms import TreeQuantiles

    if isinstance(mechanism, TreeQuantiles) and mechanism.bins < mechanism.size:
        return -(-mechanism.size // mechanism.bins)
    return 0
