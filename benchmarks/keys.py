"""Private keys beside two peers: how many groups are found at the same promise, and what they cost beside the raw query.

10^6 rows of 200 000 people, five each, over 10 000 keys of frequencies k^-1.4; epsilon 1, delta 1e-6, at most 5 groups per
person, the number of people of each group told. Nobody has a key twice, so that no side has anything to cut off. Then the same
question on 10^7 rows beside `SELECT key, COUNT(*)` without any protection (target: 60 times).

python benchmarks/keys.py [--rows 1000000] [--long 10000000]    peers: sh benchmarks/peers.sh pipelinedp opendp
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

KEYS, GROUPS, EXPONENT = 10_000, 5, 1.4
QUESTION = "SELECT key, COUNT(DISTINCT unit) AS n FROM t GROUP BY key"
POLICY = """
[dataset]
name = "keys"
id = "d-keys"
version = "1"
size = 1000000
[unit]
kind = "person"
max_rows = 5
max_groups = 5
[budget]
epsilon = 1
delta = 1e-6
[tables.t]
unit = "unit"
[tables.t.columns.key]
type = "text"
values = "private"
"""
PIPELINEDP = """
import json, sys, time
import pyarrow.parquet as pq
import pipeline_dp as p
table = pq.read_table(sys.argv[1])
rows = list(zip(table["unit"].to_pylist(), table["key"].to_pylist()))
cpu = time.process_time()
budget = p.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
engine = p.DPEngine(budget, p.LocalBackend())
params = p.AggregateParams(metrics=[p.Metrics.PRIVACY_ID_COUNT], noise_kind=p.NoiseKind.LAPLACE, max_partitions_contributed=5,
                           max_contributions_per_partition=1)
read = p.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1], value_extractor=lambda r: 0)
result = engine.aggregate(rows, params, read)
budget.compute_budgets()
found = list(result)
print(json.dumps({"found": len(found), "cpu": time.process_time() - cpu}))
"""
OPENDP = """
import json, sys, time
import polars as pl, opendp.prelude as dp
dp.enable_features("contrib")
cpu = time.process_time()
bounds = [dp.polars.Bound(by=[], per_group=5), dp.polars.Bound(by=["key"], per_group=1, num_groups=5)]
context = dp.Context.compositor(
    data=pl.scan_parquet(sys.argv[1]).select("key"), privacy_unit=dp.unit_of(contributions=bounds),
    privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6), split_evenly_over=1, margins=[dp.polars.Margin(max_length=10**7)],
)
found = context.query().group_by("key").agg(dp.len()).release().collect()
print(json.dumps({"found": len(found), "cpu": time.process_time() - cpu}))
"""


def write(file: Path, rows: int) -> None:
    """Each person draws five different keys: repeats are drawn again, from the same frequencies."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    draws = np.random.default_rng(20_261_119)
    weights = np.arange(1, KEYS + 1) ** -EXPONENT
    edges = np.cumsum(weights / weights.sum())
    people = rows // GROUPS
    keys = np.searchsorted(edges, draws.random((people, GROUPS))).clip(max=KEYS - 1)
    while True:
        keys.sort(axis=1)
        again = np.zeros_like(keys, dtype=bool)
        again[:, 1:] = keys[:, 1:] == keys[:, :-1]
        if not again.any():
            break
        keys[again] = np.searchsorted(edges, draws.random(int(again.sum()))).clip(max=KEYS - 1)
    units = np.repeat(np.arange(people), GROUPS)
    names = pa.array([f"key-{place:05}" for place in range(KEYS)])
    words = pa.DictionaryArray.from_arrays(pa.array(keys.reshape(-1).astype("int32")), names).cast(pa.string())
    pq.write_table(pa.table({"unit": units, "key": words}), file)


def ours(file: Path) -> dict[str, Any]:
    """The whole ask: question, charge, engine, noise, ledger."""
    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    with tempfile.TemporaryDirectory(dir=file.parent) as name:
        folder = Path(name)
        (folder / "policy.toml").write_text(POLICY.replace("[tables.t]", f'[tables.t]\nsource = "parquet:{file}"'))
        home = Home(folder / "home")
        Policy.load(folder / "policy.toml").new_ledger(home)
        session = open_dataset(folder / "policy.toml", home=home).session("bench")
        preview = session.preview(QUESTION, epsilon=1)
        cpu = time.process_time()
        answer = session.ask(preview)
        cpu = time.process_time() - cpu
        charge = answer.charged
        return {"found": len(answer.rows), "cpu": cpu, "noise": preview.noise(), "delta": float(charge.failure)}


def raw(file: Path) -> dict[str, Any]:
    import duckdb

    connection, best = duckdb.connect(config={"threads": 2}), float("inf")
    for _ in range(3):
        cpu = time.process_time()
        found = connection.sql(f"SELECT key, count(*) FROM '{file}' GROUP BY key").to_arrow_table()
        best = min(best, time.process_time() - cpu)
    return {"found": found.num_rows, "cpu": best}


def measured(way: str, file: Path, peer: str | None = None) -> dict[str, Any] | None:
    """One way in a process of its own."""
    command = [sys.executable, __file__, "--one", way, str(file)]
    if peer is not None:
        python = Path(".peers") / peer / "bin" / "python"
        if not python.exists():
            return None
        command = [str(python), "-c", way, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--long", type=int, default=10**7)
    parser.add_argument("--one", nargs=2, metavar=("WAY", "FILE"))
    given = parser.parse_args()
    if given.one:
        way, file = given.one
        print(json.dumps({"ours": ours, "raw": raw}[way](Path(file))))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        write(file, given.rows)
        print(f"{given.rows:,} rows, {KEYS:,} keys, epsilon 1, delta 1e-6, at most {GROUPS} groups per person")
        mine = measured("ours", file)
        assert mine is not None
        print(
            f"  {'sfumato':<12} {mine['found']:5} keys  {mine['cpu']:8.2f} s CPU   {mine['noise']}; delta {mine['delta']:.3g}"
        )
        for name, way, peer in (("PipelineDP", PIPELINEDP, "pipelinedp"), ("OpenDP", OPENDP, "opendp")):
            found = measured(way, file, peer)
            if found is None:
                print(f"  {name:<12} not installed")
                continue
            ratio = found["cpu"] / mine["cpu"]
            print(
                f"  {name:<12} {found['found']:5} keys  {found['cpu']:8.2f} s CPU   {ratio:.1f} times ours", flush=True
            )
        write(file, given.long)
        mine, bare = measured("ours", file), measured("raw", file)
        assert mine is not None
        assert bare is not None
        print(
            f"{given.long:,} rows: ours {mine['cpu']:.2f} s CPU, raw {bare['cpu']:.3f}, {mine['cpu'] / bare['cpu']:.1f} x"
        )


if __name__ == "__main__":
    main()
