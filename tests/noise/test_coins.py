"""Coins with a rational chance: the binary digits decide, lazily and exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.core import BadInput
from sfumato.noise import coins, system_source
from sfumato.noise.coins import toss
from sfumato.testing import ScriptedSource


@pytest.mark.parametrize("chance", ["1/2", "1/3", "0.001", "0.999", Fraction(1, 3**40), Fraction(12345, 2**60)])
def test_the_share_of_heads_is_the_chance(chance: str | Fraction) -> None:
    """A million coins; 6.5 standard deviations and 3 heads: a false alarm in 1e10."""
    p, n = float(Fraction(chance)), 1_000_000
    heads = int(coins(chance, n).sum())
    assert abs(heads - n * p) <= 6.5 * (n * p * (1 - p)) ** 0.5 + 3


def test_digits_are_compared_until_they_differ() -> None:
    """The chance 0x80.40 / 256: a first byte of 0x80 goes on to a second one, which decides below 0x40."""
    chance = Fraction(0x8040, 0x10000)
    words = [int.from_bytes(bytes([0x7F, 0x81, 0x80, 0x80, 0, 0, 0, 0]), "little"), 0x40_3F]
    tossed = toss(chance, 4, ScriptedSource([words[0], int.from_bytes(bytes([0x3F, 0x40]), "little")]))
    assert tossed.tolist() == [True, False, True, False]


def test_every_first_byte_with_a_chance_of_whole_bytes() -> None:
    words = np.arange(256, dtype=np.uint8).view(np.uint64).tolist()
    assert toss(Fraction(77, 256), 256, ScriptedSource(words)).sum() == 77


def test_certain_coins_draw_nothing() -> None:
    assert not toss(Fraction(0), 5, ScriptedSource()).any()
    assert toss(Fraction(1), 5, ScriptedSource()).all()


def test_shapes_and_nonsense() -> None:
    assert coins("1/2", (3, 4), source=system_source()).shape == (3, 4)
    assert coins("1/2", 0).shape == (0,)
    for bad in (-1, 1.5, float("nan"), "x"):
        with pytest.raises(BadInput):
            coins(bad, 3)
