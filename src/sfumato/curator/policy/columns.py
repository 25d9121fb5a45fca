"""Names and types of the columns of a file, for the owner who proposes or checks a policy; never a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from sfumato.core import BadInput
from sfumato.queries.schema import Kind

USUAL_MISSING = ("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "?", "-")
"""Words that people write where nothing is known: they do not make a column of numbers one of text."""
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".duckdb": "duckdb",
    ".db": "duckdb",
}
_LIKE_DATA = re.compile(r"\s*|[-+]?[\d.,]*\d[\d.,eE+-]*|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|.*@.*")
_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}


@final
@dataclass(frozen=True, slots=True)
class Found:
    """A table as its source has it. A kind is None where sfumato has no type for it."""

    table: str
    source: str
    columns: Mapping[str, Kind | None]


def found_in(path: Path, written: str, *, missing: Iterable[str] = ()) -> list[Found]:
    """The tables of a CSV, Parquet or DuckDB file; `written` is how the policy will name it.

    Words in `missing`, and the usual ones, do not make a column of numbers one of text.
    """
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise BadInput(
            f"{path.name} is not a kind of file that is known here",
            hint="give a .csv, .parquet or .duckdb file; `sfumato init --policy FILE` takes a policy for another source",
        )
    is_glob = bool({"*", "?", "["} & set(written))
    if not is_glob and not path.is_file():
        raise BadInput(f"there is no file {written}", hint="give the path of a file that exists")
    if kind == "duckdb":
        return _in_database(path, written)
    columns = _query(path, kind, (*USUAL_MISSING, *missing))
    if kind == "csv" and _is_data(list(columns), path):
        raise BadInput(
            f"the first line of {path.name} does not look like names of columns",
            hint="add a header line; until then sfumato shows nothing of it, because it may be someone's row",
        )
    return [Found(_name(path, is_glob), f"{kind}:{written}", columns)]


def columns_at(location: str) -> dict[str, Kind | None]:
    """The columns of one source, as `Policy.location` says where it is. Of a CSV file only the header is read."""
    kind, _, where = location.partition(":")
    match kind:
        case "csv":
            from sfumato.engines import header

            return dict.fromkeys(header.names(_header(where)), "text")
        case "parquet":
            return _described(f"read_parquet({_text(where)})", where)
        case _:
            file, _, table = where.rpartition(":")
            found = {each.table: each.columns for each in _in_database(Path(file), file)}
            return dict(found.get(table, {}))


def _is_data(names: Sequence[str], path: Path) -> bool:
    """Whether a header looks like a row. A cell that was empty has become its position, `column3`."""
    if any(_LIKE_DATA.fullmatch(name) for name in names):
        return True
    positions = [name for n, name in enumerate(names) if name == f"column{n}"]
    if not positions:
        return False
    with path.open("rb") as handle:
        first = handle.readline().decode(errors="replace")
    return any(name not in first for name in positions)


def _query(path: Path, kind: str, missing: Iterable[str]) -> dict[str, Kind | None]:
    if kind == "parquet":
        return _described(f"read_parquet({_text(str(path))})", path)
    words = ", ".join(_text(word) for word in missing)
    from sfumato.engines.duckdb import csv_options

    options = f"header = true, {csv_options(_header(path))}, sample_size = -1, nullstr = [{words}]"
    return _described(f"read_csv({_text(str(path))}, {options})", path)


def _header(path: str | Path) -> str:
    from sfumato.engines.duckdb import DuckDB

    engine = DuckDB({}, look_in=[_folder(path)])
    try:
        return engine.header(str(path))
    finally:
        engine.close()


def _described(origin: str, path: str | Path) -> dict[str, Kind | None]:
    from sfumato.engines.duckdb import DuckDB

    engine = DuckDB({}, look_in=[_folder(path)])
    try:
        rows = engine.execute(f"DESCRIBE SELECT * FROM {origin}").to_pylist()
    finally:
        engine.close()
    return {str(row["column_name"]): _kind(str(row["column_type"])) for row in rows}


def _in_database(path: Path, written: str) -> list[Found]:
    from sfumato.engines.duckdb import DuckDB

    engine = DuckDB({}, look_in=[_folder(path)])
    try:
        rows = engine.execute(
            f"ATTACH {_text(str(path))} AS raw (READ_ONLY); "
            "SELECT table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE database_name = 'raw' AND schema_name = 'main' ORDER BY table_name, column_index"
        ).to_pylist()
    finally:
        engine.close()
    tables: dict[str, dict[str, Kind | None]] = {}
    for row in rows:
        tables.setdefault(row["table_name"], {})[row["column_name"]] = _kind(row["data_type"])
    if not tables:
        raise BadInput(f"{path.name} holds no table", hint="give a database that has one")
    return [Found(table, f"duckdb:{written}:{table}", columns) for table, columns in tables.items()]


def _folder(path: str | Path) -> str:
    """The folder of a file, or of a pattern before its first wildcard."""
    plain = re.split(r"[*?\[]", str(Path(path).absolute()))[0]
    return plain.rpartition("/")[0] + "/"


def _kind(physical: str) -> Kind | None:
    name = physical.upper()
    if name in _INTEGERS or re.fullmatch(r"DECIMAL\(\d+,0\)|U?BIGINT|U?HUGEINT", name):
        return "integer"
    if name.startswith("DECIMAL") or name in {"FLOAT", "DOUBLE", "REAL"}:
        return "number"
    if name == "BOOLEAN":
        return "boolean"
    if name == "DATE" or name.startswith("TIMESTAMP"):
        return "date"
    return "text" if name == "VARCHAR" or name.startswith("ENUM") else None


def _name(path: Path, is_glob: bool) -> str:
    """A table's name that SQL takes without quotes."""
    stem = path.stem if not {"*", "?", "["} & set(path.stem) else path.parent.name
    name = re.sub(r"\W+", "_", stem).strip("_") or "rows"
    return f"t_{name}" if name[0].isdigit() else name


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
