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
_CODES = 1 << 31


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
        if table.ndim != 2 or table.dtype.kind not in "iu" or table.shape[1] < 1:
            raise BadInput("codes are not a table of whole numbers", hint="give one row of codes per row")
        if table.size and (int(table.min()) < 0 or int(table.max()) >= _CODES):
            raise BadInput("codes are negative, or 2**31 or more", hint="make codes with Columns.code")
        each = np.ones(len(table), dtype=np.int64) if weights is None else np.asarray(weights)
        if each.shape != (len(table),) or each.dtype.kind not in "iu":
            raise BadInput("weights are not one whole number per row", hint="give counts, or sums of row weights")
        if each.size and (int(each.min()) < 0 or float(each.sum(dtype=np.float64)) > _WEIGHTS):
            raise BadInput("weights are negative, or beyond 2**52 in all", hint="give whole weights of 0 or more")
        if not len(table):
            return cls(table.astype(np.int64), each.astype(np.int64))
        keys = _keys(table.astype(np.int64))
        order = np.lexsort(keys[::-1])
        new = np.zeros(len(table), dtype=np.bool_)
        new[0] = True
        for key in keys:
            new[1:] |= np.diff(key[order]) != 0
        first = np.flatnonzero(new)
        sums = np.add.reduceat(each[order].astype(np.int64), first)
        return cls(table[order[first]].astype(np.int64)[sums > 0], sums[sums > 0])

    @property
    def total(self) -> int:
        return int(self.weights.sum())


def _keys(table: Codes) -> list[NDArray[np.int64]]:
    """The columns packed into as few whole numbers as hold them, in their order: sorting is then by a few keys."""
    keys: list[NDArray[np.int64]] = []
    room = 1
    for column in table.T:
        span = int(column.max()) + 1
        if keys and room * span < 1 << 62:
            keys[-1] = keys[-1] * span + column
            room *= span
        else:
            keys.append(np.ascontiguousarray(column))
            room = span
    return keys
