"""What is left of the table: loss of detail, sizes of the groups, entropy, the error of counts, a classifier before and
after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, cycle, islice
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.cells import Cells
from sfumato.anonymise.column import Column
from sfumato.anonymise.outcome import Outcome

GOLDEN = 0.6180339887498949


@final
@dataclass(frozen=True, slots=True)
class Utility:
    """Measures that need no question about the data.

    `loss` is the normalised certainty penalty: for each person and quasi-identifier (values covered - 1) / (values
    there are - 1), 0 for a value told exactly, 1 for "*" and for whoever is suppressed; the mean over both. Of a set it
    counts its values, of an interval the steps from end to end, of a node of a hierarchy the leaves under it (Iyengar's
    general loss).
    """

    loss: float
    loss_by_column: dict[str, float]
    classes: int
    average_class: float
    normalised_average_class: float
    discernibility: int
    entropy_loss: float
    """Uncertainty about the exact value given its cell, over the uncertainty without any cell; the mean over columns.
    """


@final
@dataclass(frozen=True, slots=True)
class QueryError:
    """Relative error of counts asked of the release, as a reader computes them: every value of a cell as likely as
    another."""

    queries: int
    median: float
    mean: float


@final
@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often a classifier names the right value on people it has not seen."""

    target: str
    before: float
    after: float
    always_the_commonest: float


def measure(outcome: Outcome, *, k: int) -> Utility:
    """All measures of an outcome; `k` is what C_avg is divided by."""
    sizes, everybody = outcome.sizes, max(1, outcome.people.count)
    class_sizes = outcome.class_sizes
    gone = outcome.suppressed
    by_column = {
        cells.column.name: float((cells.loss[cells.of_class] @ class_sizes + gone) / everybody)
        for cells in outcome.cells
    }
    average = outcome.released / max(1, len(sizes))
    return Utility(
        loss=sum(by_column.values()) / max(1, len(by_column)),
        loss_by_column=by_column,
        classes=len(sizes),
        average_class=average,
        normalised_average_class=average / k,
        discernibility=int((sizes.astype(object) ** 2).sum()) + gone * everybody,
        entropy_loss=_entropy_loss(outcome),
    )


def _entropy_loss(outcome: Outcome) -> float:
    """Gionis and Tassa's entropy measure, divided by the entropy of the column."""
    parts = []
    for place, cells in enumerate(outcome.cells):
        often = np.bincount(outcome.people.codes[place], weights=outcome.people.weight, minlength=cells.column.size)
        whole = _entropy(often[None, :])[0]
        if whole == 0:
            continue
        uncertain = _cell_entropy(cells, often)
        told = float(uncertain[cells.of_class] @ outcome.class_sizes) + whole * outcome.suppressed
        parts.append(told / whole / max(1, outcome.people.count))
    return float(np.mean(parts)) if parts else 0.0


def _cell_entropy(cells: Cells, often: NDArray[Any]) -> NDArray[np.float64]:
    """Of the column's values, restricted to those that each distinct cell covers."""
    total, logs = np.zeros(len(cells.labels)), np.zeros(len(cells.labels))
    part = often * np.log(np.maximum(often, 1))
    if cells.low is not None and cells.high is not None:
        edge, log_edge = np.concatenate([[0], np.cumsum(often)]), np.concatenate([[0], np.cumsum(part)])
        low = np.minimum(cells.low, len(often))
        high = np.maximum(low, cells.high + 1)
        total, logs = edge[high] - edge[low], log_edge[high] - log_edge[low]
        apart = cells.null & (cells.high < cells.column.atoms)
    else:
        assert cells.starts is not None
        assert cells.members is not None
        cell = np.repeat(np.arange(len(cells.labels)), np.diff(cells.starts))
        np.add.at(total, cell, often[cells.members])
        np.add.at(logs, cell, part[cells.members])
        apart = cells.null
    if cells.column.missing:
        total, logs = total + apart * often[-1], logs + apart * part[-1]
    return np.asarray(np.log(np.maximum(total, 1)) - logs / np.maximum(total, 1), np.float64)


def _entropy(counts: NDArray[Any]) -> NDArray[np.float64]:
    total = counts.sum(axis=1)
    part = (counts * np.log(np.maximum(counts, 1))).sum(axis=1)
    return np.asarray(np.log(np.maximum(total, 1)) - part / np.maximum(total, 1), np.float64)


def query_error(outcome: Outcome, *, queries: int = 200) -> QueryError:
    """Ask counts of two quasi-identifiers at a time, spread evenly over pairs, places and widths, before and after.

    A relative error counts against at least a thousandth of the table, so that an empty cell does not decide the mean.
    """
    people = outcome.people
    class_sizes = outcome.class_sizes
    errors = []
    for number, (first, second) in enumerate(_pairs(len(outcome.cells), queries)):
        truth, guess = people.weight.astype(np.float64), class_sizes.astype(np.float64)
        for turn, place in enumerate({first, second}):
            cells = outcome.cells[place]
            low, high = _stretch(cells.column, number * 2 + turn)
            inside = (people.codes[place] >= low) & (people.codes[place] <= high)
            truth = truth * inside
            guess = guess * _overlap(cells, low, high)[cells.of_class]
        exact = float(truth.sum())
        errors.append(abs(float(guess.sum()) - exact) / max(exact, people.count / 1000))
    return QueryError(len(errors), float(np.median(errors)), float(np.mean(errors)))


def _pairs(columns: int, queries: int) -> Iterator[tuple[int, int]]:
    pairs = list(combinations(range(columns), 2)) or [(0, 0)]
    return islice(cycle(pairs), queries)


def _stretch(column: Column, number: int) -> tuple[int, int]:
    """A stretch of codes: the golden ratio spreads places and widths evenly without any chance."""
    place, width = (number * GOLDEN) % 1, 0.1 + 0.4 * ((number * GOLDEN * GOLDEN) % 1)
    length = max(1, round(column.size * width))
    low = round(place * (column.size - length))
    return low, low + length - 1


def _overlap(cells: Cells, low: int, high: int) -> NDArray[np.float64]:
    """Which part of each distinct cell lies in a stretch of codes."""
    inside = np.zeros(len(cells.labels))
    null = cells.null * (high >= cells.column.atoms and cells.column.missing)
    if cells.low is not None and cells.high is not None:
        top = np.minimum(cells.high, cells.column.atoms - 1)
        wide = np.maximum(top - cells.low + 1, 0)
        inside = np.maximum(np.minimum(top, high) - np.maximum(cells.low, low) + 1, 0).astype(np.float64)
    else:
        assert cells.starts is not None
        assert cells.members is not None
        wide = np.diff(cells.starts)
        cell = np.repeat(np.arange(len(cells.labels)), wide)
        np.add.at(inside, cell, ((cells.members >= low) & (cells.members <= high)).astype(np.float64))
    return np.asarray((inside + null) / np.maximum(wide + cells.null, 1), np.float64)


def accuracy(outcome: Outcome, target: str) -> Accuracy:
    """A naive Bayes classifier learns on every second person, from their values and then from their cells (each value
    of a cell as likely as another), and names the target of the others from their true values."""
    people = outcome.people
    place = next(number for number, column in enumerate(people.columns) if column.name == target)
    answers, kinds = people.codes[place], people.columns[place].size
    rows = len(people.weight)
    learn = np.bincount(people.of_person[::2], minlength=rows).astype(np.float64)
    ask = np.bincount(people.of_person[1::2], minlength=rows).astype(np.float64)
    prior = np.bincount(answers, weights=learn, minlength=kinds)
    classes = outcome.classes.of_rows(rows)
    known = classes >= 0
    before = np.tile(np.log(prior + 1), (rows, 1))
    kept_prior = np.bincount(answers[known], weights=learn[known], minlength=kinds)
    after = np.tile(np.log(kept_prior + 1), (rows, 1))
    for number, cells in enumerate(outcome.cells):
        codes = people.codes[number]
        size = cells.column.size
        exact = np.bincount(codes * np.int64(kinds) + answers, weights=learn, minlength=size * kinds).reshape(
            size, kinds
        )
        cell = cells.of_class[classes[known]].astype(np.int64)
        told = np.bincount(
            cell * kinds + answers[known], weights=learn[known], minlength=len(cells.labels) * kinds
        ).reshape(-1, kinds)
        before += np.log((exact + 1) / (prior + size))[codes]
        after += np.log((_spread_out(cells, told) + 1) / (kept_prior + size))[codes]
    total = max(1.0, float(ask.sum()))
    return Accuracy(
        target,
        before=float(ask @ (before.argmax(axis=1) == answers)) / total,
        after=float(ask @ (after.argmax(axis=1) == answers)) / total,
        always_the_commonest=float(ask @ (answers == prior.argmax())) / total,
    )


def _spread_out(cells: Cells, told: NDArray[Any]) -> NDArray[np.float64]:
    """Counts per cell shared out over the codes that each cell covers."""
    size = cells.column.size
    spread = np.zeros((size + 1, told.shape[1]))
    if cells.low is not None and cells.high is not None:
        wide = np.maximum(cells.high - cells.low + 1, 0)
        apart = cells.null & (cells.high < cells.column.atoms)
        part = told / np.maximum(wide + apart, 1)[:, None]
        some = wide > 0
        np.add.at(spread, cells.low[some], part[some])
        np.add.at(spread, cells.high[some] + 1, -part[some])
        spread = np.cumsum(spread, axis=0)
    else:
        assert cells.starts is not None
        assert cells.members is not None
        wide, apart = np.diff(cells.starts), cells.null
        part = told / np.maximum(wide + apart, 1)[:, None]
        np.add.at(spread, cells.members, part[np.repeat(np.arange(len(wide)), wide)])
    if cells.column.missing:
        spread[size - 1] += part[apart].sum(axis=0)
    return np.asarray(np.maximum(spread[:size], 0.0), np.float64)
