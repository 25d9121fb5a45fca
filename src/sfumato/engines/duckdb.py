"""DuckDB, in process: CSV, Parquet, DuckDB files and tables in memory, without extensions and without the network."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Mapping
from typing import Any, final

from sfumato.core import BadInput
from sfumato.engines import header
from sfumato.engines.base import Source, Type, failure

TYPES: dict[Type, str] = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "category": "VARCHAR",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
}
NUMBERS = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "U",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "BOOLEAN",
    "VARCHAR",
)
DAYS = ("DATE", "TIMESTAMP")
READABLE: dict[Type, tuple[str, ...]] = {
    "integer": NUMBERS,
    "number": NUMBERS,
    "boolean": NUMBERS,
    "date": (*DAYS, "VARCHAR"),
    "category": (*NUMBERS, *DAYS, "ENUM"),
    "text": (*NUMBERS, *DAYS, "ENUM"),
}
"""What the engine's types may be read as; anything else would only give NULLs."""
WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
LONG = {"BIGINT", "UBIGINT", "HUGEINT"}
APART = {*WHOLE, "UBIGINT", "HUGEINT", "UHUGEINT", "UUID", "VARCHAR", "DATE", "BOOLEAN"}


@final
class DuckDB:
    """One connection, shared by threads one statement at a time.

    After the sources are open nothing else is: no other file, no extension, no setting, no name of the caller's. What
    does not fit in `memory` goes to the folder `spill`, or fails if there is none: rows of people are not left lying
    about.
    """

    dialect = "duckdb"

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        threads: int = 2,
        memory: str = "2GB",
        spill: str = "",
        look_in: Iterable[str] = (),
    ) -> None:
        """`look_in` names folders that may be read besides the sources', by the owner, before there is a policy."""
        import duckdb

        self._lock = threading.Lock()
        self._connection = duckdb.connect(
            config={
                "threads": threads,
                "memory_limit": memory,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
                "temp_directory": spill,
            }
        )
        self._connection.execute("SET preserve_insertion_order = false")
        self._connection.execute("SET enable_progress_bar = false")
        # Counting the rows of each unit costs a third when integer units are dense enough for a plain array.
        self._connection.execute("SET perfect_ht_threshold = 20")
        origins = {name: self._origin(f"source_{place}", each) for place, (name, each) in enumerate(sources.items())}
        found = {name: self._described(origin) for name, origin in origins.items()}
        common = _common(sources, found)
        for name, source in sources.items():
            self._open(name, source, origins[name], found[name], common)
        folders = ", ".join(_text(folder) for folder in sorted({*map(_folder, sources.values()), *look_in}) if folder)
        self._connection.execute(f"SET allowed_directories = [{folders}]")
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def schema(self, table: str) -> dict[str, str]:
        described = self._rows(f"DESCRIBE {_quoted(table)}")
        return {str(name): str(kind) for name, kind, *_ in described}

    def look(self) -> None:
        """Files keep their columns as long as they keep their size and time, which the curator looks at."""

    def execute(self, sql: str) -> Any:
        with self._lock:
            try:
                return self._connection.sql(sql).to_arrow_table()
            except Exception:  # whatever it says could hold data
                raise failure() from None

    def cluster(self, table: str, *, unit: str, counts: str, file: str) -> None:
        """Write a table to a Parquet file in a folder that may be looked in: each unit's rows together, their number beside.

        The number stands in the column `counts`. Rows without a unit count for nobody and are left out.
        """
        name, whose = _quoted(table), _quoted(unit)
        self._rows(
            f"COPY (SELECT * FROM {name} JOIN (SELECT {whose}, count(*) AS {_quoted(counts)} FROM {name}"
            f" WHERE {whose} IS NOT NULL GROUP BY {whose}) USING ({whose}) ORDER BY {whose})"
            f" TO {_text(file)} (FORMAT parquet)"
        )

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(sql).fetchall()
            except Exception:
                raise failure() from None

    def _described(self, origin: str) -> dict[str, str]:
        return {str(column): str(kind) for column, kind, *_ in self._rows(f"DESCRIBE SELECT * FROM {origin}")}

    def _open(
        self, name: str, source: Source, origin: str, found: Mapping[str, str], common: Mapping[str, str]
    ) -> None:
        """A view under the table's name, in which every declared column has its one physical type."""
        wanted: dict[str, str] = {}
        for column, matched in source.matched.items():
            kind = _kind(found, column)
            apart = _apart(column, kind, source.missing)
            wanted[column] = f"CAST({apart} AS {common[matched]})" if matched in common else apart
            if column in source.columns:
                _check_unit(column, common.get(matched, kind), source.columns[column])
        if source.counts is not None:
            wanted[source.counts] = f"CAST({_quoted(source.counts)} AS BIGINT)"
        for column, kind in source.columns.items():
            if column not in wanted:
                wanted[column] = _read(column, _kind(found, column), kind, source.missing, source.timezone)
        chosen = ", ".join(f"{expression} AS {_quoted(column)}" for column, expression in wanted.items())
        self._rows(f"CREATE TEMP VIEW {_quoted(name)} AS SELECT {chosen or '1 AS one'} FROM {origin}")

    def _origin(self, raw: str, source: Source) -> str:
        if source.location is None:
            self._connection.register(raw, source.data)
            return _quoted(raw)
        kind, where = _location(source.location)
        match kind:
            case "csv":
                return self._csv(where)
            case "parquet":
                return f"read_parquet({_text(where)})"
            case "duckdb":
                file, _, table = where.rpartition(":")
                self._rows(f"ATTACH {_text(file)} AS {_quoted(raw)} (READ_ONLY)")
                return self._bytewise(f"{_quoted(raw)}.{_quoted(table)}")
            case _:
                raise BadInput("a source of this kind cannot be read here", hint="use csv:, parquet: or duckdb:")

    def header(self, where: str) -> str:
        """The first line of CSV files, which is the same in all of them."""
        files = [str(file) for (file,) in self._rows(f"SELECT file FROM glob({_text(where)}) ORDER BY file")]
        whole = "auto_detect = false, header = false, delim = '\x01', quote = '', escape = '', columns = {'line': 'VARCHAR'}"
        firsts = [self._rows(f"SELECT line FROM read_csv({_text(file)}, {whole}) LIMIT 1") for file in files]
        found = {str(line[0][0] or "") if line else "" for line in firsts}
        if not found:
            raise failure()
        if len(found) > 1:
            raise BadInput(
                "the CSV files of a source do not begin with one header",
                hint="the first line of each names its columns, the same in all of them",
                code="SF019",
            )
        return found.pop()

    def _csv(self, where: str) -> str:
        """All of it text, read as the header says. DuckDB would look at rows for quotes and separators."""
        line = self.header(where)
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header.names(line))
        return (
            f"read_csv({_text(where)}, auto_detect = false, header = true, {csv_options(line)}, nullstr = '',"
            f" columns = {{{columns}}})"
        )

    def _bytewise(self, table: str) -> str:
        """A table whose texts are compared by their bytes, whatever collation the file says: else units could merge."""
        texts = [column for column, kind in self._described(table).items() if kind == "VARCHAR"]
        if not texts:
            return table
        plain = ", ".join(f'({_quoted(each)} COLLATE "binary") AS {_quoted(each)}' for each in texts)
        return f"(SELECT * REPLACE ({plain}) FROM {table})"


def csv_options(line: str) -> str:
    """How a file with this header is cut into cells, as arguments of `read_csv`."""
    return f"delim = {_text(header.separator(line))}, quote = {_text(header.QUOTE)}, escape = {_text(header.QUOTE)}"


def _location(location: str) -> tuple[str, str]:
    """The kind of a source and its absolute path; a DuckDB file's table stays behind it."""
    kind, _, where = location.partition(":")
    return kind, os.path.abspath(where)


def _folder(source: Source) -> str:
    """The folder that a source's files lie in, before any wildcard."""
    if source.location is None:
        return ""
    plain = re.split(r"[*?\[]", _location(source.location)[1])[0]
    return os.path.dirname(plain) + os.sep


def _kind(found: Mapping[str, str], column: str) -> str:
    try:
        return found[column]
    except KeyError:
        raise BadInput(
            f"the source has no column {column}", hint="compare the policy with the source's columns", code="SF019"
        ) from None


def _common(sources: Mapping[str, Source], found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The type that the columns of a set are compared in, where the source does not have all of them in one."""
    kinds: dict[str, set[str]] = {}
    for name, source in sources.items():
        for column, matched in source.matched.items():
            kind = _kind(found[name], column)
            kinds.setdefault(matched, set()).add("BIGINT" if kind in WHOLE else kind if kind in APART else "VARCHAR")
    mixed = {matched: those for matched, those in kinds.items() if len(those) > 1}
    return {matched: "HUGEINT" if those <= LONG else "VARCHAR" for matched, those in mixed.items()}


def _apart(column: str, kind: str, missing: tuple[str, ...]) -> str:
    """A column that rows are matched by, two values equal only if they are the same value."""
    if kind == "VARCHAR":
        return _without(column, missing)
    if kind in WHOLE:
        return f"CAST({_quoted(column)} AS BIGINT)"
    return _quoted(column) if kind in APART else f"CAST({_quoted(column)} AS VARCHAR)"


def _check_unit(column: str, kind: str, wanted: Type) -> None:
    """A unit that is a column too must be what it is declared to be already: reading it otherwise could merge units."""
    fits = kind in WHOLE if wanted == "integer" else kind == "VARCHAR" and wanted in {"category", "text"}
    if not fits:
        raise BadInput(
            f"{column} names the unit or leads to it, and cannot be read as {wanted}",
            hint="declare it as text (or as an integer where the source has integers)",
            code="SF019",
        )


def _read(column: str, kind: str, wanted: Type, missing: tuple[str, ...], timezone: str) -> str:
    """A column as its declared type, NULL where it cannot be; floats become integers by floor, never by a cast."""
    target, raw = TYPES[wanted], _quoted(column)
    if not kind.startswith(READABLE[wanted]) or kind.startswith("UNION") or kind.endswith("]"):
        raise BadInput(
            f"the source's column {column} cannot be read as {wanted}",
            hint="compare the types in the policy with the source's",
            code="SF019",
        )
    if kind == target and kind != "VARCHAR":
        return raw
    if kind == "TIMESTAMP WITH TIME ZONE":
        raw = f"TRY({raw} AT TIME ZONE {_text(timezone)})"  # no moment is so far away that it makes a question fail
    if kind == "VARCHAR":
        text = _without(column, missing)
        match wanted:
            case "category" | "text":
                return text
            case "integer":
                digits = f"regexp_extract(trim({text}, ' '), '^([+-]?[0-9]+)(\\.0*)?$', 1)"
                return f"TRY_CAST({digits} AS BIGINT)"
            case _:
                return f"TRY_CAST(trim({text}, ' ') AS {target})"
    if wanted == "integer" and kind not in {*WHOLE, "BOOLEAN"}:
        number = f"TRY_CAST({raw} AS HUGEINT)" if "INT" in kind else f"TRY_CAST(floor({raw}) AS HUGEINT)"
        return f"TRY_CAST({number} AS BIGINT)"
    return f"TRY_CAST({raw} AS {target})"


def _without(column: str, missing: tuple[str, ...]) -> str:
    raw = _quoted(column)
    if not missing:
        return raw
    listed = ", ".join(_text(word) for word in missing)
    return f"CASE WHEN {raw} IN ({listed}) THEN NULL ELSE {raw} END"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
