"""Certified arithmetic beside Arb: every enclosure holds the value, and stays narrow."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core import interval
from sfumato.core.errors import BadInput
from sfumato.core.interval import exp_bounds, ln2_bounds, log_bounds, pi_bounds, sqrt_bounds

BITS = st.sampled_from([1, 8, 53, 64, 72, 128, 200, 1000])
RATIOS = st.builds(Fraction, st.integers(-(10**18), 10**18), st.integers(1, 10**15))


@pytest.fixture(autouse=True, scope="module")
def precise() -> Iterator[None]:
    before, flint.ctx.prec = flint.ctx.prec, 6000
    yield
    flint.ctx.prec = before


def arb(x: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def check(bounds: tuple[int, int], value: flint.arb, bits: int, *, width: int) -> None:
    low, high = bounds
    scaled = value * flint.arb(2) ** bits
    assert not low > scaled
    assert not high < scaled
    assert 0 <= high - low <= width


@given(x=RATIOS.filter(lambda x: abs(x) < 1000), bits=BITS)
def test_the_exponential_lies_in_its_bounds(x: Fraction, bits: int) -> None:
    # For x above 0 a unit is finer than 2**-bits of the value by e^x: the width is counted in the value's own bits.
    check(exp_bounds(x, bits), arb(x).exp(), bits, width=2)


@given(x=RATIOS.filter(lambda x: x > 0), bits=BITS)
def test_the_logarithm_lies_in_its_bounds(x: Fraction, bits: int) -> None:
    check(log_bounds(x, bits), arb(x).log(), bits, width=2)


@given(j=st.integers(64, 128), step=st.integers(-1, 1), shift=st.integers(-80, 80), bits=BITS)
def test_the_logarithm_holds_at_the_edges_of_its_reduction(j: int, step: int, shift: int, bits: int) -> None:
    x = (Fraction(j, 64) + Fraction(step, 10**30)) * Fraction(2) ** shift
    check(log_bounds(x, bits), arb(x).log(), bits, width=2)


@given(k=st.integers(-300, 300), step=st.integers(-2, 2), bits=BITS)
def test_the_exponential_holds_beside_multiples_of_ln2(k: int, step: int, bits: int) -> None:
    x = k * Fraction(ln2_bounds(200)[0], 1 << 200) + Fraction(step, 1 << 199)
    check(exp_bounds(x, bits), arb(x).exp(), bits, width=2)


@given(x=RATIOS.filter(lambda x: x >= 0), bits=BITS)
def test_the_square_root_lies_in_its_bounds(x: Fraction, bits: int) -> None:
    check(sqrt_bounds(x, bits), arb(x).sqrt(), bits, width=1)


@pytest.mark.parametrize("bits", [1, 10, 64, 333, 2000])
def test_the_constants_lie_in_their_bounds(bits: int) -> None:
    check(pi_bounds(bits), flint.arb.pi(), bits, width=1)
    check(ln2_bounds(bits), flint.arb(2).log(), bits, width=1)


def test_extreme_exponents_end_at_once() -> None:
    assert exp_bounds(Fraction(-(10**4000)), 64) == (0, 1)
    low, high = exp_bounds(Fraction(-1, 10**4000), 64)
    assert low <= 1 << 64 <= high + 1
    with pytest.raises(BadInput, match="exponential"):
        exp_bounds(Fraction(10**4000), 64)


@pytest.mark.parametrize(("f", "x"), [(log_bounds, 0), (log_bounds, -1), (sqrt_bounds, -1)])
def test_outside_the_domain_is_refused(f: object, x: int) -> None:
    assert callable(f)
    with pytest.raises(BadInput, match="->"):
        f(Fraction(x), 64)


def test_too_few_taylor_terms_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: with five terms less the enclosures no longer hold, and the check says so."""
    enough = interval._terms
    monkeypatch.setattr(interval, "_terms", lambda work, halvings: enough(work, halvings) - 5)
    caught = 0
    for i in range(1, 60):
        x = Fraction(i, 61)
        try:
            check(exp_bounds(x, 64), arb(x).exp(), 64, width=2)
        except AssertionError:
            caught += 1
    assert caught > 5
