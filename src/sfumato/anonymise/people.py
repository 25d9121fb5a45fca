"""A table as its different rows: people who are alike in every column that matters are counted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.column import Column
from sfumato.anonymise.groups import Groups, spread
from sfumato.anonymise.hierarchy import Tree


@final
@dataclass(frozen=True, slots=True)
class People:
    """`codes[i]` holds column i of each different row; `weight` says how many people have it, `of_person` which row
    each has.

    Quasi-identifiers come first. Rows of a population table, if any, are counted in `population` instead of `weight`.
    """

    columns: tuple[Column, ...]
    quasi: int
    trees: Mapping[str, Tree]
    codes: tuple[NDArray[np.int32], ...]
    weight: NDArray[np.int64]
    of_person: NDArray[np.int32]
    population: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """How many people there are, whatever the number of different rows."""
        return int(self.weight.sum())

    @property
    def quasi_identifiers(self) -> tuple[Column, ...]:
        return self.columns[: self.quasi]

    def overall(self, place: int) -> NDArray[np.int64]:
        """How many people of the whole table have each value of a column."""
        column = self.columns[place]
        return np.bincount(self.codes[place], weights=self.weight, minlength=column.size).astype(np.int64)

    def groups(
        self,
        classes: NDArray[np.int64],
        count: int,
        *,
        rows: NDArray[np.int64] | None = None,
        against_all: bool = False,
    ) -> Groups:
        """Sizes and spreads of classes. `classes[i]` is the class of `rows[i]` (of every row, in order, when no rows
        are named).

        Sensitive values are compared with those of the rows named, or with those of the whole table if `against_all`.
        """
        weight = self.weight if rows is None else self.weight[rows]
        spreads = {}
        for place in range(self.quasi, len(self.columns)):
            column = self.columns[place]
            value = self.codes[place] if rows is None else self.codes[place][rows]
            compared = (self.codes[place], self.weight) if against_all else (value, weight)
            overall = np.bincount(compared[0], weights=compared[1], minlength=column.size).astype(np.int64)
            tree = self.trees.get(column.name)
            spreads[column.name] = spread(
                column, tree, group=classes, value=value, weight=weight, groups=count, overall=overall
            )
        population = None
        if self.population is not None:
            people = self.population if rows is None else self.population[rows]
            population = np.bincount(classes, weights=people, minlength=count).astype(np.int64)
        sizes = np.bincount(classes, weights=weight, minlength=count).astype(np.int64)
        return Groups(sizes, spreads, population)


@final
@dataclass(frozen=True, slots=True)
class Classes:
    """Classes of different rows: class i holds `rows[starts[i]:starts[i + 1]]`. A row in none of them is suppressed."""

    rows: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def of_rows(self, count: int) -> NDArray[np.int32]:
        """The class of each of `count` rows; -1 for the suppressed."""
        classes = np.full(count, -1, np.int32)
        classes[self.rows] = self.of_members()
        return classes

    def of_members(self) -> NDArray[np.int32]:
        """The class of each entry of `rows`."""
        sizes = np.diff(np.append(self.starts, len(self.rows)))
        return np.repeat(np.arange(len(self.starts), dtype=np.int32), sizes)


def gather(
    columns: Sequence[Column],
    quasi: int,
    trees: Mapping[str, Tree],
    *,
    sample: int | None = None,
    one_by_one: bool = False,
) -> People:
    """Find the different rows. The first `sample` rows are the table, the others its population; `one_by_one` keeps
    twins apart."""
    rows = len(columns[0].codes)
    sample = rows if sample is None else sample
    place = max(1, (rows - 1).bit_length())
    bits = [(column.size - 1).bit_length() for column in columns]
    if one_by_one:
        of_person = np.arange(rows, dtype=np.int32)
        codes = tuple(column.codes for column in columns)
    elif sum(bits) + place < 64:
        # Codes and place in one number: a plain sort of it is several times faster than sorting places by codes.
        key = np.zeros(rows, np.int64)
        for column, width in zip(columns, bits, strict=True):
            key <<= width
            key |= column.codes
        key <<= place
        key |= np.arange(rows)
        key.sort()
        order = key & ((1 << place) - 1)
        key >>= place
        new, of_person = _steps(key, order)
        key = key[new]
        found = []
        for width in reversed(bits):
            found.append((key & ((1 << width) - 1)).astype(np.int32))
            key >>= width
        codes = tuple(reversed(found))
    else:
        key = ranked([column.codes for column in columns], [column.size for column in columns])
        order = np.argsort(key)
        new, of_person = _steps(key[order], order)
        codes = tuple(column.codes[order[new]] for column in columns)
    weight = np.bincount(of_person[:sample], minlength=len(codes[0])).astype(np.int64)
    population = None
    if sample < rows:
        population = np.bincount(of_person[sample:], minlength=len(codes[0])).astype(np.int64)
    return People(tuple(columns), quasi, trees, codes, weight, of_person[:sample], population)


def _steps(key: NDArray[np.int64], order: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Where sorted keys change, and for each row the number of its key."""
    new = np.empty(len(key), np.bool_)
    new[:1] = True
    np.not_equal(key[1:], key[:-1], out=new[1:])
    of_person = np.empty(len(key), np.int32)
    of_person[order] = np.cumsum(new, dtype=np.int32) - 1
    return new, of_person


def ranked(codes: Sequence[NDArray[np.int32]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """One number for each row, the same for the same codes: mixed radix, ranked anew whenever 63 bits would overflow."""
    key, span = codes[0].astype(np.int64), sizes[0]
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        if span > (1 << 62) // max(1, size):
            distinct, key = np.unique(key, return_inverse=True)
            span = len(distinct)
        key = key * size + code
        span *= size
    return key
