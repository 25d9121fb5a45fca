"""Mechanisms beside OpenDP, diffprivlib, python-dp and multi-freq-ldpy for what they have, in one run.

    python benchmarks/mechanisms.py [--seconds 1]

Local reports: milliseconds for 20 000 clients at epsilon 1 (targets: 5 for k-ary response, 15 for unary encoding).
Choices among 100 and single numbers: microseconds a release, and the error at the same epsilon.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.mechanisms import (
    Duchi,
    Exponential,
    ForcedResponse,
    HadamardResponse,
    Hybrid,
    Laplace,
    LocalHashing,
    NoisyMax,
    PermuteAndFlip,
    Piecewise,
    RandomizedResponse,
    TopK,
    TruncatedLaplace,
    UnaryEncoding,
)
from sfumato.noise import system_source

PEERS = Path(__file__).parent.parent / ".peers"
CLIENTS = 20_000
SCORES = [100 - 2 * min(i, 20) for i in reversed(range(100))]

TIMER = """
import json, sys, time
seconds, result = float(sys.argv[1]), {}
def rate(name, call, each=1):
    call()
    count, start = 0, time.process_time()
    while (took := time.process_time() - start) < seconds:
        call()
        count += each
    result[name] = took / count
"""

MULTIFREQ = (
    TIMER
    + """
import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
for k in (10, 100):
    data = np.arange(20000) % k
    rate(f"k-ary response {k}", lambda: [GRR_Client(x, k, 1.0) for x in data])
    rate(f"unary {k}", lambda: [UE_Client(x, k, 1.0, True) for x in data])
    rate(f"symmetric unary {k}", lambda: [UE_Client(x, k, 1.0, False) for x in data])
    try:
        rate(f"local hashing {k}", lambda: [LH_Client(x, k, 1.0, True) for x in data[:2000]], 0.1)
    except TypeError:  # it hashes str, which newer releases of xxhash refuse
        pass
print(json.dumps(result))
"""
)

OPENDP = (
    TIMER
    + """
import math
import opendp.prelude as dp
dp.enable_features("contrib")
scores = json.loads(sys.argv[2])
for k in (10, 100):
    respond = dp.m.make_randomized_response(list(range(k)), math.e / (math.e + k - 1))
    rate(f"k-ary response {k}", lambda: [respond(x % k) for x in range(1000)], 0.05)
    flip = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=2 / (1 + math.exp(0.5)))
    vectors = [bytes(1 << (x % k) % 8 if i == (x % k) // 8 else 0 for i in range(-(-k // 8))) for x in range(1000)]
    rate(f"symmetric unary {k}", lambda: [flip(v) for v in vectors], 0.05)
space = dp.vector_domain(dp.atom_domain(T="i32")), dp.linf_distance(T="i32")
# The scale is 2 / epsilon for scores that may move both ways, as their own map says.
pick = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2.0)
assert abs(pick.map(1) - 1) < 1e-9, pick.map(1)
gumbel = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=2.0)
def lost(chosen): return sum(100 - scores[i] for i in chosen) / len(chosen)
rate("permute and flip", lambda: pick(scores))
rate("exponential", lambda: gumbel(scores))
result["permute and flip lost"] = lost([pick(scores) for _ in range(2000)])
result["exponential lost"] = lost([gumbel(scores) for _ in range(2000)])
top = dp.m.make_noisy_top_k(*space, dp.zero_concentrated_divergence(), k=10, scale=20.0)
rate("top 10", lambda: top(scores))
result["top 10 lost"] = sum(lost(top(scores)) for _ in range(300)) / 300
laplace = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
rate("laplace", lambda: laplace(0))
print(json.dumps(result))
"""
)

DIFFPRIVLIB = (
    TIMER
    + """
from diffprivlib.mechanisms import Exponential, Geometric, LaplaceBoundedNoise, PermuteAndFlip
scores = json.loads(sys.argv[2])
for name, kind in (("permute and flip", PermuteAndFlip), ("exponential", Exponential)):
    m = kind(epsilon=1, sensitivity=1, utility=scores)
    rate(name, m.randomise)
    picked = [m.randomise() for _ in range(2000)]
    result[name + " lost"] = sum(100 - scores[i] for i in picked) / len(picked)
laplace = Geometric(epsilon=1, sensitivity=1)
rate("laplace", lambda: laplace.randomise(0))
bounded = LaplaceBoundedNoise(epsilon=1, delta=1e-5, sensitivity=1)
rate("truncated laplace", lambda: bounded.randomise(0))
print(json.dumps(result))
"""
)

PYTHONDP = (
    TIMER
    + """
from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
laplace = LaplaceMechanism(epsilon=1, sensitivity=1)
rate("laplace", lambda: laplace.add_noise(0))
print(json.dumps(result))
"""
)


def peer(name: str, script: str, seconds: float) -> dict[str, float]:
    """What a peer measured in its own environment; empty, and said so, when it is absent or fails."""
    python = PEERS / name / "bin" / "python"
    if not python.exists():
        print(f"{name} is absent (make peers)")
        return {}
    arguments = [str(python), "-c", script, str(seconds), json.dumps(SCORES)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name} did not run: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        return {}
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def timed(call: Callable[[], object], seconds: float) -> float:
    """Seconds of a core per call, the mean over about `seconds`, as the peers are timed: a busy machine changes neither."""
    call()
    count, start = 0, time.process_time()
    while (took := time.process_time() - start) < seconds:
        call()
        count += 1
    return took / count


def line(name: str, ours: float, unit: float, others: dict[str, dict[str, float]], target: float | None = None) -> None:
    said = f"{name:24} {ours * unit:10.2f}"
    for result in others.values():
        said += (
            f" {result[name] * unit:10.1f} {result[name] / ours:7.1f}x" if name in result else f" {'-':>10} {'-':>8}"
        )
    if target is not None:
        said += "   met" if ours * unit <= target else "   MISSED"
    print(said)


def heading(text: str, others: dict[str, dict[str, float]]) -> None:
    print(f"\n{text}")
    print(f"{'':24} {'sfumato':>10}" + "".join(f" {name:>10} {'ratio':>8}" for name in others))


def local(seconds: float, others: dict[str, dict[str, float]]) -> None:
    heading(f"{CLIENTS:,} clients, epsilon 1, milliseconds", others)
    source = system_source()
    for k in (10, 100):
        answers = np.arange(CLIENTS) % k
        protocols: list[tuple[str, Any, float | None]] = [
            ("k-ary response", RandomizedResponse.calibrate(epsilon=1, categories=k), 5),
            ("unary", UnaryEncoding.calibrate(epsilon=1, categories=k), 15),
            ("symmetric unary", UnaryEncoding.symmetric(epsilon=1, categories=k), 15),
            ("local hashing", LocalHashing.calibrate(epsilon=1, categories=k), None),
            ("hadamard", HadamardResponse.calibrate(epsilon=1, categories=k), None),
            ("forced", ForcedResponse.calibrate(epsilon=1, weights=(1,) * k), None),
        ]
        for name, m, target in protocols:
            line(f"{name} {k}", timed(lambda: m.sample(answers, source), seconds), 1e3, others, target)  # noqa: B023
    numbers = np.linspace(-1, 1, CLIENTS)
    for name, mechanism in (("duchi", Duchi), ("piecewise", Piecewise), ("hybrid", Hybrid)):
        m = mechanism.calibrate(epsilon=1)
        line(name, timed(lambda: m.sample(numbers, source), seconds), 1e3, others)  # noqa: B023


def choices(seconds: float, others: dict[str, dict[str, float]]) -> None:
    heading(f"a choice among {len(SCORES)}, epsilon 1 (top 10: as rates of 1/20), microseconds", others)
    source = system_source()
    each: list[tuple[str, Any]] = [
        ("permute and flip", PermuteAndFlip(100, "1/2", 1)),
        ("noisy max", NoisyMax(100, "1/2", 1)),
        ("exponential", Exponential(100, "1/2", 1)),
        ("top 10", TopK(100, 10, "1/20", 1)),
    ]
    for name, m in each:
        line(name, timed(lambda: m.sample(SCORES, source), seconds), 1e6, others)  # noqa: B023
    print("mean score lost, from draws")
    for name, m in each:
        lost = 100 - np.array(SCORES)[np.array(m.repeat(SCORES, 20_000 if name != "top 10" else 2000, source))].mean()
        line(f"{name} lost", float(lost), 1, others)


def numbers(seconds: float, others: dict[str, dict[str, float]]) -> None:
    heading("a number, epsilon 1, delta 1e-5 where one is needed, microseconds", others)
    source = system_source()
    for name, m in (
        ("laplace", Laplace(1)),
        ("truncated laplace", TruncatedLaplace.calibrate(epsilon=1, delta="1e-5")),
    ):
        line(name, timed(lambda: m.sample(0, source), seconds), 1e6, others)  # noqa: B023


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each measurement")
    seconds = parser.parse_args().seconds
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}")
    multifreq, opendp = peer("multifreq", MULTIFREQ, seconds), peer("opendp", OPENDP, seconds)
    diffprivlib, pythondp = peer("diffprivlib", DIFFPRIVLIB, seconds), peer("pythondp", PYTHONDP, seconds)
    local(seconds, {"multifreq": multifreq, "OpenDP": opendp})
    choices(seconds, {"OpenDP": opendp, "diffpriv": diffprivlib})
    numbers(seconds, {"OpenDP": opendp, "diffpriv": diffprivlib, "python-dp": pythondp})
    print("\nmulti-freq-ldpy, diffprivlib and python-dp draw from floats; sfumato and OpenDP from exact laws")


if __name__ == "__main__":
    main()
