"""Attacks that are run on every release: what its reader learns about people whose quasi-identifiers are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.outcome import Outcome

MOST_WORK = 100_000_000
"""Targets times groups that a linkage attack compares; of a larger table every so-many-th different person is attacked.
"""
CHUNK = 4_000_000


@final
@dataclass(frozen=True, slots=True)
class Homogeneity:
    """The reader finds somebody's group and reads the sensitive column: no name is needed where all of a group agree.

    `certain` people have their value told with certainty. `guessed` is how often naming the commonest value of the
    group is right, `baseline` how often naming the commonest value of the table is. `odds` is the most by which the
    odds of a value rise.
    """

    column: str
    people: int
    certain: int
    guessed: float
    baseline: float
    odds: float


@final
@dataclass(frozen=True, slots=True)
class Linkage:
    """A list of names with exact quasi-identifiers is joined with the release: whose cells are true of this person?

    `singled_out` targets match one record only; `expected` is how many records a random choice among the matches finds
    again; `absent` targets match nothing, so that the release shows that they are not in it.
    """

    targets: int
    fewest_matches: int
    mean_matches: float
    singled_out: int
    expected: float
    absent: int
    told: dict[str, int]
    """For each sensitive column, the targets all of whose matches agree: their value is known, whichever record is
    theirs."""


def homogeneity(outcome: Outcome) -> tuple[Homogeneity, ...]:
    """Run on each sensitive column."""
    found = []
    sizes = outcome.groups.sizes
    for name, spread in outcome.groups.spreads.items():
        most = np.zeros(len(sizes), np.int64)
        np.maximum.at(most, spread.group, spread.count)
        inside = spread.count / sizes[spread.group]
        overall = spread.overall[spread.value] / max(1, outcome.released)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = (inside / (1 - inside)) / (overall / (1 - overall))
        odds = odds[overall < 1]
        found.append(
            Homogeneity(
                column=name,
                people=outcome.released,
                certain=int(sizes[(most == sizes) & (sizes > 0)].sum()),
                guessed=float(most.sum() / max(1, outcome.released)),
                baseline=float(spread.overall.max(initial=0) / max(1, outcome.released)),
                odds=float(odds.max(initial=1.0)),
            )
        )
    return tuple(found)


def linkage(outcome: Outcome) -> Linkage:
    """Attack people of the table, suppressed or not, by what the release says, not by what we know of it."""
    people = outcome.people
    released = np.flatnonzero(outcome.class_sizes > 0)
    sizes = outcome.class_sizes[released]
    present = np.flatnonzero(people.weight > 0)
    rows = present[:: max(1, -(-len(present) * len(released) // MOST_WORK))]
    same = {name: _agreed(outcome, place)[released] for name, place in _sensitive(outcome)}
    covers = [_covers(outcome, place, rows, released) for place in range(len(outcome.cells))]
    weight = people.weight[rows]
    matches = np.zeros(len(rows), np.int64)
    told = dict.fromkeys(same, 0)
    chunk = max(1, CHUNK // max(1, len(released)))
    for start in range(0, len(rows), chunk):
        targets = slice(start, start + chunk)
        true = np.bitwise_and.reduce([bits[value[targets]] for bits, value in covers])
        target, group = np.nonzero(np.unpackbits(true, axis=1, count=len(released)))
        found, begin = np.unique(target, return_index=True)
        if not len(found):
            continue
        matches[start + found] = np.add.reduceat(sizes[group], begin)
        for name, value in same.items():
            low, high = np.minimum.reduceat(value[group], begin), np.maximum.reduceat(value[group], begin)
            told[name] += int(weight[start + found][(low == high) & (low >= 0)].sum())
    hit = matches > 0
    return Linkage(
        targets=int(weight.sum()),
        fewest_matches=int(matches[hit].min(initial=people.count)),
        mean_matches=float(weight[hit] @ matches[hit] / max(1, weight[hit].sum())),
        singled_out=int(weight[matches == 1].sum()),
        expected=float((weight[hit] / matches[hit]).sum()),
        absent=int(weight[~hit].sum()),
        told=told,
    )


def _sensitive(outcome: Outcome) -> list[tuple[str, int]]:
    people = outcome.people
    return [(people.columns[place].name, place) for place in range(people.quasi, len(people.columns))]


def _agreed(outcome: Outcome, place: int) -> NDArray[np.int64]:
    """The sensitive value on which all of a class agree; -1 where they do not."""
    if not len(outcome.classes):
        return np.zeros(0, np.int64)
    values = outcome.people.codes[place][outcome.classes.rows]
    weight = outcome.people.weight[outcome.classes.rows]
    size = outcome.people.columns[place].size
    low = np.minimum.reduceat(np.where(weight > 0, values, size), outcome.classes.starts)
    high = np.maximum.reduceat(np.where(weight > 0, values, -1), outcome.classes.starts)
    return np.where(low == high, low, -1).astype(np.int64)


def _covers(
    outcome: Outcome, place: int, rows: NDArray[np.int64], released: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """For each value of a column among the targets, the classes whose cell is true of it, a bit for each; and each
    target's value."""
    cells = outcome.cells[place]
    of_class = cells.of_class[released]
    values, value = np.unique(outcome.people.codes[place][rows], return_inverse=True)
    return np.stack([np.packbits(cells.cover(int(code))[of_class]) for code in values]), value
