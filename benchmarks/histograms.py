"""Histograms for ranges: error at epsilon 1 and at rho 1/2 beside OpenDP's consistent tree and the lower bound; speed.

    python benchmarks/histograms.py [--trials 400]

Error: the variance of a uniformly random range, add/remove (targets at epsilon 1: 12, 45.3, 143, 261 for 16, 128, 1 024,
4 096 bins). `expected` is the exact formula, `drawn` the mean over releases of no data, as for OpenDP in the same run.
Speed: Privelet of 2^20 bins with noise (target 100 ms); finding a strategy for 1 024 bins (target 10 s, once).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.mechanisms import LaplaceHistogram
from sfumato.mechanisms.histogram.augmented import augmented
from sfumato.mechanisms.histogram.compare import choose
from sfumato.mechanisms.histogram.factored import factored
from sfumato.mechanisms.histogram.privelet import Haar
from sfumato.mechanisms.histogram.shares import best_levels
from sfumato.mechanisms.histogram.workload import Ranges
from sfumato.noise import system_source

PEERS = Path(__file__).parent.parent / ".peers"
TARGETS = {16: 12.0, 128: 45.3, 1024: 143.0, 4096: 261.0}

OPENDP = """
import json, sys, time
import opendp.prelude as dp
dp.enable_features("contrib", "honest-but-curious")
trials, result = int(sys.argv[1]), {}
for bins in map(int, sys.argv[2:]):
    found = []
    for fan in sorted({2, 4, 8, 16, dp.t.choose_branching_factor(bins)}):
        space = dp.vector_domain(dp.atom_domain(T=int), size=bins), dp.l1_distance(T=int)
        tree = dp.t.make_b_ary_tree(*space, leaf_count=bins, branching_factor=fan)
        scale = dp.binary_search_param(lambda s: tree >> dp.m.then_laplace(s), 1, 1.0)
        release = tree >> dp.m.then_laplace(scale)
        assert release.map(1) <= 1 + 1e-9
        fit = dp.t.make_consistent_b_ary_tree(fan)
        total = 0.0
        count = max(20, trials * 16 // max(16, bins // 16))
        for _ in range(count):
            sums, squares, run = 0.0, 0.0, 0.0
            for leaf in fit(release([0] * bins))[:bins]:
                run += leaf
                sums += run
                squares += run * run
            total += ((bins + 1) * squares - sums * sums) / (bins * (bins + 1) / 2)
        found.append((total / count, fan, fan == dp.t.choose_branching_factor(bins)))
    result[bins] = found
print(json.dumps(result))
"""


def peer(trials: int) -> dict[str, Any]:
    """OpenDP's tree, at several branching factors; those of its own choice are marked."""
    python = PEERS / "opendp" / "bin" / "python"
    if not python.exists():
        print("OpenDP is not there: sh benchmarks/peers.sh opendp")
        return {}
    command = [str(python), "-W", "ignore", "-c", OPENDP, str(trials), *map(str, TARGETS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    if done.returncode:
        print(done.stderr[-2000:])
        return {}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def drawn(mechanism: Any, bins: int, trials: int) -> float:
    """The mean over releases of the mean squared error over all ranges."""
    none, total, stream = np.zeros(bins, dtype=np.int64), 0.0, system_source()
    for _ in range(trials):
        sums = np.concatenate([[0.0], np.cumsum(mechanism.sample(none, stream))])
        total += ((bins + 1) * float((sums**2).sum()) - float(sums.sum()) ** 2) / (bins * (bins + 1) / 2)
    return total / trials


def errors(trials: int) -> None:
    theirs = peer(trials)
    print("\nVariance of a uniformly random range, add/remove, epsilon 1")
    for bins, target in TARGETS.items():
        comparison = choose(Ranges(bins), epsilon=1)
        best = comparison.best
        seen = drawn(best.mechanism, bins, max(100, trials * 8 // max(1, bins // 128)))
        kept = "met" if best.variance <= target else "MISSED"
        print(f"{bins:5} bins: expected {best.variance:.2f}, drawn {seen:.2f}; target {target} {kept}")
        for error, fan, own in theirs.get(str(bins), []):
            mark = "its own choice" if own else "            "
            print(f"        OpenDP, {fan:3} children {mark}: {error:8.1f}, {error / best.variance:5.2f} x ours")
        print("    " + str(comparison).replace("\n", "\n    "))
    print("\nVariance of a uniformly random range, add/remove, rho 1/2")
    for bins in TARGETS:
        print("    " + str(choose(Ranges(bins), rho="1/2")).replace("\n", "\n    "))


def speed() -> None:
    bins = 1 << 20
    mechanism = LaplaceHistogram.calibrate(strategy=Haar(bins), epsilon=1)
    cells, stream = np.arange(bins, dtype=np.int64) % 1000, system_source()
    mechanism.sample(cells, stream)
    times, cores = [], []
    for _ in range(15):
        start, busy = time.perf_counter(), time.process_time()
        mechanism.sample(cells, stream)
        times.append(time.perf_counter() - start)
        cores.append(time.process_time() - busy)
    start = time.perf_counter()
    noise = mechanism.noise(mechanism.strategy.scales[0]).sample(stream, bins)
    alone = time.perf_counter() - start
    rough = np.random.default_rng()
    start = time.perf_counter()
    rough.laplace(scale=21.0, size=noise.size)
    floats = time.perf_counter() - start
    median = sorted(times)[7]
    print(
        f"\nPrivelet of 2^20 bins: best {min(times) * 1e3:.0f} ms, median {median * 1e3:.0f} ms; {verdict(median, 0.1)};"
        f" {sorted(cores)[7] * 1e3:.0f} ms of a core"
    )
    print(
        f"    its noise alone {alone * 1e3:.0f} ms; numpy's floats {floats * 1e3:.0f} ms, {median / floats:.1f} x those"
    )
    finders: dict[str, Callable[[], object]] = {
        "best levels": lambda: best_levels(Ranges(1024), "pure"),
        "descent": lambda: augmented(Ranges(1024)),
        "fixed point": lambda: factored(Ranges(1024)),
    }
    for name, find in finders.items():
        best_levels.cache_clear()
        start, worked = time.perf_counter(), time.process_time()
        find()
        took, spent = time.perf_counter() - start, time.process_time() - worked
        start = time.perf_counter()
        find()
        again = time.perf_counter() - start
        print(
            f"{name} for 1 024 bins: {took:.3f} s, {spent:.3f} of a core; {verdict(took, 10)}; again {again * 1e6:.0f} us"
        )


def verdict(took: float, target: float) -> str:
    return f"target {target} s {'met' if took <= target else 'MISSED'}"


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--trials", type=int, default=400)
    trials = reader.parse_args().trials
    busy = os.getloadavg()[0]
    print(
        platform.python_version(),
        platform.machine(),
        time.strftime("%Y-%m-%d"),
        f"load {busy:.1f} on {os.cpu_count()} cores",
    )
    speed()
    errors(trials)


if __name__ == "__main__":
    main()
