"""Every mechanism in ALL passes the shipped contract: form, loss, exact law, source, attack, power."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.mechanisms import ALL, Mechanism
from sfumato.testing import check_mechanism
from sfumato.testing.mechanism import check_attack, check_promise

LONG = {
    "Aim",
    "GaussianHistogram",
    "GaussianKeys",
    "GaussianWeights",
    "GeometricKeys",
    "HadamardResponse",
    "HistogramMethod",
    "IndependentQuantiles",
    "InverseSensitivity",
    "JointExponential",
    "LaplaceHistogram",
    "LaplaceKeys",
    "LaplaceWeights",
    "LocalHashing",
    "Mst",
    "NoisySearch",
    "PufferfishLaplace",
    "RecursiveQuantiles",
    "SparseHistogram",
    "TopK",
    "TreeQuantiles",
    "UnaryEncoding",
}
"""Attacking these takes more than a second: that is left to `make test`. What they promise is verified at every commit."""


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind.__name__ not in LONG], ids=lambda kind: kind.__name__)
def test_contract(kind: type[Mechanism[Any, Any]]) -> None:
    """False alarms: the attack errs with probability 1e-9 per example, the fit to the law likewise."""
    check_mechanism(kind, runs=200_000)


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind.__name__ in LONG], ids=lambda kind: kind.__name__)
def test_promise(kind: type[Mechanism[Any, Any]]) -> None:
    check_promise(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in ALL if kind.__name__ in LONG], ids=lambda kind: kind.__name__)
def test_attack(kind: type[Mechanism[Any, Any]]) -> None:
    """False alarms as above."""
    for mechanism in kind.examples():
        check_attack(mechanism, runs=200_000)


def test_the_list_of_long_attacks_names_mechanisms() -> None:
    assert {kind.__name__ for kind in ALL} >= LONG
