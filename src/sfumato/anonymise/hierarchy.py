"""Hierarchies: coarser and coarser names for the values of a column, up to "*".

A `Tree` lists its leaves, so what it says does not depend on the table. `Steps`, `Dates`, `Prefixes` and `Ranks` are
rules that grow a tree; `load` reads them all from one TOML file, `read_csv` one tree from a file with a line
"leaf;coarser;...;*" per value.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, assert_never, final

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymise.column import Column, spell
from sfumato.core.errors import BadInput

Unit = Literal["month", "quarter", "year", "decade"]
NULL = "NULL"
TOP = "*"


@final
@dataclass(frozen=True, slots=True)
class Tree:
    """`labels[level][node]` names a node, `node_of[level, leaf]` finds it; level 0 is the leaves, the last level is "*"
    alone.

    Leaves stand in the order of a walk through the tree, so every node covers a run of them.
    """

    labels: tuple[tuple[str, ...], ...]
    node_of: NDArray[np.int32]

    @classmethod
    def of(cls, paths: Mapping[str, Sequence[str]], *, name: str = "this column") -> Tree:
        """A tree from each leaf's path upwards: {"Paris": ["Ile-de-France", "France"], ...}. "*" is added on top."""
        if not paths:
            raise BadInput(f"the hierarchy of {name} has no value", hint="one line for each value: leaf;coarser;...;*")
        depths = {len(path) for path in paths.values()}
        if len(depths) > 1:
            raise BadInput(
                f"the hierarchy of {name} has lines of different lengths",
                hint="repeat a name where a value has no coarser one at that level",
            )
        rows = [[leaf, *path] for leaf, path in paths.items()]
        if {row[-1] for row in rows} != {TOP}:
            rows = [[*row, TOP] for row in rows]
        depth = len(rows[0])
        for level in range(depth - 1):
            parent: dict[str, str] = {}
            for row in rows:
                if parent.setdefault(row[level], row[level + 1]) != row[level + 1]:
                    raise BadInput(
                        f"the hierarchy of {name} is not a tree: a name of level {level} has two parents",
                        hint="give each name one coarser name only",
                    )
        first: list[dict[str, int]] = [{} for _ in range(depth)]
        for row in rows:
            for level, label in enumerate(row):
                first[level].setdefault(label, len(first[level]))
        rows.sort(key=lambda row: [first[level][label] for level, label in reversed(list(enumerate(row)))])
        labels, nodes = [], np.zeros((depth, len(rows)), np.int32)
        for level in range(depth):
            place: dict[str, int] = {}
            for leaf, row in enumerate(rows):
                nodes[level, leaf] = place.setdefault(row[level], len(place))
            labels.append(tuple(place))
        return cls(tuple(labels), nodes)

    @property
    def depth(self) -> int:
        """How many times a value can be made coarser."""
        return len(self.labels) - 1

    @property
    def leaves(self) -> tuple[str, ...]:
        return self.labels[0]

    def loss(self, level: int) -> NDArray[np.float64]:
        """For each leaf, (leaves under its node - 1) / (leaves - 1): 0 for the leaf itself, 1 for "*"."""
        under = np.bincount(self.node_of[level])[self.node_of[level]]
        return np.asarray((under - 1) / max(1, len(self.leaves) - 1), np.float64)

    def meeting(self, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.int64]:
        """The lowest level at which two leaves have the same node; all leaves between them have it too."""
        level = np.full(len(low), self.depth, np.int64)
        for lower in reversed(range(self.depth)):
            level[(self.node_of[lower, low] == self.node_of[lower, high]) & (level == lower + 1)] = lower
        return level

    def with_missing(self) -> Tree:
        """One more leaf, NULL, that has no coarser form but "*"."""
        levels = []
        for level, nodes in enumerate(self.node_of):
            levels.append(np.append(nodes, 0 if level == self.depth else len(self.labels[level])))
        labels = (*((*names, NULL) for names in self.labels[:-1]), (TOP,))
        return Tree(labels, np.asarray(levels, np.int32))


@final
@dataclass(frozen=True, slots=True)
class Steps:
    """Numbers by wider and wider steps ]a, b], each width a multiple of the one before. `low` and `high` are public
    limits."""

    widths: tuple[float, ...]
    low: float | None = None
    high: float | None = None

    def tree(self, column: Column) -> Tree:
        if column.kind != "number" or column.low is None:
            raise BadInput(f"column {column.name} holds no numbers", hint="steps are for numbers")
        widths = [Decimal(str(width)) for width in self.widths]
        pairs = pairwise(widths)
        if not widths or widths[0] <= 0 or any(wide % thin or wide <= thin for thin, wide in pairs):
            raise BadInput(
                f"the steps of {column.name} are no tree: a step would lie in two wider ones",
                hint="make every width a multiple of the one before: [5, 10, 20]",
            )
        values = column.low
        whole = all(float(value).is_integer() for value in values) and all(float(w).is_integer() for w in self.widths)
        low = float(values.min()) if self.low is None else self.low
        high = float(values.max()) if self.high is None else self.high
        if whole:
            values = np.arange(np.floor(low), np.floor(high) + 1)
        elif outside := int(((values < low) | (values > high)).sum()):
            raise _misses(column.name, outside)
        names = [spell(value) for value in values.tolist()]
        return Tree.of({value: [_step(Decimal(value), width) for width in widths] for value in names}, name=column.name)


@final
@dataclass(frozen=True, slots=True)
class Dates:
    """Days by month, quarter, year, decade; the first unit may be any of them."""

    units: tuple[Unit, ...] = ("month", "quarter", "year", "decade")

    def tree(self, column: Column) -> Tree:
        if column.kind != "date" or column.low is None:
            raise BadInput(f"column {column.name} holds no dates", hint="this hierarchy is for dates")
        days = [str(day) for day in column.low]
        return Tree.of({day: [_period(day, unit) for unit in self.units] for day in days}, name=column.name)


@final
@dataclass(frozen=True, slots=True)
class Prefixes:
    """Codes by fewer and fewer of their first characters: (4, 2) makes 75011 into 7501* and 75***."""

    keep: tuple[int, ...]
    codes: tuple[str, ...] = ()
    """The public list of codes; without it the leaves are the codes of the table."""

    def tree(self, column: Column) -> Tree:
        if any(after >= before for before, after in pairwise(self.keep)):
            raise BadInput(f"the prefixes of {column.name} do not get shorter", hint="write them as [4, 3, 2]")
        codes = self.codes or column.names
        width = max(map(len, codes), default=0)
        paths = {
            code: [code.ljust(width)[:keep].rstrip() + "*" * (width - keep) for keep in self.keep] for code in codes
        }
        return Tree.of(paths, name=column.name)


@final
@dataclass(frozen=True, slots=True)
class Ranks:
    """Categories in a public order, by runs of neighbours: runs of (2, 4) of them, each a multiple of the one before."""

    order: tuple[str, ...]
    runs: tuple[int, ...]

    def tree(self, column: Column) -> Tree:
        if any(wide % thin for thin, wide in pairwise(self.runs)):
            raise BadInput(
                f"the runs of {column.name} do not nest", hint="make each a multiple of the one before: [2, 4]"
            )
        paths = {}
        for place, leaf in enumerate(self.order):
            cuts = [self.order[place // run * run : place // run * run + run] for run in self.runs]
            paths[leaf] = [part[0] if len(part) == 1 else f"{part[0]}..{part[-1]}" for part in cuts]
        return Tree.of(paths, name=column.name)


Hierarchy = Tree | Steps | Dates | Prefixes | Ranks


def climb(column: Column, hierarchy: Hierarchy | None) -> tuple[Column, Tree]:
    """The column coded by the leaves of its hierarchy, and the tree. Without one, a category is itself or "*"."""
    match hierarchy:
        case Tree():
            tree = hierarchy
        case Steps() | Dates() | Prefixes() | Ranks():
            tree = hierarchy.tree(column)
        case None:
            tree = _default(column)
        case _:
            assert_never(hierarchy)
    place = {leaf: code for code, leaf in enumerate(tree.leaves)}
    codes = [place.get(name, -1) for name in column.names]
    absent = codes.count(-1)
    if absent:
        raise _misses(column.name, absent)
    if column.missing:
        tree = tree.with_missing()
        codes.append(len(tree.leaves) - 1)
    names = tree.leaves[: len(tree.leaves) - column.missing]
    return (
        replace(
            column,
            kind="category",
            codes=np.asarray(codes, np.int32)[column.codes],
            names=names,
            low=None,
            high=None,
            least=None,
            most=None,
        ),
        tree,
    )


def _default(column: Column) -> Tree:
    match column.kind:
        case "date":
            return Dates().tree(column)
        case "number":
            assert column.low is not None
            spread = float(column.low.max() - column.low.min()) or 1.0
            finest = Decimal(10) ** (Decimal(spread).adjusted() - 1)
            # A whole number is its own step of width 1.
            whole = all(float(value).is_integer() for value in column.low)
            widths = [finest * factor for factor in (1, 5, 10, 50) if finest * factor < Decimal(spread)]
            widths = [width for width in widths if width > 1 or not whole]
            return Steps(tuple(map(float, widths)) or (float(finest * 100),)).tree(column)
        case "category":
            return Tree.of({leaf: [] for leaf in column.names}, name=column.name)
        case _:
            assert_never(column.kind)


def read_csv(path: str | Path, *, name: str | None = None) -> Tree:
    """One line for each value, from the finest name to the coarsest, separated by ; or , (the layout that ARX uses)."""
    name = name or Path(path).stem
    with Path(path).open(newline="", encoding="utf-8") as lines:
        text = lines.read()
    delimiter = ";" if ";" in text.split("\n", 1)[0] else ","
    paths: dict[str, list[str]] = {}
    for row in csv.reader(text.splitlines(), delimiter=delimiter):
        if not row:
            continue
        leaf, *coarser = (cell.strip() for cell in row)
        if paths.setdefault(leaf, coarser) != coarser:
            raise BadInput(
                f"the hierarchy of {name} is not a tree: a value stands on two lines", hint="keep one of them"
            )
    return Tree.of(paths, name=name)


def load(path: str | Path) -> dict[str, Hierarchy]:
    """The hierarchies of a TOML file, one table for each column; `csv` files are looked for beside it."""
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(
            f"{path.name} is not TOML: {error}", hint="one table for each column: [age] then steps = [5, 10]"
        ) from None
    return {name: _from_table(name, table, path.parent) for name, table in tables.items()}


def _from_table(name: str, table: Any, folder: Path) -> Hierarchy:
    match table:
        case {"steps": [*widths], "range": [low, high]}:
            return Steps(tuple(widths), low, high)
        case {"steps": [*widths]}:
            return Steps(tuple(widths))
        case {"dates": [*units]} if set(units) <= {"month", "quarter", "year", "decade"}:
            return Dates(tuple(units))
        case {"prefix": [*keep], "codes": [*codes]}:
            return Prefixes(tuple(keep), tuple(codes))
        case {"prefix": [*keep]}:
            return Prefixes(tuple(keep))
        case {"order": [*order], "runs": [*runs]}:
            return Ranks(tuple(order), tuple(runs))
        case {"csv": str(file)}:
            return read_csv(folder / file, name=name)
        case {"tree": dict(tree)}:
            paths = dict(_walk(tree, ()))
            depth = max(map(len, paths.values()), default=0)
            # A branch that ends early repeats its leaf, so that all lines have one length.
            return Tree.of({leaf: [leaf] * (depth - len(up)) + list(up) for leaf, up in paths.items()}, name=name)
        case _:
            raise BadInput(
                f"the hierarchy of {name} is none of the forms known",
                hint="use one of: steps, dates, prefix, order with runs, csv, tree",
            )


def _walk(tree: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for label, below in tree.items():
        match below:
            case dict():
                yield from _walk(below, (label, *above))
            case list():
                yield from ((str(leaf), (label, *above)) for leaf in below)
            case _:
                raise BadInput(
                    f"the branch {label} is neither a table nor a list of values", hint='write Europe = ["France"]'
                )


def _step(value: Decimal, width: Decimal) -> str:
    """The step ]a, b] that holds the value; in decimals, so that 1.1 does not fall out of ]1, 1.1]."""
    last = (value / width).to_integral_value(ROUND_CEILING) * width
    return f"]{spell(float(last - width))}, {spell(float(last))}]"


def _period(day: str, unit: Unit) -> str:
    year, month = int(day[:4]), int(day[5:7])
    match unit:
        case "month":
            return day[:7]
        case "quarter":
            return f"{year}-Q{(month + 2) // 3}"
        case "year":
            return str(year)
        case "decade":
            return f"{year // 10}0s"
        case _:
            assert_never(unit)


def _misses(name: str, values: int) -> BadInput:
    return BadInput(
        f"the hierarchy of {name} misses {values} distinct values of the table",
        hint="add a line for each value that may occur, or correct the table",
    )
