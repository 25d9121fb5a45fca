"""What a release says in each column: one cell for each class of people, and what every cell covers, says and costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.column import Column
from sfumato.anonymise.hierarchy import NULL, TOP, Tree

WORD = 64


@final
@dataclass(frozen=True, slots=True)
class Cells:
    """The distinct cells of one column, and which of them each class has.

    An interval or a node of a hierarchy covers the codes `low` to `high`; a set covers `members[starts[c]:starts[c +
    1]]`; `null` says whether a missing value is covered too. `loss` is 0 for a single value, 1 for "*".
    """

    column: Column
    of_class: NDArray[np.int32]
    labels: tuple[str | None, ...]
    loss: NDArray[np.float64]
    null: NDArray[np.bool_]
    low: NDArray[np.int32] | None = None
    high: NDArray[np.int32] | None = None
    starts: NDArray[np.int64] | None = None
    members: NDArray[np.int32] | None = None
    wildcard: bool = False
    """A missing value is not known to anybody: it fits every cell."""

    def cover(self, code: int) -> NDArray[np.bool_]:
        """Which distinct cells are true of somebody with this value."""
        if self.column.missing and code == self.column.atoms:
            return np.ones_like(self.null) if self.wildcard else self.null
        if self.low is not None and self.high is not None:
            return (self.low <= code) & (code <= self.high)
        assert self.starts is not None
        found = np.zeros(len(self.labels), np.bool_)
        found[np.searchsorted(self.starts, np.flatnonzero(self.members == code), side="right") - 1] = True
        return found

    def mean_loss(self, sizes: NDArray[np.int64]) -> float:
        """Mean over the people of the classes."""
        return float(self.loss[self.of_class] @ sizes / max(1, int(sizes.sum())))


def narrowest(
    column: Column, codes: NDArray[np.int32], starts: NDArray[np.int64], *, tree: Tree | None, wildcard: bool
) -> Cells:
    """For each class the narrowest cell that is true of all its members, whose codes stand together from `starts` on.

    An ordered column gives the interval from the least to the greatest, a tree the lowest common ancestor, another
    column the set. With `wildcard`, a missing value says nothing and widens nothing.
    """
    gone = codes == column.atoms if column.missing else np.zeros(len(codes), np.bool_)
    null = np.zeros(len(starts), np.bool_) if wildcard or not column.missing else np.logical_or.reduceat(gone, starts)
    return replace(_narrowest(column, codes, starts, gone, null, tree, wildcard=wildcard), wildcard=wildcard)


def _narrowest(
    column: Column,
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    gone: NDArray[np.bool_],
    null: NDArray[np.bool_],
    tree: Tree | None,
    *,
    wildcard: bool,
) -> Cells:
    if tree is None and not column.ordered:
        return _sets(column, codes, starts, null, domain=column.atoms + (column.missing and not wildcard))
    counted = np.zeros_like(gone) if tree is not None and not wildcard else gone
    low = np.minimum.reduceat(np.where(counted, column.size, codes), starts)
    high = np.maximum.reduceat(np.where(counted, -1, codes), starts)
    if tree is None:
        return _spans(column, low, high, null, wildcard=wildcard)
    return _ancestors(column, low, high, tree)


def at_level(column: Column, codes: NDArray[np.int32], starts: NDArray[np.int64], *, tree: Tree, level: int) -> Cells:
    """For each class its node at this level, whatever its members: the cells of a global recoding."""
    return _nodes(column, codes[starts], np.full(len(starts), level), tree)


def _spans(
    column: Column, low: NDArray[np.int32], high: NDArray[np.int32], null: NDArray[np.bool_], *, wildcard: bool
) -> Cells:
    assert column.least is not None
    assert column.most is not None
    key = (low.astype(np.int64) * (column.size + 2) + high + 1) * 2 + null
    _, first, of_class = np.unique(key, return_index=True, return_inverse=True)
    low, high, null = low[first], high[first], null[first]
    labels: list[str | None] = []
    for a, b, has_null in zip(low.tolist(), high.tolist(), null.tolist(), strict=True):
        if a > b:
            labels.append(None)
        elif a == 0 and b == column.atoms - 1 and (wildcard or has_null == column.missing) and column.size > 1:
            labels.append(TOP)
        else:
            labels.append(f"{column.label(a, b)} | {NULL}" if has_null else column.label(a, b))
    empty = low > high
    first_atom, last_atom = np.where(empty, 0, low), np.where(empty, 0, high)
    total = float(column.most[-1] - column.least[0])
    # A missing value is as far away as one more atom would be.
    away = column.missing * (total or 1.0) / max(1, column.atoms - 1)
    reach = np.where(empty, 0.0, column.most[last_atom] - column.least[first_atom]) + away * (null & ~empty)
    return Cells(column, of_class.astype(np.int32), tuple(labels), reach / ((total + away) or 1.0), null, low, high)


def _ancestors(column: Column, low: NDArray[np.int32], high: NDArray[np.int32], tree: Tree) -> Cells:
    empty = low > high
    level = tree.meeting(np.where(empty, 0, low), np.where(empty, 0, high))
    return _nodes(column, np.where(empty, -1, low), level, tree)


def _nodes(column: Column, leaf: NDArray[np.int32], level: NDArray[np.int64], tree: Tree) -> Cells:
    """Cells from a leaf and the level at which its ancestor is named; leaf -1 is a class of which nothing is known."""
    node = np.where(leaf < 0, -1, tree.node_of[level, leaf])
    key = level.astype(np.int64) * (column.size + 1) + node + 1
    _, first, of_class = np.unique(key, return_index=True, return_inverse=True)
    labels: list[str | None] = []
    low, high = np.zeros(len(first), np.int32), np.full(len(first), -1, np.int32)
    loss = np.zeros(len(first))
    for cell, (step, place) in enumerate(zip(level[first].tolist(), node[first].tolist(), strict=True)):
        if place < 0:
            labels.append(None)
            continue
        under = np.flatnonzero(tree.node_of[step] == place)
        low[cell], high[cell] = under[0], under[-1]
        loss[cell] = (len(under) - 1) / max(1, len(tree.leaves) - 1)
        labels.append(None if column.missing and under[0] == column.atoms else tree.labels[step][place])
    null = (high == column.atoms) if column.missing else np.zeros(len(first), np.bool_)
    return Cells(column, of_class.astype(np.int32), tuple(labels), loss, null, low, high)


def _sets(
    column: Column, codes: NDArray[np.int32], starts: NDArray[np.int64], null: NDArray[np.bool_], *, domain: int
) -> Cells:
    if column.atoms < WORD:
        bits = np.append(np.uint64(1) << np.arange(column.atoms, dtype=np.uint64), np.uint64(0))
        words = np.bitwise_or.reduceat(bits[codes], starts) << np.uint64(1) | null.astype(np.uint64)
        distinct, first, of_class = np.unique(words, return_index=True, return_inverse=True)
        cell, members = np.nonzero(distinct[:, None] & bits[None, :-1] << np.uint64(1))
    else:
        first, of_class, cell, members = _distinct_sets(column, codes, starts, null)
    null = null[first]
    sizes = np.bincount(cell, minlength=len(first))
    edges = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    names = [column.names[code] for code in members.tolist()]
    labels: list[str | None] = []
    for start, end, has_null in zip(edges[:-1].tolist(), edges[1:].tolist(), null.tolist(), strict=True):
        said = names[start:end] + [NULL] * has_null
        if start == end:
            labels.append(None)
        elif len(said) == domain > 1:
            labels.append(TOP)
        else:
            labels.append(said[0] if len(said) == 1 else "{" + ", ".join(said) + "}")
    loss = np.maximum(sizes + null - 1, 0) / max(1, domain - 1)
    return Cells(
        column, of_class.astype(np.int32), tuple(labels), loss, null, starts=edges, members=members.astype(np.int32)
    )


def _distinct_sets(
    column: Column, codes: NDArray[np.int32], starts: NDArray[np.int64], null: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The same for columns of more values than a word has bits: (first class, cell of each class, cell and code of each
    member)."""
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    pairs = np.unique((group * column.size + codes)[codes < column.atoms])
    edges = np.searchsorted(pairs, np.arange(len(starts) + 1) * column.size)
    value = pairs % column.size
    place: dict[tuple[bytes, bool], int] = {}
    first: list[int] = []
    found: list[NDArray[np.int64]] = []
    of_class = np.empty(len(starts), np.int64)
    for number, (start, end, has_null) in enumerate(
        zip(edges[:-1].tolist(), edges[1:].tolist(), null.tolist(), strict=True)
    ):
        members = value[start:end]
        cell = place.setdefault((members.tobytes(), has_null), len(found))
        if cell == len(found):
            first.append(number)
            found.append(members)
        of_class[number] = cell
    sizes = [len(members) for members in found]
    return np.asarray(first), of_class, np.repeat(np.arange(len(found)), sizes), np.concatenate(found)
