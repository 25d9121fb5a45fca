"""The risk of being found again: by somebody who knows that you are in the table, who only knows a population, or who
sells lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray


@final
@dataclass(frozen=True, slots=True)
class Risk:
    """Of the people who are released; whoever is suppressed cannot be found and is not counted.

    The **prosecutor** knows that the person is in the table: risk 1 / size of the group. The **journalist** knows a
    population that the table was drawn from: 1 / people of the population who look alike; without a population table,
    the same as the prosecutor's. The **marketer** wants as many as possible: the part of all records that is found on
    average.
    """

    people: int
    groups: int
    smallest: int
    uniques: int
    prosecutor_highest: float
    prosecutor_mean: float
    journalist_highest: float
    journalist_mean: float
    marketer: float
    above: int
    """People whose prosecutor risk is above the threshold."""
    threshold: float
    population_known: bool


def risk_of(sizes: NDArray[np.int64], *, population: NDArray[np.int64] | None = None, threshold: float = 0.2) -> Risk:
    """The risks of groups of look-alikes, given their sizes and, where known, the sizes of the same groups in the
    population."""
    here = sizes > 0
    known = population is not None
    alike = np.maximum(population[here], 1) if population is not None else sizes[here]
    sizes = sizes[here]
    people = int(sizes.sum())
    share = sizes / max(1, people)
    journalist = 1 / alike
    return Risk(
        people=people,
        groups=len(sizes),
        smallest=int(sizes.min(initial=people)),
        uniques=int((sizes == 1).sum()),
        prosecutor_highest=float((1 / sizes).max(initial=0.0)),
        prosecutor_mean=len(sizes) / max(1, people),
        journalist_highest=float(journalist.max(initial=0.0)),
        journalist_mean=float(share @ journalist),
        marketer=float((sizes / alike).sum() / max(1, people)),
        above=int(sizes[1 / np.maximum(sizes, 1) > threshold].sum()),
        threshold=threshold,
        population_known=known,
    )
