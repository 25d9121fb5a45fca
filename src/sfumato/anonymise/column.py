"""A column as codes: every value becomes the number of its **atom**, the smallest thing that a release may say about
it.

A number's atom is a step ]a, b] between public cut points, a date's is its month, a category's is itself; with
data-made edges each distinct value is its own. Codes follow the order of the values; where values are missing, they
have the last code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput

Kind = Literal["number", "date", "category"]

READABLE = "numbers, dates, text, booleans or categories"


def _round_numbers() -> NDArray[np.float64]:
    """Numbers of three digits: all integers to 1 000, tens to 10 000, hundreds to 100 000, ... None of them comes from
    data."""
    positive = [np.arange(1, 1000, dtype=np.float64)]
    positive += [np.arange(100, 1000, dtype=np.float64) * 10.0**power for power in range(1, 16)]
    up = np.concatenate(positive)
    return np.concatenate([-up[::-1], [0.0], up])


@final
@dataclass(frozen=True, slots=True)
class Column:
    """One column, coded. Atom i of a number is ]low[i], high[i]], or the value itself where both are equal."""

    name: str
    kind: Kind
    codes: NDArray[np.int32]
    names: tuple[str, ...]
    missing: bool
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    least: NDArray[np.float64] | None = None
    most: NDArray[np.float64] | None = None
    """The least and the greatest number (or day) that each atom can be, within those of the table: what loss is measured in."""

    @property
    def atoms(self) -> int:
        return len(self.names)

    @property
    def size(self) -> int:
        """How many codes there are: the atoms, and one more if values are missing."""
        return self.atoms + self.missing

    @property
    def ordered(self) -> bool:
        """Released as an interval (numbers, dates), not as a set."""
        return self.least is not None

    def label(self, first: int, last: int) -> str:
        """What is said of someone whose value lies in atoms `first` to `last`, both included."""
        assert self.low is not None
        assert self.high is not None
        if first == last:
            return self.names[first]
        low, high = self.low[first], self.high[last]
        if self.kind == "date":
            return f"{low}..{high}"
        if self.low[first] == self.high[first]:
            return f"[{spell(low)}, {spell(high)}]"
        return _interval(low, high)


def read(series: nw.Series[Any], *, cuts: Sequence[float] | None = None, exact: bool = False) -> Column:
    """Code one column. `exact` gives every distinct value an atom of its own: data-made edges, or the leaves of a
    hierarchy."""
    name, dtype = series.name, series.dtype
    if len(series) and series.is_null().all():
        raise BadInput(f"column {name} holds no value at all", hint="leave it out, or look at how it was read")
    if cuts is not None and not dtype.is_numeric():
        raise BadInput(
            f"column {name} holds no numbers to cut", hint="give cut points to numbers, hierarchies to the rest"
        )
    match dtype:
        case _ if dtype.is_numeric():
            return _numbers(series, cuts=cuts, exact=exact)
        case nw.Date() | nw.Datetime():
            return _dates(series, unit="D" if exact else "M")
        case nw.String() | nw.Categorical() | nw.Enum() | nw.Boolean():
            return _categories(series)
        case nw.Object():
            raise BadInput(f"column {name} mixes types", hint=f"make it one of {READABLE}")
        case _:
            raise BadInput(f"column {name} has no coarser form: its type is {dtype}", hint=f"use {READABLE}")


def _numbers(series: nw.Series[Any], *, cuts: Sequence[float] | None, exact: bool) -> Column:
    # What does not fit into 64 signed bits is coded as a float, whose neighbours share an atom.
    whole = series.dtype in (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
    missing = series.is_null().to_numpy()
    plain = series.fill_null(0).cast(nw.Int64 if whole else nw.Float64).to_numpy()
    if not whole:
        missing = missing | np.isnan(plain)
        if np.isinf(plain).any():
            raise BadInput(f"column {series.name} holds infinite numbers", hint="make them missing, or cap them")
        if missing.all() and len(missing):
            raise BadInput(
                f"column {series.name} holds no value at all", hint="leave it out, or look at how it was read"
            )
    known = plain[~missing] if missing.any() else plain
    values, ranks = _ranks(known)
    if exact:
        low = high = least = most = values.astype(np.float64)
        names = tuple(map(spell, values.tolist()))
    else:
        points = _round_numbers() if cuts is None else _checked(cuts, series.name)
        bounds = np.concatenate([[-np.inf], points, [np.inf]])
        steps, atom = np.unique(np.searchsorted(points, values, side="left"), return_inverse=True)
        ranks = atom.astype(np.int32)[ranks]
        low, high = bounds[steps], bounds[steps + 1]
        least, most = np.maximum(low + whole, values[0]), np.minimum(high, values[-1])
        names = tuple(
            spell(b) if whole and b - a == 1 else _interval(a, b)
            for a, b in zip(low.tolist(), high.tolist(), strict=True)
        )
    codes = _with_missing(ranks, missing, len(names))
    return Column(series.name, "number", codes, names, bool(missing.any()), low, high, least, most)


def _dates(series: nw.Series[Any], *, unit: Literal["D", "M"]) -> Column:
    missing = series.is_null().to_numpy()
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone:
        series = series.dt.replace_time_zone(None)
    days = series.cast(nw.Datetime("us")).to_numpy().astype("datetime64[D]")[~missing]
    numbers, ranks = _ranks(days.astype(f"datetime64[{unit}]").astype(np.int64))
    values = numbers.astype(f"datetime64[{unit}]")
    codes = _with_missing(ranks, missing, len(values))
    names = tuple(map(str, values))
    least = np.maximum(values.astype("datetime64[D]"), days.min()).astype(np.int64)
    most = np.minimum((values + 1).astype("datetime64[D]") - 1, days.max()).astype(np.int64)
    extents = least.astype(np.float64), most.astype(np.float64)
    return Column(series.name, "date", codes, names, bool(missing.any()), values, values, *extents)


def _categories(series: nw.Series[Any]) -> Column:
    array = series.to_arrow()
    if hasattr(array, "combine_chunks"):
        array = array.combine_chunks()
    if not hasattr(array, "dictionary"):
        array = array.dictionary_encode()
    values = [str(value) for value in array.dictionary.to_pylist()]
    missing = series.is_null().to_numpy()
    indices = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
    if missing.any():
        indices = indices[~missing]
    # A categorical may declare values that do not occur.
    order = sorted((values[place], place) for place in np.flatnonzero(np.bincount(indices, minlength=len(values))))
    rank = np.zeros(len(values), np.int32)
    rank[[place for _, place in order]] = np.arange(len(order))
    names = tuple(value for value, _ in order)
    return Column(
        series.name, "category", _with_missing(rank[indices], missing, len(names)), names, bool(missing.any())
    )


def _ranks(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The distinct values in order, and the rank of each; integers in a short range without a sort."""
    if values.dtype.kind == "i" and len(values):
        least, most = int(values.min()), int(values.max())
        if most - least < 4 * len(values) + 1000:
            offset = values - least
            seen = np.bincount(offset, minlength=1) > 0
            rank = np.cumsum(seen, dtype=np.int32) - 1
            return np.flatnonzero(seen) + least, rank.astype(np.int32)[offset]
    distinct, ranks = np.unique(values, return_inverse=True)
    return distinct, ranks.astype(np.int32)


def _with_missing(ranks: NDArray[np.int32], missing: NDArray[np.bool_], atoms: int) -> NDArray[np.int32]:
    if not missing.any():
        return ranks
    codes = np.full(len(missing), atoms, np.int32)
    codes[~missing] = ranks
    return codes


def _checked(cuts: Sequence[float], name: str) -> NDArray[np.float64]:
    points = np.asarray(cuts, dtype=np.float64)
    if points.ndim != 1 or not len(points) or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
        raise BadInput(
            f"the cut points of {name} are not increasing numbers", hint='write them as {"age": [0, 10, 30, 65]}'
        )
    return points


def _interval(low: float, high: float) -> str:
    """]low, high]: the right end belongs to it, the left end to its neighbour."""
    if low == -np.inf:
        return "*" if high == np.inf else f"≤ {spell(high)}"
    return f"> {spell(low)}" if high == np.inf else f"]{spell(low)}, {spell(high)}]"


def spell(number: float) -> str:
    """A number without a needless point: 24, not 24.0."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))
