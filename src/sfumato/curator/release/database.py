"""Published tables in a database or in Parquet files, where any tool opens them: replaced whole, or not at all.

What is written was released already: it needs no curator, and the database may be anyone's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, cast, final

from sfumato.core.errors import BadInput, EngineFailed
from sfumato.curator.release.folder import write_file
from sfumato.curator.release.published import Published
from sfumato.curator.release.table import Table

KINDS = ("duckdb", "postgresql", "parquet")


@final
class Target:
    """`duckdb:FILE`, `postgresql:service=NAME`, or `parquet:FOLDER`."""

    def __init__(self, text: str) -> None:
        kind, _, where = text.partition(":")
        if kind not in KINDS or not where:
            raise BadInput(
                f"{text.partition(':')[0][:40]!r} is not a place that tables can be written to",
                hint="say duckdb:FILE, postgresql:service=NAME or parquet:FOLDER",
            )
        if kind == "postgresql" and re.search(r"password|//[^/]*:[^/]*@", where):
            raise BadInput(
                "a password was given on the command line, where others can read it",
                hint="put it into a service file, PGPASSFILE or the environment",
            )
        self.kind, self.where = kind, where

    def write(self, published: Published) -> list[str]:
        """The names of the tables that were written; earlier tables of those names are replaced."""
        tables = {_name(published, name): table for name, table in published.tables.items()}
        notes = dict.fromkeys(tables, f"{published.id}, {published.body['release']['edition']}")
        match self.kind:
            case "duckdb":
                _duckdb(Path(self.where), tables, notes)
            case "postgresql":
                _postgresql(self.where, tables, notes)
            case "parquet":
                _parquet(Path(self.where), tables)
            case _:
                raise BadInput("there is no such place", hint="say duckdb:, postgresql: or parquet:")
        return list(tables)


def _name(published: Published, table: str) -> str:
    """release_table, in letters that need no quotes."""
    whole = f"{published.body['release']['name']}_{table}"
    return re.sub(r"\W+", "_", whole).strip("_").lower()[:63]


def _duckdb(path: Path, tables: Mapping[str, Table], notes: Mapping[str, str]) -> None:
    import duckdb

    try:
        with closing(duckdb.connect(str(path))) as connection:
            connection.execute("BEGIN")
            for name, table in tables.items():
                connection.register("published", table.to_arrow())
                connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM published')
                connection.execute(f"COMMENT ON TABLE \"{name}\" IS '{notes[name]}'")
                connection.unregister("published")
            connection.execute("COMMIT")
    except duckdb.Error:
        raise _unreachable("DuckDB file") from None


_SQL_TYPES = {
    "string": "text",
    "int64": "bigint",
    "double": "double precision",
    "bool": "boolean",
    "date32[day]": "date",
}


def _postgresql(where: str, tables: Mapping[str, Table], notes: Mapping[str, str]) -> None:
    try:
        import psycopg
        from psycopg import sql
    except ImportError:
        raise BadInput(
            "PostgreSQL needs its driver, which is not installed", hint="pip install 'sfumato[postgres]'"
        ) from None
    from sfumato.engines.connection import conninfo

    try:
        with psycopg.connect(conninfo(where), connect_timeout=10) as connection, connection.cursor() as cursor:
            for name, table in tables.items():
                frame = table.to_arrow()
                columns = sql.SQL(", ").join(
                    sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(cast(Any, _SQL_TYPES[str(field.type)])))
                    for field in frame.schema
                )
                cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))
                cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(name), columns))
                cursor.execute(
                    sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(name), sql.Literal(notes[name]))
                )
                with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy:
                    for row in frame.to_pylist():
                        copy.write_row(list(row.values()))
    except psycopg.Error:
        raise _unreachable("PostgreSQL database") from None


def _parquet(folder: Path, tables: Mapping[str, Table]) -> None:
    import io

    import pyarrow.parquet as pq

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise _unreachable("folder") from None
    if not os.access(folder, os.W_OK):
        raise _unreachable("folder")
    for name, table in tables.items():
        out = io.BytesIO()
        pq.write_table(table.to_arrow(), out)
        write_file(folder / f"{name}.parquet", out.getvalue())


def _unreachable(what: str) -> EngineFailed:
    return EngineFailed(
        f"the {what} that tables were to be written to cannot be reached or written",
        hint="the release itself is done and kept: run it again with the right place, for free",
    )
