"""Inside one person anything goes: rows gathered by the unit, and windows partitioned by it.

Why neither needs a price: each unit's rows become other rows by a function of these rows alone, whoever else is in the
table, so what a unit has afterwards still depends on its own rows only; weights are taken there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, final
from typing import Literal as OneOf

from sqlglot import exp

from sfumato.core import NotSupported
from sfumato.queries.expression import Expression, Field
from sfumato.queries.infer import Type
from sfumato.queries.plan import Fold, Gather, Order, Over, Window
from sfumato.queries.rewrites.order import spelled
from sfumato.queries.rows import folded, limits_of, seen
from sfumato.queries.sql.names import Names, Relation, shown
from sfumato.queries.sql.scalar import Scalar, Typed, apply
from sfumato.queries.sql.text import Text

if TYPE_CHECKING:
    from sfumato.queries.schema import Schema

UNIT = "unit"
"""The field that stands for the unit itself once its rows are gathered."""

FOLDS: dict[type[exp.Expr], OneOf["sum", "mean", "least", "most"]] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Min: "least",
    exp.Max: "most",
}
OVERS: dict[type[exp.Expr], OneOf["sum", "least", "most"]] = {exp.Sum: "sum", exp.Min: "least", exp.Max: "most"}

Truth = Callable[[Scalar, exp.Expr], Typed]


def limited(names: Names, below: Relation) -> Names:
    """The same columns, counts and sums of one unit within the range of max_rows rows: where a range is needed."""

    def one(of: Typed) -> Typed:
        if not isinstance(of.expression, Field) or of.expression.name not in below.limits:
            return of
        low, high = below.limits[of.expression.name]
        return apply("clamp", of, _number(low), _number(high))

    parts = tuple((alias, {name: one(of) for name, of in columns.items()}) for alias, columns in names.parts)
    return replace(names, parts=parts, computed={name: one(of) for name, of in names.computed.items()})


def _number(value: Fraction) -> Typed:
    from sfumato.queries.expression import number
    from sfumato.queries.infer import literal_type

    return Typed(number(value), literal_type(value))


def ranged(scalar: Scalar, inside: Scalar, node: exp.Expr) -> Typed:
    """An expression as it is, or, where it needs a range that its counts and sums do not have, with that of max_rows."""
    try:
        read = scalar.read(node)
    except NotSupported as error:
        if error.code != "SF002":
            raise
        return inside.read(node)
    return inside.read(node) if read.type.kind == "number" and not read.type.bounded else read


def orders(text: Text, clause: exp.Expr | None, read: Callable[[exp.Expr], Typed]) -> tuple[Order, ...]:
    """ORDER BY inside one unit, by columns of any type but the unit."""
    if clause is None:
        return ()
    text.only(clause, "this", "expressions")
    found = []
    for node in clause.expressions:
        text.only(node, "this", "desc", "nulls_first")
        by = read(node.this)
        with text.placed(node):
            shown(by)
        found.append(Order(spelled(by.expression), bool(node.args.get("desc")), bool(node.args.get("nulls_first"))))
    return tuple(found)


@final
class Gathering:
    """A subquery grouped by the unit: which keys and folds its columns are made of."""

    def __init__(self, text: Text, schema: Schema, below: Relation, scalar: Scalar, truth: Truth) -> None:
        self.text, self.schema, self.below, self.scalar, self.truth = text, schema, below, scalar, truth
        self.keys: dict[Expression, tuple[str, Type]] = {}
        self.folds: dict[Fold, tuple[str, Type]] = {}
        self.limits: dict[str, tuple[Fraction, Fraction]] = {}
        self.units: set[str] = set()

    def group(self, node: exp.Expr, shown_as: exp.Expr) -> None:
        """One term of GROUP BY."""
        key = self.scalar.read(shown_as)
        if self.below.is_unit(key):
            self.units.add(UNIT)
            if key.type.kind == "unit":
                return
        with self.text.placed(node):
            shown(key)
        expression = spelled(key.expression)
        if expression not in self.keys:
            name = f"k{len(self.keys)}"
            self.keys[expression] = name, key.type
            if self.below.is_unit(key):
                self.units.add(name)

    def read(self, node: exp.Expr) -> Typed:
        """A column of the subquery: the unit, a key, a fold, or what is computed from them."""
        return Scalar(self.text, self._leaf).read(node)

    def relation(self) -> Relation:
        rows = Gather(
            self.below.rows,
            tuple((name, of) for of, (name, _) in self.keys.items()),
            tuple((name, fold) for fold, (name, _) in self.folds.items()),
        )
        fields = {name for name, _ in [*self.keys.values(), *self.folds.values()]}
        return Relation(rows, {}, frozenset({*fields, UNIT}), units=frozenset(self.units), limits=self.limits)

    def _leaf(self, node: exp.Expr) -> Typed | None:
        if isinstance(node, exp.AggFunc | exp.Filter | exp.First | exp.Last):
            with self.text.placed(node):
                return self._fold(node)
        if isinstance(node, exp.Column):
            return self._key(self.scalar.read(node), node)
        if node.find(exp.Column) is None or node.find(exp.AggFunc) is not None:
            return None
        try:
            found = self.keys.get(spelled(self.scalar.read(node).expression))
        except NotSupported:
            return None
        return None if found is None else Typed(Field(found[0]), found[1])

    def _key(self, read: Typed, node: exp.Expr) -> Typed:
        found = self.keys.get(spelled(read.expression))
        if found is not None:
            return Typed(Field(found[0]), found[1])
        if self.below.is_unit(read):
            return Typed(Field(UNIT), Type("unit"))
        raise self.text.refuse(
            node, "this column is neither grouped nor aggregated", hint="say which: FIRST(x ORDER BY ...), MAX(x), ..."
        )

    def _fold(self, node: exp.Expr) -> Typed:
        condition = None
        if isinstance(node, exp.Filter):
            self.text.only(node, "this", "expression")
            self.text.only(node.expression, "this")
            condition, node = self.truth(self.scalar, node.expression.this), node.this
        match node:
            case exp.Count():
                self.text.only(node, "this", "big_int")
                return self._count(node.this, condition)
            case exp.First() | exp.Last():
                self.text.only(node, "this")
                ordered = node.this
                if not isinstance(ordered, exp.Order):
                    raise self.text.refuse(node, "the first in which order?", hint="write FIRST(x ORDER BY day)")
                by = orders(self.text, ordered, self.scalar.read)
                if condition is not None:
                    raise self.text.refuse(node, "a first row is not filtered here", hint="write WHERE below")
                return self._folded(
                    "first" if isinstance(node, exp.First) else "last", self._of(ordered.this, None), by
                )
            case exp.Sum() | exp.Avg() | exp.Min() | exp.Max():
                self.text.only(node, "this")
                return self._folded(FOLDS[type(node)], self._of(node.this, condition))
            case _:
                raise self.text.unknown(
                    node,
                    hint="use COUNT, SUM, AVG, MIN, MAX, or FIRST and LAST(x ORDER BY ...)",
                    among="what gathers a unit's rows",
                )

    def _of(self, node: exp.Expr, condition: Typed | None) -> Typed:
        read = self.scalar.read(node)
        shown(read)
        return read if condition is None else apply("case", condition, read, self.scalar.constant(None))

    def _count(self, node: exp.Expr, condition: Typed | None) -> Typed:
        if isinstance(node, exp.Star):
            self.text.only(node)
            if condition is None:
                return self._folded("rows", None)
            return self._folded(
                "present", apply("case", condition, self.scalar.constant(1), self.scalar.constant(None))
            )
        if isinstance(node, exp.Distinct):
            self.text.only(node, "expressions")
            if len(node.expressions) != 1:
                raise self.text.refuse(node, "one expression is counted at a time", hint="write COUNT(DISTINCT x)")
            return self._folded("distinct", self._of(node.expressions[0], condition))
        return self._folded("present", self._of(node, condition))

    def _folded(self, kind: str, of: Typed | None, by: tuple[Order, ...] = ()) -> Typed:
        fold = Fold(kind, None if of is None else spelled(of.expression), by)  # type: ignore[arg-type]
        if fold not in self.folds:
            name, inner = f"f{len(self.folds)}", None if of is None else of.type
            self.folds[fold] = name, folded(kind, inner)
            limits = limits_of(kind, inner, self.schema.unit.max_rows)
            if limits is not None:
                self.limits[name] = limits
        name, kind_ = self.folds[fold]
        return Typed(Field(name), kind_)


@final
class Windowing:
    """The windows of one row-level SELECT, each a new column of its rows."""

    def __init__(self, text: Text, schema: Schema, below: Relation, scalar: Scalar) -> None:
        self.text, self.schema, self.below, self.scalar = text, schema, below, scalar
        self.overs: dict[Over, str] = {}
        self.limits: dict[str, tuple[Fraction, Fraction]] = {}
        self.tag = "w"
        while any(name.startswith(self.tag) for name in below.fields):
            self.tag += "w"

    def read(self, node: exp.Window) -> Typed:
        """The column that a window is."""
        self.text.only(node, "this", "partition_by", "order", "spec", "over")
        within = self._within(node)
        by = orders(self.text, node.args.get("order"), self.scalar.read)
        inner = node.this
        with self.text.placed(inner):
            over, of = self._over(inner, node, by, within)
            kind = seen(over, None if of is None else of.type)
        name = self.overs.setdefault(over, f"{self.tag}{len(self.overs)}")
        limits = limits_of(over.kind, None if of is None else of.type, self.schema.unit.max_rows)
        if limits is not None:
            self.limits[name] = limits
        return Typed(Field(name), kind)

    def relation(self) -> Relation:
        """The rows with these columns; what leads to other tables is left behind, which keeps every order total."""
        if not self.overs:
            return self.below
        rows = Window(self.below.rows, tuple((name, over) for over, name in self.overs.items()))
        return replace(
            self.below,
            rows=rows,
            fields=self.below.fields.union(self.overs.values()),
            links=frozenset(),
            keys=frozenset(),
            limits={**self.below.limits, **self.limits},
        )

    def _within(self, node: exp.Window) -> tuple[Expression, ...]:
        read = [self.scalar.read(each) for each in node.args.get("partition_by") or ()]
        if not self.below.owned or not any(self.below.is_unit(each) for each in read):
            raise self.text.refuse(
                node,
                "a window over the rows of several people",
                hint="write PARTITION BY the unit, which stays inside one",
            )
        others = [each for each in read if not self.below.is_unit(each)]
        with self.text.placed(node):
            for each in others:
                shown(each)
        return tuple(dict.fromkeys(spelled(each.expression) for each in others))

    def _over(
        self, inner: exp.Expr, node: exp.Window, by: tuple[Order, ...], within: tuple[Expression, ...]
    ) -> tuple[Over, Typed | None]:
        match inner:
            case exp.RowNumber():
                self.text.only(inner)
                self._in_an_order(node, by)
                return Over("place", None, by, within), None
            case exp.Lag() | exp.Lead():
                self.text.only(inner, "this", "offset")
                self._in_an_order(node, by)
                of = self._of(inner.this)
                offset = inner.args.get("offset")
                away = 1 if offset is None else self._away(offset)
                kind: OneOf["before", "after"] = "before" if isinstance(inner, exp.Lag) else "after"
                return Over(kind, spelled(of.expression), by, within, "rows", away), of
            case exp.FirstValue():
                self.text.only(inner, "this")
                self._in_an_order(node, by)
                of = self._of(inner.this)
                return Over("first", spelled(of.expression), by, within), of
            case exp.Count():
                self.text.only(inner, "this", "big_int")
                frame = self._frame(node, by)
                if isinstance(inner.this, exp.Star):
                    return Over("rows", None, by, within, frame), None
                of = self._of(inner.this)
                return Over("present", spelled(of.expression), by, within, frame), of
            case exp.Sum() | exp.Min() | exp.Max():
                self.text.only(inner, "this")
                of = self._of(inner.this)
                return Over(OVERS[type(inner)], spelled(of.expression), by, within, self._frame(node, by)), of
            case _:
                raise self.text.unknown(
                    inner, hint="use ROW_NUMBER, LAG, LEAD, FIRST_VALUE, COUNT, SUM, MIN or MAX", among="windows"
                )

    def _of(self, node: exp.Expr) -> Typed:
        read = self.scalar.read(node)
        shown(read)
        return read

    def _in_an_order(self, node: exp.Window, by: tuple[Order, ...]) -> None:
        if not by or node.args.get("spec") is not None:
            raise self.text.refuse(node, "this window needs ORDER BY, and no frame", hint="write ORDER BY day")

    def _away(self, node: exp.Expr) -> int:
        text = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
        if not text.isdigit() or len(text) > 6:
            raise self.text.refuse(node, "a whole number of rows is needed here", hint="write LAG(x, 1)")
        return int(text)

    def _frame(self, node: exp.Window, by: tuple[Order, ...]) -> OneOf["whole", "rows", "peers"]:
        spec = node.args.get("spec")
        if not by:
            if spec is not None:
                raise self.text.refuse(node, "a frame needs ORDER BY", hint="write ORDER BY day")
            return "whole"
        if spec is None:
            return "peers"
        said = {name: str(value).upper() for name, value in spec.args.items() if value}
        running = {"start": "UNBOUNDED", "start_side": "PRECEDING", "end": "CURRENT ROW"}
        for kind, frame in (("ROWS", "rows"), ("RANGE", "peers")):
            if said == {"kind": kind, **running}:
                return frame  # type: ignore[return-value]
        raise self.text.refuse(
            node, "this frame is not understood", hint="write ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        )
