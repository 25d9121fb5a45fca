"""Bounds on a probability from counts that hold with a stated confidence, whatever the probability."""

from __future__ import annotations


def clopper_pearson(hits: int, runs: int, *, miss: float) -> tuple[float, float]:
    """An interval of which each end fails with probability at most `miss` (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    low = float(betaincinv(hits, runs - hits + 1, miss)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, runs - hits, 1 - miss)) if hits < runs else 1.0
    return low, high
