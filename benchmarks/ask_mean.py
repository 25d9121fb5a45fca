"""The error of grouped means beside PipelineDP's, at one epsilon and one bound, in one run.

10^6 rows, 90 000 units (Zipf-like), 100 public keys, a value in [0, 100], at most 10 rows per unit, epsilon 1. The error is
the root mean square over the groups, against the truth of the table as it is, nobody cut off. For us it is said in parts:
what the bound leaves out (exact answers with every unit bounded), and what the noise adds.

    python benchmarks/ask_mean.py [--rows 1000000] [--runs 3]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.curator.dataset import Dataset, open_dataset
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy

BOUND, KEYS = 10, 100
PEER = Path(__file__).parent.parent / ".peers" / "pipelinedp" / "bin" / "python"
QUESTION = "SELECT key, AVG(value) AS mean FROM t GROUP BY key"
POLICY = f"""
[dataset]
name = "t"
id = "d-bench"
version = "1"
size = 1000000
[unit]
kind = "person"
max_rows = {BOUND}
[budget]
epsilon = 1000000000
delta = 1e-9
[tables.t]
source = "parquet:table.parquet"
unit = "unit"
[tables.t.columns.key]
type = "integer"
range = [0, {KEYS - 1}]
[tables.t.columns.value]
type = "number"
range = [0, 100]
"""

PIPELINEDP = f"""
import json, sys, time
import pandas as pd
import pipeline_dp as dp
table = pd.read_parquet(sys.argv[1])
rows = list(table.itertuples(index=False, name=None))
found, started = [], time.process_time()
for _ in range(int(sys.argv[2])):
    budget = dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-9)
    engine = dp.DPEngine(budget, dp.LocalBackend())
    wanted = dp.AggregateParams(
        noise_kind=dp.NoiseKind.LAPLACE, metrics=[dp.Metrics.MEAN], max_partitions_contributed={BOUND},
        max_contributions_per_partition=1, min_value=0.0, max_value=100.0)
    of = dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda row: row[2])
    answer = engine.aggregate(rows, wanted, of, public_partitions=list(range({KEYS})))
    budget.compute_budgets()
    means = dict((key, value.mean) for key, value in answer)
    found.append([means[key] for key in range({KEYS})])
print(json.dumps([found, (time.process_time() - started) / int(sys.argv[2])]))
"""


def make(folder: Path, rows: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The table; the true mean of each group."""
    rng = np.random.default_rng(11)
    units = max(1, rows * 9 // 100)
    share = np.cumsum(1 / np.arange(1, units + 1) ** 0.8)
    unit = rng.permutation(units)[np.searchsorted(share, rng.random(rows) * share[-1])]
    key, value = rng.integers(0, KEYS, rows), rng.random(rows) * 100
    pq.write_table(pa.table({"unit": unit, "key": key, "value": value}), folder / "table.parquet")
    means: np.ndarray[Any, np.dtype[np.float64]] = np.bincount(key, value) / np.bincount(key)
    return means


def opened(folder: Path) -> Dataset:
    (folder / "policy.toml").write_text(POLICY)
    home = Home(folder / "home")
    Policy.load(folder / "policy.toml").new_ledger(home)
    return open_dataset(folder / "policy.toml", home=home)


def error(answers: Sequence[Sequence[float]], truth: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    return math.sqrt(float(np.mean((np.array(answers) - truth) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = make(folder, given.rows)
        session = opened(folder).session("ana")
        # At a price beyond all sense the noise is nothing, and what is left is what the bound leaves out.
        bounded = [[row["mean"] for row in session.ask(QUESTION, epsilon=10**7).rows]]
        answers, started = [], time.process_time()
        for run in range(given.runs):
            answers.append([row["mean"] for row in session.ask(QUESTION, epsilon=f"1.{run:09}").rows])
        ours = error(answers, truth), (time.process_time() - started) / given.runs
        left_out = error(bounded, truth)
        print(f"root mean square error of {KEYS} means, {given.rows:,} rows, at most {BOUND} per unit, epsilon 1")
        print(f"  ours        {ours[0]:8.3f}   {ours[1]:7.2f} CPU seconds a question")
        print(f"    left out  {left_out:8.3f}   by the bound")
        print(f"    noise     {error(answers, np.array(bounded[0])):8.3f}")
        if not PEER.exists():
            print("  PipelineDP is absent (make peers)")
            return
        command = [str(PEER), "-c", PIPELINEDP, str(folder / "table.parquet"), str(given.runs)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found, seconds = json.loads(done.stdout.strip().splitlines()[-1])
        theirs = error(found, truth)
        print(f"  PipelineDP  {theirs:8.3f}   {seconds:7.2f} CPU seconds a question")
        print(f"  theirs / ours: error {theirs / ours[0]:.2f}, {'met' if ours[0] <= theirs else 'MISSED'}")


if __name__ == "__main__":
    main()
