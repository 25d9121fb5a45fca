"""Nine deciles beside OpenDP (candidates and tree), diffprivlib and python-dp's tree, on the same tables, in one run.

    python benchmarks/quantiles.py [--trials 30] [--peers DIRECTORY]

Mean distance in rank from each decile over n (0 inside a tie that holds it), add/remove, by the default choice.
Then the seconds of single calls beside their targets.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms import HistogramMethod, JointExponential, RecursiveQuantiles
from sfumato.mechanisms.quantile.asked import OnLattice
from sfumato.mechanisms.quantile.choose import choose
from sfumato.mechanisms.quantile.histogram_method import best_ratio
from sfumato.mechanisms.quantile.tally import Lattice
from sfumato.noise import system_source

Values = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Values]

DECILES = [f"0.{i}" for i in range(1, 10)]
LAWS: dict[str, tuple[Draw, int, int]] = {
    "uniform": (lambda rng, n: rng.random(n), 0, 1),
    "normal": (lambda rng, n: rng.normal(size=n), -50, 50),
    "lognormal": (lambda rng, n: rng.lognormal(size=n), 0, 1000),
    "Poisson(8)": (lambda rng, n: rng.poisson(8, n).astype(np.float64), 0, 100),
}
ROWS = [
    ("uniform", 1000, 1.0, 0.0065),
    ("uniform", 10_000, 1.0, 0.0005),
    ("normal", 1000, 1.0, 0.0044),
    ("normal", 1000, 0.1, 0.095),
    ("normal", 10_000, 0.1, 0.0056),
    ("normal", 100_000, 1.0, 0.0001),
    ("lognormal", 1000, 1.0, 0.0046),
    ("lognormal", 1000, 0.1, 0.063),
    ("lognormal", 100_000, 1.0, 0.0001),
    ("Poisson(8)", 1000, 1.0, 0.0007),
    ("Poisson(8)", 100_000, 0.1, 0.0001),
]

READ = """
import json, sys, numpy as np
tables = np.load(sys.argv[1])
epsilon, low, high = json.loads(sys.argv[2])
alphas = [i / 10 for i in range(1, 10)]
"""

OPENDP = (
    READ
    + """
import opendp.prelude as dp
dp.enable_features("contrib")
whole = high == 100 and low == 0
def candidates():
    points = [float(i) for i in range(101)] if whole else np.linspace(low, high, 1001).tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    def one(alpha):
        make = lambda s: dp.m.make_private_quantile(*space, dp.max_divergence(), candidates=points, alpha=alpha, scale=s)
        return dp.binary_search_chain(make, d_in=1, d_out=epsilon / 9)
    found = [one(a) for a in alphas]
    return [[m(table.tolist()) for m in found] for table in tables]
def tree():
    edges = [float(i) for i in range(102)] if whole else np.linspace(low, high, 1025).tolist()
    leaves = len(edges) - 1
    b = dp.t.choose_branching_factor(size_guess=tables.shape[1])
    count = ((dp.vector_domain(dp.atom_domain(T="usize")), dp.symmetric_distance())
        >> dp.t.then_count_by_categories(categories=list(range(leaves)), null_category=False, TOA="i64")
        >> dp.t.then_b_ary_tree(leaf_count=leaves, branching_factor=b))
    noisy = dp.binary_search_chain(lambda s: count >> dp.m.then_laplace(s), d_in=1, d_out=epsilon)
    after = dp.t.make_consistent_b_ary_tree(branching_factor=b)
    read = dp.t.make_quantiles_from_counts(edges, alphas=alphas, F=float)
    result = []
    for table in tables:
        bins = np.clip(np.searchsorted(edges, table, side="right") - 1, 0, leaves - 1).tolist()
        result.append(read(after(noisy(bins))[:leaves]))
    return result
print(json.dumps({"OpenDP candidates": candidates(), "OpenDP tree": tree()}))
"""
)

DIFFPRIVLIB = (
    READ
    + """
import warnings; warnings.simplefilter("ignore")
from diffprivlib.tools import quantile
print(json.dumps({"diffprivlib": [quantile(t, alphas, epsilon=epsilon, bounds=(low, high)).tolist() for t in tables]}))
"""
)

PYTHONDP = (
    READ
    + """
from pydp.algorithms.quantile_tree import QuantileTree
result = []
for table in tables:
    tree = QuantileTree(low, high, 4, 16)
    for value in table.tolist():
        tree.add_entry(value)
    result.append(tree.compute_quantiles(epsilon, 0, 1, 1, alphas, "laplace"))
print(json.dumps({"python-dp tree": result}))
"""
)

PEERS = {"opendp": OPENDP, "diffprivlib": DIFFPRIVLIB, "pythondp": PYTHONDP}


def lattice_of(law: str) -> Lattice:
    _, low, high = LAWS[law]
    return Lattice.whole(low, high) if law.startswith("Poisson") else Lattice.of(low, high)


def rank_error(table: Values, points: Values) -> float:
    """The mean over deciles of how many rows lie between the point and its decile, over n."""
    ordered, n = np.sort(table), table.size
    target = np.arange(1, 10) / 10 * n
    below, upto = np.searchsorted(ordered, points, side="left"), np.searchsorted(ordered, points, side="right")
    return float(np.maximum(0, np.maximum(below - target, target - upto)).mean() / n)


def ours(law: str, tables: Values, epsilon: float) -> tuple[str, list[float]]:
    lattice = lattice_of(law)
    found = choose(size=lattice.size, quantiles=DECILES, rows=tables.shape[1], epsilon=epsilon)
    # Rows count where they stand on the public lattice, the left end of their cell; so do the points.
    errors = []
    for table in tables:
        points = np.array(lattice.values(found.sample(lattice.tally(table), system_source())))
        cells = np.floor((table - float(lattice.low)) / float(lattice.step)) * float(lattice.step) + float(lattice.low)
        errors.append(rank_error(np.clip(cells, float(lattice.low), None), points))
    return type(found).__name__, errors


def theirs(peers: Path, name: str, tables: Values, law: str, epsilon: float) -> dict[str, list[float]]:
    python = peers / name / "bin" / "python"
    if not python.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.npy"
        np.save(path, tables)
        asked = json.dumps([epsilon, *map(float, LAWS[law][1:])])
        done = subprocess.run([python, "-c", PEERS[name], path, asked], capture_output=True, text=True, timeout=600)
    if done.returncode:
        print(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
        return {}
    lists = json.loads(done.stdout.splitlines()[-1])
    found = {}
    for each, answers in lists.items():
        # Whole numbers are asked: whichever reading of a peer's real answers errs least on the whole.
        readings = (np.asarray, np.floor, np.round) if law.startswith("Poisson") else (np.asarray,)
        read = [
            [rank_error(table, reading(points)) for table, points in zip(tables, answers, strict=True)]
            for reading in readings
        ]
        found[each] = min(read, key=lambda errors: float(np.mean(errors)))
    return found


def errors(trials: int, peers: Path) -> None:
    rng = np.random.default_rng()
    for law, n, epsilon, target in ROWS:
        tables = np.stack([LAWS[law][0](rng, n) for _ in range(trials)])
        kind, found = ours(law, tables, epsilon)
        others = {each: e for name in PEERS for each, e in theirs(peers, name, tables, law, epsilon).items()}
        mean, spread = float(np.mean(found)), float(np.std(found) / math.sqrt(trials))
        beside = "; ".join(f"{name} {np.mean(e):.4f}" for name, e in others.items())
        best = min((float(np.mean(e)) for e in others.values()), default=math.nan)
        ratio = f"{best / mean:.3g}" if mean else "none of ours"
        print(
            f"{law:11} n={n:<6} e={epsilon:<4} {kind:17} {mean:.5f} +- {spread:.5f} (target {target}) | {beside} | x {ratio}",
            flush=True,
        )


def seconds(call: Callable[[], Any]) -> float:
    """The least of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def sampled(mechanism: OnLattice, lattice: Lattice, values: Values) -> Any:
    """From numbers to points."""
    return mechanism.sample(lattice.tally(values), system_source())


def speed() -> None:
    rng, lattice = np.random.default_rng(), Lattice.of(0, 1)
    for n, target in ((10_000, 0.1), (100_000, 1.0)):
        joint = JointExponential.calibrate(size=lattice.size, quantiles=DECILES, epsilon=1, jitter=1 << 24)
        values = rng.random(n)
        took = seconds(partial(sampled, joint, lattice, values))
        print(f"joint exponential, nine deciles, n={n}: {took * 1000:.1f} ms (target {target * 1000:.0f} ms)")
    values = rng.random(10**6)
    halves = RecursiveQuantiles.calibrate(size=lattice.size, quantiles=DECILES, epsilon=1, jitter=1 << 24)
    print(f"by halves, n=10^6: {seconds(partial(sampled, halves, lattice, values)):.3f} s (target 0.3 s)")
    values = rng.random(10**7)
    coarse = Lattice.of(0, 1, points=1000)
    walk = HistogramMethod.calibrate(size=1000, bins=1000, quantiles=DECILES, epsilon=1, ratio=best_ratio())
    print(f"histogram method, n=10^7: {seconds(partial(sampled, walk, coarse, values)):.3f} s (target 0.5 s)")


def ties(trials: int) -> None:
    """The mean rank error falls to nothing as n grows: Poisson(8), epsilon 0.1."""
    rng = np.random.default_rng()
    for n in (1000, 10_000, 100_000, 1_000_000):
        tables = np.stack([LAWS["Poisson(8)"][0](rng, n) for _ in range(min(trials, 10))])
        kind, found = ours("Poisson(8)", tables, 0.1)
        print(f"ties, Poisson(8), n={n}, epsilon 0.1: {kind} {np.mean(found):.6f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--peers", type=Path, default=Path(__file__).parent.parent / ".peers")
    given = parser.parse_args()
    speed()
    ties(given.trials)
    errors(given.trials, given.peers)
