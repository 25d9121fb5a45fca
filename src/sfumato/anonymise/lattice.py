"""Global recoding: one level of each hierarchy for the whole table, chosen from the lattice of all of them at the least
loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.models import Model, failing
from sfumato.anonymise.people import Classes, People, ranked
from sfumato.core.errors import BadInput, NotSupported

LARGEST = 1_000_000

Ints = NDArray[np.int64]


@final
class Lattice:
    """Every combination of levels, one for each quasi-identifier, and what each costs at least.

    The cost of a node is the mean, over people and columns, of (leaves under the released name - 1) / (leaves - 1), and
    1 for whoever is suppressed. Suppressing costs no less than naming, so the loss without suppression is a lower bound
    of the cost.
    """

    def __init__(self, people: People, models: Sequence[Model]) -> None:
        self.people = people
        self.models = models
        self.least = max(model.least for model in models)
        self.trees = [people.trees[column.name] for column in people.quasi_identifiers]
        self.depths = [tree.depth for tree in self.trees]
        if (size := prod(depth + 1 for depth in self.depths)) > LARGEST:
            raise BadInput(
                f"the hierarchies span {size} combinations of levels, more than {LARGEST}",
                hint='give some of them fewer levels, or use method="mondrian"',
            )
        self.nodes = np.indices([depth + 1 for depth in self.depths]).reshape(len(self.depths), -1).T
        bound = np.zeros(len(self.nodes))
        for place, tree in enumerate(self.trees):
            share = people.overall(place) / max(1, people.count)
            loss = np.asarray([tree.loss(level) @ share for level in range(tree.depth + 1)])
            bound += loss[self.nodes[:, place]]
        self.bound = bound / len(self.depths)

    def by_bound(self) -> Iterator[tuple[int, Ints]]:
        """Nodes from the cheapest on."""
        for number in np.lexsort((self.nodes.sum(axis=1), self.bound)):
            yield int(number), self.nodes[number]

    def grouped(self, node: Ints, rows: Ints | None = None) -> tuple[Ints, int]:
        """The class of each row (or of the rows given) when released at these levels, and how many classes there are."""
        nodes = [
            tree.node_of[level][codes if rows is None else codes[rows]]
            for tree, level, codes in zip(self.trees, node, self.people.codes, strict=False)
        ]
        widths = [len(tree.labels[level]) for tree, level in zip(self.trees, node, strict=True)]
        key = ranked(nodes, widths)
        distinct, classes = np.unique(key, return_inverse=True)
        return classes.astype(np.int64), len(distinct)

    def row_loss(self, node: Ints) -> NDArray[np.float64]:
        """Mean loss of each row over the columns, at these levels."""
        total = np.zeros(len(self.people.weight))
        for tree, level, codes in zip(self.trees, node, self.people.codes, strict=False):
            total += tree.loss(int(level))[codes]
        return total / len(self.depths)


@final
@dataclass(frozen=True, slots=True)
class Recoding:
    """The levels chosen, the classes that they make, and how many nodes of the lattice had to be looked at."""

    levels: tuple[int, ...]
    classes: Classes
    cost: float
    looked_at: int
    nodes: int


def recode(people: People, models: Sequence[Model], *, most_suppressed: int) -> Recoding:
    """The cheapest node whose classes keep the promise once at most `most_suppressed` people are left out.

    Proof of optimality: nodes are looked at in order of a lower bound of their cost, and the search ends when the bound
    passes the best cost found. A node is passed over only if a node above it (coarser in every column) suppresses too
    many people for the size of their class alone: classes of a finer node are parts of those of a coarser one, so it
    suppresses at least as many.
    """
    lattice = Lattice(people, models)
    hopeless = np.zeros(len(lattice.nodes), np.bool_)
    probed = np.zeros(len(lattice.nodes), np.bool_)
    best: tuple[float, Ints, Ints, NDArray[np.bool_]] | None = None
    looked_at = 0
    for number, node in lattice.by_bound():
        if best is not None and lattice.bound[number] >= best[0]:
            break
        if hopeless[number]:
            continue
        # A chain from here to the top: the last of it that is hopeless rules out all that lies below.
        chain = [node]
        while (chain[-1] < lattice.depths).any():
            step = chain[-1].copy()
            step[int(np.argmax(np.asarray(lattice.depths) - step))] += 1
            chain.append(step)
        low, high = 0, len(chain)
        while low < high and not probed[number]:
            middle = (low + high) // 2
            classes, count = lattice.grouped(chain[middle])
            looked_at += 1
            if _too_small(people, classes, count, lattice.least) > most_suppressed:
                hopeless |= (lattice.nodes <= chain[middle]).all(axis=1)
                low = middle + 1
            else:
                probed |= (lattice.nodes >= chain[middle]).all(axis=1)
                high = middle
        if hopeless[number]:
            continue
        classes, count = lattice.grouped(node)
        looked_at += 1
        kept = settle(people, models, classes, count, most_suppressed=most_suppressed)
        if kept is None:
            continue
        cost = float(np.where(kept, lattice.row_loss(node), 1.0) @ people.weight) / max(1, people.count)
        if best is None or cost < best[0]:
            best = (cost, node, classes, kept)
    if best is None:
        raise cannot_be_kept(models)
    cost, node, classes, kept = best
    return Recoding(tuple(node.tolist()), collect(classes, kept), cost, looked_at, len(lattice.nodes))


def settle(
    people: People, models: Sequence[Model], classes: Ints, count: int, *, most_suppressed: int
) -> NDArray[np.bool_] | None:
    """Which rows stay once classes that break the promise are suppressed; None if that takes too many people.

    What stays is judged as it will be read, against the table that is released, until nothing more has to go.
    """
    kept = np.ones(len(classes), np.bool_)
    while True:
        rows = np.flatnonzero(kept)
        bad = failing(models, people.groups(classes[rows], count, rows=rows))
        if not bad.any():
            return kept
        kept &= ~bad[classes]
        if int(people.weight[~kept].sum()) > most_suppressed:
            return None


def collect(classes: Ints, kept: NDArray[np.bool_]) -> Classes:
    """The classes of the rows that are kept, numbered without gaps."""
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(classes[rows], kind="stable")]
    number = classes[rows]
    starts = np.flatnonzero(np.append(True, number[1:] != number[:-1])) if len(rows) else np.zeros(0, np.int64)
    return Classes(rows.astype(np.int32), starts)


def cannot_be_kept(models: Sequence[Model]) -> NotSupported:
    """Not even the whole table as one class keeps the promise."""
    return NotSupported(
        f"no release of this table satisfies {' and '.join(map(str, models))} within the suppression allowed",
        hint="ask for less, allow more suppression, or look at how the sensitive columns are coded",
    )


def _too_small(people: People, classes: Ints, count: int, least: int) -> int:
    sizes = np.bincount(classes, weights=people.weight, minlength=count)
    return int(sizes[sizes < least].sum())
