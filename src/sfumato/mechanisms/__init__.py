"""Mechanisms: a private value goes in, a noisy release comes out, and the object itself knows what that costs."""

from sfumato.mechanisms.base import Case, Mechanism, Release
from sfumato.mechanisms.choice.exponential import Exponential
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.randomized_response import RandomizedResponse
from sfumato.mechanisms.number.gaussian import Gaussian
from sfumato.mechanisms.number.laplace import Laplace
from sfumato.mechanisms.number.truncated_laplace import TruncatedLaplace

ALL: tuple[type[Mechanism], ...] = (  # type: ignore[type-arg]
    Laplace,
    Gaussian,
    TruncatedLaplace,
    Exponential,
    RandomizedResponse,
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
    "RandomizedResponse",
    "Release",
    "TruncatedLaplace",
]
