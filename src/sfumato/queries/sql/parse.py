"""SQL text as a plan: one aggregated SELECT over tables and joins, row-level CTEs and subqueries in between.

Every argument of every node is either understood or refused with its place. HAVING, ORDER BY and LIMIT work on the
released answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import final

from sqlglot import exp

from sfumato.core import BadInput, Bug, NotSupported
from sfumato.queries.bins import checked_edges
from sfumato.queries.expression import Expression, Literal, Measure, MeasureKind, fields, measures
from sfumato.queries.infer import Type
from sfumato.queries.plan import Aggregate, Filter, Having, Limit, Order, Released, Select, Sort, Tally
from sfumato.queries.rewrites.order import spelled
from sfumato.queries.rewrites.read import normalised
from sfumato.queries.rewrites.tally import integers
from sfumato.queries.schema import Schema
from sfumato.queries.sql.inside import Gathering, Windowing, limited, ranged
from sfumato.queries.sql.join import Joining
from sfumato.queries.sql.levels import calls_in, level_of, levelled
from sfumato.queries.sql.names import Names, Relation, lookup, relation_of, shown
from sfumato.queries.sql.options import taken_out
from sfumato.queries.sql.scalar import Scalar, Typed, apply
from sfumato.queries.sql.text import Text, flattened
from sfumato.queries.sql.words import UNION

AGGREGATES: dict[type[exp.Expr], MeasureKind] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "std_samp",
    exp.StddevSamp: "std_samp",
    exp.StddevPop: "std_pop",
}
"""VARIANCE and STDDEV are those of a sample (n - 1), as in PostgreSQL, DuckDB and Spark."""
MEDIAN = (Fraction(1, 2),)
MOST_PARTS = 10**6
LONGEST_NAME = 30


def parse(sql: str, schema: Schema) -> Select:
    """The plan of a question; NotSupported, with the place in the text, where it has no private answer."""
    if taken_out(sql).sql != sql:
        raise NotSupported(
            "OPTIONS hold the price of a question, and no price is agreed here",
            hint="give the text as it is to preview or ask; or leave OPTIONS out and give the price there",
            code="SF004",
        )
    text = Text(sql)
    try:
        tree = text.tree()
        return _Question(text, schema).question(tree, {})
    except RecursionError:
        raise text.refuse(None, "the question is nested too deeply", hint="ask for less at a time") from None


def parse_row_expression(sql: str, names: Names, parameters: tuple[object, ...] = ()) -> Typed:
    """One row-level expression, as frames take them; each `?` stands for a parameter in turn."""
    text = Text(f"SELECT {sql}")
    try:
        tree = text.tree()
        text.only(tree, "expressions")
        if len(tree.expressions) != 1:
            raise text.refuse(None, "one expression is needed here", hint="give one expression at a time")
        question = _Question(text, None, parameters)
        read = question.scalar(names).read(tree.expressions[0])
    except RecursionError:
        raise text.refuse(None, "the expression is nested too deeply", hint="ask for less at a time") from None
    if question.parameters:
        raise BadInput("there are more parameters than ?", hint="give one value for every ?")
    return read


Named = Mapping[str, Relation]


@final
class _Question:
    """The reading of one text."""

    def __init__(self, text: Text, schema: Schema | None, parameters: tuple[object, ...] = ()) -> None:
        self.text = text
        self.schema = schema
        self.parameters = list(parameters)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def named(self, tree: exp.Expr, outer: Named) -> Named:
        """The relations that WITH names, on top of those outside."""
        found = dict(outer)
        clause = tree.args.get("with_")
        if clause is None:
            return found
        self.text.only(clause, "expressions")
        for cte in clause.expressions:
            self.text.only(cte, "this", "alias")
            found[self._alias(cte)] = self.rows(cte.this, found)
        return found

    def _alias(self, node: exp.Expr) -> str:
        alias = node.args.get("alias")
        if alias is None:
            return ""
        self.text.only(alias, "this")
        return str(alias.name).casefold()

    def source(self, tree: exp.Expr, named: Named) -> tuple[Relation, Names]:
        """What FROM and JOIN name, and what columns are called there."""
        clause = tree.args.get("from_")
        if clause is None:
            raise self.text.refuse(tree, "a question needs FROM and a table", hint="write SELECT ... FROM table")
        self.text.only(clause, "this")
        below, alias = self._side(clause.this, named)
        names = Names(((alias, below.columns),))
        for node in tree.args.get("joins") or ():
            below, names = self._joined(below, names, node, named)
        if self.schema is None:
            return below, names
        return levelled(below, names, calls_in(tree), self.schema, self.text)

    def _side(self, node: exp.Expr, named: Named) -> tuple[Relation, str]:
        match node:
            case exp.Table():
                self.text.only(node, "this", "alias")
                if not isinstance(node.this, exp.Identifier):
                    raise self.text.refuse(node, "a table is needed here", hint="name a table of the policy")
                return self._table(node.this, named), self._alias(node) or node.name.casefold()
            case exp.Subquery():
                self.text.only(node, "this", "alias")
                return self.rows(node.this, named), self._alias(node)
            case _:
                raise self.text.refuse(node, "a table or a subquery is needed here", hint="name one table")

    def _joined(self, left: Relation, names: Names, node: exp.Join, named: Named) -> tuple[Relation, Names]:
        """One more table beside those there are: INNER or LEFT, on the unit, a declared link or a unique public key."""
        shown = next(iter(node.find_all(exp.Table, exp.Subquery)), node)
        sort = (str(node.args.get("side") or ""), str(node.args.get("kind") or ""))
        if sort not in {("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")} or node.args.get("method"):
            raise self.text.refuse(
                shown, "only INNER and LEFT joins are understood", hint="write JOIN ... ON", code="SF010"
            )
        self.text.only(node, "this", "side", "kind", "on", "using")
        right, alias = self._side(node.this, named)
        if any(alias == other for other, _ in names.parts):
            raise self.text.refuse(shown, "two tables have the same name here", hint="name them apart: FROM t AS a")
        joining = Joining(left, names, right, alias, outer=sort[0] == "LEFT")
        on = node.args.get("on")
        with self.text.placed(shown):
            for key in node.args.get("using") or ():
                joining.same(key.name)
        for each in flattened(on) if on is not None else ():
            self._on(joining, each)
        with self.text.placed(shown):
            return joining.joined()

    def _on(self, joining: Joining, node: exp.Expr) -> None:
        """One condition of an ON."""
        scalar = self.scalar(joining.both)
        with self.text.placed(node):
            if isinstance(node, exp.EQ) and all(isinstance(each, exp.Column) for each in (node.this, node.expression)):
                self.text.only(node, "this", "expression")
                if joining.equal(scalar.read(node.this), scalar.read(node.expression)):
                    return
            joining.where(self._truth(scalar, node))

    def _table(self, node: exp.Identifier, named: Named) -> Relation:
        name = node.name
        if name.casefold() in named:
            return named[name.casefold()]
        assert self.schema is not None
        found = next((t for t in self.schema.tables if t.name.casefold() == name.casefold()), None)
        if found is None:
            raise self.text.refuse(
                node, "this table is not in the policy", hint="see `sfumato tables` for those there are", code="SF022"
            )
        return relation_of(found, self.schema)

    def rows(self, tree: exp.Expr, outer: Named) -> Relation:
        """A row-level SELECT: columns computed and rows filtered, one row out for each row left."""
        while isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
            self.text.only(tree, "this")
            tree = tree.this
        if not isinstance(tree, exp.Select):
            hint = UNION if isinstance(tree, exp.SetOperation) else "write SELECT ... FROM table"
            raise self.text.refuse(tree, "only SELECT is understood here", hint=hint)
        self.text.only(tree, "expressions", "from_", "joins", "where", "with_", "group", "having")
        below, names = self.source(tree, self.named(tree, outer))
        below = self.filtered(below, tree, self.scalar(names))
        if tree.args.get("group") is not None:
            return self._gathered(tree, below, names)
        if tree.args.get("having") is not None:
            raise self.text.refuse(tree.args["having"], "HAVING needs GROUP BY", hint="write WHERE")
        windowing = Windowing(self.text, self._schema, below, self.scalar(names))
        scalar = self.scalar(names, windowing)
        inside = self.scalar(limited(names, below), windowing)
        columns: dict[str, Typed] = {}
        for node in tree.expressions:
            if isinstance(node, exp.Star):
                self.text.only(node)
                with self.text.placed(node):
                    columns.update(names.every())
                continue
            alias, inner = self._named(node)
            column = (
                ranged(scalar, inside, inner) if not isinstance(inner, exp.Column | exp.Window) else scalar.read(inner)
            )
            if not alias:
                raise self.text.refuse(node, "a computed column needs a name", hint="write expression AS name")
            columns[alias] = column
        return replace(windowing.relation(), columns=columns)

    @property
    def _schema(self) -> Schema:
        if self.schema is None:
            raise Bug("rows were read without a schema")
        return self.schema

    def _gathered(self, tree: exp.Select, below: Relation, names: Names) -> Relation:
        """A SELECT grouped by the unit: one row for each, or for each and its other keys."""
        clause = tree.args["group"]
        self.text.only(clause, "expressions")
        gathering = Gathering(self.text, self._schema, below, self.scalar(names), self._truth)
        named = {alias.casefold(): inner for alias, inner in map(self._named, tree.expressions) if alias}
        for node in clause.expressions:
            meant = node
            if isinstance(node, exp.Column) and not node.table and not names.has(node.name):
                meant = named.get(node.name.casefold(), node)
            gathering.group(node, meant)
        if not gathering.units or not below.owned:
            raise self.text.refuse(
                clause.expressions[0],
                "rows of several people are gathered here, before the answer",
                hint="group by the unit, which stays inside one person; or aggregate in the outer SELECT",
            )
        columns: dict[str, Typed] = {}
        for node in tree.expressions:
            if isinstance(node, exp.Star):
                raise self._rows_belong_to_people(node)
            alias, inner = self._named(node)
            if not alias:
                raise self.text.refuse(node, "a computed column needs a name", hint="write expression AS name")
            columns[alias] = gathering.read(inner)
        having = tree.args.get("having")
        condition = None
        if having is not None:
            self.text.only(having, "this")
            condition = gathering.read(having.this)
            if condition.type.kind not in {"boolean", "null"}:
                raise self.text.refuse(having.this, "a condition is needed here", hint="compare it with something")
        found = replace(gathering.relation(), columns=columns)
        return found if condition is None else replace(found, rows=Filter(found.rows, (condition.expression,)))

    def _named(self, node: exp.Expr) -> tuple[str, exp.Expr]:
        if isinstance(node, exp.Alias):
            self.text.only(node, "this", "alias")
            return str(node.alias), node.this
        return (str(node.name) if isinstance(node, exp.Column) else ""), node

    def filtered(self, below: Relation, tree: exp.Expr, scalar: Scalar) -> Relation:
        where = tree.args.get("where")
        if where is None:
            return below
        self.text.only(where, "this")
        condition = self._truth(scalar, where.this)
        return replace(below, rows=Filter(below.rows, (condition.expression,)))

    def _truth(self, scalar: Scalar, node: exp.Expr) -> Typed:
        condition = scalar.read(node)
        if condition.type.kind not in {"boolean", "null"}:
            raise self.text.refuse(node, "a condition is needed here", hint="compare it with something")
        return condition

    def scalar(self, names: Names, windowing: Windowing | None = None) -> Scalar:
        """Reads row-level expressions over these columns, and windows where they may stand."""

        def leaf(node: exp.Expr) -> Typed | None:
            if isinstance(node, exp.Column):
                return self.column(node, names)
            if isinstance(node, exp.Placeholder):
                return self._parameter(node)
            if isinstance(node, exp.Anonymous) and str(node.this).upper() == "LEVEL":
                with self.text.placed(node):
                    return level_of(node, names, self.text)
            if _is_histogram(node):
                return self._bin(node, Scalar(self.text, leaf))
            if isinstance(node, exp.Window) and windowing is not None:
                return windowing.read(node)
            if isinstance(node, exp.AggFunc | exp.Filter):
                raise self.text.refuse(node, "an aggregate cannot stand here", hint="aggregate in the outer SELECT")
            return None

        return Scalar(self.text, leaf)

    def column(self, node: exp.Column, names: Names) -> Typed:
        if isinstance(node.this, exp.Star):
            raise self._rows_belong_to_people(node)
        self.text.only(node, "this", "table")
        with self.text.placed(node):
            return names.find(node.name, str(node.table))

    def _bin(self, node: exp.Expr, scalar: Scalar) -> Typed:
        """HISTOGRAM(x, edges): the name of the bin that x lies in."""
        self.text.only(node, "this", "expressions")
        with self.text.placed(node):
            of, edges = (node.expressions[0], node.expressions[1:]) if node.expressions else (exp.null(), [])
            if len(edges) == 1 and isinstance(edges[0], exp.Array):
                self.text.only(edges[0], "expressions")
                edges = edges[0].expressions
            return binned(scalar.read(of), [self._number(each, scalar) for each in edges])

    def _number(self, node: exp.Expr, scalar: Scalar) -> Fraction:
        value = scalar.read(node).expression
        if not isinstance(value, Literal) or isinstance(value.value, bool | str | date | None):
            raise self.text.refuse(node, "a number is needed here", hint="write the number itself")
        return Fraction(value.value)

    def _parameter(self, node: exp.Placeholder) -> Typed:
        self.text.only(node)
        if not self.parameters:
            raise self.text.refuse(node, "a parameter has no value", hint="give one value for every ?")
        return literal(self.parameters.pop(0))

    def _rows_belong_to_people(self, node: exp.Expr) -> NotSupported:
        return self.text.refuse(
            node,
            "this would show rows, which belong to people: no budget pays for them",
            hint="count or average them, and name the column in GROUP BY",
            code="SF001",
        )

    # -- the aggregated question ---------------------------------------------------------------------------------------

    def question(self, tree: exp.Expr, outer: Named) -> Select:
        clauses = ("expressions", "from_", "joins", "where", "with_", "group", "having", "order", "limit", "offset")
        self.text.only(tree, *clauses)
        below, names = self.source(tree, self.named(tree, outer))
        if not below.owned:
            raise self.text.refuse(
                tree.args["from_"].this, "this table is public: it needs no curator", hint="read it directly"
            )
        below = self.filtered(below, tree, self.scalar(names))
        for node in tree.expressions:
            if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
                raise self._rows_belong_to_people(node)
        outputs = [(*self._named(node), node) for node in tree.expressions]
        grouping = _Grouping(self, below, names, [(alias, inner) for alias, inner, _ in outputs])
        grouping.group(tree.args.get("group"))
        grouping.bins([inner for _, inner, _ in outputs])
        chosen = [(alias or _default_name(inner), grouping.released(inner)) for alias, inner, _ in outputs]
        columns = tuple(zip(_distinct([alias for alias, _ in chosen]), (e.expression for _, e in chosen), strict=True))
        aliases = dict(chosen)
        having = self._having(tree, grouping, aliases)
        orders = self._orders(tree, grouping, aliases, [each for _, each in chosen])
        count, offset = self._limits(tree)
        used = {m for _, each in columns for m in measures(each)}
        used |= measures(having) if having is not None else frozenset()
        used |= {m for order in orders for m in measures(order.by)}
        if not used and not grouping.keys:
            raise self._rows_belong_to_people(tree)
        if not used and any(_is_histogram(inner) for _, inner, _ in outputs):
            columns, used = (*columns, (_distinct([*dict(columns), "count"])[-1], Measure("rows"))), {Measure("rows")}
        measured = Aggregate(below.rows, tuple(grouping.keys), tuple(used))
        if not used and not grouping.private(measured):
            raise self.text.refuse(tree, "nothing is measured here: the keys are public", hint="add COUNT(*)")
        plan: Released = measured
        if having is not None:
            plan = Having(plan, having)
        if orders:
            plan = Sort(plan, orders)
        if count is not None or offset:
            plan = Limit(plan, count, offset)
        return _in_order(Select(plan, columns), self.schema)

    def _having(self, tree: exp.Expr, grouping: _Grouping, aliases: Mapping[str, Typed]) -> Expression | None:
        clause = tree.args.get("having")
        if clause is None:
            return None
        self.text.only(clause, "this")
        condition = grouping.released(clause.this, aliases)
        if condition.type.kind not in {"boolean", "null"}:
            raise self.text.refuse(clause.this, "a condition is needed here", hint="compare it with something")
        return condition.expression

    def _orders(
        self, tree: exp.Expr, grouping: _Grouping, aliases: Mapping[str, Typed], chosen: list[Typed]
    ) -> tuple[Order, ...]:
        clause = tree.args.get("order")
        if clause is None:
            return ()
        self.text.only(clause, "expressions")
        orders = []
        for node in clause.expressions:
            self.text.only(node, "this", "desc", "nulls_first")
            by = self._ordinal(node.this, chosen) or grouping.released(node.this, aliases)
            if by.type.kind == "list":
                raise self.text.refuse(node, "a list has no order", hint="order by one quantile, QUANTILE(x, 0.5)")
            orders.append(Order(by.expression, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))))
        return tuple(orders)

    def _ordinal(self, node: exp.Expr, chosen: list[Typed]) -> Typed | None:
        """The column that a number in ORDER BY counts to."""
        if not (isinstance(node, exp.Literal) and not node.is_string):
            return None
        position = int(node.this) if str(node.this).isdigit() and len(str(node.this)) < 6 else 0
        if not 1 <= position <= len(chosen):
            raise self.text.refuse(node, "there is no such column to order by", hint="count the columns from 1")
        return chosen[position - 1]

    def _limits(self, tree: exp.Expr) -> tuple[int | None, int]:
        limits: list[int | None] = []
        for name, kind in (("limit", exp.Limit), ("offset", exp.Offset)):
            clause = tree.args.get(name)
            if clause is None:
                limits.append(None)
                continue
            if not isinstance(clause, kind):
                raise self.text.refuse(clause, "this way to limit is not understood", hint="write LIMIT 10")
            self.text.only(clause, "expression")
            node = clause.expression
            if not (isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()):
                raise self.text.refuse(clause, "a limit is a whole number", hint="write LIMIT 10")
            limits.append(int(str(node.this)[:18]))
        return limits[0], limits[1] or 0


@final
class _Grouping:
    """What GROUP BY lists, and expressions over the released groups."""

    def __init__(self, question: _Question, below: Relation, names: Names, outputs: list[tuple[str, exp.Expr]]) -> None:
        self.question = question
        self.text = question.text
        self.below = below
        self.names = names
        self.outputs = outputs
        self.keys: list[Expression] = []
        self.types: dict[Expression, Type] = {}
        self.rowwise = question.scalar(names)
        self.inside = question.scalar(limited(names, below))

    def group(self, clause: exp.Expr | None) -> None:
        if clause is None:
            return
        self.text.only(clause, "expressions")
        for node in clause.expressions:
            self._group(node, self.row(self._meant(node)))

    def bins(self, outputs: list[exp.Expr]) -> None:
        """A HISTOGRAM in the SELECT list is a key, whether GROUP BY names it or not."""
        for node in outputs:
            if _is_histogram(node):
                self._group(node, self.row(node))

    def _group(self, node: exp.Expr, key: Typed) -> None:
        """One more key, if it can be listed."""
        expression = spelled(key.expression)
        if not fields(expression):
            raise self.text.refuse(node, "a key that reads no column is no key", hint="group by a column")
        with self.text.placed(node):
            self._check(Aggregate(self.below.rows, (expression,), ()))
        if expression not in self.types:
            self.keys.append(expression)
            self.types[expression] = _released(key.type)

    def row(self, node: exp.Expr) -> Typed:
        """A row-level expression that may be grouped by or measured: anything but the unit itself."""
        read = ranged(self.rowwise, self.inside, node) if self.below.limits else self.rowwise.read(node)
        with self.text.placed(node):
            shown(read)
        return read

    def _meant(self, node: exp.Expr) -> exp.Expr:
        """The expression that a position or an alias in GROUP BY stands for; a column of the rows comes first."""
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this) if str(node.this).isdigit() and len(str(node.this)) < 6 else 0
            if not 1 <= position <= len(self.outputs):
                raise self.text.refuse(node, "there is no such column to group by", hint="count the columns from 1")
            return self.outputs[position - 1][1]
        if isinstance(node, exp.Column) and not node.table and not self.names.has(node.name):
            named = [inner for alias, inner in self.outputs if alias.casefold() == node.name.casefold()]
            return named[0] if named else node
        return node

    def _check(self, plan: Aggregate) -> None:
        """Refuses, here and with its place, what the rewrites would refuse later."""
        assert self.question.schema is not None
        integers(normalised(plan, self.question.schema), self.question.schema)

    def private(self, plan: Aggregate) -> bool:
        """Whether which groups there are is an answer by itself."""
        assert self.question.schema is not None
        tally = integers(normalised(plan, self.question.schema), self.question.schema)
        return isinstance(tally, Tally) and tally.private

    def released(self, node: exp.Expr, aliases: Mapping[str, Typed] | None = None) -> Typed:
        """An expression over keys and measures. In HAVING and ORDER BY, names of the SELECT list come first."""
        names = dict(aliases or {})

        def leaf(inner: exp.Expr) -> Typed | None:
            if isinstance(inner, exp.Column) and not inner.table:
                named = lookup(names, inner.name)
                if named is not None:
                    return named
            if isinstance(inner, exp.AggFunc | exp.Filter):
                return self.measure(inner)
            if inner.find(exp.Column) is None or inner.find(exp.AggFunc) is not None:
                return None
            return self._key(inner)

        return Scalar(self.text, leaf, released=True).read(node)

    def _key(self, node: exp.Expr) -> Typed | None:
        """The key that a row-level expression is equal to."""
        if not isinstance(node, exp.Column):
            try:
                read = self.row(node)
            except NotSupported:
                return None
        else:
            read = self.row(node)
        found = self.types.get(spelled(read.expression))
        if found is not None:
            return Typed(spelled(read.expression), found)
        if isinstance(node, exp.Column):
            raise self.question._rows_belong_to_people(node)
        return None

    def measure(self, node: exp.Expr) -> Typed:
        """An aggregate, FILTER (WHERE ...) written into what it aggregates."""
        condition = None
        if isinstance(node, exp.Filter):
            self.text.only(node, "this", "expression")
            self.text.only(node.expression, "this")
            condition = self.question._truth(self.rowwise, node.expression.this)
            node = node.this
        with self.text.placed(node):
            measure = self._measure(node, condition)
            self._check(Aggregate(self.below.rows, (), (measure,)))
        if measure.at:
            kind = self.row(node.this).type
            kind = (
                replace(kind, nullable=True)
                if kind.kind in {"date", "text"}
                else _released(replace(kind, nullable=True))
            )
            return Typed(measure, Type("list") if len(measure.at) > 1 else kind)
        return Typed(
            measure,
            Type("number", nullable=measure.kind not in {"rows", "present", "units", "distinct"}, released=True),
        )

    def _measure(self, node: exp.Expr, condition: Typed | None) -> Measure:
        match node:
            case exp.Count():
                self.text.only(node, "this", "big_int")
                return self._count(node.this, condition)
            case exp.Min() | exp.Max():
                raise self.text.refuse(
                    node,
                    "the smallest and the largest value are one person's",
                    hint="ask QUANTILE(x, 0.01) or QUANTILE(x, 0.99)",
                    code="SF011",
                )
            case exp.Median():
                self.text.only(node, "this")
                of = self._where(self.row(node.this), condition)
                return Measure("quantile", spelled(of.expression), MEDIAN)
            case exp.Quantile():
                self.text.only(node, "this", "quantile")
                of = self._where(self.row(node.this), condition)
                return Measure("quantile", spelled(of.expression), self._quantiles(node))
            case exp.CountIf():
                self.text.only(node, "this", "big_int")
                both = self.question._truth(self.rowwise, node.this)
                return self._present(
                    self.rowwise.constant(1), both if condition is None else apply("and", both, condition)
                )
            case _ if type(node) in AGGREGATES:
                self.text.only(node, "this")
                of = self._where(self.row(node.this), condition)
                return Measure(AGGREGATES[type(node)], spelled(of.expression))
            case _:
                raise self.text.unknown(
                    node,
                    hint="use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN or QUANTILE(x, 0.1, 0.9)",
                    among="aggregates",
                )

    def _quantiles(self, node: exp.Quantile) -> tuple[Fraction, ...]:
        """The quantiles asked for: numbers after the column, or a list of them."""
        given: list[exp.Expr] = list(node.args["quantile"].expressions)
        if len(given) == 1 and isinstance(given[0], exp.Array):
            self.text.only(given[0], "expressions")
            given = given[0].expressions
        return checked_quantiles([self.question._number(each, self.rowwise) for each in given])

    def _count(self, of: exp.Expr, condition: Typed | None) -> Measure:
        if isinstance(of, exp.Star):
            self.text.only(of)
            return Measure("rows") if condition is None else self._present(self.rowwise.constant(1), condition)
        if isinstance(of, exp.Distinct):
            self.text.only(of, "expressions")
            if len(of.expressions) != 1:
                raise self.text.refuse(of, "one expression is counted at a time", hint="write COUNT(DISTINCT x)")
            (only,) = of.expressions
            if isinstance(only, exp.Column) and (self._is_unit(only) or self.below.is_unit(self.rowwise.read(only))):
                if condition is None:
                    return Measure("units")
                raise self.text.refuse(of, "units are counted without FILTER", hint="write the condition into WHERE")
            return Measure("distinct", spelled(self._where(self.row(only), condition).expression))
        read = self.rowwise.read(of)
        if self.below.is_unit(read):
            return Measure("rows") if condition is None else self._present(self.rowwise.constant(1), condition)
        return self._present(self.row(of), condition)

    def _is_unit(self, node: exp.Column) -> bool:
        """Whether every column that a name without a table could mean holds the unit: then it does not matter which."""
        found = [] if node.table or isinstance(node.this, exp.Star) else self.names.candidates(node.name)
        return bool(found) and all(self.below.is_unit(each) for each in found)

    def _present(self, of: Typed, condition: Typed | None) -> Measure:
        if condition is not None and not isinstance(of.expression, Literal):
            condition, of = apply("and", condition, apply("not", apply("is_null", of))), self.rowwise.constant(1)
        expression = spelled(self._where(of, condition).expression)
        if isinstance(expression, Literal):
            return Measure("rows") if expression.value is not None else Measure("present", expression)
        return Measure("present", expression)

    def _where(self, of: Typed, condition: Typed | None) -> Typed:
        return of if condition is None else apply("case", condition, of, self.rowwise.constant(None))


def _is_histogram(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).upper() == "HISTOGRAM"


def binned(of: Typed, edges: Sequence[Fraction]) -> Typed:
    """The name of the bin that a number lies in."""
    if of.type.kind != "number":
        raise NotSupported("bins are of numbers", hint="group by the column itself", code="SF021")
    return apply("bin", of, *(literal(edge) for edge in checked_edges(edges)))


def checked_quantiles(asked: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Quantiles in increasing order, each of them once."""
    if not asked:
        raise NotSupported("no quantile was asked", hint="write QUANTILE(x, 0.5)", code="SF021")
    if min(asked) < 0 or max(asked) > 1:
        raise NotSupported(
            "a quantile lies outside of 0 to 1", hint="write the first decile as 0.1, the median as 0.5", code="SF021"
        )
    if list(asked) != sorted(set(asked)):
        raise NotSupported(
            "quantiles fall or repeat", hint="write them in increasing order, each of them once", code="SF021"
        )
    if any(q.denominator > MOST_PARTS for q in asked):
        raise NotSupported("a quantile has too many digits", hint="write at most 6 digits", code="SF021")
    return tuple(asked)


def literal(value: object) -> Typed:
    """A Python value as a constant."""
    from decimal import Decimal

    from sfumato.core.exact import fraction
    from sfumato.queries.expression import plain
    from sfumato.queries.infer import literal_type

    if value is None or isinstance(value, bool | str) or type(value) is date:
        return Typed(Literal(value), literal_type(value))
    if isinstance(value, int | float | Decimal | Fraction):
        exact = fraction(value, name="a parameter")
        return Typed(Literal(plain(exact)), literal_type(exact))
    raise BadInput("a parameter is of a type that no column has", hint="give a number, a text, a date, True or False")


def _in_order(plan: Select, schema: Schema | None) -> Select:
    from sfumato.queries.rewrites.order import in_order

    if schema is None:
        raise Bug("a question was read without a schema")
    ordered = in_order(plan, schema)
    assert isinstance(ordered, Select)
    return ordered


def _released(of: Type) -> Type:
    return Type("number", of.nullable, released=True) if of.kind == "number" else of


PARTS_OF_DAYS = (exp.TimestampTrunc, exp.DateTrunc)


def _default_name(node: exp.Expr) -> str:
    """What a column without a name is called: the column it is, the function it was written with, or what was cut off a day."""
    while isinstance(node, exp.Filter | exp.Paren):
        node = node.this
    if _is_histogram(node) and node.expressions and isinstance(node.expressions[0], exp.Column):
        node = node.expressions[0]
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Extract):
        return str(node.this.name).lower()
    if isinstance(node, PARTS_OF_DAYS):
        return str(node.args["unit"].name).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else _spelled_name(node)


def _spelled_name(node: exp.Expr) -> str:
    """The words of a formula in their order: age + 1 is age_1. Only letters and digits, so that nothing needs quotes."""
    words = re.findall(r"\w+", node.sql(dialect="duckdb").lower())
    name = "_".join(words)
    return name if words and name[0].isalpha() and len(name) <= LONGEST_NAME else "value"


def _distinct(names: list[str]) -> list[str]:
    """Every name once: count, count_2, ..."""
    given: list[str] = []
    for name in names:
        candidate, again = name, 2
        while candidate in given:
            candidate, again = f"{name}_{again}", again + 1
        given.append(candidate)
    return given
