"""A choice by float weights, taken as the exact binary fractions that they are."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.noise.ladder import Uniform
from sfumato.noise.law import Integers
from sfumato.noise.source import Source


@final
@dataclass(frozen=True, eq=False)
class Dyadic:
    """Index i with probability weights[i] / sum(weights), exactly, for floats of 0 or more that are not all 0.

    A uniform number is compared with cumulative sums in floats; where it falls within their error of a threshold, the same
    number goes on against the exact sums in integers.
    """

    weights: NDArray[np.float64]

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> Dyadic:
        values = np.asarray(weights, dtype=np.float64)
        if values.ndim != 1 or not values.size or not np.isfinite(values).all() or values.min() < 0 or not values.any():
            raise BadInput("weights are no list of finite numbers of 0 or more", hint="give one that is above 0")
        result = cls(values)
        if not np.isfinite(result._sums[-1]):
            raise BadInput("weights are too large to add up", hint="scale them by a power of two")
        return result

    def sample(self, source: Source, count: int) -> Integers:
        words = source.words(count)
        sums = self._sums
        margin = float(sums[-1]) * (sums.size + 8) * 2.0**-51
        point = words.astype(np.float64) * 2.0**-64 * float(sums[-1])
        outcome = np.searchsorted(sums, point - margin, side="right").astype(np.int64)
        unsure = (outcome != np.searchsorted(sums, point + margin, side="right")) | (outcome >= sums.size)
        for place in np.flatnonzero(unsure):
            outcome[place] = self._settle(Uniform(int(words[place]), 64), source)
        return outcome

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        """Running sums of n floats: each within n 2**-53 of exact, relative to the total."""
        return np.cumsum(self.weights)

    @cached_property
    def _exact(self) -> list[int]:
        """The sums as whole multiples of 2**-1074, the least positive float."""
        pairs = (w.as_integer_ratio() for w in self.weights.tolist())
        return list(accumulate(top * ((1 << 1074) // bottom) for top, bottom in pairs))

    def _settle(self, uniform: Uniform, source: Source) -> int:
        sums = self._exact
        while True:
            low, high = uniform.seen * sums[-1], (uniform.seen + 1) * sums[-1]
            i = bisect_right(sums, low >> uniform.bits)
            if high <= sums[i] << uniform.bits and (i == 0 or sums[i - 1] << uniform.bits <= low):
                return i
            uniform = uniform.reveal(2 * uniform.bits, source)
