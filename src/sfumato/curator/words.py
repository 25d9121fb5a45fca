"""How mechanisms are spelled to people."""

from __future__ import annotations

from typing import Any

from sfumato.core.exact import decimal_text
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.queries.plan import Ranked

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
    places = f"bins of {decimal_text(run * statistic.step)}" if run else f"places {decimal_text(statistic.step)} apart"
    return f"{_KINDS.get(name, name)}, {field} {size}, {places}"


def histogram_words(mechanism: Histogram, whole: int) -> str:
    """The noise on the rows of a strategy, and which these are."""
    name, field = ("Laplace", "scale") if mechanism.noise_field == "scale" else ("Gaussian", "sigma")
    amount = decimal_text(getattr(mechanism, mechanism.noise_field) / whole)
    return f"discrete {name}, {field} {amount}, on {mechanism.strategy.summary}"


def coarse(mechanism: Mechanism[Any, Any]) -> int:
    """How many places a released one stands for, where it is told less finely than it is asked."""
    from sfumato.mechanisms import TreeQuantiles

    if isinstance(mechanism, TreeQuantiles) and mechanism.bins < mechanism.size:
        return -(-mechanism.size // mechanism.bins)
    return 0
