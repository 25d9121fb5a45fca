"""One grouped mean beside three peers: CPU seconds and error at the same epsilon and the same bound.

10^6 rows of 90 000 people (11 each, more or less), 10 groups, a value of 0 to 100 whose mean differs by group; epsilon 1, at
most 10 rows per person. The error is that of the groups' means against the mean of all rows, absolute, averaged over groups
and runs: noise, and whatever a side loses by its bounding. CPU is of a whole question; ours reads the rows from their file and
writes the ledger, the peers have the rows in memory.

python benchmarks/ask_peers.py [--rows 1000000] [--runs 3]    peers: sh benchmarks/peers.sh opendp pipelinedp smartnoise
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TARGET = 20.0
QUESTION = "SELECT grp, AVG(value) AS x FROM t GROUP BY grp"
POLICY = """
[dataset]
name = "t"
id = "d-peers"
version = "1"
size = 1000000
[unit]
kind = "person"
max_rows = 10
[budget]
epsilon = 1000
delta = 1e-6
[tables.t]
unit = "unit"
[tables.t.columns.grp]
type = "integer"
range = [0, 9]
[tables.t.columns.value]
type = "integer"
range = [0, 100]
"""
OPENDP = """
import json, sys, time
import polars as pl, opendp.prelude as dp
dp.enable_features("contrib")
frame = pl.read_parquet(sys.argv[1]).lazy()
for run in range(int(sys.argv[2])):
    cpu = time.process_time()
    context = dp.Context.compositor(
        data=frame, privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("unit")),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-7), split_evenly_over=1,
        margins=[dp.polars.Margin(by=["grp"], max_groups=10, max_length=10**6)])
    query = context.query().truncate_per_group(10).group_by("grp").agg(
        (pl.col.value.cast(int).fill_null(0).dp.sum((0, 100))).alias("s"), dp.len().alias("n"))
    found = query.release().collect()
    cpu = time.process_time() - cpu
    print(json.dumps({"cpu": cpu, "means": {str(g): s / n for g, s, n in found.select("grp", "s", "n").iter_rows() if n > 0}}))
"""
PIPELINEDP = """
import json, sys, time
import pyarrow.parquet as pq
import pipeline_dp as p
table = pq.read_table(sys.argv[1])
rows = list(zip(table["unit"].to_pylist(), table["grp"].to_pylist(), table["value"].to_pylist()))
for run in range(int(sys.argv[2])):
    cpu = time.process_time()
    budget = p.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-9)
    engine = p.DPEngine(budget, p.LocalBackend())
    params = p.AggregateParams(metrics=[p.Metrics.MEAN], noise_kind=p.NoiseKind.LAPLACE, max_partitions_contributed=10,
                               max_contributions_per_partition=1, min_value=0, max_value=100)
    read = p.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1],
                            value_extractor=lambda r: r[2])
    result = engine.aggregate(rows, params, read, public_partitions=list(range(10)))
    budget.compute_budgets()
    found = {str(key): float(each.mean) for key, each in result}
    print(json.dumps({"cpu": time.process_time() - cpu, "means": found}))
"""
SMARTNOISE = """
import json, sys, time
import pandas as pd
from snsql import Privacy, from_df
frame = pd.read_parquet(sys.argv[1])
meta = {"": {"my": {"t": {"max_ids": 10, "row_privacy": False, "censor_dims": False, "rows": len(frame),
        "unit": {"type": "int", "private_id": True}, "grp": {"type": "int", "lower": 0, "upper": 9},
        "value": {"type": "int", "lower": 0, "upper": 100}}}}}
for run in range(int(sys.argv[2])):
    cpu = time.process_time()
    # AVG is a sum and a count there, each at the epsilon that is given: half for each makes 1.
    reader = from_df(frame, privacy=Privacy(epsilon=0.5, delta=1e-6), metadata=meta)
    found = reader.execute("SELECT grp, AVG(value) AS x FROM my.t GROUP BY grp")
    print(json.dumps({"cpu": time.process_time() - cpu, "means": {str(int(g)): float(x) for g, x in found[1:]}}))
"""


def write(file: Path, rows: int) -> dict[str, float]:
    """The table, and the true mean of each group."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draws = np.random.default_rng(20_261_119)
    people = rows * 9 // 100
    units = draws.integers(0, people, rows)
    groups = draws.integers(0, 10, rows)
    values = np.clip(draws.normal(40 + 3 * groups, 15), 0, 100).astype(np.int64)
    pq.write_table(pa.table({"unit": units, "grp": groups, "value": values}), file)
    return {str(group): float(values[groups == group].mean()) for group in range(10)}


def ours(file: Path, runs: int) -> list[dict[str, Any]]:
    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    found = []
    with tempfile.TemporaryDirectory(dir=file.parent) as name:
        folder = Path(name)
        (folder / "policy.toml").write_text(POLICY.replace("[tables.t]\n", f'[tables.t]\nsource = "parquet:{file}"\n'))
        home = Home(folder / "home")
        Policy.load(folder / "policy.toml").new_ledger(home)
        session = open_dataset(folder / "policy.toml", home=home).session("bench")
        session.ask("SELECT COUNT(*) FROM t", epsilon=1)
        for run in range(runs):
            # A question that was asked is replayed: a price of its own makes each run a new one.
            cpu = time.process_time()
            answer = session.ask(QUESTION, epsilon=1 + run / 10**9)
            found.append(
                {"cpu": time.process_time() - cpu, "means": {str(row["grp"]): row["x"] for row in answer.rows}}
            )
    return found


def measured(way: str, file: Path, runs: int, peer: str | None = None) -> list[dict[str, Any]] | None:
    command = [sys.executable, __file__, "--one", str(file), "--runs", str(runs)]
    if peer is not None:
        python = Path(".peers") / peer / "bin" / "python"
        if not python.exists():
            return None
        command = [str(python), "-W", "ignore", "-c", way, str(file), str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "POLARS_MAX_THREADS": "2"})
    if done.returncode:
        print(f"  {peer}: {done.stderr.strip().splitlines()[-1]}")
        return None
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def error(found: list[dict[str, Any]], truth: dict[str, float]) -> float:
    each = [abs(one["means"][group] - mean) for one in found for group, mean in truth.items() if group in one["means"]]
    return float(sum(each) / len(each))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one")
    given = parser.parse_args()
    if given.one:
        for line in ours(Path(given.one), given.runs):
            print(json.dumps(line))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        truth = write(file, given.rows)
        mine = measured("", file, given.runs)
        assert mine is not None
        cpu, own = min(each["cpu"] for each in mine), error(mine, truth)
        print(
            f"{given.rows:,} rows, epsilon 1, at most 10 rows per person: best CPU of {given.runs}, mean absolute error"
        )
        print(f"  {'sfumato':<12} {cpu:8.3f} s   error {own:.4f}")
        for name, way in (("opendp", OPENDP), ("pipelinedp", PIPELINEDP), ("smartnoise", SMARTNOISE)):
            found = measured(way, file, given.runs, name)
            if not found:
                print(f"  {name:<12} not measured")
                continue
            theirs, wrong = min(each["cpu"] for each in found), error(found, truth)
            met = "met" if theirs / cpu >= TARGET and own <= wrong else "MISSED"
            print(
                f"  {name:<12} {theirs:8.3f} s   error {wrong:.4f}   {theirs / cpu:.1f} times our CPU,"
                f" {wrong / own:.1f} times our error: {met}",
                flush=True,
            )


if __name__ == "__main__":
    main()
