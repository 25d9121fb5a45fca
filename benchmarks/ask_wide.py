"""Joins with every unit bounded, beside their own raw join plus the bounding: CPU seconds as ratios.

The 10^7 rows of `ask_engine.py`, joined to a public table of 10 000 keys, to a table of their units, and along a declared
link from three million rows more. "bounding" is what a question costs above its raw query once the same rows stand joined
in one table. Each measurement is a process of its own; the best of three runs counts. `--rows` makes it smaller.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from ask_engine import BOUND, COLUMNS, best, make  # type: ignore[import-not-found]
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB
from sfumato.queries.bounded import bound
from sfumato.queries.schema import Column, Schema, Step, Table, Unit
from sfumato.queries.sql.parse import parse

KEYS = (
    Column("many", "integer", range=(Fraction(0), Fraction(9999))),
    Column("region", "category", values=tuple("abcdefgh")),
)
PEOPLE = (Column("sex", "category", values=("F", "M")), Column("age", "integer", range=(Fraction(0), Fraction(99))))
LINES = (Column("code", "integer", range=(Fraction(0), Fraction(99))),)
JOINED = (*COLUMNS, KEYS[1], *PEOPLE, *LINES)
SCHEMA = Schema(
    (
        Table("t", COLUMNS, unit="unit", size=10**7),
        Table("keys", KEYS, public=True, unique=("many",)),
        Table("people", PEOPLE, unit="unit"),
        Table("lines", LINES, unit="unit", path=(Step("row", "t", "row"),)),
        *(Table(name, JOINED, unit="unit", size=10**7) for name in ("t_keys", "t_people", "t_lines")),
    ),
    Unit("person", max_rows=BOUND),
)
CLAUSES = {
    "t_keys": "t JOIN keys USING (many)",
    "t_people": "t JOIN people ON t.unit = people.unit",
    "t_lines": "t JOIN lines ON t.row = lines.row",
}
QUESTIONS = {
    "count by a public column": ("t_keys", "SELECT region, COUNT(*) AS n FROM {} GROUP BY region"),
    "mean by a public column": ("t_keys", "SELECT region, AVG(value) AS x, COUNT(*) AS n FROM {} GROUP BY region"),
    "count by a column of the unit": ("t_people", "SELECT sex, COUNT(*) AS n FROM {} GROUP BY sex"),
    "means on both sides": ("t_people", "SELECT few, AVG(age) AS x, AVG(value) AS y FROM {} GROUP BY few"),
    "count along a link": ("t_lines", "SELECT code, COUNT(*) AS n FROM {} GROUP BY code"),
    "mean along a link": ("t_lines", "SELECT word, AVG(code) AS x FROM {} GROUP BY word"),
}


def prepare(folder: Path, rows: int) -> None:
    """The table with a number on every row, what it is joined to, and each join as one table."""
    import duckdb

    make(folder, rows, sparse=False)
    here = duckdb.connect(config={"threads": 2, "memory_limit": "3GB", "temp_directory": str(folder / "spill")})

    def write(name: str, query: str) -> None:
        here.execute(f"COPY ({query}) TO '{folder}/{name}.parquet'")
        here.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM '{folder}/{name}.parquet'")

    write("t", f"SELECT *, file_row_number AS row FROM read_parquet('{folder}/table.parquet', file_row_number = true)")
    write("keys", "SELECT range AS many, chr((97 + range % 8)::INTEGER) AS region FROM range(10000)")
    write(
        "people",
        "SELECT DISTINCT unit, CASE WHEN unit % 2 = 0 THEN 'F' ELSE 'M' END AS sex, unit % 100 AS age FROM t",
    )
    write("lines", f"SELECT (hash(range) % {rows})::BIGINT AS row, range % 100 AS code FROM range({rows * 3 // 10})")
    empty = {"region": "'a'", "sex": "'F'", "age": "0", "code": "0"}
    for name, clause in CLAUSES.items():
        columns = {"t_keys": ["region"], "t_people": ["sex", "age"], "t_lines": ["code"]}[name]
        others = ", ".join(f"{value} AS {column}" for column, value in empty.items() if column not in columns)
        write(name, f"SELECT t.*, {', '.join(columns)}, {others} FROM {clause}")
    for left in ("table", "ingested"):
        (folder / f"{left}.parquet").unlink()


def one(folder: Path, way: str, name: str) -> float:
    """One question in this process: raw or ours, joined by the question or before it."""
    before, text = QUESTIONS[name]
    text = text.format(CLAUSES[before] if way.endswith("joined") else before)
    if way.startswith("raw"):
        import duckdb

        connection = duckdb.connect(config={"threads": 2, "memory_limit": "2GB", "temp_directory": ""})
        for table in SCHEMA.tables:
            connection.execute(f"CREATE VIEW {table.name} AS SELECT * FROM '{folder}/{table.name}.parquet'")
        return float(best(lambda: connection.sql(text).to_arrow_table())["cpu"])
    sources = {
        table.name: Source(
            {column.name: column.type for column in table.columns},
            location=f"parquet:{folder}/{table.name}.parquet",
            unit=None if table.path else table.unit,
            missing=(),
            keys={key: key for key in SCHEMA.keys(table.name)},
        )
        for table in SCHEMA.tables
    }
    engine, bounded = DuckDB(sources), bound(parse(text, SCHEMA), SCHEMA)
    return float(best(lambda: bounded.vectors(engine.execute(bounded.sql("duckdb"))))["cpu"])


def measured(folder: Path, way: str, name: str) -> float:
    command = [sys.executable, __file__, "--folder", str(folder), "--one", way, name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found: float = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "NAME"))
    parser.add_argument("--make", type=int)
    given = parser.parse_args()
    if given.make:
        prepare(given.folder, given.make)
        return
    if given.one:
        print(json.dumps(one(given.folder, *given.one)))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        if not (folder / "t_lines.parquet").exists():
            subprocess.run([sys.executable, __file__, "--folder", str(folder), "--make", str(given.rows)], check=True)
        print(f"at most {BOUND} rows per unit; CPU seconds; the bar is 1.5 times (raw join + bounding)")
        print(f"{'question':32} {'raw join':>9} {'bounding':>9} {'ours':>9} {'ratio':>7}")
        for name in QUESTIONS:
            ways = ("raw joined", "raw", "ours", "ours joined")
            raw_join, raw, ours, ours_join = (measured(folder, way, name) for way in ways)
            ratio = ours_join / (raw_join + max(0.0, ours - raw))
            print(f"{name:32} {raw_join:9.3f} {ours - raw:9.3f} {ours_join:9.3f} {ratio:6.2f}x", flush=True)


if __name__ == "__main__":
    main()
