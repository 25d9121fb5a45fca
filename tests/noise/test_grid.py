"""Reals on a lattice: floored exactly, noise in whole grains, nothing beside the lattice."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import BadInput
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Geometric, Grid, OnGrid, SystemSource, floor_to_grid
from sfumato.noise.grid import STEP_LIMIT

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
EXPONENTS = st.integers(-900, 900)


@given(value=FLOATS, exponent=EXPONENTS)
def test_scalars_are_floored_exactly(value: float, exponent: int) -> None:
    grain = Fraction(2) ** exponent
    step = floor_to_grid(value, grain)
    assert step * grain <= Fraction(value) < (step + 1) * grain


@given(values=st.lists(FLOATS, min_size=1, max_size=20), exponent=EXPONENTS)
def test_arrays_are_floored_like_scalars_and_saturate(values: list[float], exponent: int) -> None:
    grain = Fraction(2) ** exponent
    steps = floor_to_grid(np.array(values), grain)
    assert steps.dtype == np.int64
    expected = [max(-STEP_LIMIT, min(STEP_LIMIT, floor_to_grid(value, grain))) for value in values]
    assert steps.tolist() == expected


def test_halves_are_floored_never_rounded_to_even() -> None:
    """Rounding half to even sends 1/2 to 0 and 3/2 to 2: a move of 1 would become 2."""
    assert floor_to_grid(np.array([0.5, 1.5, 2.5, -0.5, -1.5]), 1).tolist() == [0, 1, 2, -1, -2]
    assert floor_to_grid(-1e-320, 1) == -1
    assert floor_to_grid(np.array([-1e-320, 1e-320, -0.0]), Fraction(2) ** 900).tolist() == [-1, 0, 0]


@given(x=FLOATS, distance=st.floats(0, 1e6), exponent=st.integers(-30, 30))
def test_flooring_moves_no_two_values_further_apart_than_the_ceiling(x: float, distance: float, exponent: int) -> None:
    grain = Fraction(2) ** exponent
    y = x + distance
    if math.isfinite(y):
        moved = floor_to_grid(y, grain) - floor_to_grid(x, grain)
        assert 0 <= moved <= math.ceil((Fraction(y) - Fraction(x)) / grain)


@pytest.mark.parametrize("grain", [0, -1, 3, "1/3", "0.1", float("nan"), Fraction(2) ** 1001, Fraction(1, 2**901)])
def test_a_grain_is_a_power_of_two(grain: float) -> None:
    with pytest.raises(BadInput, match="->"):
        floor_to_grid(1.0, grain)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.array([1.0, np.nan]), np.array([-np.inf])])
def test_what_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(BadInput, match="finite"):
        floor_to_grid(value, 1)


def test_laws_on_a_grid_are_the_laws_of_its_steps() -> None:
    assert OnGrid.laplace(10, "1/4").law == DiscreteLaplace(Fraction(40))
    assert OnGrid.gaussian("1.5", "1/4").law == DiscreteGaussian(Fraction(36))
    assert OnGrid.exponential(10, 2).law == Geometric(Fraction(5))


@pytest.mark.parametrize(
    "on_grid", [OnGrid.laplace(10), OnGrid.gaussian(3, "1/8"), OnGrid.exponential("0.001")], ids=str
)
def test_draws_lie_on_the_lattice(on_grid: OnGrid) -> None:
    source = SystemSource()
    single, many = on_grid.sample(source), on_grid.sample(source, (40, 25))
    assert isinstance(single, float)
    assert many.dtype == np.float64
    assert many.shape == (40, 25)
    for value in [single, *many.ravel().tolist()]:
        assert (Fraction(value) / on_grid.grid.grain).denominator == 1
    assert np.unique(many).size > 20
    spread = math.sqrt(on_grid.law.mean_square) * float(on_grid.grid.grain)
    assert 0.5 < np.sqrt((many**2).mean()) / spread < 2  # 1000 draws: off by this much is below 1e-9


def test_the_grain_chosen_is_about_a_million_times_finer() -> None:
    for scale in ("1e-9", "0.3", "1", "7", "1e12"):
        fine = Fraction(scale) / Grid.under(scale).grain
        assert 2**19 <= fine <= 2**22


def test_steps_become_floats_exactly_or_nearest() -> None:
    grid = Grid(Fraction(1, 1024))
    assert grid.real(3) == 3 / 1024
    assert grid.real(np.array([2**53 + 1, -5])).tolist() == [2.0**43, -5 / 1024]
    assert OnGrid.laplace(10, "1/4").within("0.95") == DiscreteLaplace(Fraction(40)).within("0.95") / 4
    assert np.isfinite(Grid(Fraction(2) ** 900).real(np.array([2**63 - 1]))).all()
