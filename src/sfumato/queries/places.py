"""How much weight stands where on a public lattice, group by group: the exact answer that quantiles are found from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.int64]]


@final
@dataclass(frozen=True, eq=False, slots=True)
class Places:
    """One line per group and place where a row is, in the order of groups, then of places."""

    groups: Vector
    places: Vector
    weights: Vector

    @classmethod
    def of(cls, groups: Any, places: Any, weights: Any) -> Self:
        """From lines in any order: engines return them as they come."""
        import numpy as np

        order = np.lexsort((places, groups))
        return cls(*(np.ascontiguousarray(each, dtype=np.int64)[order] for each in (groups, places, weights)))

    def by_group(self, size: int) -> Iterator[tuple[Vector, Vector]]:
        """Places and weights of each of `size` groups, the empty ones too."""
        import numpy as np

        ends = np.searchsorted(self.groups, np.arange(size + 1))
        for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            yield self.places[first:last], self.weights[first:last]

    def tolist(self) -> list[tuple[int, int, int]]:
        """Group, place and weight, line by line."""
        return list(zip(self.groups.tolist(), self.places.tolist(), self.weights.tolist(), strict=True))
