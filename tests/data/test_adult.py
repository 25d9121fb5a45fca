"""The shipped Adult table is the source's, byte for byte, and its notice tells the truth."""

from __future__ import annotations

import hashlib
import re

import polars
import pytest

from sfumato.data import ADULT_TRAIN_ROWS, adult_path

NOTICE = adult_path().with_name("NOTICE-adult.md").read_text()
DIGESTS = dict(re.findall(r"^\| (?:source )?`([\w.]+)` \| `([0-9a-f]{64})`", NOTICE, flags=re.MULTILINE))


def test_the_file_is_the_one_the_notice_names() -> None:
    assert hashlib.sha256(adult_path().read_bytes()).hexdigest() == DIGESTS["adult.parquet"]


@pytest.mark.parametrize(
    ("name", "first_line", "dot"), [("adult.data", "", ""), ("adult.test", "|1x3 Cross validator\n", ".")]
)
def test_the_source_files_can_be_rebuilt(name: str, first_line: str, dot: str) -> None:
    table = polars.read_parquet(adult_path())
    part = table[:ADULT_TRAIN_ROWS] if name == "adult.data" else table[ADULT_TRAIN_ROWS:]
    lines = [", ".join(map(str, row)) + dot for row in part.iter_rows()]
    text = first_line + "\n".join(lines) + "\n\n"
    assert hashlib.sha256(text.encode()).hexdigest() == DIGESTS[name]


def test_the_benchmark_table_has_30162_rows() -> None:
    train = polars.read_parquet(adult_path())[:ADULT_TRAIN_ROWS]
    missing = polars.any_horizontal(polars.col(polars.String) == "?")
    assert train.filter(~missing).height == 30_162
