"""Exact choices: by weights exp(rate * score), by whole-number weights, and uniform below n."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number
from sfumato.core.interval import Bounds, exp_bounds
from sfumato.noise.ladder import Uniform
from sfumato.noise.law import Integers, Size, checked_parameter, shape_of
from sfumato.noise.powers import powers
from sfumato.noise.source import Source
from sfumato.noise.tables import lane_of

_FEW = 8  # up to this many candidates a single choice is made in exact integers at once, without a table of the rate
_NEGLIGIBLE = 64  # weights below exp(-64) of the best are left to the exact path


@final
@dataclass(frozen=True, eq=False)
class Categorical:
    """Index i with probability proportional to exp(-rate * distances[i]), for whole distances and a rational rate.

    A uniform number is compared with the cumulative weights: first with floats whose error is bounded, then, when it falls
    within that bound of a threshold, with integer enclosures of as many bits as it takes. Both read the same thresholds.
    """

    rate: Fraction
    distances: Integers

    @classmethod
    def of(cls, scores: Sequence[int] | NDArray[Any], rate: Number) -> Categorical:
        """Index i with probability proportional to exp(rate * scores[i]): the higher the score the better."""
        array = _whole(scores, name="score")
        best = int(array.max())
        if best - int(array.min()) >= 1 << 63:
            raise BadInput("scores lie more than 2**63 apart", hint="clamp the scores to a public range")
        return cls(checked_parameter(rate, name="rate"), best - array)

    def sample(self, source: Source, size: Size | None = None) -> Any:
        """One index as an int, or an int64 array of that size."""
        if size is None:
            return int(self._draw(source, 1)[0])
        shape = shape_of(size)
        return self._draw(source, math.prod(shape)).reshape(shape)

    def pmf_bounds(self, i: int, bits: int) -> Bounds:
        """`low <= P(index = i) * 2**bits <= high`."""
        work = bits + 16 + len(self.distances).bit_length()
        lows, highs = self._weights(work)
        low, high = exp_bounds(-self.rate * int(self.distances[i]), work)
        return (low << bits) // sum(highs), -((-high << bits) // sum(lows))

    def _draw(self, source: Source, count: int) -> Integers:
        words = source.words(count)
        if len(self.distances) <= _FEW and count == 1:
            return np.array([self._settle(Uniform(int(words[0]), 64), source)], dtype=np.int64)
        sums, margin = self._sums
        point = words.astype(np.float64) * (float(sums[-1]) / 2.0**64)
        outcome = np.searchsorted(sums, point - margin, side="right")
        for place in np.flatnonzero(outcome != np.searchsorted(sums, point + margin, side="right")):
            outcome[place] = self._settle(Uniform(int(words[place]), 64), source)
        for place in np.flatnonzero(outcome >= sums.size):
            outcome[place] = self._settle(Uniform(int(words[place]), 64), source)
        return outcome

    @cached_property
    def _sums(self) -> tuple[NDArray[np.float64], float]:
        """Cumulative weights as floats, and a bound on what comparing u * total with them can be wrong by.

        Proof: a weight is a product of at most 7 factors, each within 2**-53 of its exact value: relative 2**-49. A running
        sum of n positive terms is within n 2**-53 of exact (relative), the total and u * total likewise; weights left out
        are below exp(-64) each. All this is below (n + 2**6) 2**-51 of the total.
        """
        weights = powers(self.rate, self.distances, cut=_NEGLIGIBLE)
        sums = np.cumsum(weights)
        return sums, float(sums[-1]) * (sums.size + 64) * 2.0**-50

    def _weights(self, bits: int) -> tuple[list[int], list[int]]:
        distinct, place = np.unique(self.distances, return_inverse=True)
        pairs = [exp_bounds(-self.rate * int(k), bits) for k in distinct]
        return [pairs[i][0] for i in place], [pairs[i][1] for i in place]

    def _settle(self, uniform: Uniform, source: Source) -> int:
        bits = 64
        while True:
            lows, highs = self._weights(bits + 8)
            below, above = list(accumulate(lows)), list(accumulate(highs))
            # u * total lies in [least, most). Sums up to i - 1 end at or below least; the last candidate has no upper end.
            least = uniform.seen * below[-1]
            most = (uniform.seen + 1) * above[-1]
            i = bisect_right(above, least >> uniform.bits)
            if (
                i < len(below)
                and most <= below[i] << uniform.bits
                and (i == 0 or above[i - 1] << uniform.bits <= least)
            ):
                return i
            bits *= 2
            uniform = uniform.reveal(bits, source)


@final
@dataclass(frozen=True, eq=False)
class Weighted:
    """Index i with probability weights[i] / sum(weights), for whole weights, none negative and not all zero."""

    weights: tuple[int, ...]

    @classmethod
    def of(cls, weights: Sequence[int] | NDArray[Any]) -> Weighted:
        values = tuple(
            int(w) for w in (weights.tolist() if isinstance(weights, np.ndarray) else weights) if _is_whole(w)
        )
        if not values or len(values) != len(weights):
            raise _no_candidates("weight")
        if min(values) < 0 or not any(values):
            raise BadInput(
                "weights are negative, or all of them 0", hint="give whole weights of 0 or more, one above 0"
            )
        return cls(values)

    def sample(self, source: Source, size: Size | None = None) -> Any:
        """One index as an int, or an int64 array of that size."""
        if size is None:
            return bisect_right(self._sums, source.below(self._sums[-1]))
        shape = shape_of(size)
        count = math.prod(shape)
        if self._sums[-1] < 1 << 62:
            found = np.searchsorted(
                np.array(self._sums, dtype=np.int64), uniform_block(self._sums[-1], count, source), side="right"
            )
        else:
            found = np.array(
                [bisect_right(self._sums, source.below(self._sums[-1])) for _ in range(count)], dtype=np.int64
            )
        return found.astype(np.int64).reshape(shape)

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(self.weights))


def uniform_block(n: int, count: int, source: Source) -> Integers:
    """`count` uniform integers below n <= 2**63: enough leading bits, drawn again while they make n or more."""
    width = (n - 1).bit_length()
    lane = lane_of(width)
    out = np.empty(count, dtype=np.int64)
    done = 0
    while done < count:
        missing = count - done
        kept = source.words(-(-missing * lane.itemsize // 8)).view(lane)[:missing]
        kept &= lane.type((1 << width) - 1)
        kept = kept[kept < n] if n < 1 << width else kept
        out[done : done + kept.size] = kept
        done += kept.size
    return out


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _no_candidates(name: str) -> BadInput:
    return BadInput(f"a list of {name}s is empty or not of whole numbers", hint=f"give at least one whole {name}")


def _whole(values: Sequence[int] | NDArray[Any], *, name: str) -> Integers:
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        raise _no_candidates(name) from None
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise _no_candidates(name)
    if array.dtype.kind == "u" and int(array.max()) >= 1 << 63:
        raise BadInput(f"a {name} is beyond 64 bits", hint="clamp it to a public range")
    return array.astype(np.int64)
