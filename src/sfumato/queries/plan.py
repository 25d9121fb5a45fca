"""A question as a tree: a closed union of frozen nodes, one description for SQL, frames, certificates and tests.

What is asked:       Limit | Sort | Having | Select  over  Aggregate  over  rows  over  Scan
What an engine does: Tally  over  Weigh  over  rows  over  Read                   (written by the rewrites)
rows:                Filter | Derive | Join | Gather | Window
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Literal as OneOf
from typing import assert_never, final

from sfumato.core import Bug
from sfumato.queries.expression import LATER, Expression, Measure, encode
from sfumato.queries.schema import Column, Step, Value


@final
@dataclass(frozen=True, slots=True)
class Scan:
    """Every row of a table. Its columns are called `prefix` and their name, so that joined tables keep theirs apart."""

    table: str
    prefix: str = field(default="", metadata=LATER)


@final
@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which every condition is true (neither false nor NULL)."""

    child: Rows
    conditions: tuple[Expression, ...]


@final
@dataclass(frozen=True, slots=True)
class Derive:
    """The rows with more columns, each computed from one row."""

    child: Rows
    columns: tuple[tuple[str, Expression], ...]


@final
@dataclass(frozen=True, slots=True)
class Join:
    """Rows of both sides that belong to one unit, or rows of one unit with public rows, where all of `on` is true.

    The unit is always part of the condition when both sides have one. `link` names columns, left and right, that a
    declared foreign key connects: they are compared as the owner stored them. `unique` is the public column on the right
    that is declared to hold each value once: values that it holds more often match nothing.
    """

    left: Rows
    right: Rows
    kind: OneOf["inner", "left"]
    on: tuple[Expression, ...] = ()
    link: tuple[str, str] | None = None
    unique: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Order:
    """One term of a Sort, or of an order inside one unit."""

    by: Expression
    descending: bool = False
    nulls_first: bool = False


@final
@dataclass(frozen=True, slots=True)
class Fold:
    """What many rows of one unit become: how many there are, their sum, the least of them, the first in an order, ...

    `distinct` counts different values. `first` and `last` follow `by`; rows that it leaves equal are ordered by all their
    columns, so that there is one first row, on every engine. A `mean` is floored to a thousandth of a step.
    """

    kind: OneOf["rows", "present", "distinct", "sum", "mean", "least", "most", "first", "last"]
    of: Expression | None = None
    by: tuple[Order, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Gather:
    """One row per unit, or per unit and `keys`: a transformation of each unit's rows by themselves."""

    child: Rows
    keys: tuple[tuple[str, Expression], ...]
    folds: tuple[tuple[str, Fold], ...]


@final
@dataclass(frozen=True, slots=True)
class Over:
    """What a row sees of the other rows of its unit (and of its keys `within` it), in the order `by`.

    place: 1, 2, 3, ... before, after: the value `offset` rows away. first: the first row's. The others are folds of the
    `whole` set, of the rows up to this one (`rows`), or of these and those that `by` leaves equal to it (`peers`).
    """

    kind: OneOf["place", "before", "after", "first", "rows", "present", "sum", "least", "most"]
    of: Expression | None = None
    by: tuple[Order, ...] = ()
    within: tuple[Expression, ...] = ()
    frame: OneOf["whole", "rows", "peers"] = "rows"
    offset: int = 1


@final
@dataclass(frozen=True, slots=True)
class Window:
    """The rows with more columns, each looking at other rows of the same unit, and at nobody else's."""

    child: Rows
    columns: tuple[tuple[str, Over], ...]


@final
@dataclass(frozen=True, slots=True)
class Aggregate:
    """One group per combination of public keys, and what is measured in each."""

    child: Rows
    keys: tuple[Expression, ...]
    measures: tuple[Measure, ...]


@final
@dataclass(frozen=True, slots=True)
class Having:
    """After the release: the groups for which a condition on the answer is true."""

    child: Released
    condition: Expression


@final
@dataclass(frozen=True, slots=True)
class Sort:
    """After the release: the groups in an order of the answer."""

    child: Released
    orders: tuple[Order, ...]


@final
@dataclass(frozen=True, slots=True)
class Limit:
    """After the release: `count` groups, after `offset` are passed over."""

    child: Released
    count: int | None
    offset: int = 0


@final
@dataclass(frozen=True, slots=True)
class Select:
    """After the release: the columns of the answer, by name."""

    child: Released
    columns: tuple[tuple[str, Expression], ...]


@final
@dataclass(frozen=True, slots=True)
class Read:
    """A table's rows, normalised: NaN is NULL, numbers lie in their range on their grid, a NULL unit has no rows.

    `unit` is None when every row is a unit of its own, or, if not `owned`, when rows get their unit from what they are
    joined to (public rows do). With a `path`, the unit is read at its end: rows that it leads nowhere are nobody's and
    dropped; a row that it leads to two units is a row of each. `keys` are columns that links compare as they are stored.
    `counts` names a column in which an ingest has written how many rows the row's unit has.
    """

    table: str
    unit: str | None
    columns: tuple[Column, ...]
    counts: str | None = None
    prefix: str = field(default="", metadata=LATER)
    path: tuple[Step, ...] = field(default=(), metadata=LATER)
    owned: bool = field(default=True, metadata=LATER)
    keys: tuple[str, ...] = field(default=(), metadata=LATER)


@final
@dataclass(frozen=True, slots=True)
class Weigh:
    """Deterministic weights: a unit with n rows below has min(whole, whole * bound // n) of `whole` on each of them.

    `counted` says where n comes from: from counting the rows below, or, where these are the whole table, from an ingest
    that counted them before.
    """

    child: Rows
    bound: int
    whole: int
    counted: OneOf["left", "ingest"] = "left"


@final
@dataclass(frozen=True, slots=True)
class Key:
    """A column that groups are told apart by, and all its public values in order (None among them if NULL is one).

    A `private` one has no public values: which groups exist is itself released. It lists None if NULL is a group, or nothing.
    """

    of: Expression
    values: tuple[Value, ...]
    private: bool = field(default=False, metadata=LATER)


@final
@dataclass(frozen=True, slots=True)
class Rowwise:
    """Cells that are weighted sums over rows of integer expressions, none of them NULL.

    count: 1. present: 1 where x is there. total: x in steps. mean: v = steps above the low end, and top - v.
    moments: those two, and spread(v). `low` and `high` bound x; `step` is what one step of it is worth.
    """

    kind: OneOf["count", "present", "total", "mean", "moments"]
    of: Expression | None = None
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    step: Fraction = Fraction(1)

    @property
    def top(self) -> int:
        """The most that one row can have in one cell."""
        match self.kind:
            case "count" | "present":
                return 1
            case "total":
                return max(abs(_nearest(self.low / self.step)), abs(_nearest(self.high / self.step)))
            case "mean" | "moments":
                return _nearest((self.high - self.low) / self.step)

    @property
    def width(self) -> int:
        """How many cells it has in each group."""
        return {"mean": 2, "moments": 3}.get(self.kind, 1)


def _nearest(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


@final
@dataclass(frozen=True, slots=True)
class Units:
    """A cell that counts units: one with rows in k groups adds min(whole, whole * bound // k) of `whole` to each."""

    @property
    def width(self) -> int:
        return 1


@final
@dataclass(frozen=True, slots=True)
class Distinct:
    """A cell that counts different values of `of`, none of them NULL.

    A unit with k different values, group by group, has the share min(whole, whole * bound // k) of `whole` in each; a value
    counts min(whole, the sum of the shares of the units that have it) of `whole`.
    """

    of: Expression

    @property
    def width(self) -> int:
        return 1


@final
@dataclass(frozen=True, slots=True)
class Ranked:
    """How much weight stands at each place of a public lattice, for the quantiles `at`: what they are found from.

    Places are low, low + step, low + 2 step, ..., high; a row of x is at the nearest, and one without x is nowhere. Only
    places where a row is are told apart, so it has no cells of its own in a group.

    Days are counted from `names`' only one; categories in order stand at their place among `names`, and unlisted ones nowhere.
    """

    of: Expression
    low: Fraction
    high: Fraction
    step: Fraction
    at: tuple[Fraction, ...]
    scale: OneOf["number", "day", "order"] = field(default="number", metadata=LATER)
    names: tuple[Value, ...] = field(default=(), metadata=LATER)

    @property
    def top(self) -> int:
        """The last place; the first is 0."""
        return _nearest((self.high - self.low) / self.step)

    @property
    def width(self) -> int:
        return 0


@final
@dataclass(frozen=True, slots=True)
class Heads:
    """How many units a group has, each counted once: what private groups are told or withheld by.

    `told`: the number itself is part of the answer, so it has to be released with the group.
    """

    told: bool = False

    @property
    def width(self) -> int:
        return 1


Statistic = Rowwise | Units | Distinct | Ranked | Heads


@final
@dataclass(frozen=True, slots=True)
class Tally:
    """The exact integers of every group, before noise: what the engine is asked for.

    `most`, with private keys: each unit has rows in so many groups at most, the first in the order of `sql/firsts.py`.
    Its other rows are left out before anything is weighed.
    """

    child: Rows | Weigh
    keys: tuple[Key, ...]
    statistics: tuple[Statistic, ...]
    most: int | None = field(default=None, metadata=LATER)

    @property
    def private(self) -> bool:
        """Whether the groups themselves are a secret."""
        return any(key.private for key in self.keys)


Rows = Scan | Filter | Derive | Join | Gather | Window | Read
Released = Aggregate | Having | Sort | Limit | Select
Plan = Rows | Released | Weigh | Tally


def canonical(plan: object) -> str:
    """One text per question: the same JSON for the same tree, whatever process writes it."""
    return json.dumps(_encoded(plan), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _encoded(node: object) -> object:
    match node:
        case tuple():
            return [_encoded(each) for each in node]
        case Enum():
            return node.value
        case None | bool() | int() | str() | Fraction() | date():
            return encode(node)
        case _ if is_dataclass(node):
            said = [f for f in fields(node) if not (f.metadata and getattr(node, f.name) == f.default)]
            return {"node": type(node).__name__} | {f.name: _encoded(getattr(node, f.name)) for f in said}
    raise Bug("a plan holds something that has no canonical form")


def aggregate_of(plan: Released) -> Aggregate:
    """The part of a question that touches rows; everything above it works on the released answer."""
    while not isinstance(plan, Aggregate):
        plan = plan.child
    return plan


def tables_of(plan: Rows | Weigh | Tally) -> tuple[str, ...]:
    """The tables whose rows are read, in the order of the question."""
    match plan:
        case Scan(table) | Read(table):
            return (table,)
        case Join(left, right):
            return (*tables_of(left), *tables_of(right))
        case _:
            return tables_of(plan.child)


def scans_of(rows: Rows) -> tuple[Scan, ...]:
    """The scans that rows begin with, in the order of the question."""
    match rows:
        case Scan():
            return (rows,)
        case Join(left, right):
            return (*scans_of(left), *scans_of(right))
        case Filter(child) | Derive(child) | Gather(child) | Window(child):
            return scans_of(child)
        case Read():
            return ()
        case _:
            assert_never(rows)
