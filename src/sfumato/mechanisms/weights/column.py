"""The columns that weights are fitted on, with public ranges: a row is one whole code per column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST_STEPS = 1 << 20


@final
@dataclass(frozen=True)
class Numeric:
    """A number within a public range; its code is floor((x - low) steps / (high - low)), clamped to 0 ... steps."""

    low: Fraction
    high: Fraction
    steps: int = 256

    def __init__(self, low: Number, high: Number, steps: int = 256) -> None:
        object.__setattr__(self, "low", fraction(low, name="low"))
        object.__setattr__(self, "high", fraction(high, name="high"))
        object.__setattr__(self, "steps", steps)
        if self.high <= self.low:
            raise BadInput("a range is empty", hint="give the public limits of the column, low below high")
        if isinstance(steps, bool) or not isinstance(steps, int) or not 0 < steps <= _MOST_STEPS or steps & (steps - 1):
            raise BadInput("steps is not a power of two up to 2**20", hint="give steps such as 256")

    @property
    def codes(self) -> int:
        return self.steps + 1

    @property
    def width(self) -> int:
        return 1

    def code(self, values: Sequence[Any] | NDArray[Any]) -> Codes:
        """In floats for a million numbers at once: the code is a public function of one row, whatever it rounds to."""
        real = np.asarray(values, dtype=np.float64)
        if not np.isfinite(real).all():
            raise BadInput("a number is missing or not finite", hint="leave such rows out, or say what they count as")
        scaled = (real - float(self.low)) * (self.steps / float(self.high - self.low))
        return np.clip(np.floor(scaled), 0, self.steps).astype(np.int64)

    def coordinates(self, codes: Codes) -> Floats:
        """Code / steps, exactly, in [0, 1]."""
        shares: Floats = (codes / self.steps)[:, None]
        return shares


@final
@dataclass(frozen=True)
class Category:
    """One of a public list of values; its code is the place in the list. It becomes one coordinate per value, 0 or 1."""

    values: tuple[Any, ...]

    def __init__(self, values: Sequence[Any]) -> None:
        object.__setattr__(self, "values", tuple(values))
        if len(self.values) < 2 or len(set(self.values)) < len(self.values):
            raise BadInput(
                "a category has fewer than two values, or one twice", hint="list every value that is possible, once"
            )

    @property
    def codes(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return len(self.values)

    def code(self, values: Sequence[Any] | NDArray[Any]) -> Codes:
        place = {value: i for i, value in enumerate(self.values)}
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        try:
            return np.array([place[value] for value in listed], dtype=np.int64)
        except (KeyError, TypeError):
            raise BadInput(
                "a value is not on the public list of its column", hint="list it, or leave the row out"
            ) from None

    def coordinates(self, codes: Codes) -> Floats:
        ones: Floats = (codes[:, None] == np.arange(len(self.values))).astype(np.float64)
        return ones


Column = Numeric | Category


@final
@dataclass(frozen=True)
class Columns:
    """Named columns in order; `width` coordinates in all."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> Columns:
        return cls(tuple(columns), tuple(columns.values()))

    def __post_init__(self) -> None:
        if not self.columns:
            raise BadInput("no column was given", hint="name at least one column, such as {'age': Numeric(17, 90)}")
        if not all(isinstance(column, Numeric | Category) for column in self.columns):
            raise BadInput(
                "a column is neither Numeric nor Category", hint="give Numeric(low, high) or Category(values)"
            )

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)

    def code(self, table: Mapping[str, Any]) -> Codes:
        """One row of codes per row of the table, which holds a sequence under each name."""
        missing = [name for name in self.names if name not in table]
        if missing:
            raise BadInput(f"the table has no column {missing[0]!r}", hint="give the same columns in both tables")
        each = [column.code(table[name]) for name, column in zip(self.names, self.columns, strict=True)]
        if len({len(codes) for codes in each}) > 1:
            raise BadInput("columns differ in length", hint="give one value per row in every column")
        return np.stack(each, axis=1)

    def checked(self, codes: Any) -> Codes:
        """Codes as an int64 table, each inside its column."""
        table = np.asarray(codes)
        if table.dtype.kind not in "iu" or table.ndim != 2 or table.shape[1] != len(self.columns):
            raise BadInput(
                "codes are not a table of whole numbers with one column each", hint="make them with Columns.code"
            )
        limits = np.array([column.codes for column in self.columns])
        if ((table < 0) | (table >= limits)).any():
            raise BadInput("a code lies outside of its column", hint="make codes with Columns.code")
        return table.astype(np.int64)

    def coordinates(self, codes: Codes) -> Floats:
        """What the fit sees: numbers in [0, 1] and zeros and ones, exactly."""
        return np.concatenate([c.coordinates(codes[:, i]) for i, c in enumerate(self.columns)], axis=1)
