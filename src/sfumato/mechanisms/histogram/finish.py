"""What may be done to estimates afterwards, at no cost in privacy: whole, not negative, monotone, of known totals.

Estimates as they come are unbiased: a negative count of -3 beside a positive one is what keeps sums right. Everything here is a
projection onto what the truth is known to satisfy. It lowers the total squared error where the knowledge is true (a projection
onto a convex set that holds the truth takes one no further from it), and adds a bias: small counts are pushed up. `bias_of`
says by how much, cell by cell, as if the estimates were the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.mechanisms.histogram.strategy import Floats
from sfumato.noise import Source, system_source

Values = Sequence[Any] | NDArray[Any]


def _read(values: Values) -> Floats:
    cells = np.asarray(values)
    if cells.size == 0 or cells.dtype.kind not in "iuf" or not np.isfinite(cells).all():
        raise BadInput("estimates are not finite numbers", hint="give the value of a histogram's release")
    return cells.astype(np.float64)


def non_negative(values: Values) -> Floats:
    """The nearest cells of 0 or more. Their total rises: by `clipping_bias` for a cell that is truly empty."""
    return np.maximum(_read(values), 0)


def clipping_bias(variance: float, truth: float = 0.0) -> float:
    """The mean of max(0, truth + Z) less the truth, for normal noise Z: sigma phi(t) - truth Phi(-t), t = truth/sigma."""
    if variance <= 0:
        raise BadInput("a variance is not above 0", hint="give the variance of the estimate")
    sigma = math.sqrt(variance)
    t = truth / sigma
    return sigma * math.exp(-t * t / 2) / math.sqrt(2 * math.pi) - truth * math.erfc(t / math.sqrt(2)) / 2


def of_total(values: Values, total: float) -> Floats:
    """The nearest cells of this total: the same amount is added to each. No bias, where the total is the true one."""
    cells = _read(values)
    return cells + (_total(total) - float(cells.sum())) / cells.size


def non_negative_of_total(values: Values, total: float) -> Floats:
    """The nearest cells of 0 or more that have this total: all lowered by one amount, then cut off at 0.

    The projection on a simplex (Held, Wolfe and Crowder 1974): with the cells in falling order, the amount is that of the
    longest prefix whose cells stay above 0. For equal normal noise these cells are also the likeliest.
    """
    cells, wanted = _read(values), _total(total)
    if wanted < 0:
        raise BadInput("a total of cells of 0 or more is negative", hint="give a total of 0 or more")
    falling = np.sort(cells, axis=None)[::-1]
    amounts = (np.cumsum(falling) - wanted) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > amounts)
    amount = float(amounts[kept[-1]]) if kept.size else float(falling[0])
    return np.maximum(cells - amount, 0)


def likeliest_of_total(values: Values, total: float) -> Floats:
    """The likeliest cells of 0 or more that have this total, if each has Laplace noise of one scale: the least sum of changes.

    A cell below 0 must rise to 0 at least. If the total then asks for more, rising cells cost just what the total is short of;
    if it asks for less, falling ones cost just what it is over. So any division among cells above 0 is as likely as another;
    here all change alike, as far as they reach.
    """
    cells, wanted = non_negative(values), _total(total)
    if float(cells.sum()) <= wanted:
        return of_total(cells, wanted)
    return non_negative_of_total(cells, wanted)


def monotone(values: Values, *, weights: Values | None = None, falling: bool = False) -> Floats:
    """The nearest cells that never fall (or never rise): pooled neighbours (Ayer et al. 1955), each cell weighing `weights`."""
    cells = _read(values)
    sizes = np.ones(cells.shape) if weights is None else _read(weights)
    if cells.ndim != 1 or sizes.shape != cells.shape or (sizes <= 0).any():
        raise BadInput("monotone cells lie on one axis, each of positive weight", hint="give one weight for each cell")
    sign = -1.0 if falling else 1.0
    pools: list[tuple[float, float, int]] = []
    for value, size in zip((sign * cells).tolist(), sizes.tolist(), strict=True):
        mean, weight, count = value, size, 1
        while pools and pools[-1][0] >= mean:
            before, heavy, many = pools.pop()
            mean = (mean * weight + before * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many
        pools.append((mean, weight, count))
    return sign * np.repeat([mean for mean, _, _ in pools], [count for _, _, count in pools])


def cumulative(values: Values) -> Floats:
    """Sums so far, made to rise: what a cumulative count of cells of 0 or more is."""
    return monotone(np.cumsum(_read(values)))


def rounded(values: Values) -> NDArray[np.int64]:
    """Whole cells whose sums so far are each within 1/2 of those of the estimates: errors of rounding do not add up.

    Where the estimates are 0 or more, so are these.
    """
    sums = np.rint(np.cumsum(_read(values).ravel()))
    return np.diff(sums, prepend=0.0).astype(np.int64).reshape(np.shape(values))


def bias_of(
    mechanism: Histogram,
    truth: Values,
    finish: Callable[[Values], Any],
    *,
    runs: int = 400,
    source: Source | None = None,
) -> Floats:
    """What `finish` adds to each cell on average, if `truth` (such as the finished estimates) were the truth: a simulation.

    It draws new noise on public numbers and costs nothing. Each cell's own uncertainty is its deviation over sqrt(runs).
    """
    if runs < 1:
        raise BadInput("a bias was asked of no runs", hint="give 100 runs or more")
    stream = source or system_source()
    cells = rounded(truth)
    total = np.zeros(cells.shape)
    for _ in range(runs):
        total += np.asarray(finish(mechanism.sample(cells, stream))) - cells
    return total / runs


def wasserstein(one: Values, other: Values, positions: Values | None = None) -> float:
    """How far mass is carried, on the bins' positions, to turn one histogram into the other; both brought to total 1.

    The area between the two cumulative shares (Vallender 1974). scipy's function, called on two histograms, compares the lists
    of counts and forgets where they are.
    """
    first, second = _mass(one), _mass(other)
    places = np.arange(first.size, dtype=np.float64) if positions is None else _read(positions)
    if first.shape != second.shape or places.shape != first.shape or (np.diff(places) <= 0).any():
        raise BadInput("histograms and rising positions are not equally long", hint="give one position for each bin")
    apart = np.abs(np.cumsum(first - second))[:-1]
    return float((apart * np.diff(places)).sum())


def _mass(values: Values) -> Floats:
    cells = _read(values)
    if cells.ndim != 1 or (cells < 0).any() or cells.sum() <= 0:
        raise BadInput("a histogram has negative or no mass", hint="finish the estimates first: non_negative(...)")
    return np.asarray(cells / cells.sum())


def _total(total: float) -> float:
    if (
        isinstance(total, bool)
        or not isinstance(total, int | float | np.integer | np.floating)
        or not np.isfinite(total)
    ):
        raise BadInput("a total is not a number", hint="give a finite total")
    return float(total)
