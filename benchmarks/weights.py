"""Twenty expectations of a shifted private table: importance weights beside direct noisy answers at the same budget.

    python benchmarks/weights.py [--trials 20] [--penalties]

Four columns in [0, 1], correlated; the private table is an exponential tilt of the public one (what weights can express), or a
mixture (what they cannot). Twenty functions: four means, four second moments, six products, six half-spaces. The error is the
root mean square over functions and trials of estimate less private average, in units of the function's public deviation.
"Public" takes the public average as it is; "direct" adds Laplace noise of 20/(N epsilon) to every average (the functions lie in
[0, 1], the number of rows is taken as known, as weights do). Twenty functions more would double the direct noise, and cost
weights nothing. With --penalties: the error under every penalty, from which the usual one was chosen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms import GaussianWeights, LaplaceWeights
from sfumato.mechanisms.weights.column import Columns, Numeric
from sfumato.mechanisms.weights.reference import Reference
from sfumato.mechanisms.weights.rows import Rows
from sfumato.mechanisms.weights.weighted import Weighted

Floats = NDArray[np.float64]
WIDTH, PUBLIC = 4, 5000
COLUMNS = Columns.of({f"x{i}": Numeric(0, 1) for i in range(WIDTH)})
TILTS = {"small shift": 0.7, "large shift": 2.0}


def population(rng: np.random.Generator, rows: int) -> Floats:
    """Four correlated columns in [0, 1]."""
    shared = rng.normal(size=(rows, 1))
    return np.asarray(1 / (1 + np.exp(-0.8 * shared - rng.normal(size=(rows, WIDTH)))))


def tilted(rng: np.random.Generator, rows: int, strength: float) -> Floats:
    """Rows kept with probability proportional to exp(slope . x): truly a tilt of the public law."""
    slope = strength * np.array([1.0, -1.0, 0.5, 0.0])
    kept: list[Floats] = []
    while sum(map(len, kept)) < rows:
        more = population(rng, 4 * rows)
        heights = more @ slope
        kept.append(more[rng.random(len(more)) < np.exp(heights - 1.5 * strength)])
    return np.concatenate(kept)[:rows]


def mixed(rng: np.random.Generator, rows: int, strength: float) -> Floats:
    """A third of the rows pulled towards a corner: no tilt of four slopes."""
    all_rows = population(rng, rows)
    third = rng.random(rows) < 1 / 3
    all_rows[third] = all_rows[third] ** (1 + strength)
    return all_rows


def functions(x: Floats) -> Floats:
    """Twenty columns, one per function, each within [0, 1]."""
    means = [x[:, i] for i in range(WIDTH)]
    pairs = [x[:, i] * x[:, j] for i in range(WIDTH) for j in range(i + 1, WIDTH)]
    halves = [x[:, i] > 0.6 for i in range(WIDTH)] + [x[:, 0] + x[:, 2] > 1.2, x[:, 1] > x[:, 0]]
    return np.stack([*means, *[m * m for m in means], *pairs, *halves], axis=1).astype(np.float64)


def weighted_error(
    kind: Any, private: Floats, public: Floats, promise: dict[str, Any]
) -> tuple[Floats, float, NDArray[np.bool_]]:
    """The errors of the twenty, the effective rows, and which of the 95 % bars held."""
    reference = Reference.of(COLUMNS, {name: public[:, i] for i, name in enumerate(COLUMNS.names)})
    mechanism = kind.calibrate(reference=reference, size=len(private), **promise)
    rows = Rows.of(COLUMNS.code({name: private[:, i] for i, name in enumerate(COLUMNS.names)}))
    weighted = Weighted.of(mechanism, mechanism.release(rows, 1).value)
    if weighted.effective < 30:
        return np.full(20, np.nan), weighted.effective, np.zeros(20, dtype=np.bool_)
    truth, public_values = functions(private).mean(axis=0), functions(public)
    found = [weighted.estimate(public_values[:, i]) for i in range(20)]
    errors = np.array([f.value for f in found]) - truth
    held = np.abs(errors) <= np.array([f.within("0.95") for f in found])
    return errors / public_values.std(axis=0), weighted.effective, held


def rms(errors: list[Floats]) -> float:
    return float(np.sqrt(np.nanmean(np.square(errors))))


def row(
    make: Callable[..., Floats], strength: float, n: int, epsilon: str, trials: int, **more: Any
) -> dict[str, float]:
    rng = np.random.default_rng(20261119)
    laplace, gaussian, plain, direct, effective, bars = [], [], [], [], [], []
    for _ in range(trials):
        private, public = make(rng, n, strength), population(rng, PUBLIC)
        errors, rows, held = weighted_error(LaplaceWeights, private, public, {"epsilon": epsilon, **more})
        laplace.append(errors)
        effective.append(rows)
        bars.append(held)
        gaussian.append(
            weighted_error(GaussianWeights, private, public, {"epsilon": epsilon, "delta": "1e-6", **more})[0]
        )
        spread = functions(public).std(axis=0)
        plain.append((functions(public).mean(axis=0) - functions(private).mean(axis=0)) / spread)
        direct.append(rng.laplace(scale=20 / (n * float(epsilon)), size=20) / spread)
    return {
        "Laplace weights": rms(laplace),
        "Gaussian weights": rms(gaussian),
        "public": rms(plain),
        "direct": rms(direct),
        "effective": float(np.mean(effective)),
        "bars": float(np.mean(bars)),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--penalties", action="store_true")
    args = parser.parse_args()
    names = ["private table", "rows", "epsilon", "Laplace", "Gaussian, delta 1e-6", "public", "direct"]
    names += ["direct / Laplace", "eff. rows", "bars"]
    print(f"| {' | '.join(names)} |")
    print("|---" * len(names) + "|")
    for name, strength in TILTS.items():
        for shape, make in (("tilt", tilted), ("mixture", mixed)):
            for n in (1000, 10_000, 100_000):
                for epsilon in ("0.1", "1"):
                    if args.penalties:
                        tries = {
                            p: row(make, strength, n, epsilon, args.trials, penalty=f"1/{1 << p}")
                            for p in range(0, 16, 2)
                        }
                        usual = row(make, strength, n, epsilon, args.trials)
                        line = " ".join(f"2^-{p} {found['Laplace weights']:.4f}" for p, found in tries.items())
                        print(
                            f"{name}, {shape}, n {n}, epsilon {epsilon}: {line}; usual {usual['Laplace weights']:.4f}"
                        )
                        continue
                    f = row(make, strength, n, epsilon, args.trials)
                    print(
                        f"| {name}, {shape} | {n} | {epsilon} | {f['Laplace weights']:.4f} | {f['Gaussian weights']:.4f} "
                        f"| {f['public']:.4f} | {f['direct']:.4f} | {f['direct'] / f['Laplace weights']:.2f} "
                        f"| {f['effective']:.0f} | {f['bars']:.0%} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
