"""The figures that the studies of notes 002 and 003 rest on, with their false-alarm rates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.lessons import privelet
from sfumato.mechanisms.histogram.privelet import compute_whaar_weights
from sfumato.noise import system_source


def test_what_the_notes_scales_keep() -> None:
    """MECHANISMS 4.6: at a nominal epsilon of 1, Lap(W) keeps 0.34 and errs by 34.5; Lap(1/W) keeps 5, and 8 if people move."""
    weights = compute_whaar_weights(16)
    assert privelet.spent(weights) == pytest.approx(0.336, abs=0.001)
    assert privelet.deviation(weights) == pytest.approx(34.5, abs=0.05)
    assert (privelet.spent(1 / weights), privelet.spent(1 / weights, moved=True)) == (5, 8)
    assert privelet.spent(5 / weights) == 1
    assert privelet.deviation(5 / weights) ** 2 == pytest.approx(16.8, abs=0.1)


def test_privelet_wins_on_many_bins_only() -> None:
    """MECHANISMS 4.6: between 256 and 1024 bins."""
    assert privelet.on_ranges(256)[0] < privelet.on_ranges(256)[1]
    assert privelet.on_ranges(1024)[0] > privelet.on_ranges(1024)[1]


@pytest.mark.slow
def test_schools_are_those_of_adult() -> None:
    """Rows with a missing mark are left out: 3620 of them. A release of epsilon 100 is right about each bin within 1 but
    with probability below 1e-40."""
    cells, before = privelet.schools()
    assert (before, cells.sum(), cells[-1]) == (48_842, 45_222, 544)
    released = privelet.released("flat", Fraction(100), 1, system_source())
    assert np.abs(released - cells).max() <= 1


@pytest.mark.slow
def test_plain_noise_is_nearer_on_sixteen_bins() -> None:
    """A mean distance is at least 1.5 times as large with Privelet, and single ones scatter by half of their mean or less: over
    240 releases each, the means' standard errors are 3 %. The order is right but with probability below 1e-12."""
    source = system_source()
    sums = {
        way: sum(privelet.distances(way, Fraction(1, 10), source)[0] for _ in range(12)) for way in ("flat", "privelet")
    }
    assert sums["flat"] < sums["privelet"]
