"""Every error says what to do next."""

from __future__ import annotations

import pytest

from sfumato.core import BadPolicy, BudgetExceeded, SfumatoError
from sfumato.core.errors import NotSupported


def test_an_error_reads_as_code_what_and_next_step() -> None:
    error = NotSupported("rows belong to people", hint="count them", code="SF001")
    assert str(error) == "SF001 rows belong to people -> count them"


def test_a_hint_is_required() -> None:
    with pytest.raises(TypeError):
        NotSupported("no hint")  # type: ignore[call-arg]


def test_a_budget_error_carries_cost_and_left() -> None:
    error = BudgetExceeded("too dear", hint="ask for less", cost="1", left="0.5")
    assert (error.cost, error.left) == ("1", "0.5")
    assert isinstance(error, SfumatoError)


def test_a_policy_error_points_into_its_text() -> None:
    error = BadPolicy("epsilon is missing", hint="write epsilon = 1.0", code="SF017", line=3, column=1)
    assert str(error) == "line 3, column 1: SF017 epsilon is missing -> write epsilon = 1.0"
    assert str(BadPolicy("no place", hint="none")) == "no place -> none"
