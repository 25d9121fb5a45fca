"""Note 003's listing of the histogram method, with its parenthesis closed: nine threshold tests with Laplace noise.

The product has a better one (`HistogramMethod`); this one is what the note's theorems speak of.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.exact import Number, positive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.noise import Source

DECILES = tuple(range(1, 10))


def listed(
    left: NDArray[np.int64], rows: int, epsilon: Number, source: Source, *, deciles: tuple[int, ...] = DECILES
) -> NDArray[np.int64]:
    """For each line of `left` (rows left of the edges 1 to k) and each decile, the first edge at which the noisy count
    exceeds the noisy d n/10; k when none does, where the listing's -1 would land left of the range.

    Each of nine calls runs at epsilon/9: whole Laplace noise of scale 2/(epsilon/9) on the line, 4/(epsilon/9) on each count.
    """
    import numpy as np

    from sfumato.noise import DiscreteLaplace

    unit = Fraction(9) / positive(epsilon, name="epsilon")
    found = np.empty((len(left), len(deciles)), dtype=np.int64)
    for place, decile in enumerate(deciles):
        line = decile * rows / 10 + DiscreteLaplace(2 * unit).sample(source, (len(left), 1))
        over = left + DiscreteLaplace(4 * unit).sample(source, left.shape) > line
        found[:, place] = np.where(over.any(axis=1), over.argmax(axis=1) + 1, left.shape[1])
    return found
