"""Many bins with Gaussian noise: the best matrix over groups of bins, Haar wavelets inside the groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import positive
from sfumato.mechanisms.histogram.factored import factored
from sfumato.mechanisms.histogram.strategy import Floats, Strategy, checked_bins, name_of
from sfumato.mechanisms.histogram.workload import Workload

_GROUPS = 512
_FINE = 1 << 20


@final
@dataclass(frozen=True)
class Refined(Strategy):
    """Rows of `top` over the sums of groups of 2^halvings bins, and for each halving of a group the difference of its halves.

    A column has one entry, 1 or -1, at each halving, and is its group's column of `top`: sums of |a|/s and of a^2/s^2 add up.
    Columns of one group agree in `top`; their differences are those of Haar wavelets without the total. Bins are padded with
    public zeros to whole groups. Differences inside a group say nothing about its sum, nor the other way round, so the fit of
    `top` and the inverse of the halvings together are the least squares.
    """

    bins: int
    top: Strategy
    halvings: int
    top_scale: Fraction
    fine_scale: Fraction

    def __post_init__(self) -> None:
        checked_bins(self.bins)
        groups = self.top.shape[0]
        if (
            self.halvings < 1
            or len(self.top.shape) != 1
            or not (groups - 1) * self._width < self.bins <= groups * self._width
        ):
            raise BadInput("groups do not cover the bins", hint="give the top one cell for each group of bins")
        for name in ("top_scale", "fine_scale"):
            object.__setattr__(self, name, positive(getattr(self, name), name="scale"))

    @property
    def _width(self) -> int:
        return 1 << self.halvings

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.bins,)

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        return (*(scale * self.top_scale for scale in self.top.scales), self.fine_scale)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        differences = self.top.shape[0] * (self._width - 1)
        return np.concatenate([self.top.codes, np.full(differences, len(self.top.scales), dtype=np.int64)])

    @property
    def wraps(self) -> bool:
        return self.top.wraps

    @property
    def limit(self) -> int:
        return self.top.limit if self.wraps else self.top.limit // self._width

    @property
    def absolute(self) -> Fraction:
        return self.top.absolute / self.top_scale + self.halvings / self.fine_scale

    @property
    def squared(self) -> Fraction:
        return self.top.squared / self.top_scale**2 + self.halvings / self.fine_scale**2

    @property
    def absolute_apart(self) -> Fraction:
        return self.top.absolute_apart / self.top_scale + 2 * self.halvings / self.fine_scale

    @property
    def squared_apart(self) -> Fraction:
        """Inside a group at most 4 + 2 (halvings - 1), across groups 2 halvings and what `top` adds."""
        return self.top.squared_apart / self.top_scale**2 + (2 * self.halvings + 2) / self.fine_scale**2

    def moved_squared(self, l1: Fraction, l2_squared: Fraction) -> Fraction:
        """Sums of 2^k bins: their squares add up to at most l1^2, and at most 2^k l2^2 (Cauchy)."""
        whole = l1 * l1
        moved = self.top.moved_squared(l1, min(whole, self._width * l2_squared)) / self.top_scale**2
        halves = sum((min(whole, (2 << k) * l2_squared) for k in range(self.halvings)), Fraction(0))
        return moved + halves / self.fine_scale**2

    def rows(self, cells: NDArray[Any]) -> NDArray[Any]:
        sums, differences = self._halved(cells)
        return np.concatenate([self.top.rows(sums), *differences], axis=-1)

    def _halved(self, cells: NDArray[Any]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        """The groups' sums, and the differences of halves, coarse to fine."""
        sums = np.zeros((*cells.shape[:-1], self.top.shape[0] * self._width), dtype=cells.dtype)
        sums[..., : self.bins] = cells
        differences = []
        for _ in range(self.halvings):
            left, right = sums[..., 0::2], sums[..., 1::2]
            differences.append(left - right)
            sums = left + right
        return sums, differences[::-1]

    def estimate(self, rows: NDArray[Any]) -> Floats:
        known = np.asarray(rows, dtype=np.float64)
        first = self.top.codes.size
        sums = self.top.estimate(known[..., :first])
        while sums.shape[-1] < self.top.shape[0] * self._width:
            apart = known[..., first : first + sums.shape[-1]]
            first += sums.shape[-1]
            sums = np.stack([(sums + apart) / 2, (sums - apart) / 2], axis=-1).reshape((*known.shape[:-1], -1))
        return sums[..., : self.bins]

    def weights(self, query: NDArray[Any]) -> Floats:
        sums, differences = self._halved(np.asarray(query, dtype=np.float64))
        scaled = [each / (self._width >> level) for level, each in enumerate(differences)]
        return np.concatenate([self.top.weights(sums / self._width), *scaled], axis=-1)

    @property
    def typical(self) -> Floats:
        """The first bin of the worst group: inside a group all bins are alike."""
        query = np.zeros(self.bins)
        query[int(np.argmax(self.top.typical)) * self._width] = 1
        return query

    def __str__(self) -> str:
        return f"groups of {self._width} bins halved, under ({self.top}), {name_of(self.top_scale, self.fine_scale)}"

    @property
    def summary(self) -> str:
        share = float(self.top.squared / self.top_scale**2 / self.squared)
        return f"groups of {self._width} bins halved, under ({self.top.summary}) of share {share:.3g}"


@final
@dataclass(frozen=True)
class Grouped(Workload):
    """What a workload asks of sums over groups of `width` bins, a group's sum being spread evenly over its bins."""

    asked: Workload
    width: int

    @property
    def bins(self) -> int:  # type: ignore[override]
        return -(-self.asked.bins // self.width)

    @property
    def count(self) -> int:
        return self.asked.count

    def overlaps(self, starts: NDArray[Any], stops: NDArray[Any]) -> Floats:
        ends = (np.minimum(edges * self.width, self.asked.bins) for edges in (starts, stops))
        return self.asked.overlaps(*ends) / self.width**2

    def gram(self, columns: Floats) -> Floats:
        spread = np.repeat(columns, self.width, axis=0)[: self.asked.bins]
        seen = self.asked.gram(spread)
        return np.asarray(np.add.reduceat(seen, np.arange(0, self.asked.bins, self.width), axis=0) / self.width**2)

    def singular_sum(self) -> float:
        return float(np.sqrt(np.maximum(np.linalg.eigvalsh(self.gram(np.eye(self.bins))), 0)).sum())


@lru_cache(maxsize=16)
def refined(workload: Workload) -> Refined:
    """At most 512 groups under `factored`; shares of rho by the roots of what each part adds to the mean variance."""
    halvings = max(1, (-(-workload.bins // _GROUPS) - 1).bit_length())
    groups = Grouped(workload, 1 << halvings)
    top = factored(groups)
    coarse = top.trace(groups.gram, groups.spread()) * float(top.squared)
    fine, before = 0.0, _reached(workload, 1 << halvings)
    for level in reversed(range(halvings)):
        now = _reached(workload, 1 << level)
        fine += halvings * (now - before) / (2 << level)
        before = now
    share = math.sqrt(coarse) / (math.sqrt(coarse) + math.sqrt(fine))
    scales = (1 / math.sqrt(share), math.sqrt(halvings / (1 - share)))
    top_scale, fine_scale = (Fraction(round(scale * _FINE), _FINE) for scale in scales)
    return Refined(workload.bins, top, halvings, top_scale, fine_scale)


def _reached(workload: Workload, width: int) -> float:
    """The workload's weight on sums over nodes of this width."""
    starts = np.arange(0, workload.bins, width, dtype=np.float64)
    stops = np.minimum(starts + width, workload.bins)
    return float((workload.overlaps(starts, stops) / width).sum())
