"""Which questions a histogram is for: single bins, all ranges, cumulative counts, or a matrix of one's own."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.histogram.strategy import Floats, checked_bins

_DECOMPOSED = 4096


class Workload(ABC):
    """Linear questions about `bins` ordered bins, all of them alike; below, W is their matrix and G = W'W."""

    bins: int

    @property
    @abstractmethod
    def count(self) -> int:
        """How many questions."""

    @abstractmethod
    def overlaps(self, starts: NDArray[Any], stops: NDArray[Any]) -> Floats:
        """For each interval of bins, the sum over questions of its squared overlap: b'Gb, b the interval's indicator."""

    @abstractmethod
    def gram(self, columns: Floats) -> Floats:
        """G times the columns, or one vector."""

    @abstractmethod
    def singular_sum(self) -> float:
        """The sum of W's singular values."""

    @final
    def spread(self) -> Floats:
        """G's diagonal."""
        bins = np.arange(self.bins, dtype=np.float64)
        return self.overlaps(bins, bins + 1)


@final
@dataclass(frozen=True)
class Bins(Workload):
    """Every single bin."""

    bins: int

    def __post_init__(self) -> None:
        checked_bins(self.bins)

    @property
    def count(self) -> int:
        return self.bins

    def overlaps(self, starts: NDArray[Any], stops: NDArray[Any]) -> Floats:
        return np.asarray(stops - starts, dtype=np.float64)

    def gram(self, columns: Floats) -> Floats:
        return columns

    def singular_sum(self) -> float:
        return float(self.bins)

    def __str__(self) -> str:
        return f"each of {self.bins} bins"


@final
@dataclass(frozen=True)
class Ranges(Workload):
    """All ranges of neighbouring bins, m (m + 1)/2 of them."""

    bins: int

    def __post_init__(self) -> None:
        checked_bins(self.bins)

    @property
    def count(self) -> int:
        return self.bins * (self.bins + 1) // 2

    def overlaps(self, starts: NDArray[Any], stops: NDArray[Any]) -> Floats:
        """Ranges that begin or end inside count once, those that pass an end as often as there are bins beyond it.

        With w bins inside, and a and b before and after: w (w + 1)^2 (w + 2)/12 + (a + b) w (w + 1)(2w + 1)/6 + a b w^2.
        """
        w, a, b = stops - starts, starts, self.bins - stops
        inside = w * (w + 1.0) ** 2 * (w + 2) / 12
        return np.asarray(inside + (a + b) * (w * (w + 1.0) * (2 * w + 1) / 6) + a * b * (w * 1.0) ** 2)

    def gram(self, columns: Floats) -> Floats:
        """G_ij = min(i, j)(m + 1 - max(i, j)) for bins counted from 1: two running sums."""
        up = np.arange(1, self.bins + 1, dtype=np.float64).reshape(-1, *(1,) * (columns.ndim - 1))
        down = up[::-1]
        above = down * columns
        after = above.sum(axis=0) - np.cumsum(above, axis=0)
        total: Floats = down * np.cumsum(up * columns, axis=0) + up * after
        return total

    def singular_sum(self) -> float:
        """G is m + 1 times the inverse of the second difference matrix, whose eigenvalues are 4 sin^2."""
        k = np.arange(1, self.bins + 1)
        return float((math.sqrt(self.bins + 1) / (2 * np.sin(k * math.pi / (2 * (self.bins + 1))))).sum())

    def __str__(self) -> str:
        return f"a uniformly random range of {self.bins} bins"


@final
@dataclass(frozen=True)
class Prefixes(Workload):
    """Cumulative counts: the first bin, the first two, and so on to all of them."""

    bins: int

    def __post_init__(self) -> None:
        checked_bins(self.bins)

    @property
    def count(self) -> int:
        return self.bins

    def overlaps(self, starts: NDArray[Any], stops: NDArray[Any]) -> Floats:
        w = stops - starts
        return np.asarray(w * (w + 1.0) * (2 * w + 1) / 6 + (self.bins - stops) * (w * 1.0) ** 2)

    def gram(self, columns: Floats) -> Floats:
        """The number of prefixes that hold both bins: sums from the front, then from the back."""
        sums = np.cumsum(columns, axis=0)
        total: Floats = np.cumsum(sums[::-1], axis=0)[::-1]
        return total

    def singular_sum(self) -> float:
        k = np.arange(1, self.bins + 1)
        return float((1 / (2 * np.sin((2 * k - 1) * math.pi / (4 * self.bins + 2)))).sum())

    def __str__(self) -> str:
        return f"cumulative counts of {self.bins} bins"


@final
class Queries(Workload):
    """The rows of a matrix of one's own, one weight for each bin."""

    def __init__(self, matrix: Any) -> None:
        rows = np.asarray(matrix)
        if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "iufb" or not np.isfinite(rows).all():
            raise BadInput("a workload is not a table of weights", hint="give rows of one finite weight for each bin")
        self.matrix: Floats = rows.astype(np.float64)
        self.matrix.setflags(write=False)
        self.bins = int(rows.shape[1])

    @property
    def count(self) -> int:
        return len(self.matrix)

    def overlaps(self, starts: NDArray[Any], stops: NDArray[Any]) -> Floats:
        sums = self._sums
        first, last = starts.astype(np.int64), stops.astype(np.int64)
        inside = sums[:, last] - sums[:, first]
        return np.asarray((inside * inside).sum(axis=0))

    @cached_property
    def _sums(self) -> Floats:
        return np.concatenate([np.zeros((self.count, 1)), np.cumsum(self.matrix, axis=1)], axis=1)

    def gram(self, columns: Floats) -> Floats:
        return np.asarray(self.matrix.T @ (self.matrix @ columns))

    def singular_sum(self) -> float:
        if min(self.matrix.shape) > _DECOMPOSED:
            return 0.0
        return float(np.linalg.svd(self.matrix, compute_uv=False).sum())

    @cached_property
    def digest(self) -> str:
        """A name for the weights."""
        return hashlib.sha256(repr(self.matrix.shape).encode() + self.matrix.tobytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Queries) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return f"{self.count} questions about {self.bins} bins"
