"""How far mass must move, at most, to turn one law into another: the infinity-Wasserstein distance."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

from sfumato.core.errors import NotSupported
from sfumato.core.exact import sqrt_up
from sfumato.core.interval import log_bounds
from sfumato.mechanisms.pufferfish.belief import Discrete, Law, Mixture, NormalVector, Point

_MOST_PAIRS = 1 << 14
_BITS = 64


@final
@dataclass(frozen=True)
class Moves:
    """The largest moves of one coupling: summed over coordinates, of one coordinate, and squared Euclidean."""

    l1: Fraction
    linf: Fraction
    l2_squared: Fraction

    def most(self, other: Moves) -> Moves:
        return Moves(max(self.l1, other.l1), max(self.linf, other.linf), max(self.l2_squared, other.l2_squared))


STILL = Moves(Fraction(0), Fraction(0), Fraction(0))


def moves(left: Law, right: Law, *, failure: Fraction = Fraction(0)) -> Moves:
    """Of a best coupling where one is known, outside of an event of mass `failure` under both laws.

    Numbers: exact, by quantiles. Discrete vectors: exact in the Euclidean norm, by a bottleneck flow. Normal laws with one
    factor, and mixtures that are shifts of one another: the shift, which no coupling undercuts (the means are that far
    apart). Normal vectors with different factors L, K: one standard normal vector z makes both, mean + L z and mean' + K z;
    outside of |z| > r they are |mean - mean'| + |L - K| r apart, in each norm, with r of `_radius`.
    """
    match left, right:
        case Discrete(), Discrete() if left.width == 1:
            return _of_points([(a, b) for a, b, _ in quantile_coupling(left, right)])
        case Discrete(), Discrete():
            return _bottleneck(left, right)
        case Mixture(), Mixture() if left.chances == right.chances and left.deviations == right.deviations:
            shifts = {a - b for a, b in zip(left.means, right.means, strict=True)}
            if len(shifts) == 1:
                return _of_points([(left.means[:1], right.means[:1])])
        case NormalVector(), NormalVector():
            return _normal_moves(left, right, failure)
        case _:
            pass
    raise NotSupported(
        "no amount of moving bounds the distance between these two laws: their tails differ",
        hint="price Laplace noise on the laws themselves with PufferfishLaplace",
    )


def quantile_coupling(left: Discrete, right: Discrete) -> list[tuple[Point, Point, Fraction]]:
    """The pieces of [0, 1] on which both quantile functions are constant; no coupling has a smaller largest move.

    Proof: if mass moves less than W somewhere from t, F(x) <= G(x + W) and G(x) <= F(x + W) for all x, which bounds the
    quantile functions' distance by W everywhere; and they are themselves a coupling.
    """
    pieces, i, j = [], 0, 0
    here, there = left.chances[0], right.chances[0]
    while True:
        share = min(here, there)
        pieces.append((left.points[i], right.points[j], share))
        here, there = here - share, there - share
        if here == 0:
            i += 1
        if there == 0:
            j += 1
        if i == len(left.points) or j == len(right.points):
            return pieces
        here, there = here or left.chances[i], there or right.chances[j]


def _of_points(pairs: list[tuple[Point, Point]]) -> Moves:
    total = STILL
    for a, b in pairs:
        gaps = [abs(x - y) for x, y in zip(a, b, strict=True)]
        total = total.most(Moves(sum(gaps, Fraction(0)), max(gaps), sum((g * g for g in gaps), Fraction(0))))
    return total


def _bottleneck(left: Discrete, right: Discrete) -> Moves:
    """The least r for which all mass can flow along moves of at most r: bisection over the distances there are."""
    if len(left.points) * len(right.points) > _MOST_PAIRS:
        raise NotSupported(
            f"two laws of vectors have more than {_MOST_PAIRS} pairs of points",
            hint="round the vectors to fewer points",
        )
    squares = [[_squared(a, b) for b in right.points] for a in left.points]
    radii = sorted({square for row in squares for square in row})
    few, many = -1, len(radii) - 1
    best = _flow(left, right, squares, radii[many])
    while many - few > 1:
        middle = (few + many) // 2
        found = _flow(left, right, squares, radii[middle])
        few, many, best = (few, middle, found) if found is not None else (middle, many, best)
    assert best is not None
    return _of_points(best)


def _squared(a: Point, b: Point) -> Fraction:
    return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))


def _flow(
    left: Discrete, right: Discrete, squares: list[list[Fraction]], radius: Fraction
) -> list[tuple[Point, Point]] | None:
    """The moves of a coupling within the radius, or None: augmenting paths, shortest first, in exact numbers."""
    n, m = len(left.points), len(right.points)
    near = [[j for j in range(m) if squares[i][j] <= radius] for i in range(n)]
    sent = [[Fraction(0)] * m for _ in range(n)]
    supply, demand = list(left.chances), list(right.chances)
    while any(supply):
        came: dict[int, int] = {i: -1 for i in range(n) if supply[i]}
        queue, end = deque(came), -1
        while queue and end < 0:
            node = queue.popleft()
            if node < n:
                steps = [n + j for j in near[node]]
            elif demand[node - n]:
                end = node
                break
            else:
                steps = [i for i in range(n) if sent[i][node - n]]
            for step in steps:
                if step not in came:
                    came[step] = node
                    queue.append(step)
        if end < 0:
            return None
        path = [end]
        while came[path[-1]] >= 0:
            path.append(came[path[-1]])
        path.reverse()
        share = min(supply[path[0]], demand[end - n])
        for a, b in pairwise(path):
            if a >= n:
                share = min(share, sent[b][a - n])
        for a, b in pairwise(path):
            if a < n:
                sent[a][b - n] += share
            else:
                sent[b][a - n] -= share
        supply[path[0]] -= share
        demand[end - n] -= share
    return [(left.points[i], right.points[j]) for i in range(n) for j in range(m) if sent[i][j]]


def _normal_moves(left: NormalVector, right: NormalVector, failure: Fraction) -> Moves:
    gaps = [abs(a - b) for a, b in zip(left.mean, right.mean, strict=True)]
    rows = [
        sqrt_up(sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0)))
        for a, b in zip(left.factor, right.factor, strict=True)
    ]
    if not any(rows):
        return _of_points([(left.mean, right.mean)])
    if failure == 0:
        raise NotSupported(
            "two normal laws of different covariance are not within any distance of each other",
            hint="give a failure such as '1e-9', to leave out the far ends of both",
        )
    far = _radius(left.width, failure)
    each = [gap + row * far for gap, row in zip(gaps, rows, strict=True)]
    together = sqrt_up(sum((g * g for g in gaps), Fraction(0))) + sqrt_up(sum((r * r for r in rows), Fraction(0))) * far
    return Moves(sum(each, Fraction(0)), max(each), together**2)


def _radius(width: int, failure: Fraction) -> Fraction:
    """r with P(|z| > r) <= failure: r^2 = d + 2 sqrt(d x) + 2x, x = ln(1/failure) (Laurent and Massart 2000, Lemma 1)."""
    x = Fraction(log_bounds(1 / failure, _BITS)[1], 1 << _BITS)
    return sqrt_up(width + 2 * sqrt_up(width * x) + 2 * x)
