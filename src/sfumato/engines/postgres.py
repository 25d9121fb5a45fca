"""PostgreSQL, where the rows already are: read-only, one statement a question, the smallest rights."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, final

from sfumato.core import BadInput, EngineFailed
from sfumato.engines.base import Source, Type, failure
from sfumato.engines.connection import Held, conninfo

if TYPE_CHECKING:
    import psycopg

WHOLE = ("smallint", "integer", "bigint")
REAL = ("real", "double precision")
TEXTS = ("text", "character varying", "character", "citext", "name", "uuid")
DAYS = ("date", "timestamp without time zone", "timestamp with time zone")
READABLE: dict[Type, tuple[str, ...]] = {
    "integer": (*WHOLE, *REAL, "numeric", "boolean"),
    "number": (*WHOLE, *REAL, "numeric", "boolean"),
    "boolean": ("boolean",),
    "date": DAYS,
    "category": (*TEXTS, *WHOLE, "enum"),
    "text": (*TEXTS, *WHOLE, "enum"),
}
"""What the server's types may be read as. Text is not read as a number: PostgreSQL fails on a bad one, on one person's row."""

_NAME = r"[^\W\d][\w$]*"
_TABLE = re.compile(rf"(?P<where>.*?):(?P<table>{_NAME}(\.{_NAME})?)", re.DOTALL)
_KINDS = """
SELECT a.attname, has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
    CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typtype = 'd' THEN 'domain'
    ELSE regexp_replace(format_type(a.atttypid, NULL), '\\(.*', '') END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
"""
_SETTINGS = "SET standard_conforming_strings = on; SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET jit = off"
"""Whatever the server's defaults are. Without the first, a backslash in a question's text could end that text."""
_ALIVE = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


class Place(NamedTuple):
    """A server and a table in it."""

    where: str
    table: str


def place_of(location: str, name: str) -> Place:
    """`postgresql:service=clinic:hospital.stays`; without a table, the one called as the policy calls it."""
    where = location.removeprefix("postgresql:")
    found = _TABLE.fullmatch(where)
    return Place(where, name) if found is None else Place(found["where"], found["table"])


@final
class Postgres:
    """One connection, shared by threads one statement at a time, opened again after it was lost.

    Every statement runs in a read-only transaction of its own, which is the same moment for all tables, and is ended by
    the server after `patience` seconds. Tables are read through subqueries in which every declared column has its one
    type, so nothing is created on the server. The rights that it needs are CONNECT, USAGE on the schema and SELECT on
    the columns that the policy names.
    """

    dialect = "postgres"

    def __init__(self, sources: Mapping[str, Source], *, patience: int = 3600) -> None:
        self._lock = threading.Lock()
        self._patience = patience
        places = {name: place_of(each.location, name) for name, each in sources.items() if each.location is not None}
        servers = {place.where for place in places.values()}
        if len(servers) > 1:
            raise BadInput(
                "the tables of a data set stand on several servers",
                hint="name one server for all of them; a question is one statement",
            )
        self._where = conninfo(next(iter(servers), ""))
        self._held: Held | None = None
        self._places = {name: place.table for name, place in places.items()}
        self._kinds = {name: self._look(table)[0] for name, table in self._places.items()}
        stored = {name: source for name, source in sources.items() if name in places}
        texts = _texts(stored, self._kinds)
        self._read = {name: {*source.matched, *source.columns} for name, source in stored.items()}
        self._views = [
            *(
                f"{_quoted(name)} AS NOT MATERIALIZED ({_view(source, places[name].table, self._kinds[name], texts)})"
                for name, source in stored.items()
            ),
            *(f"{_quoted(name)} AS ({_listed(each)})" for name, each in sources.items() if name not in places),
        ]

    def schema(self, table: str) -> dict[str, str]:
        return dict(self._kinds[table])

    def look(self) -> None:
        """Of the columns that are read, each still has its type, and may be read. A lost connection is opened again."""
        for name, table in self._places.items():
            try:
                kinds, readable = self._look(table)
            except EngineFailed:
                kinds, readable = self._look(table)
            same = {column for column, kind in self._kinds[name].items() if kinds.get(column) == kind}
            if changed := sorted(self._read[name] - (same & readable)):
                raise BadInput(
                    f"{changed[0]} of {table} changed on the server, or may not be read",
                    hint="compare the policy with the database, and grant SELECT on the columns that it names",
                    code="SF019",
                )

    def execute(self, sql: str) -> Any:
        """Statements begin with WITH: the tables' own subqueries come first."""
        import pyarrow as pa

        body = sql.removeprefix("WITH ") if sql.startswith("WITH ") else ""
        full = f"WITH {', '.join([*self._views, body])}" if body else f"WITH {', '.join(self._views)} {sql}"
        with self._lock, self._transaction() as connection:
            cursor = connection.execute(full, prepare=False)
            names = [column.name for column in cursor.description or ()]
            rows = cursor.fetchall()
        return pa.table({name: pa.array([row[place] for row in rows]) for place, name in enumerate(names)})

    def close(self) -> None:
        with self._lock:
            if self._held is not None:
                self._held.close()
            self._held = None

    def _look(self, table: str) -> tuple[dict[str, str], frozenset[str]]:
        """The types of a table's columns, and those of the columns that may be read."""
        quoted = ".".join(map(_quoted, table.split(".")))
        with self._lock, self._transaction() as connection:
            found = connection.execute(_KINDS, (quoted,)).fetchall()
        if not found:
            raise BadInput(
                f"there is no table {table} that may be read there",
                hint="compare the policy with the database, and grant SELECT on the columns that it names",
                code="SF019",
            )
        return {name: kind for name, _, kind in found}, frozenset(name for name, readable, _ in found if readable)

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """Any failure is the one sentence. A connection that broke is dropped, and the next question opens another."""
        import psycopg

        try:
            if self._held is None or not self._held.usable:
                self._held = Held(psycopg.connect(self._where, autocommit=True, **_ALIVE))  # type: ignore[arg-type]
                self._held.connection.execute(_SETTINGS)
            connection = self._held.connection
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(f"SET LOCAL statement_timeout = '{self._patience}s'")
            yield connection
            connection.execute("COMMIT")
        except psycopg.Error:
            if self._held is not None:
                self._held.close()
            self._held = None
            raise failure() from None


def _texts(sources: Mapping[str, Source], kinds: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """The sets of columns that are compared as text: any but those that are whole numbers everywhere."""
    return frozenset(
        matched
        for name, source in sources.items()
        for column, matched in source.matched.items()
        if _kind(kinds[name], column) not in WHOLE
    )


def _view(source: Source, table: str, kinds: Mapping[str, str], texts: frozenset[str]) -> str:
    """The table as declared: what names units, and every column in its one type, NULL where it cannot be that."""
    wanted: dict[str, str] = {}
    for column, matched in source.matched.items():
        as_text = matched in texts
        wanted[column] = _text(column, source.missing) if as_text else f"CAST({_quoted(column)} AS bigint)"
        if column in source.columns:
            _check_unit(column, source.columns[column], as_text=as_text)
    if source.counts is not None:
        wanted[source.counts] = f"CAST({_quoted(source.counts)} AS bigint)"
    for column, kind in source.columns.items():
        if column not in wanted:
            wanted[column] = _read(column, _kind(kinds, column), kind, source.missing, source.timezone)
    chosen = ", ".join(f"{expression} AS {_quoted(column)}" for column, expression in wanted.items())
    return f"SELECT {chosen or '1 AS one'} FROM {'.'.join(map(_quoted, table.split('.')))}"


def _listed(source: Source) -> str:
    """A public table in memory, all of it text, written out."""
    names = source.data.column_names
    rows = ", ".join(
        "(" + ", ".join("NULL" if value is None else _literal(value) for value in row.values()) + ")"
        for row in source.data.to_pylist()
    )
    chosen = ", ".join(f'CAST({_quoted(name)} AS text) COLLATE "C" AS {_quoted(name)}' for name in names)
    return f"SELECT {chosen} FROM (VALUES {rows}) AS t ({', '.join(map(_quoted, names))})"


def _kind(kinds: Mapping[str, str], column: str) -> str:
    try:
        return kinds[column]
    except KeyError:
        raise BadInput(
            f"the source has no column {column}", hint="compare the policy with the source's columns", code="SF019"
        ) from None


def _check_unit(column: str, wanted: Type, *, as_text: bool) -> None:
    """A unit that is a column too must be what it is declared to be already: reading it otherwise could merge units."""
    if wanted not in ({"category", "text"} if as_text else {"integer"}):
        raise BadInput(
            f"{column} names the unit or leads to it, and cannot be read as {wanted}",
            hint="declare it as text (or as an integer where the source has integers)",
            code="SF019",
        )


def _read(column: str, kind: str, wanted: Type, missing: tuple[str, ...], timezone: str) -> str:
    """A column as its declared type. No value of it makes the statement fail: what does not fit is NULL."""
    if kind not in READABLE[wanted]:
        raise BadInput(
            f"the source's column {column} cannot be read as {wanted}",
            hint="compare the types in the policy with the source's; a view in the database can convert them",
            code="SF019",
        )
    raw = _quoted(column)
    match wanted:
        case "category" | "text":
            return _text(column, missing)
        case "boolean":
            return raw
        case "date" if kind == "timestamp with time zone":
            # Beyond these, moving the moment by some hours could leave the server's range, and fail.
            return (
                f"CASE WHEN {raw} > '200000-01-01 00:00:00+00' THEN CAST('infinity' AS date)"
                f" WHEN {raw} < '4000-01-01 00:00:00+00 BC' THEN CAST('-infinity' AS date)"
                f" ELSE CAST({raw} AT TIME ZONE {_literal(timezone)} AS date) END"
            )
        case "date":
            return f"CAST({raw} AS date)"
        case "integer" if kind in WHOLE:
            return f"CAST({raw} AS bigint)"
        case "integer" if kind == "boolean":
            return f"CAST(CAST({raw} AS integer) AS bigint)"
        case "integer":
            # NaN lies above all numbers here. The upper end as a float is 2^63 itself, which does not fit.
            below = (
                "<= 9223372036854775807" if kind == "numeric" else "< CAST('9223372036854775808' AS double precision)"
            )
            inside = f"{raw} >= -9223372036854775808 AND {raw} {below}"
            return f"CASE WHEN {inside} THEN CAST(floor({raw}) AS bigint) END"
        case "number" if kind == "boolean":
            return f"CAST(CAST({raw} AS integer) AS double precision)"
        case "number" if kind == "numeric":
            return (
                f"CASE WHEN {raw} = 'NaN' THEN NULL WHEN {raw} > 1e300 THEN CAST('Infinity' AS double precision)"
                f" WHEN {raw} < -1e300 THEN CAST('-Infinity' AS double precision) WHEN abs({raw}) < 1e-300 THEN 0"
                f" ELSE CAST({raw} AS double precision) END"
            )
        case _:
            return f"CAST({raw} AS double precision)"


def _text(column: str, missing: tuple[str, ...]) -> str:
    """As text in the order of its bytes, whatever the database's own order is."""
    text = f'CAST({_quoted(column)} AS text) COLLATE "C"'
    if not missing:
        return text
    listed = ", ".join(_literal(word) for word in missing)
    return f"CASE WHEN {text} IN ({listed}) THEN NULL ELSE {text} END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
