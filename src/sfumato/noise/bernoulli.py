"""A coin that falls with probability exp(-x), for a rational x."""

from __future__ import annotations

from sfumato.core.interval import exp_of_ratio
from sfumato.noise.ladder import Uniform
from sfumato.noise.source import Source


def bernoulli_exp_of_ratio(p: int, q: int, source: Source) -> bool:
    """True with probability exp(-p/q), for p/q >= 0."""
    bits = 64
    uniform = Uniform(source.bits(bits), bits)
    while True:
        low, high = exp_of_ratio(-p, q, bits + 8)
        if (uniform.seen + 1) << 8 <= low:
            return True
        if uniform.seen << 8 >= high:
            return False
        bits *= 2
        uniform = uniform.reveal(bits, source)
