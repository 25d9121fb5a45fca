"""Tables to anonymise: Adult, the note's example, and as many random ones as asked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars
import pytest

from sfumato.data import ADULT_TRAIN_ROWS, adult_path

ADULT_QUASI = ["age", "workclass", "education", "marital_status", "race", "sex", "native_country"]


@pytest.fixture(scope="session")
def adult() -> polars.DataFrame:
    """The 30 162 complete rows of the training part."""
    train = polars.read_parquet(adult_path())[:ADULT_TRAIN_ROWS]
    return train.filter(~polars.any_horizontal(polars.col(polars.String) == "?"))


@pytest.fixture(scope="session")
def adult_quasi() -> list[str]:
    return ADULT_QUASI


@pytest.fixture
def people() -> polars.DataFrame:
    """A small table that starts with the note's Emilie."""
    return polars.DataFrame(
        {
            "name": ["Emilie", "Lucie", "Marie", "Paul", "Jean", "Luc", "Anne", "Zoe"],
            "age": [24, 12, 29, 35, 41, 38, 52, 60],
            "sex": ["F", "F", "F", "M", "M", "M", "F", "F"],
            "illness": ["flu", "flu", "asthma", "flu", "asthma", "diabetes", "flu", "asthma"],
        }
    )


@pytest.fixture(scope="session")
def random_table() -> Callable[[int], polars.DataFrame]:
    """Table number i: its size, columns, skew and holes are drawn from i alone."""

    def make(number: int) -> polars.DataFrame:
        draw = np.random.default_rng(number)
        rows = int(draw.integers(8, 160))
        holes = draw.random() < 0.4

        def pierced(values: list[Any]) -> list[Any]:
            gone = draw.random(rows) < 0.1
            return [None if holes and hole else value for value, hole in zip(values, gone, strict=True)]

        letters = [chr(97 + place) for place in range(int(draw.integers(2, 9)))]
        weights = draw.dirichlet(np.full(len(letters), 0.7))
        start = date(2020, 1, 1)
        return polars.DataFrame(
            {
                "age": pierced(draw.integers(0, 100, rows).tolist()),
                "height": pierced(np.round(draw.normal(1.7, 0.2, rows), 2).tolist()),
                "job": pierced(draw.choice(letters, rows, p=weights).tolist()),
                "day": pierced([start + timedelta(days=int(days)) for days in draw.integers(0, 900, rows)]),
                "sex": draw.choice(["F", "M"], rows).tolist(),
                "illness": draw.choice(["flu", "asthma", "ulcer", "none"], rows, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
                "pay": (100 * draw.integers(8, 20, rows)).tolist(),
            }
        )

    return make
