"""Questions built step by step: a lazy frame that makes the same plans as SQL.

table.filter(sex="F").filter("age >= ?", 40).group_by("education").agg(n=count(), hours=mean("hours"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

from sfumato.core import BadInput, NotSupported
from sfumato.queries.bounded import bound
from sfumato.queries.expression import Expression, Field, Literal, Measure, MeasureKind
from sfumato.queries.plan import Aggregate, Filter, Having, Limit, Order, Rows, Select, Sort
from sfumato.queries.rewrites import in_order
from sfumato.queries.schema import Schema, Table


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


def count(of: str | None = None) -> Aggregation:
    """Rows; or the rows where an expression is not NULL."""
    return Aggregation("rows") if of is None else Aggregation("present", of)


def count_units() -> Aggregation:
    """How many protected units there are: COUNT(DISTINCT unit)."""
    return Aggregation("units")


def sum(of: str) -> Aggregation:
    return Aggregation("sum", of)


def mean(of: str) -> Aggregation:
    return Aggregation("mean", of)


def variance(of: str, *, sample: bool = True) -> Aggregation:
    return Aggregation("var_samp" if sample else "var_pop", of)


def stddev(of: str, *, sample: bool = True) -> Aggregation:
    return Aggregation("std_samp" if sample else "std_pop", of)


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """Rows of one table, filtered and with computed columns. Nothing is read until a question is asked."""

    schema: Schema
    table: Table
    rows: Rows
    columns: Mapping[str, Any]
    asker: Asker | None = None

    def filter(self, condition: str | None = None, /, *parameters: object, **equal: object) -> Frame:
        """The rows where an SQL condition is true (each `?` a parameter), and where columns equal values (None: NULL)."""
        from sfumato.queries.sql.parse import literal, lookup
        from sfumato.queries.sql.scalar import apply

        conditions: list[Expression] = []
        if condition is not None:
            read = self._read(condition, parameters)
            if read.type.kind not in {"boolean", "null"}:
                raise NotSupported("a condition is needed here", hint="compare it with something", code="SF021")
            conditions.append(read.expression)
        for name, value in equal.items():
            column = lookup(self.columns, name)
            if column is None:
                raise _hidden()
            same = apply("is_null", column) if value is None else apply("eq", column, literal(value))
            conditions.append(same.expression)
        return replace(self, rows=Filter(self.rows, tuple(conditions))) if conditions else self

    def with_columns(self, **computed: str) -> Frame:
        """More columns, each an SQL expression over those there are."""
        return replace(self, columns={**self.columns, **{name: self._read(text) for name, text in computed.items()}})

    def group_by(self, *keys: str, **named: str) -> Grouped:
        """One group per combination of public keys: columns by name, expressions by `name="expression"`."""
        found = {**{key: self._read(key) for key in keys}, **{name: self._read(text) for name, text in named.items()}}
        if any(typed.type.kind == "unit" for typed in found.values()):
            raise _hidden()
        return Grouped(self, tuple((name, typed.expression) for name, typed in found.items()))

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

    def sql(self, text: str) -> Question:
        """A question written in SQL, over the whole schema: the filters of this frame are not in it."""
        from sfumato.queries.sql.parse import parse

        return Question(parse(text, self.schema), self.schema, self.asker)

    def measure(self, aggregation: Aggregation) -> Measure:
        """An aggregation over these rows, spelled as SQL would spell it."""
        if aggregation.of is None:
            return Measure(aggregation.kind)
        read = self._read(aggregation.of)
        of = read.expression
        unit = self.table.unit is not None and of == Field(self.table.unit)
        if aggregation.kind == "present" and (unit or (isinstance(of, Literal) and of.value is not None)):
            return Measure("rows")
        if read.type.kind == "unit":
            raise _hidden()
        return Measure(aggregation.kind, of)

    def _read(self, text: str, parameters: tuple[object, ...] = ()) -> Any:
        from sfumato.queries.sql.parse import parse_row_expression

        return parse_row_expression(text, self.columns, parameters)


def frame(schema: Schema, table: str, *, asker: Asker | None = None) -> Frame:
    """All the rows of a table."""
    from sfumato.queries.sql.parse import relation_of

    found = schema.table(table)
    if found is None:
        raise NotSupported("this table is not in the policy", hint="see `sfumato tables`", code="SF022")
    relation = relation_of(found)
    return Frame(schema, found, relation.rows, relation.columns, asker)


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
                return expression
        raise BadInput(f"the answer has no column {name}", hint="use one of the names given to group_by or agg")

    def _above(self, child: Having | Sort | Limit) -> Question:
        return replace(self, plan=_ordered(replace(self.plan, child=child), self.schema))


def _hidden() -> NotSupported:
    return NotSupported(
        "this column is not declared in the policy: hidden, or not there at all",
        hint="see `sfumato tables` for what can be asked",
        code="SF022",
    )


def _ordered(plan: Select, schema: Schema) -> Select:
    ordered = in_order(plan, schema)
    assert isinstance(ordered, Select)
    return ordered
