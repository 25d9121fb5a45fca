"""Spark: a table of its catalogue, a path, or a frame of a live session (Spark Connect too)."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, final

from sfumato.core import BadInput
from sfumato.engines.base import Source, Type, failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WHOLE = ("tinyint", "smallint", "int", "bigint")
REAL = ("float", "double")
READABLE: dict[Type, tuple[str, ...]] = {
    "integer": (*WHOLE, *REAL, "decimal", "boolean", "string"),
    "number": (*WHOLE, *REAL, "decimal", "boolean", "string"),
    "boolean": ("boolean",),
    "date": ("date", "timestamp", "timestamp_ntz", "string"),
    "category": ("string", *WHOLE),
    "text": ("string", *WHOLE),
}
"""What Spark's types may be read as."""

_PATH = re.compile(r"(?P<format>parquet|csv|json|orc|delta):(?P<path>.+)", re.DOTALL)
_COUNTER = count()
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Few enough for small tables, whose parts are put together again; so many that a part of 10^8 rows fits in memory.
    "spark.sql.shuffle.partitions": "64",
    "spark.driver.memory": "4g",
}
"""For a session that is started here, on this machine. A session that is there already keeps its own settings."""


@final
class Spark:
    """One session. Every table is a temporary view with a name of its own, read through a subquery in which each declared
    column has its one type; nothing is written.

    Spark fails where others go on (overflow, division by zero, a text that is no number): statements are written so that
    none of these can happen, whatever the rows are.
    """

    dialect = "spark"

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._lock = threading.Lock()
        # What Spark says of a failure may hold a row's value, and it says it to stderr before it raises.
        logging.getLogger("SQLQueryContextLogger").disabled = True
        with self._speaking():
            self._session = _session(sources)
            frames = {name: self._frame(source) for name, source in sources.items()}
            self._kinds = {name: dict(frame.dtypes) for name, frame in frames.items()}
        located = {name: each.location.removeprefix("spark:") for name, each in sources.items() if each.location}
        self._tables = {name: where for name, where in located.items() if _PATH.fullmatch(where) is None}
        texts = _texts(sources, self._kinds)
        self._views = []
        for name, source in sources.items():
            chosen = _chosen(source, self._kinds[name], texts)
            raw = f"sfumato_source_{next(_COUNTER)}"
            with self._speaking():
                frames[name].createOrReplaceTempView(raw)
            self._views.append(f"{_quoted(name)} AS (SELECT {chosen or '1 AS one'} FROM {raw})")

    def schema(self, table: str) -> dict[str, str]:
        return dict(self._kinds[table])

    def look(self) -> None:
        """Tables of the catalogue still have their columns. Frames and paths keep those that they were opened with."""
        for name, table in self._tables.items():
            with self._speaking():
                found = dict(self._session.table(table).dtypes)
            if found != self._kinds[name]:
                raise BadInput(
                    f"the columns of {table} changed in the catalogue",
                    hint="compare the policy with it, and open the data set again",
                    code="SF019",
                )

    def execute(self, sql: str) -> Any:
        """Statements begin with WITH: the tables' own subqueries come first."""
        body = sql.removeprefix("WITH ") if sql.startswith("WITH ") else ""
        full = f"WITH {', '.join([*self._views, body])}" if body else f"WITH {', '.join(self._views)} {sql}"
        with self._lock, self._speaking():
            return self._session.sql(full).toArrow()

    def _frame(self, source: Source) -> DataFrame:
        if source.location is None:
            own = type(source.data).__module__.startswith("pyspark")
            frame: DataFrame = source.data if own else self._session.createDataFrame(source.data)
            return frame
        where = source.location.removeprefix("spark:")
        path = _PATH.fullmatch(where)
        if path is not None:
            reader = self._session.read.option("header", "true") if path["format"] == "csv" else self._session.read
            return reader.format(path["format"]).load(path["path"])
        return self._session.table(where)

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Any failure of Spark, or of the Java below it, is the one sentence."""
        try:
            yield
        except BadInput:
            raise
        except Exception:  # Py4J, gRPC and Spark have errors of many kinds; any of them may hold data
            raise failure() from None


def _session(sources: Mapping[str, Source]) -> SparkSession:
    """The session of the frames that were given, else the active one, else a new one (SPARK_REMOTE and SPARK_MASTER work)."""
    from pyspark.sql import SparkSession

    for source in sources.values():
        if source.location is None and type(source.data).__module__.startswith("pyspark"):
            found: SparkSession = source.data.sparkSession
            return found
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    builder = SparkSession.builder.appName("sfumato")
    for key, value in _LOCAL.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    if "SPARK_REMOTE" not in os.environ:
        made.sparkContext.setLogLevel("OFF")
    return made


def _texts(sources: Mapping[str, Source], kinds: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """The sets of columns that are compared as text: any but those that are whole numbers everywhere."""
    return frozenset(
        matched
        for name, source in sources.items()
        for column, matched in source.matched.items()
        if _kind(kinds[name], column) not in WHOLE
    )


def _chosen(source: Source, kinds: Mapping[str, str], texts: frozenset[str]) -> str:
    """The table as declared: what names units, and every column in its one type, NULL where it cannot be that."""
    wanted: dict[str, str] = {}
    for column, matched in source.matched.items():
        as_text = matched in texts
        wanted[column] = _text(column, source.missing) if as_text else f"CAST({_quoted(column)} AS BIGINT)"
        if column in source.columns:
            _check_unit(column, source.columns[column], as_text=as_text)
    if source.counts is not None:
        wanted[source.counts] = f"CAST({_quoted(source.counts)} AS BIGINT)"
    for column, kind in source.columns.items():
        if column not in wanted:
            wanted[column] = _read(column, _kind(kinds, column), kind, source.missing, source.timezone)
    return ", ".join(f"{expression} AS {_quoted(column)}" for column, expression in wanted.items())


def _kind(kinds: Mapping[str, str], column: str) -> str:
    try:
        return kinds[column].partition("(")[0]
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
            hint="compare the types in the policy with the source's",
            code="SF019",
        )
    raw = _quoted(column)
    match wanted:
        case "category" | "text":
            return _text(column, missing)
        case "boolean":
            return raw
        case "date" if kind == "string":
            return _where(column, missing, "[0-9]{4}-[0-9]{2}-[0-9]{2}", "DATE")
        case "date" if kind == "timestamp":
            return _day(raw, timezone)
        case "date":
            return f"CAST({raw} AS DATE)"
        case "integer" if kind == "string":
            text = f"TRIM({_text(column, missing)})"
            return f"TRY_CAST(REGEXP_EXTRACT({text}, '^([+-]?[0-9]+)([.]0*)?$', 1) AS BIGINT)"
        case "integer" if kind in WHOLE:
            return f"CAST({raw} AS BIGINT)"
        case "integer" if kind == "boolean":
            return f"CAST(CAST({raw} AS INT) AS BIGINT)"
        case "integer":
            # NaN lies above all numbers here. The upper end as a float is 2^63 itself, which does not fit.
            below = "<= 9223372036854775807" if kind == "decimal" else "< 9223372036854775808D"
            inside = f"{raw} >= -9223372036854775807 AND {raw} {below}"
            return f"CASE WHEN {inside} THEN CAST(FLOOR({raw}) AS BIGINT) END"
        case "number" if kind == "string":
            return _where(column, missing, "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?", "DOUBLE")
        case "number" if kind == "boolean":
            return f"CAST(CAST({raw} AS INT) AS DOUBLE)"
        case _:
            return f"CAST({raw} AS DOUBLE)"


_DAY = 86_400_000_000
_FIRST, _LAST = -62_135_596_800_000_000 - _DAY, 253_402_300_800_000_000 + _DAY
"""A day before the first that is told apart, and one after the last, in microseconds since 1970."""


def _day(moment: str, timezone: str) -> str:
    """The day that a moment falls on in a time zone, whatever the session's own is; before and after all days beyond them."""
    there = f"UNIX_MICROS(FROM_UTC_TIMESTAMP({moment}, {_literal(timezone)}))"
    return (
        f"CASE WHEN UNIX_MICROS({moment}) < {_FIRST} THEN DATE_SUB(DATE'0001-01-01', 1)"
        f" WHEN UNIX_MICROS({moment}) > {_LAST} THEN DATE_ADD(DATE'9999-12-31', 1)"
        f" ELSE DATE_FROM_UNIX_DATE(CAST(({there} - PMOD({there}, {_DAY})) DIV {_DAY} AS INT)) END"
    )


def _where(column: str, missing: tuple[str, ...], pattern: str, target: str) -> str:
    text = f"TRIM({_text(column, missing)})"
    return f"CASE WHEN {text} RLIKE '^{pattern}$' THEN TRY_CAST({text} AS {target}) END"


def _text(column: str, missing: tuple[str, ...]) -> str:
    text = f"CAST({_quoted(column)} AS STRING)"
    if not missing:
        return text
    listed = ", ".join(_literal(word) for word in missing)
    return f"CASE WHEN {text} IN ({listed}) THEN NULL ELSE {text} END"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
