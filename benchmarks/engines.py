"""Bounded questions where the rows are: PostgreSQL and Spark beside their own raw query, wall-clock seconds as ratios.

The table of `ask_engine.py` (0.09 units a row, Zipf-like, 100 public keys, a value in [0, 100]), at most 10 rows a unit.
PostgreSQL is a server of our own with its default settings; Spark is local with two threads, on Parquet.

    python benchmarks/engines.py [--rows 1000000 10000000] [--only duckdb postgres spark] [--times 3]
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.engines.base import Source
from sfumato.queries.bounded import bound
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql.parse import parse

LARGEST = 10**7
"""Rows beyond this many are these rows again, of other units."""
COLUMNS = (
    Column("few", "integer", range=(Fraction(0), Fraction(99))),
    Column("value", "number", range=(Fraction(0), Fraction(100)), grain=Fraction(1, 100)),
)
QUESTIONS = {
    "count": "SELECT few, COUNT(*) FROM t GROUP BY few",
    "sum, mean, count": "SELECT few, SUM(value), AVG(value), COUNT(*) FROM t GROUP BY few",
}


def best(run: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def schema(rows: int) -> Schema:
    return Schema((Table("t", COLUMNS, unit="unit", size=rows),), Unit("person", max_rows=10))


def made(folder: Path, rows: int) -> Path:
    """The Parquet file, made once for each number of rows by the benchmark of DuckDB."""
    into = folder / str(rows)
    if not (into / "table.parquet").exists():
        into.mkdir(exist_ok=True)
        if rows > LARGEST:
            return repeated(made(folder, LARGEST), rows // LARGEST, into / "table.parquet")
        script = Path(__file__).with_name("ask_engine.py")
        subprocess.run([sys.executable, str(script), "--folder", str(into), "--make", str(rows)], check=True)
    return into / "table.parquet"


def repeated(file: Path, times: int, into: Path) -> Path:
    """The same rows `times` over, each time of other units."""
    import duckdb

    units = f"(SELECT max(unit) + 1 FROM '{file}')"
    rows = f"SELECT unit + place * {units} AS unit, few, value FROM '{file}', range({times}) AS t (place)"
    duckdb.sql(f"COPY ({rows}) TO '{into}' (FORMAT parquet)")
    return into


def report(engine: Any, raw: Callable[[str], object], rows: int, name: str, times: int) -> None:
    for title, text in QUESTIONS.items():
        bounded = bound(parse(text, schema(rows)), schema(rows))
        sql = bounded.sql(engine.dialect)
        ours = best(lambda sql=sql, bounded=bounded: bounded.vectors(engine.execute(sql)), times)  # type: ignore[misc]
        theirs = best(lambda text=text: raw(text), times)  # type: ignore[misc]
        print(
            f"{name:10} {rows:>12,} {title:18} raw {theirs:8.3f} s   bounded {ours:8.3f} s   {ours / theirs:6.1f}x",
            flush=True,
        )


def postgres(files: dict[int, Path], times: int) -> None:
    from importlib import import_module

    import psycopg
    import pyarrow.parquet as parquet
    from pyarrow import csv

    from sfumato.engines.postgres import Postgres

    folder = tempfile.mkdtemp(prefix="sfumato-bench-")
    server = import_module("pgserver").get_server(folder, cleanup_mode="delete")
    where = f"host={folder} user=postgres"
    try:
        for rows, file in files.items():
            with psycopg.connect(where, autocommit=True) as connection:
                connection.execute("DROP TABLE IF EXISTS t")
                connection.execute("CREATE TABLE t (unit bigint, few bigint, value double precision)")
                with connection.cursor().copy("COPY t FROM STDIN (FORMAT csv)") as copy:
                    for batch in parquet.ParquetFile(file).iter_batches(columns=["unit", "few", "value"]):
                        lines = io.BytesIO()
                        csv.write_csv(batch, lines, csv.WriteOptions(include_header=False))
                        copy.write(lines.getbuffer())
                connection.execute("VACUUM ANALYZE t")
                source = Source({c.name: c.type for c in COLUMNS}, location=f"postgresql:{where}", unit="unit")
                engine = Postgres({"t": source})
                report(engine, lambda text: connection.execute(text).fetchall(), rows, "postgres", times)
                engine.close()
    finally:
        server.cleanup()


def duckdb(files: dict[int, Path], times: int) -> None:
    from duckdb import connect

    from sfumato.engines.duckdb import DuckDB

    with connect(config={"threads": 2}) as connection:
        for rows, file in files.items():
            source = Source({c.name: c.type for c in COLUMNS}, location=f"parquet:{file}", unit="unit")
            connection.execute(f"CREATE OR REPLACE VIEW t AS SELECT * FROM '{file}'")
            report(
                DuckDB({"t": source}, threads=2),
                lambda text: connection.execute(text).fetchall(),
                rows,
                "duckdb",
                times,
            )


def spark(files: dict[int, Path], times: int) -> None:
    os.environ.setdefault("SPARK_MASTER", "local[2]")
    import pyarrow
    import pyarrow.parquet as parquet

    from sfumato.engines.spark import Spark

    smallest = next(iter(files.values()))
    tiny = smallest.parent / "tiny.parquet"
    first = next(parquet.ParquetFile(smallest).iter_batches(1000))
    parquet.write_table(pyarrow.Table.from_batches([first]), tiny)
    for rows, file in {1000: tiny, **files}.items():
        source = Source({c.name: c.type for c in COLUMNS}, location=f"spark:parquet:{file}", unit="unit")
        engine = Spark({"t": source})
        session = engine._session
        session.read.parquet(str(file)).createOrReplaceTempView("raw")

        def raw(text: str, session: Any = session) -> object:
            return session.sql(text.replace(" t ", " raw ")).toArrow()

        report(engine, raw, rows, "spark", times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--only", nargs="+", default=["duckdb", "postgres", "spark"])
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--times", type=int, default=3, help="the best of so many runs counts")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        files = {rows: made(given.folder or Path(own), rows) for rows in given.rows}
        for name in given.only:
            {"duckdb": duckdb, "postgres": postgres, "spark": spark}[name](files, given.times)


if __name__ == "__main__":
    main()
