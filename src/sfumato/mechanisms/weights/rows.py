"""Coded private rows with whole weights: what an engine hands up when it groups by all codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.weights.column import Codes

_WEIGHTS = 1 << 52


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows of codes in order, and their whole weights above 0: numbers of rows, or sums of row weights."""

    codes: Codes
    weights: NDArray[np.int64]

    @classmethod
    def of(cls, codes: Any, weights: Sequence[int] | NDArray[Any] | None = None) -> Self:
        """From rows in any order, equal ones included; a weight of 1 each unless said otherwise."""
        table = np.asarray(codes)
        if table.ndim != 2 or table.dtype.kind not in "iu":
            raise BadInput("codes are not a table of whole numbers", hint="give one row of codes per row")
        each = np.ones(len(table), dtype=np.int64) if weights is None else np.asarray(weights)
        if each.shape != (len(table),) or each.dtype.kind not in "iu":
            raise BadInput("weights are not one whole number per row", hint="give counts, or sums of row weights")
        if each.size and (int(each.min()) < 0 or float(each.sum(dtype=np.float64)) > _WEIGHTS):
            raise BadInput("weights are negative, or beyond 2**52 in all", hint="give whole weights of 0 or more")
        distinct, place = np.unique(table.astype(np.int64), axis=0, return_inverse=True)
        sums = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(sums, place.reshape(-1), each.astype(np.int64))
        return cls(distinct[sums > 0], sums[sums > 0])

    @property
    def total(self) -> int:
        return int(self.weights.sum())
