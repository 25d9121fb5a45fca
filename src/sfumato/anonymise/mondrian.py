"""Mondrian (LeFevre et al. 2006): cut the table in two at the median of its widest column, then each half again, as
long as both halves keep the promise. All nodes of a level are cut by the same array passes, block by block so that a
block stays in the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.column import Column
from sfumato.anonymise.groups import Groups, spread
from sfumato.anonymise.models import KAnonymity, Model, failing
from sfumato.anonymise.people import Classes, People

BLOCK = 1 << 16
WORD = 64

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


@final
@dataclass(frozen=True, slots=True)
class _Gauge:
    """How wide a node is in one column: by the bits of the values seen in it, or by its extremes where there are too
    many values."""

    place: int
    word: int
    offset: int
    bits: int
    scale: NDArray[np.float64] | None
    """Position of each code, for an ordered column of more values than a word has bits."""
    ordered: bool


@final
@dataclass(frozen=True, slots=True)
class _Front:
    """Rows that are still being cut: node i holds the rows from `starts[i]` to `starts[i + 1]`."""

    row: NDArray[np.int32]
    codes: NDArray[Any]
    """One row of codes for each row, padded to whole words, so that moving a row moves its words."""
    seen: tuple[Words, ...]
    weight: NDArray[Any]
    population: NDArray[Any] | None
    starts: Ints

    def take(self, rows: Ints, starts: Ints) -> _Front:
        return _Front(
            self.row.take(rows),
            self.codes.take(rows, axis=0),
            tuple(word.take(rows) for word in self.seen),
            self.weight.take(rows),
            None if self.population is None else self.population.take(rows),
            starts,
        )

    def part(self, rows: slice, starts: Ints) -> _Front:
        return _Front(
            self.row[rows],
            self.codes[rows],
            tuple(word[rows] for word in self.seen),
            self.weight[rows],
            None if self.population is None else self.population[rows],
            starts,
        )

    def blocks(self) -> Iterator[_Front]:
        """The same nodes in blocks of at most BLOCK rows, or of one node."""
        ends = np.append(self.starts[1:], len(self.row))
        node = 0
        while node < len(self.starts):
            after = max(node + 1, int(np.searchsorted(ends, self.starts[node] + BLOCK, side="right")))
            yield self.part(slice(self.starts[node], ends[after - 1]), self.starts[node:after] - self.starts[node])
            node = after


@final
class Mondrian:
    """One table and one promise, ready to be cut. `relaxed` lets the people of one value fall on both sides of a cut."""

    def __init__(self, people: People, models: Sequence[Model], *, relaxed: bool, wildcard: bool) -> None:
        self.people = people
        self.models = models
        self.relaxed = relaxed
        self.least = max(model.least for model in models)
        # For sizes alone the median is the best place; other promises may hold elsewhere when they fail there.
        self.places = (4,) if all(isinstance(model, KAnonymity) for model in models) else (4, 2, 6, 1, 7)
        self.sizes_only = people.population is None and all(isinstance(model, KAnonymity) for model in models)
        self.overall = {place: people.overall(place) for place in range(people.quasi, len(people.columns))}
        largest = max(column.size for column in people.columns)
        self.dtype = np.dtype(np.uint8 if largest <= 1 << 8 else np.uint16 if largest <= 1 << 16 else np.uint32)
        self.gauges = _gauges(people.quasi_identifiers)
        self.ranks = [
            _ranks(column, people.codes[place], people.weight, tree=column.name in people.trees, wildcard=wildcard)
            for place, column in enumerate(people.quasi_identifiers)
        ]

    def classes(self) -> Classes:
        """Cut until nothing can be cut."""
        rows: list[NDArray[np.int32]] = []
        lengths: list[Ints] = []
        waiting = [self._whole()]
        while waiting:
            front: _Front | None = waiting.pop()
            while front is not None:
                done, halves = self._level(front)
                if done.any():
                    sizes = np.diff(np.append(front.starts, len(front.row)))
                    rows.append(front.row if done.all() else front.row[np.repeat(done, sizes)])
                    lengths.append(sizes[done])
                front = halves
                if front is not None and len(front.row) > BLOCK and len(front.starts) > 1:
                    waiting.extend(front.blocks())
                    front = None
        ends = np.cumsum(np.concatenate(lengths))
        return Classes(np.concatenate(rows), np.concatenate([[0], ends[:-1]]))

    def _whole(self) -> _Front:
        people, rows = self.people, len(self.people.weight)
        per_word = 8 // self.dtype.itemsize
        table = np.zeros((rows, -(-len(people.columns) // per_word) * per_word), self.dtype)
        seen = [np.zeros(rows, np.uint64) for _ in range(1 + max(gauge.word for gauge in self.gauges))]
        for place, codes in enumerate(people.codes):
            if place >= people.quasi:
                table[:, place] = codes
                continue
            gauge, rank, size = self.gauges[place], self.ranks[place], people.columns[place].size
            table[:, place] = rank.astype(self.dtype)[codes]
            bucket = (rank * np.int64(gauge.bits) // size + gauge.offset).astype(np.uint64)
            seen[gauge.word] |= (np.uint64(1) << bucket)[codes]
        return _Front(
            np.arange(rows, dtype=np.int32),
            table.view(np.uint64),
            tuple(seen),
            _small(people.weight),
            None if people.population is None else _small(people.population),
            np.zeros(1, np.int64),
        )

    def _level(self, front: _Front) -> tuple[NDArray[np.bool_], _Front | None]:
        """Cut every node once: which of them cannot be cut, and the halves of the others."""
        width = self._widths(front)
        ranked = np.argsort(-width, axis=1, kind="stable")
        people = np.add.reduceat(front.weight, front.starts, dtype=np.int64)
        done = np.ones(len(front.starts), np.bool_)
        pending = np.flatnonzero(people >= 2 * self.least if front.population is None else people > 0)
        parts: list[tuple[Ints, Ints]] = []
        for eighths in self.places:
            hopeless: list[Ints] = []
            for attempt in range(width.shape[1]):
                column = ranked[pending, attempt]
                wide = width[pending, column] > 0
                if attempt:
                    hopeless.append(pending[~wide])
                pending, column = pending[wide], column[wide]
                if not len(pending):
                    break
                rows, starts, cut = self._cut(front, pending, column, eighths)
                good = cut >= 0
                if good.any():
                    lengths = np.diff(np.append(starts, len(rows)))
                    kept = rows if good.all() else rows[np.repeat(good, lengths)]
                    begin = np.cumsum(lengths[good]) - lengths[good]
                    parts.append((kept, np.stack([begin, begin + (cut - starts)[good]], axis=1).ravel()))
                    done[pending[good]] = False
                pending = pending[~good]
            pending = np.concatenate([pending, *hopeless])
        if not parts:
            return done, None
        shift = np.cumsum([0, *(len(rows) for rows, _ in parts)])
        rows = np.concatenate([rows for rows, _ in parts])
        starts = np.concatenate([starts + offset for (_, starts), offset in zip(parts, shift, strict=False)])
        return done, front.take(rows, starts)

    def _widths(self, front: _Front) -> NDArray[np.float64]:
        """Of every node in every column, between 0 (one value) and 1 (the whole column)."""
        width = np.empty((len(front.starts), len(self.gauges)))
        seen = [np.bitwise_or.reduceat(word, front.starts) for word in front.seen]
        table = front.codes.view(self.dtype)
        for gauge in self.gauges:
            word = seen[gauge.word] >> np.uint64(gauge.offset) & np.uint64((1 << gauge.bits) - 1)
            kinds = np.bitwise_count(word).astype(np.float64)
            if gauge.scale is not None:
                low = np.minimum.reduceat(table[:, gauge.place], front.starts)
                high = np.maximum.reduceat(table[:, gauge.place], front.starts)
                width[:, gauge.place] = gauge.scale[high] - gauge.scale[low]
                if not gauge.ordered:
                    width[:, gauge.place] = np.maximum(1e-6 * width[:, gauge.place], (kinds - 1) / (gauge.bits - 1))
            elif gauge.ordered:
                width[:, gauge.place] = _reach(word) / max(1, gauge.bits - 1)
            else:
                width[:, gauge.place] = (kinds - 1) / max(1, gauge.bits - 1)
        return width

    def _cut(self, front: _Front, nodes: Ints, column: Ints, eighths: int) -> tuple[Ints, Ints, Ints]:
        """Sort the rows of each node by its column, find where to cut it: the rows, where nodes begin, and the cuts.

        A cut is at so many eighths of the people, the median at four; it is -1 where none keeps the promise. For sizes
        two cuts need a look, just before and just after the value that stands there: any other is more lopsided.
        """
        ends = np.append(front.starts[1:], len(front.row))
        lengths = ends[nodes] - front.starts[nodes]
        starts = np.cumsum(lengths) - lengths
        total = int(lengths.sum())
        everyone = len(nodes) == len(front.starts)
        rows = np.arange(total if not everyone else 0)
        stride = front.codes.shape[1] * (8 // self.dtype.itemsize)
        if everyone:
            where = np.arange(0, total * stride, stride)
        else:
            rows += np.repeat(front.starts[nodes] - starts, lengths)
            where = rows * stride
        where += np.repeat(column, lengths)
        value = front.codes.view(self.dtype).reshape(-1).take(where)
        del where
        low_bits = np.uint64(max(1, (total - 1).bit_length()))
        node_at = low_bits + np.uint64(8 * self.dtype.itemsize)
        key = np.repeat(np.arange(len(nodes), dtype=np.uint64) << node_at, lengths)
        key |= value.astype(np.uint64) << low_bits
        key |= np.arange(total, dtype=np.uint64)
        key.sort()
        place = (key & ((np.uint64(1) << low_bits) - np.uint64(1))).astype(np.int64)
        key >>= low_bits
        rows = place if everyone else rows.take(place)
        weight = front.weight.take(rows)
        people = np.cumsum(weight, dtype=np.int64)
        before = people[starts] - weight[starts]
        inside = people[starts + lengths - 1] - before
        aim = inside * eighths // 8
        middle = np.minimum(np.searchsorted(people, before + aim, side="right"), starts + lengths - 1)
        count = np.concatenate([[0], people])
        if self.relaxed:
            return rows, starts, self._accepted(front, rows, starts, middle, count)
        first = np.searchsorted(key, key[middle], side="left")
        last = np.searchsorted(key, key[middle], side="right")
        off_first, off_last = (8 * (count[at] - before) - eighths * inside for at in (first, last))
        nearer = np.abs(off_last) < np.abs(off_first)
        cut = self._accepted(front, rows, starts, np.where(nearer, last, first), count)
        again = cut < 0
        if again.any():
            other = np.where(nearer, first, last)
            cut = np.where(again, self._accepted(front, rows, starts, np.where(again, other, -1), count), cut)
        return rows, starts, cut

    def _accepted(self, front: _Front, rows: Ints, starts: Ints, cut: Ints, count: Ints) -> Ints:
        """The cuts whose two halves keep the promise; -1 for the others. `count` is how many people come before each
        row."""
        ends = np.append(starts[1:], len(rows))
        good = (cut > starts) & (cut < ends)
        if front.population is None:
            good &= (count[cut] - count[starts] >= self.least) & (count[ends] - count[cut] >= self.least)
        if not self.sizes_only and good.any():
            chosen = rows if good.all() else rows[np.repeat(good, ends - starts)]
            halves = np.stack([cut - starts, ends - cut], axis=1)[good].ravel()
            bad = failing(self.models, self._groups(front, chosen, halves)).reshape(-1, 2)
            good[np.flatnonzero(good)[bad.any(axis=1)]] = False
        return np.where(good, cut, -1)

    def _groups(self, front: _Front, rows: Ints, lengths: Ints) -> Groups:
        group = np.repeat(np.arange(len(lengths)), lengths)
        weight = front.weight[rows].astype(np.int64)
        table = front.codes.view(self.dtype)
        starts = np.cumsum(lengths) - lengths
        spreads = {}
        for place, overall in self.overall.items():
            column = self.people.columns[place]
            spreads[column.name] = spread(
                column,
                self.people.trees.get(column.name),
                group=group,
                value=table[rows, place].astype(np.int64),
                weight=weight,
                groups=len(lengths),
                overall=overall,
            )
        population = (
            None if front.population is None else np.add.reduceat(front.population[rows], starts, dtype=np.int64)
        )
        return Groups(np.add.reduceat(weight, starts), spreads, population)


def _ranks(column: Column, codes: NDArray[np.int32], weight: Ints, *, tree: bool, wildcard: bool) -> NDArray[np.int32]:
    """The rank of each code in the order in which the column is cut. Categories without an order or a hierarchy stand
    by falling frequency, so that a cut parts a common value from rare ones; a missing value that is a wildcard goes
    with the median, or the most frequent."""
    often = np.bincount(codes, weights=weight, minlength=column.size)
    rank = np.arange(column.size, dtype=np.int32)
    if not column.ordered and not tree:
        rank[np.argsort(-often, kind="stable")] = np.arange(column.size)
    if column.missing and wildcard:
        known = often[: column.atoms]
        usual = np.searchsorted(np.cumsum(known), known.sum() / 2) if column.ordered or tree else np.argmax(known)
        rank[column.atoms] = rank[usual]
    return rank


def _gauges(columns: Sequence[Column]) -> list[_Gauge]:
    """Bits for every column, packed into as few words as will hold them."""
    room: list[int] = []
    gauges = []
    for place, column in enumerate(columns):
        bits = min(column.size, WORD)
        word = next((number for number, free in enumerate(room) if free >= bits), len(room))
        if word == len(room):
            room.append(WORD)
        scale = None
        if column.size > WORD:
            position = np.arange(column.atoms, dtype=np.float64) if column.least is None else column.least
            position = np.append(position, position[-1] + 1)[: column.size]
            scale = (position - position[0]) / ((position[-1] - position[0]) or 1.0)
        gauges.append(_Gauge(place, word, WORD - room[word], bits, scale, column.ordered))
        room[word] -= bits
    return gauges


def _reach(word: Words) -> NDArray[np.float64]:
    """From the lowest to the highest bit that is set."""
    lowest = np.bitwise_count((word & (~word + np.uint64(1))) - np.uint64(1)).astype(np.float64)
    filled = word.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> np.uint64(shift)
    return np.asarray(np.bitwise_count(filled).astype(np.float64) - 1 - lowest, np.float64)


def _small(weight: Ints) -> NDArray[Any]:
    """The same numbers in four bytes, where they fit: weights are moved at every level."""
    return weight.astype(np.int32) if weight.max(initial=0) < 1 << 31 else weight
