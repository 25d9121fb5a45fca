"""Every mechanism in ALL passes the shipped contract: form, loss, exact law, source, attack, power."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.mechanisms import ALL, Mechanism
from sfumato.testing import check_mechanism


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_contract(kind: type[Mechanism[Any, Any]]) -> None:
    """False alarms: the attack errs with probability 1e-9 per example, the fit to the law likewise."""
    check_mechanism(kind, runs=200_000)
