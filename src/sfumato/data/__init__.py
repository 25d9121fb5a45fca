"""Data shipped with sfumato: public, small, and used by benchmarks and lessons. What each is stands in its NOTICE file."""

from __future__ import annotations

from pathlib import Path

ADULT_TRAIN_ROWS = 32_561
"""The first rows of the table are the source's training part; the other 16 281 are its test part."""


def adult_path() -> Path:
    """The Parquet file of UCI Adult: 48 842 rows, 15 columns, missing values written "?" as in the source."""
    return Path(__file__).with_name("adult.parquet")
