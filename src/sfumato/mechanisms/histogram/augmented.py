"""Strategies found by descent: a weight on every bin and few further rows, for Laplace noise."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from sfumato.mechanisms.histogram.matrix import Matrix
from sfumato.mechanisms.histogram.shares import best_levels
from sfumato.mechanisms.histogram.strategy import Floats
from sfumato.mechanisms.histogram.workload import Workload

_ROWS = 80
_WORK = 1.5e10
_MEMORY = 12
_GOLDEN = 0.6180339887498949

Curve = Callable[[Floats], tuple[float, Floats]]


@lru_cache(maxsize=64)
def augmented(workload: Workload) -> Matrix:
    """The best p-identity found (McKenna, Miklau, Hay and Machanavajjhala 2018): rows D and T D, D making all columns as long.

    It starts from the best tree of at most 80 nodes, whose upper levels are the rows T, and, up to 512 bins, from evenly
    scattered weights too. Nothing about the promise depends on how good it is: `Matrix` takes its norms from what was found.
    """
    bins = workload.bins
    starts = [_of_tree(workload)]
    if bins <= 512:
        starts += [_scattered(rows, bins) for rows in range(max(1, bins // 16 - 1), bins // 16 + 3)]
    found = [descend(mean_variance(workload, len(start)), start, rounds(start)) for start in starts if len(start)]
    best = min(found, key=lambda pair: pair[0], default=(0.0, np.zeros((0, bins))))[1]
    return Matrix.identity_and(best)


def rounds(start: Floats) -> int:
    """As many steps as a fixed amount of arithmetic allows: the result does not depend on the machine's speed."""
    rows, bins = start.shape
    return int(min(1500, max(20, _WORK / (rows * bins * (3 * rows + 160)) / 8)))


def _of_tree(workload: Workload) -> Floats:
    """The upper levels of the best tree, relative to its bins; a little uneven, so that descent can break the symmetry."""
    levels = best_levels(workload, "pure", _ROWS)
    rows = []
    for count, share in zip(levels.counts, levels.shares[:-1], strict=True):
        nodes = np.arange(workload.bins) * count // workload.bins
        rows.append((nodes[None, :] == np.arange(count)[:, None]) * (share / levels.shares[-1]))
    top = np.concatenate([np.zeros((0, workload.bins)), *rows])
    return np.asarray(top + 0.02 * _scattered(len(top), workload.bins), dtype=np.float64)


def _scattered(rows: int, bins: int) -> Floats:
    """Weights between 0 and 1 that repeat no pattern: the fractions of multiples of the golden ratio."""
    return np.asarray(np.arange(rows * bins) * _GOLDEN % 1, dtype=np.float64).reshape(rows, bins)


def mean_variance(workload: Workload, rows: int) -> Curve:
    """The mean variance at epsilon 1 of the p-identity of extra rows T, and its gradient.

    With c = 1 + the columns' sums of T, A = [1; T]/c has columns of length 1, and tr((A'A)^-1 G) = sum c^2 G_ii - tr(K^-1 Q),
    where K = 1 + TT' and Q = T diag(c) G diag(c) T' (Woodbury): no matrix larger than T.
    """
    spread = workload.spread()
    unit = 2 / workload.count

    def curve(extra: Floats) -> tuple[float, Floats]:
        long = 1 + extra.sum(axis=0)
        inverse = np.linalg.inv(np.eye(rows) + extra @ extra.T)
        moved = workload.gram((extra * long).T)
        inner = inverse @ ((extra * long) @ moved)
        pulled = inverse @ moved.T
        slope = 2 * (inner @ inverse) @ extra - 2 * pulled * long
        slope += 2 * spread * long - 2 * (pulled * extra).sum(axis=0)
        return unit * float((spread * long * long).sum() - np.trace(inner)), unit * slope

    return curve


def descend(curve: Curve, start: Floats, steps: int) -> tuple[float, Floats]:
    """L-BFGS on the square roots, which keeps weights at 0 or above (Nocedal 1980, with steps halved until they descend)."""
    point = np.sqrt(start)

    def at(root: Floats) -> tuple[float, Floats]:
        value, slope = curve(root * root)
        return value, 2 * root * slope

    value, slope = at(point)
    past: list[tuple[Floats, Floats, float]] = []
    for _ in range(steps):
        direction = -_bent(slope, past, float(np.abs(point).max()))
        fall = float((slope * direction).sum())
        if fall >= 0:
            past.clear()
            direction, fall = -slope, -float((slope * slope).sum())
        size = 1.0
        while (there := at(point + size * direction))[0] > value + 1e-4 * size * fall and size > 1e-9:
            size /= 2
        if there[0] >= value:
            break
        moved, turned = size * direction, there[1] - slope
        inner = float((moved * turned).sum())
        if inner > 1e-12 * float(np.linalg.norm(moved) * np.linalg.norm(turned)):
            past.append((moved, turned, 1 / inner))
            del past[:-_MEMORY]
        settled = value - there[0] < 1e-7 * value
        point, (value, slope) = point + moved, there
        if settled:
            break
    return value, point * point


def _bent(slope: Floats, past: list[tuple[Floats, Floats, float]], scale: float) -> Floats:
    """The slope times the inverse of what curvature the past steps saw: the two-loop recursion."""
    if not past:
        return slope * (0.01 * scale / max(float(np.abs(slope).max()), 1e-300))
    bent = slope.copy()
    shares = []
    for moved, turned, inverse in reversed(past):
        share = inverse * float((moved * bent).sum())
        shares.append(share)
        bent -= share * turned
    bent /= past[-1][2] * float((past[-1][1] ** 2).sum())
    for (moved, turned, inverse), share in zip(past, reversed(shares), strict=True):
        bent += (share - inverse * float((turned * bent).sum())) * moved
    return bent
