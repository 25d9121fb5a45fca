"""Mechanisms: a private value goes in, a noisy release comes out, and the object itself knows what that costs."""

from sfumato.mechanisms.base import Case, Mechanism, Release
from sfumato.mechanisms.choice.exponential import Exponential
from sfumato.mechanisms.choice.noisy_max import NoisyMax
from sfumato.mechanisms.choice.permute_and_flip import PermuteAndFlip
from sfumato.mechanisms.choice.top_k import TopK
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.randomized_response import RandomizedResponse
from sfumato.mechanisms.local.unary import UnaryEncoding
from sfumato.mechanisms.number.gaussian import Gaussian
from sfumato.mechanisms.number.laplace import Laplace
from sfumato.mechanisms.number.truncated_laplace import TruncatedLaplace

ALL: tuple[type[Mechanism], ...] = (  # type: ignore[type-arg]
    Laplace,
    Gaussian,
    TruncatedLaplace,
    Exponential,
    RandomizedResponse,
    PermuteAndFlip,
    NoisyMax,
    TopK,
    UnaryEncoding,
)
"""Every mechanism: the contract suite, the audit and the documentation walk this list."""

__all__ = [
    "ALL",
    "Case",
    "Exponential",
    "Gaussian",
    "Laplace",
    "Law",
    "Mechanism",
    "NoisyMax",
    "PermuteAndFlip",
    "RandomizedResponse",
    "Release",
    "TopK",
    "TruncatedLaplace",
    "UnaryEncoding",
]
