"""Questions built step by step: a lazy frame that makes the same plans as SQL.

table.filter(sex="F").filter("age >= ?", 40).group_by("education").agg(n=count(), hours=mean("hours"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, final
from typing import Literal as OneOf

from sfumato.core import BadInput, NotSupported
from sfumato.core.exact import Number, fraction
from sfumato.queries.bounded import bound
from sfumato.queries.expression import Expression, Literal, Measure, MeasureKind
from sfumato.queries.plan import Aggregate, Filter, Having, Limit, Order, Rows, Select, Sort
from sfumato.queries.rewrites import in_order
from sfumato.queries.schema import Schema

if TYPE_CHECKING:
    from sfumato.queries.sql.names import Names, Relation


class Asker(Protocol):
    """What previews and asks a plan: a session."""

    @property
    def preview(self) -> Callable[..., Any]: ...

    @property
    def ask(self) -> Callable[..., Any]: ...


@final
@dataclass(frozen=True, slots=True)
class Aggregation:
    """What `agg` takes: a kind of measure, and the expression it is of."""

    kind: MeasureKind
    of: str | None = None
    at: tuple[Fraction, ...] = ()


def count(of: str | None = None) -> Aggregation:
    """Rows; or the rows where an expression is not NULL."""
    return Aggregation("rows") if of is None else Aggregation("present", of)


def count_units() -> Aggregation:
    """How many protected units there are: COUNT(DISTINCT unit)."""
    return Aggregation("units")


def count_distinct(of: str) -> Aggregation:
    """How many different values an expression has: COUNT(DISTINCT x)."""
    return Aggregation("distinct", of)


def sum(of: str) -> Aggregation:
    return Aggregation("sum", of)


def mean(of: str) -> Aggregation:
    return Aggregation("mean", of)


def variance(of: str, *, sample: bool = True) -> Aggregation:
    return Aggregation("var_samp" if sample else "var_pop", of)


def stddev(of: str, *, sample: bool = True) -> Aggregation:
    return Aggregation("std_samp" if sample else "std_pop", of)


def median(of: str) -> Aggregation:
    return quantile(of, "0.5")


def quantile(of: str, *at: Number) -> Aggregation:
    """The quantiles at these levels, increasing: a number for one of them, a list for more."""
    from sfumato.queries.sql.parse import checked_quantiles

    return Aggregation("quantile", of, checked_quantiles([fraction(q, name="a quantile") for q in at]))


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """Rows of tables, joined, filtered and with computed columns. Nothing is read until a question is asked."""

    schema: Schema
    relation: Relation
    names: Names
    name: str
    asker: Asker | None = None

    def __repr__(self) -> str:
        tables = " joined with ".join(name for name, _ in self.names.parts)
        columns = ", ".join(
            dict.fromkeys(name for _, each in (*self.names.parts, ("", self.names.computed)) for name in each)
        )
        return f"rows of {tables} ({columns}); nothing is read until a question is asked"

    @property
    def rows(self) -> Rows:
        return self.relation.rows

    def filter(self, condition: str | None = None, /, *parameters: object, **equal: object) -> Frame:
        """The rows where an SQL condition is true (each `?` a parameter), and where columns equal values (None: NULL)."""
        from sfumato.queries.sql.parse import literal
        from sfumato.queries.sql.scalar import apply

        conditions: list[Expression] = []
        if condition is not None:
            self = self._levelled(condition)
            read = self._read(condition, parameters)
            if read.type.kind not in {"boolean", "null"}:
                raise NotSupported("a condition is needed here", hint="compare it with something", code="SF021")
            conditions.append(read.expression)
        for name, value in equal.items():
            column = self.names.find(name)
            same = apply("is_null", column) if value is None else apply("eq", column, literal(value))
            conditions.append(same.expression)
        if not conditions:
            return self
        return replace(self, relation=replace(self.relation, rows=Filter(self.rows, tuple(conditions))))

    def join(
        self, other: Frame, *, on: str | Sequence[str] | Mapping[str, str], how: OneOf["inner", "left"] = "inner"
    ) -> Frame:
        """The rows of both that belong to one unit, or the public row of a key: `on` names what both sides share, or
        gives for a column of this side the one on the other.

        What is allowed is what SQL allows: the unit's column, a declared link, or a unique key of a public table. Columns
        of both tables that have the same name are written `table.column`.
        """
        from sfumato.queries.sql.join import Joining

        if how not in ("inner", "left"):
            raise NotSupported("only inner and left joins are understood", hint="write how='left'", code="SF010")
        if other.names.computed or len(other.names.parts) > 1:
            raise NotSupported(
                "only a table, with or without filters, can be joined",
                hint="join one table after the other",
                code="SF010",
            )
        if any(other.name == name for name, _ in self.names.parts):
            raise NotSupported(
                "two tables have the same name here", hint="ask in SQL: FROM t AS a JOIN t AS b", code="SF010"
            )
        joining = Joining(self.relation, self.names, other.relation, other.name, outer=how == "left")
        pairs = on if isinstance(on, Mapping) else {name: name for name in ([on] if isinstance(on, str) else on)}
        for mine, theirs in pairs.items():
            joining.same(mine, theirs)
        relation, names = joining.joined()
        return replace(self, relation=relation, names=names)

    def with_columns(self, **computed: str) -> Frame:
        """More columns, each an SQL expression over those there are."""
        self = self._levelled(*computed.values())
        found = {**self.names.computed, **{name: self._read(text) for name, text in computed.items()}}
        return replace(self, names=replace(self.names, computed=found))

    def group_by(self, *keys: str, **named: str) -> Grouped:
        """One group per combination of public keys: columns by name, expressions by `name="expression"`."""
        self = self._levelled(*keys, *named.values())
        found = {**{key: self._read(key) for key in keys}, **{name: self._read(text) for name, text in named.items()}}
        for typed in found.values():
            _shown(typed)
        return Grouped(self, tuple((name, typed.expression) for name, typed in found.items()))

    def histogram(self, of: str, edges: Sequence[Number]) -> Question:
        """How many rows lie in each bin between public edges; what lies in none is left out."""
        return self.binned(of, edges).agg(count=count())

    def binned(self, of: str, edges: Sequence[Number], *keys: str) -> Grouped:
        """One group for each bin between public edges, and for each combination of further keys."""
        from sfumato.queries.sql.parse import binned

        self = self._levelled(of, *keys)
        bin = binned(self._read(of), [fraction(edge, name="an edge") for edge in edges])
        _shown(bin)
        others = self.group_by(*keys).keys
        return Grouped(self, ((of, bin.expression), *others))

    def agg(self, **measures: Aggregation) -> Question:
        """What is measured in all the rows together."""
        return Grouped(self, ()).agg(**measures)

    def count(self, of: str | None = None) -> Question:
        return self.agg(count=count(of))

    def count_units(self) -> Question:
        return self.agg(count=count_units())

    def sum(self, of: str) -> Question:
        return self.agg(sum=Aggregation("sum", of))

    def mean(self, of: str) -> Question:
        return self.agg(mean=mean(of))

    def variance(self, of: str, *, sample: bool = True) -> Question:
        return self.agg(variance=variance(of, sample=sample))

    def stddev(self, of: str, *, sample: bool = True) -> Question:
        return self.agg(stddev=stddev(of, sample=sample))

    def median(self, of: str) -> Question:
        return self.agg(median=median(of))

    def quantile(self, of: str, *at: Number) -> Question:
        return self.agg(quantile=quantile(of, *at))

    def sql(self, text: str) -> Question:
        """A question written in SQL, over the whole schema: the filters of this frame are not in it."""
        from sfumato.queries.sql.parse import parse

        return Question(parse(text, self.schema), self.schema, self.asker)

    def measure(self, aggregation: Aggregation) -> Measure:
        """An aggregation over these rows, spelled as SQL would spell it."""
        if aggregation.of is None:
            return Measure(aggregation.kind)
        read = self._read(aggregation.of)
        of, unit = read.expression, self.relation.is_unit(read)
        if aggregation.kind == "present" and (unit or (isinstance(of, Literal) and of.value is not None)):
            return Measure("rows")
        if aggregation.kind == "distinct" and unit:
            return Measure("units")
        _shown(read)
        return Measure(aggregation.kind, of, aggregation.at)

    def _levelled(self, *texts: str) -> Frame:
        """The same rows with the levels beside them that these expressions ask for."""
        from sfumato.queries.sql.levels import calls_in, levelled
        from sfumato.queries.sql.text import Text

        relation, names = self.relation, self.names
        for each in texts:
            if "level" in each.casefold():
                text = Text(f"SELECT {each}")
                relation, names = levelled(relation, names, calls_in(text.tree()), self.schema, text)
        return replace(self, relation=relation, names=names)

    def _read(self, text: str, parameters: tuple[object, ...] = ()) -> Any:
        from sfumato.queries.sql.parse import parse_row_expression

        return parse_row_expression(text, self.names, parameters)


def frame(schema: Schema, table: str, *, asker: Asker | None = None) -> Frame:
    """All the rows of a table."""
    from sfumato.queries.sql.names import Names, relation_of

    found = schema.table(table)
    if found is None:
        raise NotSupported("this table is not in the policy", hint="see `sfumato tables`", code="SF022")
    relation, name = relation_of(found, schema), found.name.casefold()
    return Frame(schema, relation, Names(((name, relation.columns),)), name, asker)


@final
@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows in groups, about to be measured."""

    frame: Frame
    keys: tuple[tuple[str, Expression], ...]

    def agg(self, **measures: Aggregation) -> Question:
        """What is measured in each group."""
        if not measures:
            raise BadInput("nothing is measured", hint="write agg(n=count(), hours=mean('hours'))")
        found = tuple((name, self.frame.measure(each)) for name, each in measures.items())
        if not self.frame.relation.owned:
            raise NotSupported("this table is public: it needs no curator", hint="read it directly", code="SF021")
        rows = Aggregate(self.frame.rows, tuple(key for _, key in self.keys), tuple(each for _, each in found))
        bound(rows, self.frame.schema)  # what has no private answer is refused here, where it was written
        return Question(
            _ordered(Select(rows, (*self.keys, *found)), self.frame.schema), self.frame.schema, self.frame.asker
        )

    def count(self) -> Question:
        return self.agg(count=count())


@final
@dataclass(frozen=True, slots=True)
class Question:
    """A plan, and who may ask it. What is chained on works on the released answer, as HAVING and ORDER BY do."""

    plan: Select
    schema: Schema
    asker: Asker | None = None

    def __repr__(self) -> str:
        columns = ", ".join(name for name, _ in self.plan.columns)
        return f"a question for {columns}: .preview(epsilon=...) is free, .ask(epsilon=...) is charged"

    def sort(self, by: str, *, descending: bool = False) -> Question:
        """In the order of one column of the answer."""
        return self._above(Sort(self.plan.child, (Order(self._column(by), descending),)))

    def head(self, count: int) -> Question:
        """The first groups of the answer."""
        return self._above(Limit(self.plan.child, count))

    def having(self, column: str, *, above: int | float | str) -> Question:
        """The groups whose answer is above a number."""
        from sfumato.queries.expression import call
        from sfumato.queries.sql.parse import literal

        limit = literal(above).expression
        return self._above(Having(self.plan.child, call("lt", limit, self._column(column))))

    def preview(self, **options: Any) -> Any:
        """The priced question; free."""
        return self._session().preview(self.plan, **options)

    def ask(self, **options: Any) -> Any:
        """The answer, charged."""
        return self._session().ask(self.plan, **options)

    def _session(self) -> Asker:
        if self.asker is None:
            raise BadInput("this question belongs to no session", hint="start from session.table(...)")
        return self.asker

    def _column(self, name: str) -> Expression:
        for column, expression in self.plan.columns:
            if column == name:
                if isinstance(expression, Measure) and len(expression.at) > 1:
                    raise BadInput("a list has no order", hint="ask one quantile in a column of its own")
                return expression
        raise BadInput(f"the answer has no column {name}", hint="use one of the names given to group_by or agg")

    def _above(self, child: Having | Sort | Limit) -> Question:
        return replace(self, plan=_ordered(replace(self.plan, child=child), self.schema))


def _shown(of: Any) -> None:
    from sfumato.queries.sql.names import shown

    shown(of)


def _ordered(plan: Select, schema: Schema) -> Select:
    ordered = in_order(plan, schema)
    assert isinstance(ordered, Select)
    return ordered
