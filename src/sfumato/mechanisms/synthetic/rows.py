"""Rows of a model: every table as close as rounding allows, not as chance would have it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.synthetic.model import Floats, Model, ordered
from sfumato.noise import Source, uniform_below

Integers = NDArray[np.int64]
_GOLDEN = (5**0.5 - 1) / 2
_LONG = 1 << 52


def rows_of(model: Model, count: int, source: Source) -> Integers:
    """`count` rows of codes.

    Independent draws would put an error of about sqrt(2 c/(pi n)) into a table of c cells, more than what a good model is off
    itself. Here columns come one by one, clique by clique. Rows that agree on what the clique knows already are a group; the
    group's counts of each code are rounded in order, off by less than one, groups with offsets that fill the unit interval
    evenly, so that errors cancel over groups; and codes are dealt at even distances to the group's rows, which lie in the
    order of all that is known, so that rows alike in it get their shares.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise BadInput("fewer than one row was asked for", hint="ask for a whole number of rows, or leave it out")
    tree = model.tree
    rows = np.zeros((count, len(tree.shape)), dtype=np.int64)
    known: list[int] = []
    for belief, clique in zip(model.beliefs, tree.cliques, strict=True):
        new = [i for i in clique if i not in known]
        for column in sorted(new, key=lambda i: -tree.shape[i]):
            given = tuple(i for i in clique if i in known)
            keys = np.zeros(count, dtype=np.int64)
            for i in given:
                keys = keys * tree.shape[i] + rows[:, i]
            order = np.lexsort([*(rows[:, i] for i in reversed(known)), keys])
            joint = ordered(belief, clique, (*given, column)).reshape(tree.size(given), -1)
            rows[order, column] = _dealt(joint, keys[order], _offset(source))
            known.append(column)
    return rows


def _offset(source: Source) -> float:
    return uniform_below(_LONG, source=source) / _LONG


def _dealt(joint: Floats, keys: Integers, offset: float) -> Integers:
    """A code for each row, the rows of one key lying together."""
    present, sizes = np.unique(keys, return_counts=True)
    weights = np.maximum(joint[present], 0)
    mass = weights.sum(axis=1, keepdims=True)
    weights = np.where(mass > 0, weights, 1.0)
    ends = np.cumsum(weights, axis=1)
    ends *= (sizes / ends[:, -1])[:, None]
    starts = (offset + _GOLDEN * np.arange(len(present))) % 1.0
    ends = np.floor(ends + starts[:, None])
    ends[:, -1] = sizes
    counts = np.diff(np.clip(ends, 0, sizes[:, None]), axis=1, prepend=0).astype(np.int64)
    groups, codes = np.nonzero(counts)
    copies = counts[groups, codes]
    nth = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
    shift = (offset + _GOLDEN * np.arange(len(copies))) % 1.0
    turns = (nth + np.repeat(shift, copies)) / np.repeat(copies, copies)
    order = np.lexsort([turns, np.repeat(groups, copies)])
    dealt: Integers = np.repeat(codes, copies)[order]
    return dealt
