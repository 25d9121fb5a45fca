"""Many coins at once, each heads with exactly the same rational probability."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.noise.source import Source

Coins = NDArray[np.bool_]


def toss(chance: Fraction, count: int, source: Source) -> Coins:
    """`count` independent coins that are True with probability `chance`, exactly.

    Proof: a uniform number U is below `chance` when its first eight digits are below those of `chance`, and is not when they
    are above; where they agree (once in 256), what follows in U is uniform again and is compared with what follows in
    `chance`. The rounds end with probability one, and at once when nothing follows.
    """
    if chance <= 0 or chance >= 1 or not count:
        return np.full(count, chance >= 1)
    first, rest = divmod(chance * 256, 1)
    digits = source.words(-(-count // 8)).view(np.uint8)[:count]
    heads = digits < first
    if rest:
        open_places = np.flatnonzero(digits == first)
        heads[open_places] = toss(rest, open_places.size, source)
    return heads
