"""Numeric composition: log-ratios on a grid, convolved by dp-accounting. Every rounding is upward.

Masses go on a grid by connecting the dots (Doroshenko et al. 2022): each cell's mass is split over its two ends so that
both laws keep theirs, which makes a pair that dominates. Loads dp-accounting and scipy, hence imported inside functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never, final

from sfumato.accounting.laws import Curve, Direction, Law, Normals, Points, Rungs
from sfumato.accounting.rounding import above, below

if TYPE_CHECKING:
    import numpy as np

    from sfumato.accounting.laws import Array
    from sfumato.accounting.loss import Loss

_UNIT = 2.0**-53
_TAIL = 1e-16
"""Mass that dp-accounting may cut from each convolution; it counts it as infinite loss."""

_FAR = 10.5
"""Standard deviations: the normal tail beyond is 4.4e-26."""

_MOST_CELLS = 1 << 20
_FINE = 4096
_LARGEST = 600.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """Masses at (lowest + i) * step under the first law, and `infinite`.

    `noise` bounds what arithmetic did to the sum of masses; both laws are known up to a factor e^(+-ripple).
    """

    step: float
    lowest: int
    masses: Array
    infinite: float
    noise: float = 0.0
    ripple: float = 0.0

    def delta(self, epsilon: float) -> float:
        """The sum of mass * (1 - e^(epsilon - ratio)) over the ratios above epsilon, and what may be missing from it."""
        import numpy as np

        if math.isinf(epsilon):
            return min(1.0, self.infinite + self.noise) if epsilon > 0 else 1.0
        at = epsilon - 2 * self.ripple - (abs(epsilon) + 1) * 1e-14
        first = max(0, math.floor(at / self.step) - self.lowest)
        ratios = (self.lowest + np.arange(first, len(self.masses))) * self.step
        rest = -float((self.masses[first:] * np.expm1(np.minimum(at - ratios, 0.0))).sum())
        return min(
            1.0, above((max(0.0, rest) * (1 + 1e-12) + self.infinite + self.noise) * math.exp(self.ripple), ulps=8)
        )

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon of 0 or more with delta(epsilon) <= delta; between two ratios, delta is a line in e^epsilon."""
        if self.infinite + self.noise >= delta:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0, self.lowest + len(self.masses)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.delta(middle * self.step) <= delta else (middle, high)
        at_low, at_high = self.delta(low * self.step), self.delta(high * self.step)
        part = (at_low - delta) / (at_low - at_high)
        guess = (low * self.step + math.log1p(part * math.expm1(self.step))) * (1 + 1e-13) + 1e-13
        return guess if self.delta(guess) <= delta else high * self.step


@lru_cache(maxsize=16)
def composition(parts: tuple[tuple[Loss, int], ...], direction: Direction) -> Composition:
    """The composition of `times` copies of each loss in one direction."""
    from dp_accounting.pld import pld_pmf

    laws = [(loss.law(direction), times) for loss, times in parts]
    step = _step(laws)
    total, noise, ripple = None, 0.0, 0.0
    for law, times in laws:
        part = _on_grid(law, step)
        if not part.masses.any():
            return replace(part, infinite=1.0)
        ripple += times * part.ripple
        pmf: Any = pld_pmf.DensePLDPmf(float(step), part.lowest, part.masses, part.infinite, True)
        if times > 1:
            pmf = pmf.self_compose(times, _TAIL)
            noise += _power_noise(pmf, len(part.masses), times)
        if total is None:
            total = pmf
        else:
            noise += 3 * _transform_noise(total.size + pmf.size) * max(_norm(total), _norm(pmf))
            total = total.compose(pmf, _TAIL)
    assert total is not None
    # Attributes of dp-accounting 0.6 (pinned below 0.7) that have no public name.
    return Composition(float(step), total._lower_loss, total._probs, above(total._infinity_mass), noise, ripple)


def _norm(pmf: Any) -> float:
    squares: float = (pmf._probs * pmf._probs).sum()
    return math.sqrt(squares) + 1e-12


def _transform_noise(length: int) -> float:
    """The relative rounding of a Fourier transform, times the square root of its length.

    A transform of n masses that sum to 1 errs by at most about 8 log2(n) units in each place, and relatively in the
    Euclidean norm (Higham 2002, Section 24.1); the sum of absolute values is at most sqrt(n) times that norm.
    """
    padded = 1.25 * length + 64
    return math.sqrt(padded) * (8 * math.log2(padded) + 16) * _UNIT


def _power_noise(pmf: Any, length: int, times: int) -> float:
    """Bounds how far `self_compose` moved the masses, in the sum of absolute values.

    An error e in a coefficient x of the transform becomes times |x|^(times - 1) e, and the power itself errs by a few
    units times |x|^times. By Parseval the norm of all |x|^times is sqrt(n) that of the result; that of
    |x|^(times - 1) follows by Hoelder. The first transform's error is relative to a sum of 1, hence no sqrt(n).
    """
    padded = 1.25 * max(pmf.size, length) + 64
    spectrum = math.sqrt(padded) * _norm(pmf)
    lower_power = math.pow(spectrum, 1 - 1 / times) * math.pow(padded, 1 / (2 * times))
    return 2 * (times * lower_power + spectrum) * (8 * math.log2(padded) + 16) * _UNIT


def _step(laws: list[tuple[Law, int]]) -> Fraction:
    """The ratios' own lattice when they share one that is coarse enough; else one that adds little spread.

    Connecting the dots adds at most step^2/4 to the variance of each ratio, so `fine` adds under a thousandth in all.
    """
    shapes = [(_spread(law), times) for law, times in laws]
    total = math.sqrt(math.fsum(times * deviation**2 for (deviation, _), times in shapes))
    widest = max(width for (_, width), _ in shapes)
    own = _common([law for law, _ in laws])
    if own is not None:
        length = min(math.fsum(times * width for (_, width), times in shapes), widest + 30 * total)
        if length <= 4 * _MOST_CELLS * own:
            return own
    count = sum(times for _, times in laws)
    fine = max(min(total / _FINE, total / (50 * math.sqrt(count))), widest / _MOST_CELLS)
    if any(isinstance(law, Curve) for law, _ in laws):
        fine = max(fine, widest / (1 << 13))
    return Fraction(fine)


def _common(laws: list[Law]) -> Fraction | None:
    """The largest step of which every ratio is a whole multiple."""
    step = Fraction(0)
    for law in laws:
        if not isinstance(law, Rungs):
            return None
        for size in (law.highest, law.spacing):
            numerator = math.gcd(step.numerator * size.denominator, size.numerator * step.denominator)
            step = Fraction(numerator, step.denominator * size.denominator)
    return step if step > 0 else None


def _spread(law: Law) -> tuple[float, float]:
    """Roughly the deviation of the ratio, and the width of its range; they only choose the step."""
    import numpy as np

    match law:
        case Rungs() | Points():
            if not (law.masses > 1e-30).any():
                return 1e-9, 1e-9
            ratios = _ratios(law)
            weights = law.masses / law.masses.sum()
            mean = float(weights @ ratios)
            kept = ratios[law.masses > 1e-30]
            deviation = math.sqrt(float(weights @ (ratios - mean) ** 2))
            return max(deviation, 1e-9), float(kept.max() - kept.min()) + 1e-9
        case Normals(mu=mu, rate=rate, direction=direction):
            y = np.linspace(-_FAR, _FAR + mu, 4001)
            plain, moved = np.exp(-y * y / 2), np.exp(-((y - mu) ** 2) / 2)
            ratios = _normal_ratio(y, mu, rate)
            weights = plain if direction is Direction.ADD else (1 - rate) * plain + rate * moved
            weights /= weights.sum()
            mean = float(weights @ ratios)
            return math.sqrt(float(weights @ (ratios - mean) ** 2)), float(ratios[-1] - ratios[0])
        case Curve(delta=delta):
            reach = _reach(delta)
            return reach / 12, 2 * reach
        case _:
            assert_never(law)


def _on_grid(law: Law, step: Fraction) -> Composition:
    match law:
        case Rungs(highest=highest, spacing=spacing, masses=masses, infinite=infinite):
            if highest % step == 0 and spacing % step == 0:
                return _whole_rungs(law, step)
            return _points(_ratios(law), masses, infinite, float(step))
        case Points(masses=masses, infinite=infinite):
            return _points(_ratios(law), masses, infinite, float(step))
        case Normals():
            return _normals(law, float(step))
        case Curve(delta=delta):
            return _curve(delta, float(step))
        case _:
            assert_never(law)


def _ratios(law: Rungs | Points) -> Array:
    """The ratios, each raised by more than its rounding."""
    import numpy as np

    match law:
        case Rungs(highest=highest, spacing=spacing, masses=masses):
            ratios = float(highest) - np.arange(len(masses)) * float(spacing)
        case Points(ratios=ratios):
            pass
    largest = float(np.abs(ratios).max(initial=0.0))
    return np.asarray(ratios + largest * 2.0**-50, dtype=np.float64)


def _whole_rungs(law: Rungs, step: Fraction) -> Composition:
    import numpy as np

    stride = int(law.spacing / step)
    kept = np.flatnonzero(law.masses > 1e-30)
    first, last = int(kept[0]), int(kept[-1])
    masses = np.zeros((last - first) * stride + 1)
    masses[::-stride] = law.masses[first : last + 1]
    # Left out above: counted as infinite. Left out below: raised to the lowest rung.
    masses[0] += float(law.masses[last + 1 :].sum())
    infinite = above(law.infinite + float(law.masses[:first].sum()))
    return Composition(float(step), int((law.highest - last * law.spacing) / step), masses, infinite)


def _points(ratios: Array, masses: Array, infinite: float, step: float) -> Composition:
    import numpy as np

    kept = masses > 1e-30
    infinite = above(infinite + float(masses[~kept].sum()))
    if not kept.any():
        return Composition(step, 0, np.zeros(1), infinite)
    ratios, masses = ratios[kept], masses[kept] * (1 + 1e-14)
    cells = np.floor(ratios / step).astype(np.int64)
    inside = np.clip(ratios - cells * step, 0.0, step)
    # The upper end takes (1 - e^-inside) / (1 - e^-step); the lower one what is left, which is positive too.
    scale = -math.expm1(-step)
    upper = masses * (-np.expm1(-inside) / scale)
    lower = masses * (np.exp(-inside) * -np.expm1(inside - step) / scale)
    lowest = int(cells.min())
    size = int(cells.max()) - lowest + 2
    spread = np.bincount(cells - lowest, lower, size) + np.bincount(cells - lowest + 1, upper, size)
    return Composition(step, lowest, np.asarray(spread * (1 + 1e-14), dtype=np.float64), infinite)


def _normal_ratio(y: Array, mu: float, rate: float) -> Array:
    """ln(1 - rate + rate e^(mu y - mu^2 / 2))."""
    import numpy as np

    slope = mu * y - mu * mu / 2
    return slope if rate == 1 else np.logaddexp(math.log1p(-rate), math.log(rate) + slope)


def _passing(ratios: Array, mu: float, rate: float) -> Array:
    """The places where the ratio passes each of these; below ln(1 - rate) there is none."""
    import numpy as np

    if rate == 1:
        return np.asarray(ratios / mu + mu / 2, dtype=np.float64)
    # ln((e^r - 1 + rate) / rate), in two forms: the first for small r, the second where e^r may overflow.
    near = np.expm1(np.minimum(ratios, 40.0)) + rate
    with np.errstate(divide="ignore"):
        slope = np.log(np.maximum(near, 0.0) / rate)
    far = ratios - math.log(rate) + np.log1p((rate - 1) * np.exp(-np.maximum(ratios, 1.0)))
    return np.asarray(np.where(ratios < 40, slope, far) / mu + mu / 2, dtype=np.float64)


def _normals(law: Normals, step: float) -> Composition:
    import numpy as np
    from scipy.special import ndtr

    mu, rate = law.mu, law.rate
    low, high = (float(r) for r in _normal_ratio(np.array([-_FAR, mu + _FAR]), mu, rate))
    nodes = np.arange(math.floor(low / step), math.ceil(high / step) + 1)
    y = _passing(np.asarray(nodes * step, dtype=np.float64), mu, rate)

    def masses(y: Array) -> tuple[Array, Array]:
        """N(0, 1) of each cell, from the nearer tail, and a bound of its rounding."""
        left, right = y[:-1], y[1:]
        near = np.where(left > 0, ndtr(-left), ndtr(right))
        far = np.where(left > 0, ndtr(-right), ndtr(left))
        # The library computes the tail from exp(-y^2/2), whose argument is rounded.
        worst = np.minimum(np.where(left > 0, left, right) ** 2, 2000.0)
        return np.maximum(near - far, 0.0), near * ((16 + 2 * worst) * _UNIT)

    plain, plain_error = masses(y)
    moved, moved_error = masses(y - mu)
    mixed, mixed_error = (1 - rate) * plain + rate * moved, (1 - rate) * plain_error + rate * moved_error
    below_all = float((1 - rate) * ndtr(y[0]) + rate * ndtr(y[0] - mu)), float(ndtr(y[0]))
    above_all = float((1 - rate) * ndtr(-y[-1]) + rate * ndtr(mu - y[-1])), float(ndtr(-y[-1]))
    match law.direction:
        case Direction.REMOVE:
            cells = _cells(nodes, step, (mixed, mixed_error), (plain, plain_error), below_all[0], above_all[0])
        case Direction.ADD:
            flipped = [(m[::-1], e[::-1]) for m, e in ((plain, plain_error), (mixed, mixed_error))]
            cells = _cells(-nodes[::-1], step, flipped[0], flipped[1], above_all[1], below_all[1])
    # Places are rounded, which moves the ratios at the ends of cells by as much as the second law could be scaled.
    reach = 1 + mu * mu + max(abs(low), abs(high)) + abs(math.log(rate))
    return replace(cells, ripple=law.ripple + reach * 2.0**-49)


def _cells(
    nodes: np.ndarray[Any, np.dtype[np.int64]],
    step: float,
    first: tuple[Array, Array],
    second: tuple[Array, Array],
    below_all: float,
    above_all: float,
) -> Composition:
    """Each cell's masses (and rounding) under both laws, on its two ends so that both are kept."""
    import numpy as np

    scale = -math.expm1(-step)
    places = nodes[:-1] * step
    start = np.exp(np.minimum(places, _LARGEST))
    p, q = first[0], second[0] * start
    error = (first[1] + second[1] * start) / scale
    # Where e^ratio would overflow, all goes to the upper end.
    split = places < _LARGEST
    masses = np.zeros(len(nodes))
    masses[1:] += np.where(split, np.maximum(p - q, 0.0) / scale + error, p + first[1])
    masses[:-1] += np.where(split, np.maximum(q - p * math.exp(-step), 0.0) / scale + error, 0.0)
    masses[0] += below_all * (1 + 1e-12)
    return Composition(step, int(nodes[0]), masses, above_all * (1 + 1e-12))


def _reach(delta: Any) -> float:
    """An epsilon beyond which a curve has nothing but its failure."""
    floor, reach = delta(math.inf), 2.0**-10
    while reach < 256 and delta(reach) - floor > 1e-18:
        reach *= 2
    return reach


def _curve(delta: Any, step: float) -> Composition:
    """The lower convex hull, in e^epsilon, of a bound of a curve, which is convex itself and so stays below the hull."""
    import numpy as np
    from dp_accounting.pld import pld_pmf

    edge = math.ceil(_reach(delta) / step)
    nodes = np.arange(-edge, edge + 1)
    deltas = np.minimum.accumulate([delta(below(k * step)) for k in nodes.tolist()])
    places = np.exp(nodes * step)
    hull: list[int] = []
    for k in range(len(nodes)):
        while len(hull) > 1 and _above_chord(places, deltas, hull[-2], hull[-1], k):
            hull.pop()
        hull.append(k)
    deltas = np.clip(np.interp(places, places[hull], deltas[hull]), 0.0, 1.0)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -edge, edge, deltas)
    dense = pmf.to_dense_pmf()
    # Masses are differences of deltas, divided by the step: that is what their rounding may be.
    masses = dense._probs + deltas[: dense.size] * (2.0**-49 / -math.expm1(-step))
    return Composition(step, dense._lower_loss, masses, above(dense._infinity_mass))


def _above_chord(x: Array, y: Array, i: int, j: int, k: int) -> bool:
    return bool((y[j] - y[i]) * (x[k] - x[i]) >= (y[k] - y[i]) * (x[j] - x[i]))
