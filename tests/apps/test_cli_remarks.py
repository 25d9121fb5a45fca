"""What is said before anything is paid: the grid of a number, words that are on no list, a price beyond what is left."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.apps.cli import main

Run = Callable[..., str]
ROWS = "who,cost,ward\n" + "".join(f"{n},{n % 1000}.4,{'onco' if n % 2 else 'med'}\n" for n in range(200))


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "stays.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_HOME", str(tmp_path / "home"))

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        main()
        return capsys.readouterr().out

    ranges = ("--range", "cost=0,20000", "--values", "ward=onco,med", "--unit", "who")
    run("init", "stays.csv", *ranges, "-o", "policy.toml")
    return run


def noted(hospital: Run, condition: str, epsilon: str = "1") -> list[str]:
    asked = f"SELECT COUNT(*) FROM stays WHERE {condition}"
    lines = hospital("preview", asked, "--epsilon", epsilon, "--lang", "en").splitlines()
    said = [line.split(maxsplit=1)[1] for line in lines if line.split()[0] == "note"]
    found = json.loads(hospital("preview", asked, "--epsilon", epsilon, "--format", "json"))["remarks"]
    assert [line for line in said if "price" not in line] == found
    return said


def test_init_writes_the_grid_of_a_number_and_tables_shows_it(hospital: Run) -> None:
    assert "range = [0, 20000]\ngrain = 10  # " in Path("policy.toml").read_text()
    cost = next(row for row in json.loads(hospital("tables", "--format", "json")) if row["column"] == "cost")
    assert (cost["range"], cost["grain"]) == ("0 to 20000", "10")


@pytest.mark.parametrize(
    ("condition", "word"),
    [
        ("cost <= 3", "3 lies between"),
        ("cost + 1 > 3", ""),
        ("cost BETWEEN 10 AND 25", "25 lies between"),
        ("cost IN (10, 20)", ""),
        ("ward = 'oncology'", "'oncology' is not among"),
        ("ward IN ('onco', 'surgery')", "'surgery' is not among"),
        ("NOT ward = 'onco'", ""),
    ],
)
def test_a_constant_that_holds_for_nobody_or_lies_off_the_grid_is_noted(
    hospital: Run, condition: str, word: str
) -> None:
    said = noted(hospital, condition)
    assert len(said) == bool(word)
    assert word in "".join(said)


def test_a_price_beyond_what_is_left_is_noted(hospital: Run) -> None:
    assert noted(hospital, "cost <= 30") == []
    assert "more than what you have left" in noted(hospital, "cost <= 30", "99")[0]
