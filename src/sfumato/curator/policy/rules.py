"""What a well-formed policy must also satisfy, and what it may say but should be told about."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Literal, final

from sfumato.core import BadPolicy, Relation
from sfumato.core.exact import decimal_text
from sfumato.curator.policy import keys
from sfumato.curator.policy.document import ColumnRules, Document, TableRules
from sfumato.curator.policy.keys import PublicList
from sfumato.curator.policy.places import KeyPath
from sfumato.curator.policy.problem import Problem
from sfumato.curator.policy.source import KINDS as SOURCES
from sfumato.curator.policy.source import Place, holds_secret
from sfumato.queries.schema import Column, Kind, Levels, Step, Table, Unit, Value

LARGE_EPSILON = 10
_DELTA_OF_UNKNOWN_SIZE = Fraction(1, 1000)
_LINK = re.compile(r"^(?P<column>\S.*?)\s*->\s*(?P<table>\S.*?)\.(?P<key>[^.]*\S)$")

Lists = Mapping[tuple[str, str], PublicList]


@final
@dataclass(frozen=True, slots=True)
class Link:
    """`stay_id -> stays.stay_id`: rows reach their unit through another table."""

    column: str
    table: str
    key: str

    @classmethod
    def parse(cls, unit: str) -> Link | None:
        """None when `unit` is a column of the table itself; ValueError when it is neither."""
        if "->" not in unit:
            return None
        found = _LINK.match(unit.strip())
        if found is None:
            raise ValueError(unit)
        return cls(found["column"], found["table"], found["key"])


def problems(document: Document) -> Iterator[Problem]:
    """Everything that contradicts itself, but for what needs the columns' values."""
    yield from _dataset(document)
    yield from _unit(document)
    yield from _budget(document)
    yield from _answers(document)
    seen: dict[str, str] = {}
    for name, table in document.tables.items():
        path: KeyPath = ("tables", name)
        twin = seen.setdefault(name.casefold(), name)
        if twin != name:
            yield Problem(
                path, f"table {name} differs from {twin} only by its capitals", "rename one of them", None, "key"
            )
        yield from _source(table, path)
        yield from _whose(document, name, table)
        yield from _columns(table, path)


def public_lists(document: Document, folder: Path) -> tuple[Lists, list[Problem]]:
    """The keys of every column that keeps them in a file."""
    lists: dict[tuple[str, str], PublicList] = {}
    wrong: list[Problem] = []
    for name, table in document.tables.items():
        for column, rules in table.columns.items():
            if isinstance(rules.values, str) and rules.values.startswith("csv:"):
                try:
                    lists[name, column] = keys.read(
                        rules.values, folder=folder, kind=kind_of(rules), levels=rules.levels
                    )
                except ValueError as error:
                    path = ("tables", name, "columns", column, "values")
                    hint = 'write "csv:FILE:COLUMN", with a UTF-8 file that has a header'
                    wrong.append(Problem(path, f"the list of {column} {error}", hint))
    return lists, wrong


def column_problems(document: Document, lists: Lists) -> Iterator[Problem]:
    """What the schema refuses of a column: a range off its grain, a key of another type or twice."""
    for name, table in document.tables.items():
        for column, rules in table.columns.items():
            path: KeyPath = ("tables", name, "columns", column)
            for key, values in (("range", None), ("values", values_of(rules, lists.get((name, column))))):
                try:
                    to_column(column, rules, values)
                except BadPolicy as error:
                    key = "grain" if rules.grain is not None and "grain" in error.message else key
                    yield Problem((*path, key), error.message, error.hint)
                    break


def to_column(name: str, rules: ColumnRules, values: tuple[Value, ...] | Literal["private"] | None) -> Column:
    """The schema's column, with these values."""
    return Column(
        name,
        kind_of(rules),
        rules.range,  # type: ignore[arg-type]
        values,
        rules.ordered,
        rules.null,
        rules.grain,
    )


def columns_of(name: str, table: TableRules, lists: Lists) -> tuple[Column, ...]:
    """The columns that may be named. The key of a public table is text unless it is declared."""
    found = [
        to_column(column, rules, values_of(rules, lists.get((name, column)))) for column, rules in table.columns.items()
    ]
    keys = (key for key in dict.fromkeys(table.unique) if table.public and key not in table.columns)
    return (*found, *(Column(key, "text") for key in keys))


def values_of(rules: ColumnRules, public: PublicList | None) -> tuple[Value, ...] | Literal["private"] | None:
    """The keys of a column, wherever they are."""
    if rules.values == "private":
        return "private"
    if isinstance(rules.values, tuple):
        kind = kind_of(rules)
        return tuple(_as(kind, value) for value in rules.values)
    return None if public is None else public.keys


def kind_of(rules: ColumnRules) -> Kind:
    """The declared type, or the one that the keys have."""
    if rules.type is not None:
        return rules.type
    match rules.values:
        case str():
            return "text" if rules.values == "private" else "category"
        case (first, *_):
            match first:
                case bool():
                    return "boolean"
                case int():
                    return "number" if any(isinstance(each, Fraction) for each in rules.values) else "integer"
                case Fraction():
                    return "number"
                case date():
                    return "date"
    return "category"


def unit_of(document: Document, name: str) -> tuple[str | None, tuple[Step, ...]]:
    """The column that says whose a table's rows are, and the steps to the table it stands in."""
    unit, steps = document.tables[name].unit, []
    while unit is not None and (link := Link.parse(unit)) is not None:
        steps.append(Step(link.column, link.table, link.key))
        unit = document.tables[link.table].unit
    return unit, tuple(steps)


def levels_of(document: Document, lists: Lists) -> tuple[Levels, ...]:
    """Each public list with levels, as a table of its own. Keys of lists are texts there, as the files have them."""
    found = []
    for (name, column), listed in lists.items():
        levels = document.tables[name].columns[column].levels
        if len(levels) < 2 or kind_of(document.tables[name].columns[column]) not in {"category", "text"}:
            continue
        columns = [
            Column(level, "category", values=tuple(dict.fromkeys(above[n] for above in listed.levels if above[n])))
            for n, level in enumerate(levels[:-1])
        ]
        lookup = Table(
            f"levels of {name}.{column}", (*columns, Column(levels[-1], "text")), public=True, unique=(levels[-1],)
        )
        found.append(Levels(name, column, lookup, listed.levels))
    return tuple(found)


def schema_unit(document: Document) -> Unit:
    unit = document.unit
    return Unit(unit.kind, Relation(unit.neighbours), unit.max_rows, unit.max_groups, unit.max_rows_is_fact)


def warnings(document: Document) -> Iterator[Problem]:
    """What is allowed, and should be known."""
    unit, budget = document.unit, document.budget
    if unit.kind == "row":
        yield Problem(
            ("unit", "kind"),
            "each row is protected by itself, so someone who has several rows is protected less than the budget says",
            "if rows belong to people, name the column that says so: unit, and kind = 'person'",
            "SF006",
        )
    if budget.epsilon > LARGE_EPSILON:
        yield Problem(("budget", "epsilon"), _odds(budget.epsilon), "most policies stay below 3", "SF016")
    for name, cap in budget.per_analyst.items():
        if cap > budget.epsilon:
            yield Problem(
                ("budget", "per_analyst", name),
                f"{name} may spend more than the whole data set has; the total always wins",
                f"give at most {decimal_text(budget.epsilon, rounding='down')}",
            )
    if unit.max_groups is None and any(_private_keys(table) for table in document.tables.values()):
        yield Problem(
            ("unit",),
            "a column has private keys, and nothing says how many groups one unit may appear in",
            "write max_groups, such as 5; without it, 1",
        )
    if budget.delta == 0 and any(_private_keys(table) for table in document.tables.values()):
        yield Problem(
            ("budget", "delta"),
            "a column has private keys, which are paid for with delta, and there is none",
            "write delta = 1e-6, or list the keys",
        )


def _odds(epsilon: Fraction) -> str:
    guess = 1 / (1 + math.exp(-min(float(epsilon), 700)))
    share = "more than 99.99 %" if guess > 0.9999 else f"{100 * guess:.2f} %"
    return (
        f"epsilon is {decimal_text(epsilon)}: a guess about someone that was right with 50 % "
        f"can become right with {share}"
    )


def _private_keys(table: TableRules) -> bool:
    return any(column.values == "private" for column in table.columns.values())


def _unit(document: Document) -> Iterator[Problem]:
    unit = document.unit
    if unit.kind == "row" and unit.max_rows != 1:
        yield Problem(("unit", "max_rows"), "a row has one row, so max_rows cannot be more", "write max_rows = 1")


def _dataset(document: Document) -> Iterator[Problem]:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(document.dataset.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield Problem(
            ("dataset", "timezone"), "this is no time zone", "write the name of one, such as Europe/Paris or UTC"
        )


def _budget(document: Document) -> Iterator[Problem]:
    budget, size = document.budget, document.dataset.size
    if budget.epsilon <= 0:
        yield Problem(("budget", "epsilon"), "epsilon must be above 0", "a usual budget is epsilon = 1.0")
    most = Fraction(1, size) if size else _DELTA_OF_UNKNOWN_SIZE
    if budget.delta < 0:
        yield Problem(("budget", "delta"), "delta must not be negative", "a usual delta is 1e-6")
    elif budget.delta > most:
        public = f"the {size:,} rows of this data set" if size else "a data set whose size is not declared"
        yield Problem(
            ("budget", "delta"),
            f"delta {decimal_text(budget.delta)} is too large for {public}: with that probability someone's row may be shown",
            f"write at most {decimal_text(most, rounding='down')}" + ("" if size else "; or declare [dataset] size"),
            "SF007",
        )
    if budget.accountant == "zcdp" and budget.delta == 0:
        yield Problem(
            ("budget", "accountant"),
            "under zcdp the promise needs a delta above 0, and this one is 0",
            "write delta = 1e-6, or accountant = 'pure'",
        )
    for name, cap in budget.per_analyst.items():
        path: KeyPath = ("budget", "per_analyst", name)
        if cap < 0:
            yield Problem(path, f"the budget of {name} is negative", "give 0 or more")
        if not name or name == "*":
            yield Problem(path, "this is nobody's name", "name an analyst, or 'default' for everyone else", about="key")


def _answers(document: Document) -> Iterator[Problem]:
    if not 0 < document.answers.confidence < 1:
        yield Problem(("answers", "confidence"), "a confidence lies between 0 and 1", "a usual confidence is 0.95")
    if document.ledger is not None:
        kind, _, where = document.ledger.at.partition(":")
        if kind not in {"sqlite", "postgresql"} or not where:
            hint = 'write at = "sqlite:FILE" or at = "postgresql:service=NAME"'
            yield Problem(("ledger", "at"), "the ledger has no such place", hint)
        elif holds_secret(document.ledger.at):
            hint = 'let PGPASSFILE or a service file hold it: at = "postgresql:service=NAME"'
            yield Problem(("ledger", "at"), "this holds a password, and this file is meant to be shared", hint)


def _source(table: TableRules, path: KeyPath) -> Iterator[Problem]:
    if table.source is None:
        return
    try:
        Place.parse(table.source)
    except ValueError as error:
        secret = "password" in str(error)
        yield Problem(
            (*path, "source"),
            f"the source {error}",
            "keep the password in the environment or a service file"
            if secret
            else f"write one of {', '.join(f'{kind}:' for kind in SOURCES)} and a place, such as csv:people.csv",
        )


def _whose(document: Document, name: str, table: TableRules) -> Iterator[Problem]:
    path: KeyPath = ("tables", name)
    if table.public:
        if table.unit is not None:
            yield Problem(
                (*path, "unit"),
                f"table {name} is public and has a unit: it cannot be both",
                "remove public = true if its rows belong to anyone",
                about="key",
            )
        return
    if table.unit is None:
        if document.unit.kind != "row":
            yield Problem(
                path,
                f"nothing says whose the rows of table {name} are",
                f"write unit = COLUMN, the column that tells one {document.unit.kind} from another",
                about="key",
            )
        return
    try:
        link = Link.parse(table.unit)
    except ValueError:
        yield Problem((*path, "unit"), "this is not a link", 'write "column -> table.column"')
        return
    if link is not None:
        yield from _link(document, name, link, (*path, "unit"))


def _link(document: Document, name: str, link: Link, path: KeyPath) -> Iterator[Problem]:
    seen = [name]
    here: Link | None = link
    while here is not None:
        target = document.tables.get(here.table)
        if target is None:
            if len(seen) == 1:
                yield Problem(path, f"there is no table {here.table}", f"name one of {', '.join(document.tables)}")
            return
        if here.table in seen:
            yield Problem(path, "these links go round in a circle", "one table must have a unit column of its own")
            return
        if target.public or target.unit is None:
            yield Problem(
                path,
                f"table {here.table} does not lead to a {document.unit.kind}",
                "link to a table that has a unit",
            )
            return
        seen.append(here.table)
        try:
            here = Link.parse(target.unit)
        except ValueError:
            return


def _columns(table: TableRules, path: KeyPath) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name, rules in table.columns.items():
        here: KeyPath = (*path, "columns", name)
        twin = seen.setdefault(name.casefold(), name)
        if twin != name:
            yield Problem(
                here, f"column {name} differs from {twin} only by its capitals", "rename one of them", about="key"
            )
        yield from _column(name, rules, here)


def _column(name: str, rules: ColumnRules, path: KeyPath) -> Iterator[Problem]:
    values = rules.values
    if rules.type is None and values is None:
        yield Problem(
            path,
            f"column {name} has no type",
            "write type = 'integer', 'number', 'category', 'text', 'boolean' or 'date'",
            about="key",
        )
    if values == ():
        yield Problem((*path, "values"), f"column {name} lists no key", 'list them, or write values = "private"')
    if isinstance(values, str) and values != "private" and not values.startswith("csv:"):
        yield Problem(
            (*path, "values"),
            f"the keys of {name} are neither a list nor a place",
            'write a list, "private", or "csv:FILE:COLUMN"',
        )
    listed = isinstance(values, tuple) or (isinstance(values, str) and values.startswith("csv:"))
    if rules.ordered and not listed:
        yield Problem(
            (*path, "ordered"), f"column {name} is ordered, and has no list that could be", "give its values in order"
        )
    if rules.grain is not None and kind_of(rules) != "number":
        yield Problem((*path, "grain"), f"column {name} has a grain, which only numbers have", "remove the grain")
    if rules.levels:
        yield from _levels(name, rules, path)
    if rules.range is not None and isinstance(rules.range[0], date) != (kind_of(rules) == "date"):
        yield Problem(
            (*path, "range"),
            f"column {name} is of type {kind_of(rules)}, and its range is not",
            "write dates without quotes for a date, numbers for a number",
        )
    elif rules.range is not None and type(rules.range[0]) is not type(rules.range[1]):
        yield Problem((*path, "range"), f"column {name} has a range from a date to a number", "write two of a kind")
    if isinstance(values, tuple) and rules.range is not None:
        low, high = rules.range
        for n, value in enumerate(values):
            number = Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value
            if type(number) is type(low) and not low <= number <= high:  # type: ignore[operator]
                yield Problem((*path, "values", n), f"this key of {name} lies outside its range", "widen the range")


def _levels(name: str, rules: ColumnRules, path: KeyPath) -> Iterator[Problem]:
    values = rules.values
    if not isinstance(values, str) or not values.startswith("csv:"):
        yield Problem(
            (*path, "levels"),
            f"column {name} has levels, and no file that holds them",
            'write values = "csv:FILE:COLUMN"',
        )
    elif rules.levels[-1] != values.rpartition(":")[2]:
        yield Problem(
            (*path, "levels"),
            f"the finest level of {name} is not the column of its list",
            f"let the last level be {values.rpartition(':')[2]}",
        )


def _as(kind: Kind, value: object) -> Value:
    if kind == "number" and isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    return value  # type: ignore[return-value]
