"""Sensitivities bound what they say, also after flooring to a lattice."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import BadInput, Neighbours, Sensitivity

cells = st.lists(
    st.tuples(st.fractions(-20, 20, max_denominator=64), st.fractions(-20, 20, max_denominator=64)),
    min_size=1,
    max_size=6,
)


@given(cells, st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(8), Fraction(1, 1024)]))
def test_flooring_moves_no_further_than_on_grid_says(pairs: list[tuple[Fraction, Fraction]], grain: Fraction) -> None:
    gaps = [abs(x - y) for x, y in pairs]
    claim = Sensitivity(
        sum(gaps, Fraction(0)), max(gaps), sum((g * g for g in gaps), Fraction(0)), cells=len(pairs)
    ).on_grid(grain)
    steps = [abs(math.floor(x / grain) - math.floor(y / grain)) for x, y in pairs]
    assert sum(steps) <= claim.l1
    assert max(steps) <= claim.linf
    assert sum(step * step for step in steps) <= claim.l2_squared


def test_rounding_half_to_even_would_break_it() -> None:
    """0.5 and 1.5 are one apart, and round() sends them to 0 and 2: flooring is not a matter of taste."""
    claim = Sensitivity.of(1).on_grid(1)
    assert abs(round(0.5) - round(1.5)) > claim.linf
    assert abs(math.floor(0.5) - math.floor(1.5)) <= claim.linf


def test_a_number_is_one_cell() -> None:
    one = Sensitivity.of("0.5")
    assert (one.l1, one.linf, one.l2_squared, one.cells) == (Fraction(1, 2), Fraction(1, 2), Fraction(1, 4), 1)


def test_bounds_are_tightened_by_what_always_holds() -> None:
    loose = Sensitivity(Fraction(10), Fraction(2), Fraction(100))
    assert loose.l2_squared == 20
    assert Sensitivity(Fraction(100), Fraction(2), Fraction(1000), cells=3).l1 == 6
    assert Sensitivity(Fraction(100), Fraction(2), Fraction(1000), cells=3).l2_squared == 12


def test_answers_of_one_question_are_one_vector() -> None:
    both = Sensitivity.of_cells(4) + Sensitivity.of(3)
    assert (both.l1, both.linf, both.l2_squared, both.cells) == (Fraction(7), Fraction(3), Fraction(13), 5)


def test_neighbours_do_not_mix() -> None:
    with pytest.raises(BadInput, match="different neighbours"):
        Sensitivity.of(1) + Sensitivity.of(1, about=Neighbours.REPLACE)
    with pytest.raises(BadInput, match="different neighbours"):
        Sensitivity.of(1) + Sensitivity.of(1, about=Neighbours.ADD_REMOVE.protecting("household"))


@pytest.mark.parametrize("bad", [-1, float("inf"), float("nan"), "-1/2"])
def test_senseless_sensitivities_are_refused(bad: float) -> None:
    with pytest.raises(BadInput):
        Sensitivity.of(bad)


def test_a_vector_on_a_grid_needs_its_cells() -> None:
    with pytest.raises(BadInput, match="how many cells"):
        Sensitivity(Fraction(2), Fraction(1), Fraction(2)).on_grid(1)


def test_a_unit_under_replace_holds_half_of_what_it_moves_and_all_of_what_one_cell_moves() -> None:
    """A sensitivity of one cell is not taken for a vector's: it would understate every price of a quantile by half."""
    assert Sensitivity.of_cells(2, 3, about=Neighbours.REPLACE).held == 3
    assert Sensitivity.of(3, about=Neighbours.REPLACE).held == 3
    assert Sensitivity.of(3).held == 3
