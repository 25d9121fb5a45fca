"""Groups of people who look alike, and how their sensitive values spread: what every model of anonymity is judged on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.column import Column
from sfumato.anonymise.hierarchy import Tree


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """How one sensitive column spreads over groups: entry i says that `count[i]` people of `group[i]` have `value[i]`.

    Entries are sorted by group, then value; no count is 0. `overall` counts each value in the whole table.
    """

    column: Column
    tree: Tree | None
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]
    overall: NDArray[np.int64]

    def starts(self, groups: int) -> NDArray[np.int64]:
        """Where each group's entries begin, and one more for the end."""
        return np.searchsorted(self.group, np.arange(groups + 1))

    def of(self, group: int) -> dict[int, int]:
        """The counts of one group, for what is settled exactly."""
        low, high = np.searchsorted(self.group, [group, group + 1])
        return dict(zip(self.value[low:high].tolist(), self.count[low:high].tolist(), strict=True))


@final
@dataclass(frozen=True, slots=True)
class Groups:
    """Sizes, spreads of the sensitive columns, and sizes in the population where a population table was given."""

    sizes: NDArray[np.int64]
    spreads: Mapping[str, Spread]
    population: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.sizes)


def spread(
    column: Column,
    tree: Tree | None,
    *,
    group: NDArray[np.int64],
    value: NDArray[np.int32],
    weight: NDArray[np.int64],
    groups: int,
    overall: NDArray[np.int64],
) -> Spread:
    """Count the values of a sensitive column in each group."""
    key = group * column.size + value
    cells = groups * column.size
    if cells <= 4 * len(key) + 1024:
        table = np.bincount(key, weights=weight, minlength=cells)
        present = np.flatnonzero(table)
        counts = table[present].astype(np.int64)
    else:
        order = np.argsort(key)
        present, first = np.unique(key[order], return_index=True)
        counts = np.add.reduceat(weight[order], first)
    return Spread(column, tree, present // column.size, present % column.size, counts, overall)
