"""What a policy says, beside its sources: names and types for everyone's check, rows for the owner's only.

Nothing here says a value or a number of rows: only that some, or none, are otherwise than declared.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, final

from sfumato.core import BadPolicy, EngineFailed
from sfumato.core.exact import decimal_text
from sfumato.curator.policy.columns import columns_at
from sfumato.curator.policy.places import KeyPath
from sfumato.curator.policy.policy import Policy
from sfumato.curator.policy.problem import Problem
from sfumato.curator.policy.rules import Link, kind_of
from sfumato.curator.policy.source import Place
from sfumato.queries.schema import Column, Kind, Table

if TYPE_CHECKING:
    from sfumato.engines.duckdb import DuckDB

_LONGEST_LIST = 10_000
_UNREADABLE: dict[Kind, frozenset[Kind]] = {
    "integer": frozenset({"boolean", "date"}),
    "number": frozenset({"boolean", "date"}),
    "boolean": frozenset({"date", "number"}),
    "date": frozenset({"boolean", "integer", "number"}),
    "category": frozenset(),
    "text": frozenset(),
}
"""Declared type: what a source may not have instead, because no value of it could be read."""


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """What was found, in the order of the policy, and the tables whose source is not within reach."""

    problems: tuple[BadPolicy, ...] = ()
    warnings: tuple[BadPolicy, ...] = ()
    unseen: tuple[str, ...] = ()


def look(policy: Policy) -> Seen:
    """Names and types of the sources' columns beside those that the policy names; no row is read."""
    problems: list[Problem] = []
    unseen: list[str] = []
    for name in policy.document.tables:
        if (found := _columns(policy, name)) is None:
            unseen.append(name)
        else:
            problems += mismatches(policy, name, found)
    return Seen(_errors(policy, problems), (), tuple(unseen))


def scanned(policy: Policy) -> Seen:
    """What the rows say against the policy. For the owner: an analyst must not learn that a check of rows failed."""
    from sfumato.engines.base import Source
    from sfumato.engines.duckdb import DuckDB

    sources = policy.sources()
    away = [name for name in sources if _columns(policy, name) is None]
    if away:
        raise EngineFailed(
            f"the source of {away[0]} cannot be reached from here, so its rows were not read",
            hint="only rows of csv:, parquet: and duckdb: are read by a scan: run it where the file is",
        )
    unique = {name: policy.document.tables[name].unique for name in sources}
    raw = {
        f"raw {name}": Source(
            columns=dict.fromkeys((*source.columns, *unique[name]), "text"),
            location=source.location,
            missing=source.missing,
        )
        for name, source in sources.items()
    }
    engine = DuckDB({**sources, **raw})
    try:
        found = [list(_rows(policy, engine, table)) for table in policy.schema().tables if table.name in sources]
    finally:
        engine.close()
    every = [each for table in found for each in table]
    return Seen(
        _errors(policy, [problem for problem, stops in every if stops]),
        _errors(policy, [problem for problem, stops in every if not stops]),
    )


def _columns(policy: Policy, table: str) -> dict[str, Kind | None] | None:
    """The source's columns; None when it is not a file, or not here."""
    location = policy.location(table)
    source = policy.document.tables[table].source
    if location is None or source is None or not Place.parse(source).is_file:
        return None
    where = location.partition(":")[2]
    file = where.rpartition(":")[0] if location.startswith("duckdb:") else where
    return columns_at(location) if glob.glob(file) else None


def mismatches(policy: Policy, name: str, found: Mapping[str, Kind | None]) -> Iterator[Problem]:
    """The columns that the policy names, beside those that a source has. A kind of None is not compared."""
    table = policy.document.tables[name]
    path: KeyPath = ("tables", name)
    hint = "correct the policy, or give the source the column it had"
    if not found:
        yield Problem((*path, "source"), f"the source of {name} has no such table", "name one that is there", "SF019")
        return
    link = Link.parse(table.unit) if table.unit else None
    unit = link.column if link else table.unit
    if unit is not None and unit not in found:
        yield Problem((*path, "unit"), f"the source of {name} has no column {unit}", hint, "SF019")
    for n, column in enumerate(table.unique):
        if column not in found:
            yield Problem((*path, "unique", n), f"the source of {name} has no column {column}", hint, "SF019")
    for column, rules in table.columns.items():
        here: KeyPath = (*path, "columns", column)
        if column not in found:
            yield Problem(here, f"the source of {name} has no column {column}", hint, "SF019", "key")
        elif (kind := found[column]) is not None and kind in _UNREADABLE[kind_of(rules)]:
            yield Problem(
                (*here, "type"),
                f"column {column} is declared of type {kind_of(rules)}, and its source has it as {kind}",
                f"write type = '{kind}'",
                "SF019",
            )


def _rows(policy: Policy, engine: DuckDB, table: Table) -> Iterator[tuple[Problem, bool]]:
    """Problems of one table, and whether each is an error."""
    path: KeyPath = ("tables", table.name)
    if table.path:
        yield from _links(engine, table)
        yield from _many(policy, engine, table)
    elif table.unit is not None:
        yield from _units(policy, engine, table, table.unit)
    for n, column in enumerate(policy.document.tables[table.name].unique):
        if _holds(engine, f"SELECT count({_q(column)}) > count(DISTINCT {_q(column)}) FROM {_q('raw ' + table.name)}"):
            row = policy.document.unit.kind == "row" and not table.public
            yield (
                Problem(
                    (*path, "unique", n),
                    f"{column} is declared unique, and holds some value more than once",
                    "each row is not someone of its own: name the unit" if row else "remove it, or mend the source",
                    "SF006" if row else "SF010",
                ),
                True,
            )
    for declared in table.columns:
        for problem in _values(engine, table, declared, (*path, "columns", declared.name)):
            yield problem, declared.null == "refuse" and problem.path[-1] == "null"


def _units(policy: Policy, engine: DuckDB, table: Table, unit: str) -> Iterator[tuple[Problem, bool]]:
    path: KeyPath = ("tables", table.name, "unit")
    rules = policy.document.unit
    name, column = _q(table.name), _q(unit)
    if _holds(engine, f"SELECT count(*) > count({column}) FROM {name}"):
        yield Problem(path, f"some rows of {table.name} have no unit, and never count", "fill in the column"), False
    if rules.kind != "row":
        yield from _many(policy, engine, table)
    elif _holds(engine, f"SELECT count({column}) > count(DISTINCT {column}) FROM {name}"):
        yield (
            Problem(
                path,
                f"the unit is a row, while {unit} repeats: who has several rows is protected less than the budget says",
                "write kind = 'person', and max_rows",
                "SF006",
            ),
            True,
        )


def _many(policy: Policy, engine: DuckDB, table: Table) -> Iterator[tuple[Problem, bool]]:
    """Whether someone has more rows than the bound, by links as well: wrong where a fact was declared of these very rows."""
    rules = policy.document.unit
    rows, last = _q(table.name), _q(table.name)
    for n, step in enumerate(table.path):
        last, before = f"step{n}", last
        rows += f" JOIN {_q(step.table)} AS {last} ON {before}.{_q(step.column)} = {last}.{_q(step.key)}"
    whose = f"{last}.{_q(str(table.unit))}"
    most = (
        f"SELECT coalesce(max(n), 0) > {rules.max_rows} FROM (SELECT count({whose}) AS n FROM {rows} GROUP BY {whose})"
    )
    if not _holds(engine, most):
        return
    if rules.max_rows_is_fact and not table.path:
        said = Problem(
            ("unit", "max_rows_is_fact"),
            f"max_rows is declared as a fact, and some {rules.kind} of {table.name} has more rows",
            "raise max_rows, or remove max_rows_is_fact",
        )
        yield said, True
        return
    yield (
        Problem(
            ("unit", "max_rows"),
            f"some {rules.kind} of {table.name} has more than {rules.max_rows} rows: they share the weight of so many",
            f"this is safe; `sfumato suggest max_rows --table {table.name} --epsilon 0.05` estimates what it cuts off",
        ),
        False,
    )


def _links(engine: DuckDB, table: Table) -> Iterator[tuple[Problem, bool]]:
    """Whether the first step of a table's way to its unit leads to one row, every time. Where it does not, all is safe."""
    path, step = ("tables", table.name, "unit"), table.path[0]
    here, there, column, key = map(_q, (table.name, step.table, step.column, step.key))
    if _holds(engine, f"SELECT count(*) > 0 FROM {here} ANTI JOIN {there} ON {here}.{column} = {there}.{key}"):
        said = f"some rows of {table.name} lead to no row of {step.table}: they are nobody's, and never count"
        yield Problem(path, said, "fill in the column, or add the rows that are missing"), False
    if _holds(engine, f"SELECT count({key}) > count(DISTINCT {key}) FROM {there}"):
        said = f"{step.key} is not unique in {step.table}: rows of {table.name} that lead there count each time"
        yield Problem(path, said, "this is safe; link to a column that tells the rows apart", "SF010"), False


def _values(engine: DuckDB, table: Table, column: Column, path: KeyPath) -> Iterator[Problem]:
    typed, raw, name = _q(table.name), _q("raw " + table.name), _q(column.name)
    if _holds(engine, f"SELECT (SELECT count({name}) FROM {raw}) > (SELECT count({name}) FROM {typed})"):
        yield Problem(
            (*path, "type"),
            f"some values of {column.name} cannot be read as {column.type}, and count as missing",
            "correct the type, or list the words that stand for missing",
            "SF019",
        )
    if column.null == "refuse" and _holds(engine, f"SELECT count(*) > count({name}) FROM {typed}"):
        yield Problem(
            (*path, "null"), f"some values of {column.name} are missing, which null = 'refuse' excludes", "use 'drop'"
        )
    if column.range is not None:
        low, high = (_literal(bound) for bound in column.range)
        if _holds(engine, f"SELECT count(*) > 0 FROM {typed} WHERE {name} < {low} OR {name} > {high}"):
            yield Problem(
                (*path, "range"),
                f"some values of {column.name} lie outside of its range, and are moved to its ends",
                "this is safe; widen the range from public knowledge, not from the rows",
            )
    if isinstance(column.values, tuple) and len(column.values) <= _LONGEST_LIST and column.values:
        listed = ", ".join(_literal(value) for value in column.values)
        if _holds(engine, f"SELECT count(*) > 0 FROM {typed} WHERE {name} NOT IN ({listed})"):
            yield Problem(
                (*path, "values"),
                f"some values of {column.name} are not on its list, and appear in no group",
                "this is safe; complete the list from public knowledge, not from the rows",
            )


def _holds(engine: DuckDB, sql: str) -> bool:
    return bool(engine.execute(sql).column(0)[0].as_py())


def _errors(policy: Policy, problems: list[Problem]) -> tuple[BadPolicy, ...]:
    return tuple(
        sorted((each.error(policy.places) for each in problems), key=lambda error: (error.line or 0, error.column or 0))
    )


def _literal(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Fraction():
            return decimal_text(Fraction(value))
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def _q(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
