"""The exact input of synthesis: one weighted count per combination of codes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.synthetic.junction import Columns

Integers = NDArray[np.int64]
Watch = Callable[[float], None]
"""Told after each round what share of the promise is spent: it depends on what was released, not on rows."""

LARGEST_COUNT = 1 << 54
"""Counts are clamped here, which moves no two of them further apart, so that what is computed from them fits in 64 bits."""


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Combinations of codes with a whole weight each; a combination may come several times, and its weights add up.

    How many rows there are is private: they are what a GROUP BY over all coded columns returns, and stay sealed.
    """

    shape: tuple[int, ...]
    codes: Integers
    weights: Integers
    watch: Watch | None = None

    @classmethod
    def of(cls, shape: Sequence[int], codes: Any, weights: Any = None) -> Table:
        """Codes as rows by columns; weight 1 each if none are given. A code outside of its column is clamped into it."""
        bins = tuple(shape)
        try:
            rows = np.asarray(codes, dtype=np.int64).reshape(-1, len(bins))
            held = np.ones(len(rows), dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
        except (ValueError, TypeError, OverflowError):
            raise BadInput(
                "codes or weights are not whole numbers", hint="code the columns with a Domain first"
            ) from None
        if held.shape != (len(rows),):
            raise BadInput(
                "weights and combinations are not as many", hint="give one whole weight for each combination"
            )
        return cls(bins, np.clip(rows, 0, np.array(bins) - 1), np.maximum(held, 0))

    def watched(self, watch: Watch | None) -> Table:
        """The same table; `watch` hears how far the work is."""
        return replace(self, watch=watch)

    def marginal(self, columns: Columns) -> Integers:
        """The weights summed over all other columns, an array with one axis for each of these."""
        shape = tuple(self.shape[i] for i in columns)
        places = np.zeros(len(self.codes), dtype=np.int64)
        for i in columns:
            places = places * self.shape[i] + self.codes[:, i]
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(counts, places, self.weights)
        return np.minimum(counts, LARGEST_COUNT).reshape(shape)
