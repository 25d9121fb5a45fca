"""The exact curve of discrete Gaussian noise under an integer shift: sums of positive terms over the integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

from sfumato.accounting.rounding import above, below
from sfumato.core.exact import down, up

if TYPE_CHECKING:
    import numpy as np

LARGEST_VARIANCE = Fraction(1 << 20)
"""Above it sums over the integers grow long, and `blurred` in gaussian.py is tight to a millionth."""

_MOST_WORK = 30_000_000
_REACH = 38
"""In standard deviations: e^(-38^2/2) is about 1e-314, where floats end."""

_ROUNDING = 1.0 + 1e-12
"""Exponents below 745 with 4 roundings each, and pairwise sums of positive terms, stay within a relative 1e-12."""

_RUNNING = 1.0 + 1e-10
"""Running sums and convolutions of up to 10^5 positive terms stay within this."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """A law of log-ratios: `masses[i]`, rounded up, at `highest - i * spacing`; `beyond` bounds what is left out.

    `heads[i]` bounds the mass of the first i rungs. `reach` rungs hold all but e^-80 of what lies below any rung.
    """

    highest: Fraction
    spacing: Fraction
    masses: np.ndarray[Any, np.dtype[np.float64]]
    heads: np.ndarray[Any, np.dtype[np.float64]]
    centre: int
    reach: int
    beyond: float

    def delta(self, epsilon: float) -> float:
        """The sum of mass * (1 - e^(epsilon - ratio)) over the ratios above epsilon."""
        import numpy as np

        if math.isinf(epsilon):
            return 0.0 if epsilon > 0 else 1.0
        # Rung i counts when highest - i * spacing > epsilon; `gap` is what the last of them has above epsilon.
        last = min(math.ceil((self.highest - Fraction(epsilon)) / self.spacing) - 1, len(self.masses) - 1)
        if last < 0:
            return self.beyond
        gap = up(self.highest - last * self.spacing - Fraction(epsilon))
        first = max(0, min(last, self.centre) - self.reach)
        excess = gap + np.arange(last - first, -1, -1) * up(self.spacing)
        inside = -float((self.masses[first : last + 1] * np.expm1(-excess)).sum())
        return min(1.0, above(inside * _ROUNDING + float(self.heads[first]) + self.beyond))


def feasible(variance: Fraction, shift: tuple[int, ...]) -> bool:
    """Whether `ladder` is quick: the multiplications of its convolutions are counted."""
    if variance > LARGEST_VARIANCE:
        return False
    half, work, length = _half(variance), 0, 1
    for step in shift:
        work += length * (2 * half + 1)
        length += 2 * half * step
        if work > _MOST_WORK or length > _MOST_WORK:
            return False
    return True


@lru_cache(maxsize=16)
def ladder(variance: Fraction, shift: tuple[int, ...]) -> Ladder:
    """The log-ratios of independent discrete Gaussians against themselves moved by `shift` (positive integers).

    With T = sum s_i x_i, the log-ratio at x is (sum s_i^2 - 2 T) / (2 variance); T is summed exactly by convolution.
    For one cell the spacing is that of x itself.
    """
    import numpy as np

    half = _half(variance)
    one = _masses(variance, half)
    if len(shift) == 1:
        masses, stride = one, shift[0]
    else:
        masses, stride = np.ones(1), 1
        for step in shift:
            apart = np.zeros(2 * half * step + 1)
            apart[::step] = one
            masses = np.convolve(masses, apart)
        masses *= 1 + 1e-11
    square = sum(step * step for step in shift)
    lowest = -half * (1 if len(shift) == 1 else sum(shift))
    return Ladder(
        highest=(Fraction(square) - 2 * stride * lowest) / (2 * variance),
        spacing=Fraction(stride) / variance,
        masses=masses,
        heads=np.concatenate(([0.0], np.cumsum(masses))) * _RUNNING,
        centre=-lowest,
        reach=math.ceil(13 * math.sqrt(float(variance) * (1 if len(shift) == 1 else square))) + 1,
        beyond=len(shift) * 1e-300,
    )


def _half(variance: Fraction) -> int:
    return math.ceil(_REACH * math.sqrt(up(variance))) + 1


def _masses(variance: Fraction, half: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Upper bounds of the probabilities of -half..half.

    The normaliser is sqrt(2 pi variance) (1 + 2 sum_k e^(-2 pi^2 variance k^2)) by Poisson summation: at least its
    first factor, and closer to it than 1e-30 once the variance is 4.
    """
    import numpy as np

    x = np.arange(-half, half + 1, dtype=np.float64)
    weights = np.exp(-(x * x) * below(down(1 / (2 * variance)), ulps=0))
    total = math.sqrt(2 * math.pi * down(variance)) if variance >= 4 else float(weights.sum())
    return np.nextafter(weights * (1 + 1e-12) / (total * (1 - 1e-12)), np.inf)
