"""Public domains of columns: values become codes on the way in, and codes values of the same type on the way out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction
from sfumato.mechanisms.synthetic.table import Integers, Table
from sfumato.noise import Source, system_source, uniform_below

_POINTS = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Bin:
    """Numbers from `low` to before `high`; whole numbers only, or any."""

    low: float
    high: float
    whole: bool

    def drawn(self, count: int, source: Source) -> list[float | int]:
        """Numbers of the bin, all alike."""
        if self.whole:
            low = math.ceil(self.low)
            found: list[float | int] = (low + uniform_below(math.ceil(self.high) - low, count, source=source)).tolist()
        else:
            steps = uniform_below(_POINTS, count, source=source) / _POINTS
            found = (self.low + (self.high - self.low) * steps).tolist()
        return found


@final
@dataclass(frozen=True, slots=True)
class Column:
    """A column and its public values, one code each. With `missing` there is one code more: NULL and whatever is not listed.

    Without it, rows with such a value are left out of the table, which moves no neighbour further away.
    """

    name: str
    values: tuple[Any, ...]
    missing: bool = True

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise BadInput(f"the values of {self.name} are none, or not all different", hint="list each value once")

    @classmethod
    def of(cls, name: str, values: Sequence[Any], *, missing: bool = True) -> Self:
        """Categories."""
        return cls(name, tuple(values), missing)

    @classmethod
    def binned(cls, name: str, edges: Sequence[Number], *, whole: bool, missing: bool = True) -> Self:
        """Numbers in bins between public cut points; what lies beyond the first or last edge counts in the nearest bin."""
        marks = [fraction(edge, name="edge") for edge in edges]
        if len(marks) < 2 or any(low >= high for low, high in pairwise(marks)):
            raise BadInput(
                f"the edges of {name} do not rise", hint="give two edges or more, such as 0, 20, 40, 65, 120"
            )
        bins = tuple(Bin(float(low), float(high), whole) for low, high in pairwise(marks))
        if whole and any(math.ceil(each.low) >= math.ceil(each.high) for each in bins):
            raise BadInput(f"a bin of {name} holds no whole number", hint="put the edges further apart")
        return cls(name, bins, missing)

    @property
    def size(self) -> int:
        return len(self.values) + self.missing

    @property
    def bins(self) -> tuple[Bin, ...] | None:
        """The bins of a numeric column."""
        return self.values if isinstance(self.values[0], Bin) else None

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Integers:
        """A code for each value; the number of listed values stands for missing."""
        if self.bins is None:
            code = {value: i for i, value in enumerate(self.values)}
            return np.array([code.get(value, len(code)) for value in _listed(values)], dtype=np.int64)
        numbers = np.array([_number(value) for value in _listed(values)], dtype=np.float64)
        inner = np.array([each.low for each in self.bins[1:]])
        codes = np.searchsorted(inner, numbers, side="right")
        return np.where(np.isnan(numbers), len(self.bins), codes).astype(np.int64)

    def decode(self, codes: Integers, source: Source | None = None) -> list[Any]:
        """A value for each code: the category, a number of the bin, None where it is missing."""
        if self.bins is None:
            known = [*self.values, None]
            return [known[code] for code in codes.tolist()]
        drawn: list[Any] = [None] * len(codes)
        for place, each in enumerate(self.bins):
            found = np.flatnonzero(codes == place)
            for at, number in zip(found.tolist(), each.drawn(found.size, source or system_source()), strict=True):
                drawn[at] = number
        return drawn


@final
@dataclass(frozen=True, slots=True)
class Domain:
    """The columns of a synthetic table."""

    columns: tuple[Column, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(column.size for column in self.columns)

    def table(self, values: Mapping[str, Sequence[Any]], weights: Sequence[int] | Integers | None = None) -> Table:
        """Combinations of values, one whole weight each, as coded counts."""
        for column in self.columns:
            if column.name not in values:
                raise BadInput(
                    f"there are no values for {column.name}", hint="give values for each of the domain's columns"
                )
        codes = [column.encode(values[column.name]) for column in self.columns]
        held = np.ones(len(codes[0]), dtype=np.int64) if weights is None else np.asarray(weights, dtype=np.int64)
        for column, found in zip(self.columns, codes, strict=True):
            held = np.where(found < column.size, held, 0)
        return Table.of(self.shape, np.stack(codes, axis=1), held)

    def decode(self, rows: Integers, source: Source | None = None) -> dict[str, list[Any]]:
        """Rows of codes as columns of values."""
        return {column.name: column.decode(rows[:, i], source) for i, column in enumerate(self.columns)}


def _number(value: Any) -> float:
    """What is no number is missing: an error would show it."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _listed(values: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values
