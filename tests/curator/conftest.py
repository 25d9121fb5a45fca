"""A small data set behind a policy, in a home of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.curator.dataset import Dataset, open_dataset
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy

POLICY = """
[dataset]
name = "people"
id = "d-test"
version = "1"
size = 1000000
[unit]
kind = "person"
max_rows = {max_rows}
[budget]
epsilon = {epsilon}
delta = 1e-6
accountant = "{accountant}"
{per_analyst}
[tables.people]
unit = "person_id"
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
[tables.people.columns.age]
type = "integer"
range = [0, 100]
[tables.people.columns.hours]
type = "number"
range = [0, 99]
[tables.people.columns.notes]
type = "integer"
"""

Make = Callable[..., Dataset]


def rows(count: int = 1000) -> Any:
    """`count` people with one row each."""
    return pa.table(
        {
            "person_id": [f"p{i}" for i in range(count)],
            "sex": ["F" if i % 3 else "M" for i in range(count)],
            "age": [i % 90 for i in range(count)],
            "hours": [float(i % 60) for i in range(count)],
            "notes": list(range(count)),
        }
    )


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(
        *,
        epsilon: str = "10",
        accountant: str = "pure",
        max_rows: int = 1,
        per_analyst: str = "",
        neighbours: str = "add-remove",
        data: Any = None,
        answers: str = "",
    ) -> Dataset:
        text = POLICY.format(epsilon=epsilon, accountant=accountant, max_rows=max_rows, per_analyst=per_analyst)
        text = text.replace('kind = "person"', f'kind = "person"\nneighbours = "{neighbours}"') + answers
        path = tmp_path / "policy.toml"
        path.write_text(text)
        home = Home(tmp_path / "home")
        Policy.load(path).new_ledger(home)
        return open_dataset(path, {"people": rows() if data is None else data}, home=home)

    return made
