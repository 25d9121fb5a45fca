"""Exact answers with every unit bounded, beside the raw DuckDB query: CPU seconds as ratios, peak memory.

10^7 rows, 0.9 million units (Zipf-like), 100 and 10 000 public keys, a value in [0, 100], Parquet, two threads. Each
measurement is a process of its own; the best of three runs counts. Medians are measured with their
draws. "counted" is the weighted number of rows, beside the rows there are: what the bound leaves out.
`--rows` makes it smaller.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.accounting import PureFilter
from sfumato.curator.choose import choose
from sfumato.curator.parts import taken
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB
from sfumato.queries.bounded import bound
from sfumato.queries.ingested import Ingested
from sfumato.queries.places import Places
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql.parse import parse

BOUND = 10
COLUMNS = (
    Column("few", "integer", range=(Fraction(0), Fraction(99))),
    Column("many", "integer", range=(Fraction(0), Fraction(9999))),
    Column("word", "category", values=tuple(f"g{place:02}" for place in range(100))),
    Column("value", "number", range=(Fraction(0), Fraction(100)), grain=Fraction(1, 100)),
)
SCHEMA = Schema((Table("t", COLUMNS, unit="unit", size=10**7),), Unit("person", max_rows=BOUND))
QUESTIONS = {
    "count, 100 keys": "SELECT few, COUNT(*) FROM t GROUP BY few",
    "count, 10 000 keys": "SELECT many, COUNT(*) FROM t GROUP BY many",
    "count, 100 words": "SELECT word, COUNT(*) FROM t GROUP BY word",
    "sum, mean, count, 100 keys": "SELECT few, SUM(value), AVG(value), COUNT(*) FROM t GROUP BY few",
    "sum, mean, count, 10 000 keys": "SELECT many, SUM(value), AVG(value), COUNT(*) FROM t GROUP BY many",
    "count, filtered, 100 keys": "SELECT few, COUNT(*) FROM t WHERE value > 50 GROUP BY few",
    "units, 100 keys": "SELECT few, COUNT(DISTINCT unit) FROM t GROUP BY few",
    "median, 100 keys": "SELECT few, MEDIAN(value) FROM t GROUP BY few",
    "median, all": "SELECT MEDIAN(value) FROM t",
}
WAYS = ("weights", "ingested")


def make(folder: Path, rows: int, *, sparse: bool) -> None:
    """The table, and the same rows clustered by unit with each unit's number of rows beside them."""
    import duckdb
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(7)
    units = max(1, rows * 9 // 100)
    share = np.cumsum(1 / np.arange(1, units + 1) ** 0.8)
    unit = rng.permutation(units)[np.searchsorted(share, rng.random(rows) * share[-1])]
    if sparse:
        unit = unit * 1_000_003 % (2**61 - 1)
    few, many = rng.integers(0, 100, rows), rng.integers(0, 10_000, rows)
    words = pa.array([f"g{place:02}" for place in range(100)]).take(pa.array(few))
    table = {"unit": unit, "few": few, "many": many, "word": words, "value": rng.random(rows) * 100}
    pq.write_table(pa.table(table), folder / "table.parquet")
    duckdb.connect(config={"threads": 2}).execute(
        f"COPY (SELECT *, count(*) OVER (PARTITION BY unit) AS n FROM '{folder}/table.parquet' ORDER BY unit)"
        f" TO '{folder}/ingested.parquet'"
    )


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def best(run: Callable[[], object]) -> dict[str, float]:
    seconds = []
    for _ in range(3):
        start = cpu()
        run()
        seconds.append(cpu() - start)
    return {"cpu": min(seconds), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def one(folder: Path, way: str, name: str) -> dict[str, float]:
    """One question, one way, in this process."""
    text = QUESTIONS[name]
    file = folder / ("ingested.parquet" if way == "ingested" else "table.parquet")
    if way == "raw":
        import duckdb

        connection = duckdb.connect(config={"threads": 2, "memory_limit": "2GB"})
        raw = re.sub(r"FROM t\b", f"FROM '{file}'", text)
        return best(lambda: connection.sql(raw).to_arrow_table())
    counts = "n" if way == "ingested" else None
    source = Source(
        {c.name: c.type for c in COLUMNS}, location=f"parquet:{file}", unit="unit", counts=counts, missing=()
    )
    engine = DuckDB({"t": source})
    bounded = bound(parse(text, SCHEMA), SCHEMA)
    ingested = {"t": Ingested(counts, frozenset({"few", "many", "word", "value"}))} if counts else {}

    def exact() -> tuple[Any, ...]:
        return bounded.vectors(engine.execute(bounded.sql("duckdb", ingested)))

    if not isinstance(exact()[-1], Places):
        return {**best(exact), "kept": float(exact()[-1].sum()) / bounded.whole}
    (mechanism,) = choose(bounded, Fraction(1), PureFilter(Fraction(10)))
    found = best(lambda: mechanism.release(taken(exact()[0], bounded, mechanism), bounded.sensitivities[0]))
    return {**found, "kept": float(exact()[0].weights.sum()) / bounded.whole}


def measured(folder: Path, way: str, name: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--folder", str(folder), "--one", way, name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "NAME"))
    parser.add_argument("--make", type=int)
    parser.add_argument("--only", default="", help="questions whose name begins with this")
    parser.add_argument("--sparse", action="store_true", help="unit numbers far apart, as hashes are")
    given = parser.parse_args()
    if given.make:
        make(given.folder, given.make, sparse=given.sparse)
        return
    if given.one:
        print(json.dumps(one(given.folder, *given.one)))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        if not (folder / "ingested.parquet").exists():
            command = [sys.executable, __file__, "--folder", str(folder), "--make", str(given.rows)]
            subprocess.run([*command, *(["--sparse"] if given.sparse else [])], check=True)
        print(f"at most {BOUND} rows per unit; CPU seconds, times the raw query, MB at the peak of a process")
        print(f"{'question':32} {'raw':>8} {'weights':>16} {'ingested':>16} {'peak':>6} {'counted':>11}")
        for name in (each for each in QUESTIONS if each.startswith(given.only)):
            raw = measured(folder, "raw", name)
            found = {way: measured(folder, way, name) for way in WAYS}
            ratios = "".join(f" {each['cpu']:8.3f} {each['cpu'] / raw['cpu']:6.1f}x" for each in found.values())
            peak = max(each["peak"] for each in found.values())
            print(f"{name:32} {raw['cpu']:8.3f}{ratios} {peak:6.0f} {found['weights']['kept']:11,.0f}", flush=True)


if __name__ == "__main__":
    main()
