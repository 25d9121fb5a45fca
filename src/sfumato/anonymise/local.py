"""Local recoding with hierarchies: take the cheapest combination of levels, release the classes that are large enough
there, and go on with the people that are left. Who has many like them keeps fine values; only the rare are made coarse.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.lattice import Lattice, cannot_be_kept
from sfumato.anonymise.models import Model, failing
from sfumato.anonymise.people import Classes, People

MOST_NODES = 20_000

Ints = NDArray[np.int64]


def peel(people: People, models: Sequence[Model], *, most_suppressed: int) -> Classes:
    """Classes that keep the promise, from the cheapest levels on. Who is left at the end is suppressed, if so few may
    be, or joins the class that suffers least."""
    lattice = Lattice(people, models)
    order = [node for _, node in lattice.by_bound()]
    if len(order) > MOST_NODES:
        # Any rising sequence that ends at the top gives classes that keep the promise; a thinner one is only a little coarser.
        order = [order[place] for place in np.linspace(0, len(order) - 1, MOST_NODES).astype(int)]
    left = np.arange(len(people.weight))
    released: list[Ints] = []
    for node in order:
        if not len(left):
            break
        classes, count = lattice.grouped(node, left)
        sizes = np.bincount(classes, weights=people.weight[left], minlength=count)
        if sizes.max() < lattice.least:
            continue
        good = ~_failing(people, models, left, classes, count)
        if people.population is not None:
            # Rows of the population alone are nobody's class: they stay to be matched at coarser levels.
            good &= sizes > 0
        chosen = good[classes]
        if chosen.any():
            taken = left[chosen]
            by_class = np.argsort(classes[chosen], kind="stable")
            edges = np.flatnonzero(np.diff(classes[chosen][by_class])) + 1
            released.extend(np.split(taken[by_class], edges))
            left = left[~chosen]
    return _gathered(_with_the_rest(people, models, lattice, released, left, most_suppressed=most_suppressed))


def _failing(people: People, models: Sequence[Model], rows: Ints, classes: Ints, count: int) -> NDArray[np.bool_]:
    return failing(models, people.groups(classes, count, rows=rows, against_all=True))


def _with_the_rest(
    people: People, models: Sequence[Model], lattice: Lattice, released: list[Ints], left: Ints, *, most_suppressed: int
) -> list[Ints]:
    """The classes once everybody that is left has a place, or is suppressed."""
    stranded = int(people.weight[left].sum())
    if not stranded:
        return released
    if released and stranded <= most_suppressed:
        rows = np.concatenate(released)
        classes = np.repeat(np.arange(len(released)), [len(each) for each in released])
        if not failing(models, people.groups(classes, len(released), rows=rows)).any():
            return released
    home = left
    joined: set[int] = set()
    for number in _by_suffering(people, lattice, released, left):
        alone = np.concatenate([released[number], left])
        home = np.concatenate([home, released[number]])
        joined.add(number)
        for together, members in (({number}, alone), (joined, home)):
            if not _failing(people, models, members, np.zeros(len(members), np.int64), 1).any():
                return [rows for place, rows in enumerate(released) if place not in together] + [members]
    raise cannot_be_kept(models)


def _by_suffering(people: People, lattice: Lattice, released: list[Ints], left: Ints) -> list[int]:
    """The classes, from the one that loses least by taking in everybody that is left."""
    if not released:
        return []
    rows = np.concatenate(released)
    starts = np.cumsum([0, *(len(each) for each in released)])[:-1]
    weight = np.add.reduceat(people.weight[rows], starts)
    guests = int(people.weight[left].sum())
    suffering = np.zeros(len(released))
    for place, tree in enumerate(lattice.trees):
        codes = people.codes[place]
        low, high = np.minimum.reduceat(codes[rows], starts), np.maximum.reduceat(codes[rows], starts)
        loss = np.stack([tree.loss(level) for level in range(tree.depth + 1)])
        before = loss[tree.meeting(low, high), low]
        low, high = np.minimum(low, codes[left].min()), np.maximum(high, codes[left].max())
        after = loss[tree.meeting(low, high), low]
        suffering += weight * (after - before) + guests * after
    order: list[int] = np.argsort(suffering, kind="stable").tolist()
    return order


def _gathered(classes: list[Ints]) -> Classes:
    lengths = np.cumsum([0, *(len(rows) for rows in classes)])
    return Classes(np.concatenate(classes).astype(np.int32), lengths[:-1])
