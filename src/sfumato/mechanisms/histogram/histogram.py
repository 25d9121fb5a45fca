"""What histograms share whatever their noise: rows, noise, least squares, and the exact error of any question."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, probability
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.histogram.strategy import Floats, Strategy
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import array_steps
from sfumato.noise import Source
from sfumato.noise.law import Law as Noise

Cells = Sequence[Any] | NDArray[np.int64]
"""Whole numbers, one for each cell."""

_STEP = 1 << 20
"""Estimates are rounded to multiples of 2^-20: sums of them up to 2^33 are exact, whatever the order."""

_LONGEST = 60_000


class Histogram(Mechanism[Cells, Any]):
    """Rows of a strategy, whole-numbered noise on each, and least squares: an estimate for each cell, as float64."""

    strategy: Strategy

    @abstractmethod
    def noise(self, scale: Fraction) -> Noise:
        """The law of the noise on a row of this relative scale."""

    @abstractmethod
    def _half_width(self, spread: Floats, miss: float) -> float:
        """A bound that the sum of noises times their weights exceeds with probability `miss` at most."""

    @final
    @cached_property
    def _laws(self) -> tuple[Noise, ...]:
        return tuple(self.noise(scale) for scale in self.strategy.scales)

    @final
    def sample(self, value: Cells, source: Source) -> Any:
        return self._fitted(self.strategy.rows(self._cells(value)), 1, source)[0]

    @final
    def repeat(self, value: Cells, count: int, source: Source) -> Sequence[Any]:
        """Draws as tuples, cell by cell, which an audit can sort."""
        drawn = self._fitted(self.strategy.rows(self._cells(value)), count, source)
        return list(map(tuple, drawn.reshape(count, -1).tolist()))

    @final
    def _fitted(self, exact: NDArray[Any], count: int, source: Source) -> Floats:
        """Noise added modulo 2**64 where rows are 64 bits long; then the fit."""
        if len(self._laws) == 1:
            drawn = self._laws[0].sample(source, (count, exact.size))
        else:
            drawn = np.empty((count, exact.size), dtype=np.int64)
            for code, law in enumerate(self._laws):
                places = np.flatnonzero(self.strategy.codes == code)
                drawn[:, places] = law.sample(source, (count, places.size))
        return self._estimate(exact + drawn)

    @final
    def _estimate(self, rows: NDArray[Any]) -> Floats:
        fitted = self.strategy.estimate(rows)
        out = fitted * _STEP
        np.rint(out, out=out)
        out /= _STEP
        return out

    @final
    def _cells(self, value: Cells) -> NDArray[np.int64]:
        cells = np.asarray(value)
        if cells.shape != self.strategy.shape:
            raise BadInput("the cells are not those of the strategy", hint="give one whole number for each cell")
        limit = self.strategy.limit
        return np.clip(array_steps(cells, None), -limit, limit)

    @final
    def law(self, value: Cells) -> Law | None:
        """The law of all estimates together, where few rows and light noise leave few outcomes.

        Only where rows are as many as cells: then different rows are different estimates. `law_of_rows` knows the others.
        """
        if self.strategy.codes.size != self.strategy.size or (rows := self.law_of_rows(value)) is None:
            return None
        fitted = self._estimate(np.array(list(rows.weights), dtype=np.int64)).reshape(len(rows.weights), -1)
        keys = map(tuple, fitted.tolist())
        return Law(rows.bits, dict(zip(keys, rows.weights.values(), strict=True)), rows.rest)

    @final
    def law_of_rows(self, value: Cells) -> Law | None:
        """The law of the noisy rows, of which estimates are a function: what it promises, they promise."""
        bits = 128
        laws = [self._laws[int(code)] for code in self.strategy.codes]
        sides: list[list[tuple[int, int]]] = []
        for law in laws:
            side: list[tuple[int, int]] = []
            while (pair := law.pmf_bounds(len(side), bits))[1] >> (bits - 46):
                side.append(pair)
                if (2 * len(side) - 1) ** len(laws) > _LONGEST:
                    return None
            sides.append(side)
        exact = self.strategy.rows(self._cells(value)).tolist()
        weights: dict[Any, tuple[int, int]] = {}
        for noise in product(*(range(1 - len(side), len(side)) for side in sides)):
            low = high = 1 << bits
            for side, z in zip(sides, noise, strict=True):
                low = low * side[abs(z)][0] >> bits
                high = -(-high * side[abs(z)][1] >> bits)
            weights[tuple(a + z for a, z in zip(exact, noise, strict=True))] = low, high
        rest = sum(2 * law.tail_bounds(len(side), bits)[1] for law, side in zip(laws, sides, strict=True))
        return Law(bits, weights, rest)

    @final
    def variance(self, query: NDArray[Any] | Sequence[Any]) -> float:
        """The variance of the estimate of `query . cells`: each row's weight squared, times its noise's variance."""
        asked = np.asarray(query, dtype=np.float64)
        if asked.shape != self.strategy.shape:
            raise BadInput("a query has other cells than the histogram", hint="give one weight for each cell")
        spread = self.strategy.weights(asked)
        squares = np.bincount(self.strategy.codes, spread.ravel() ** 2, minlength=len(self._laws))
        return float(sum(s * law.mean_square for s, law in zip(squares, self._laws, strict=True)))

    @final
    def variance_of_range(self, first: int, last: int) -> float:
        """The variance of the sum of bins `first` to `last`, both counted in."""
        return self.variance(self._range(first, last))

    @final
    def within(self, confidence: Number) -> float:
        return self.within_of(self._typical, confidence)

    @final
    def within_of(self, query: NDArray[Any] | Sequence[Any], confidence: Number) -> float:
        """The half-width of the error of `query . cells`, by a Chernoff bound on the exact laws; rounded up."""
        asked = np.asarray(query, dtype=np.float64)
        miss = float(1 - probability(confidence, name="confidence"))
        rounding = float(np.abs(asked).sum()) / (2 * _STEP)
        spread = np.abs(self.strategy.weights(asked)).ravel()
        alone = int(np.argmax(spread))
        if spread[alone] == spread.sum():
            law = self._laws[int(self.strategy.codes[alone])]
            return math.nextafter(law.within(confidence) * float(spread[alone]), math.inf) + rounding
        if miss == 1:
            return 0.0
        return self._half_width(spread, miss) * (1 + 1e-12) + rounding

    @final
    def within_of_range(self, first: int, last: int, confidence: Number) -> float:
        """The half-width of the error of the sum of bins `first` to `last`, both counted in."""
        return self.within_of(self._range(first, last), confidence)

    @final
    @cached_property
    def _typical(self) -> Floats:
        return self.strategy.typical

    @final
    def _range(self, first: int, last: int) -> Floats:
        if len(self.strategy.shape) != 1:
            raise BadInput("a range was asked of a grid", hint="give a query with one weight for each cell")
        if not 0 <= first <= last < self.strategy.size:
            raise BadInput("a range does not lie within the bins", hint="count bins from 0, the first before the last")
        query = np.zeros(self.strategy.size)
        query[first : last + 1] = 1
        return query


def least(curve: Callable[[float], float], low: float, high: float) -> float:
    """The least value found of a convex curve on an open interval; any point of it will do, so no exactness is needed."""
    best = math.inf
    for _ in range(60):
        one, other = low + (high - low) * 0.382, low + (high - low) * 0.618
        at_one, at_other = curve(one), curve(other)
        best = min(best, at_one, at_other)
        low, high = (low, other) if at_one <= at_other else (one, high)
    return best
