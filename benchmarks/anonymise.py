"""Anonymisation of Adult beside anonypy and anjana, and of three million rows: CPU seconds, memory, detail lost.

    python benchmarks/anonymise.py [--rows 3000000] [--without-peers]

Adult is the 30 162 complete rows of its training part, seven quasi-identifiers. CPU seconds are of the whole process, all
threads; ours is the whole call, table in, table out, the best of five. Peers run once, in `.peers/` (`make peers`).

**Value-set loss** (NCP): for each person and column, (values covered - 1) / (values in the table - 1) of a set, and
(last - first) / (greatest - least) of an interval of ages; the mean. **Hierarchy loss**: (leaves under the released name - 1) /
(leaves of the hierarchy - 1), the mean, 1 for whoever is suppressed; leaves are the public ones of `adult.toml` (ages 17 to 90,
all workclasses, 16 educations, 41 countries), not those that happen to occur.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars

import sfumato as sf
from sfumato.anonymise import load
from sfumato.data import ADULT_TRAIN_ROWS, adult_path

HERE = Path(__file__).parent
QUASI = ["age", "workclass", "education", "marital_status", "race", "sex", "native_country"]
KS = (2, 5, 10, 50)
VALUE_SET_BARS = (0.0054, 0.0180, 0.033, 0.097)
LOCAL_BARS = (0.016, 0.033, 0.049, 0.102)
GLOBAL_BARS = (0.127, 0.190, 0.250, 0.414)

ANONYPY = """
import sys, time, json
import pandas as pd
from anonypy.anonypy import Preserver
table = pd.read_csv(sys.argv[1])
quasi = json.loads(sys.argv[2])
for name in quasi[1:] + ["income"]:
    table[name] = table[name].astype("category")
start = time.process_time()
groups = Preserver(table, quasi, "income")
parts = groups.modrian.partition(5)
from anonypy.anonypy import anonymize
anonymize(groups.modrian.df, parts, quasi, "income")
spent = time.process_time() - start
sizes = {name: table[name].nunique() for name in quasi}
lost = 0.0
for part in parts:
    rows = table.loc[part]
    for name in quasi:
        if name == "age":
            share = (rows[name].max() - rows[name].min()) / (table[name].max() - table[name].min())
        else:
            share = (rows[name].nunique() - 1) / (sizes[name] - 1)
        lost += share * len(rows) / len(quasi)
print(json.dumps({"cpu": spent, "loss": lost / len(table), "groups": len(parts)}))
"""

ANJANA = """
import sys, time, json, io, contextlib
import pandas as pd
from anjana.anonymity import k_anonymity
table = pd.read_csv(sys.argv[1])
quasi, trees, k = json.loads(sys.argv[2]), json.load(open(sys.argv[3])), int(sys.argv[4])
hierarchies = {}
for name in quasi:
    rows = trees[name]
    hierarchies[name] = {level: pd.Series([row[level] for row in rows]) for level in range(len(rows[0]))}
table[quasi] = table[quasi].astype(str)
start = time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    found = k_anonymity(table, [], quasi, k, 5, hierarchies)
spent = time.process_time() - start
loss = 0.0
for name in quasi:
    leaves = [row[0] for row in trees[name]]
    under = {}
    for row in trees[name]:
        for label in set(row):
            under[label] = under.get(label, 0) + 1
    loss += sum((under[label] - 1) / (len(leaves) - 1) for label in found[name]) / len(quasi)
loss = (loss + len(table) - len(found)) / len(table)
print(json.dumps({"cpu": spent, "loss": loss, "extra": [name for name in found if name not in table]}))
"""


def adult() -> polars.DataFrame:
    train = polars.read_parquet(adult_path())[:ADULT_TRAIN_ROWS]
    return train.filter(~polars.any_horizontal(polars.col(polars.String) == "?"))


def cpu(run: Callable[[], Any], *, times: int = 5) -> tuple[float, Any]:
    """The least CPU seconds, and what came out."""
    best, found = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        found = run()
        best = min(best, time.process_time() - start)
    return best, found


def peer(name: str, script: str, *words: str) -> dict[str, Any] | None:
    """One run in the peer's own environment; None if it is not installed."""
    python = HERE.parent / ".peers" / name / "bin" / "python"
    if not (python.parent.parent / "ready").exists():
        return None
    done = subprocess.run([str(python), "-W", "ignore", "-c", script, *words], capture_output=True, text=True)
    if done.returncode:
        print(f"   {name} failed: {done.stderr.strip().splitlines()[-1]}")
        return None
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def verdict(value: float, bar: float) -> str:
    return "ok" if value <= bar else "ABOVE"


def small(table: polars.DataFrame, csv: Path, *, peers: bool) -> None:
    print(f"Mondrian at k = 5 on Adult, {table.height} rows")
    spent, released = cpu(lambda: sf.anonymise(table, k=5, quasi_identifiers=QUASI))
    loss = released.report.utility.loss
    print(f"   sfumato   {spent:8.4f} s   loss {loss:.2%}   bar 0.05 s: {verdict(spent, 0.05)}")
    if peers and (found := peer("anonypy", ANONYPY, str(csv), json.dumps(QUASI))):
        print(
            f"   anonypy   {found['cpu']:8.4f} s   loss {found['loss']:.2%}   {found['cpu'] / spent:.0f} times as long"
        )


def losses(table: polars.DataFrame, csv: Path, folder: Path, *, peers: bool) -> None:
    trees = load(HERE / "adult.toml")
    print("\nDetail lost on Adult, CPU seconds of the whole call, and the bar")
    print("    k   sets, Mondrian          local recoding          global, 5 % suppressed")
    for place, k in enumerate(KS):
        line = f"{k:5}"
        ways: tuple[tuple[tuple[float, ...], dict[str, Any]], ...] = (
            (VALUE_SET_BARS, {}),
            (LOCAL_BARS, {"hierarchies": trees, "method": "local"}),
            (GLOBAL_BARS, {"hierarchies": trees, "method": "global", "suppression": "0.05"}),
        )
        for bars, asked in ways:
            spent, released = cpu(partial(sf.anonymise, table, k=k, quasi_identifiers=QUASI, **asked), times=3)
            loss = released.report.utility.loss
            line += f"   {loss:6.2%} <= {bars[place]:6.2%} {verdict(loss, bars[place]):3}{spent:5.2f} s"
        print(line)
    if not peers:
        return
    spelled = {}
    outcome = sf.anonymise(table, k=5, quasi_identifiers=QUASI, hierarchies=trees, method="global").report.outcome
    for name, tree in outcome.people.trees.items():
        spelled[name] = [
            [tree.labels[level][tree.node_of[level, leaf]] for level in range(tree.depth + 1)]
            for leaf in range(len(tree.leaves))
        ]
    (folder / "trees.json").write_text(json.dumps(spelled))
    for k in KS:
        if found := peer("anjana", ANJANA, str(csv), json.dumps(QUASI), str(folder / "trees.json"), str(k)):
            print(f"   anjana, global, k = {k}: loss {found['loss']:.1%}, {found['cpu']:.1f} s, adds {found['extra']}")


def drawn(name: str, table: polars.DataFrame, rows: int) -> polars.DataFrame:
    """A large table like Adult; the further down, the fewer people are alike."""
    draw = np.random.default_rng(3)
    match name:
        case "Adult drawn with replacement":
            return table.select(QUASI)[draw.integers(0, len(table), rows)]
        case "its columns drawn apart":
            return polars.DataFrame({each: table[each][draw.integers(0, len(table), rows)] for each in QUASI})
        case _:
            values = {each: table[each].unique(maintain_order=True) for each in QUASI}
            return polars.DataFrame({each: found[draw.integers(0, len(found), rows)] for each, found in values.items()})


LARGE = ("Adult drawn with replacement", "its columns drawn apart", "all values as often")


def large(name: str, rows: int) -> dict[str, float]:
    """One large table in this process: CPU seconds, and the most memory above what was in use before, over the table's own."""
    table = adult()
    sf.anonymise(table, k=5, quasi_identifiers=QUASI)
    frame = drawn(name, table, rows).rechunk()
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    start = time.process_time()
    released = sf.anonymise(frame, k=5, quasi_identifiers=QUASI)
    spent = time.process_time() - start
    return {
        "cpu": spent,
        "rate": rows / spent / 1e6,
        "memory": (_status("VmHWM") - before) / frame.estimated_size(),
        "frame": frame.estimated_size() / 1e6,
        "different": len(released.report.outcome.people.weight),
        "smallest": released.report.risk.smallest,
    }


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) * 1024


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=3_000_000)
    asked.add_argument("--without-peers", action="store_true")
    asked.add_argument("--one", help=argparse.SUPPRESS)
    chosen = asked.parse_args()
    if chosen.one:
        print(json.dumps(large(chosen.one, chosen.rows)))
        return
    table = adult()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        csv = folder / "adult.csv"
        table.select(*QUASI, "income").write_csv(csv)
        small(table, csv, peers=not chosen.without_peers)
        losses(table, csv, folder, peers=not chosen.without_peers)
    print(
        f"\nMondrian at k = 5 on {chosen.rows} rows, a process each; bars: one million rows a second of CPU, 5 times the table"
    )
    for each in LARGE:
        words = [sys.executable, __file__, "--one", each, "--rows", str(chosen.rows)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        print(
            f"   {each:30} {found['cpu']:5.2f} s  {found['rate']:5.2f} million a second {verdict(1, found['rate']):5}  "
            f"memory {found['memory']:4.2f} of {found['frame']:.0f} MB {verdict(found['memory'], 5)}   "
            f"{found['different']} different rows, smallest group {found['smallest']}"
        )


if __name__ == "__main__":
    main()
