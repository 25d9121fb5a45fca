"""Microaggregation by MDAV (Domingo-Ferrer and Torra 2005): groups of at least k neighbours, each released as the
group's mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.models import KAnonymity
from sfumato.anonymise.mondrian import Mondrian
from sfumato.anonymise.people import Classes, People

BLOCK = 512
"""MDAV is quadratic, so large tables are first cut into blocks of about this many people."""


def microaggregate(people: People, points: NDArray[np.float64], k: int) -> Classes:
    """Groups of k to 2k - 1 people who are close to one another. `points` has one row for each person, columns of
    variance 1."""
    least = max(BLOCK, 16 * k)
    blocks = (
        Mondrian(people, [KAnonymity(least)], relaxed=False, wildcard=False).classes()
        if len(points) > 4 * least
        else None
    )
    groups: list[NDArray[np.int64]] = []
    if blocks is None:
        groups = _mdav(points, k)
    else:
        ends = np.append(blocks.starts[1:], len(blocks.rows))
        for start, end in zip(blocks.starts, ends, strict=True):
            rows = blocks.rows[start:end].astype(np.int64)
            groups += [rows[group] for group in _mdav(points[rows], k)]
    lengths = np.cumsum([0, *map(len, groups)])
    return Classes(np.concatenate(groups).astype(np.int32), lengths[:-1])


def means(points: NDArray[np.float64], classes: Classes) -> NDArray[np.float64]:
    """The mean of each class."""
    sizes = np.diff(np.append(classes.starts, len(classes.rows)))
    return np.asarray(np.add.reduceat(points[classes.rows], classes.starts, axis=0) / sizes[:, None], np.float64)


def _mdav(points: NDArray[np.float64], k: int) -> list[NDArray[np.int64]]:
    left = np.arange(len(points))
    groups = []
    while len(left) >= 3 * k:
        far = int(np.argmax(_squared(points[left], points[left].mean(axis=0))))
        centre = points[left[far]]
        group, left = _nearest(points, left, centre, k)
        groups.append(group)
        opposite = points[left[int(np.argmax(_squared(points[left], centre)))]]
        group, left = _nearest(points, left, opposite, k)
        groups.append(group)
    if len(left) >= 2 * k:
        far = int(np.argmax(_squared(points[left], points[left].mean(axis=0))))
        group, left = _nearest(points, left, points[left[far]], k)
        groups.append(group)
    groups.append(left)
    return groups


def _nearest(
    points: NDArray[np.float64], left: NDArray[np.int64], centre: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.argpartition(_squared(points[left], centre), k - 1)
    return left[order[:k]], left[order[k:]]


def _squared(points: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((points - centre) ** 2).sum(axis=1), np.float64)
