"""The public doors of `sfumato.noise`: what comes in, what goes out, what is refused, what is loaded."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sfumato import noise
from sfumato.core.errors import BadInput
from sfumato.noise import (
    SystemSource,
    discrete_gaussian,
    discrete_laplace,
    exponential,
    geometric,
    system_source,
    tables,
)
from sfumato.noise.ladder import decays
from sfumato.testing import ScriptedSource

DOORS: dict[str, Callable[..., Any]] = {
    "laplace": discrete_laplace,
    "gaussian": discrete_gaussian,
    "geometric": geometric,
    "exponential": exponential,
    "gaussian by variance": lambda variance, size=None, **options: discrete_gaussian(
        size=size, variance=variance, **options
    ),
}


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("scale", [3, "1/2", 0.1, Decimal("2.5"), Fraction(7, 3), np.int64(4), np.float64(0.5), 10**6])
def test_an_int_or_an_int64_array(name: str, scale: object) -> None:
    draw = DOORS[name]
    assert type(draw(scale)) is int
    array = draw(scale, 1000)
    assert array.dtype == np.int64
    assert array.shape == (1000,)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert draw(scale, (20, 30)).shape == (20, 30)
    if name in ("geometric", "exponential"):
        assert array.min() >= 0


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize(
    "scale",
    [
        0,
        -1,
        "-1/2",
        float("nan"),
        float("inf"),
        float("-inf"),
        "ten",
        "",
        None,
        True,
        [1],
        ([1],),
        {},
        1j,
        pytest.param(10**5000, id="huge"),
    ],
)
@pytest.mark.parametrize("size", [None, 10])
def test_scales_that_make_no_sense_are_refused(name: str, scale: object, size: int | None) -> None:
    with pytest.raises(BadInput, match="->") as refused:
        DOORS[name](scale, size)
    assert refused.value.hint


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("size", [-1, 1.5, "x", True, (2, -2), 2**40])
def test_sizes_that_make_no_sense_are_refused(name: str, size: object) -> None:
    with pytest.raises(BadInput, match=r"size|draws"):
        DOORS[name](2, size)


def test_sigma_or_variance_not_both() -> None:
    with pytest.raises(BadInput, match="neither or both"):
        discrete_gaussian()
    with pytest.raises(BadInput, match="neither or both"):
        discrete_gaussian(1, variance=1)


def test_a_float_is_the_decimal_that_it_prints() -> None:
    for scale in (0.1, "0.1", Fraction(1, 10), Decimal("0.1")):
        drawn = geometric(scale, 100, source=ScriptedSource.stream(b"same"))
        assert drawn.tolist() == geometric("1/10", 100, source=ScriptedSource.stream(b"same")).tolist()


def test_sigma_is_the_root_of_variance() -> None:
    one = discrete_gaussian("1.5", 200, source=ScriptedSource.stream(b"same"))
    two = discrete_gaussian(size=200, variance="2.25", source=ScriptedSource.stream(b"same"))
    assert one.tolist() == two.tolist()


def test_the_lines_of_the_readme() -> None:
    x = discrete_laplace(Fraction(10), size=1_000_000)
    assert x.dtype == np.int64
    assert 12 < x.std() < 16
    y = discrete_gaussian(10, size=1_000_000)
    assert 9.5 < y.std() < 10.5


def test_every_name_is_exported_and_documented() -> None:
    for name in noise.__all__:
        assert getattr(noise, name).__doc__ or name == "exponential"


def test_the_source_of_the_process_is_one() -> None:
    assert system_source() is system_source()
    assert isinstance(system_source(), SystemSource)


def test_importing_noise_loads_nothing_heavy() -> None:
    script = (
        "import sys, sfumato.noise\n"
        "heavy = {'scipy', 'cryptography', 'random', 'dp_accounting', 'pandas', 'opendp', 'flint'} & set(sys.modules)\n"
        "allowed = {'random'}\n"  # numpy's own, loaded by its secrets
        "assert not heavy - allowed, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nothing_in_noise_reads_another_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    """With numpy's generator and the random module broken, every draw still works."""
    import random

    def broken(*_: object, **__: object) -> object:
        raise AssertionError("another randomness was used")

    monkeypatch.setattr(np.random, "default_rng", broken)
    monkeypatch.setattr(np.random, "random", broken)
    monkeypatch.setattr(random, "getrandbits", broken)
    monkeypatch.setattr(random, "random", broken)
    for draw in DOORS.values():
        draw(10, 1000)
        draw(10)


@pytest.mark.slow
def test_speed_stays_in_sight() -> None:
    """A tenth of what the benchmark shows, so that only a broken fast path fails here; best of five."""
    for draw in (discrete_laplace, discrete_gaussian):
        for scale in (10, 1000):
            draw(scale, 1000)
            times = []
            for _ in range(5):
                start = time.perf_counter()
                draw(scale, 1_000_000)
                times.append(time.perf_counter() - start)
            assert min(times) < 0.05
    tables.table.cache_clear()
    decays.cache_clear()
    start = time.perf_counter()
    discrete_laplace(1001, 1000)
    assert time.perf_counter() - start < 0.25
