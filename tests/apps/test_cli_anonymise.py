"""`sfumato anonymise` and `sfumato risk`, as typed: data on stdout, talk on stderr, exit codes, nothing overwritten."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from sfumato.apps.cli import main

PEOPLE = """name,age,sex,illness
Emilie,24,F,flu
Lucie,12,F,flu
Marie,29,F,asthma
Paul,35,M,?
Jean,41,M,asthma
Luc,38,M,diabetes
"""
Ran = tuple[int, str, str]
Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "C")
    (tmp_path / "people.csv").write_text(PEOPLE)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def typed(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        out, err = capsys.readouterr()
        return code, out, err

    return typed


ASKED = ("anonymise", "people.csv", "--k", "2", "--quasi-identifiers", "age,sex", "--sensitive", "illness")


def test_the_example_of_the_note(run: Run) -> None:
    code, out, err = run(*ASKED, "--identifiers", "name", "--cuts", "age=0,10,30,50")
    assert code == 0
    assert out.splitlines()[1] == '"*","]10, 30]","F","flu"'
    assert "Emilie" not in out + err
    assert "not differential privacy" in err
    assert Path("people.csv").read_text() == PEOPLE


def test_files_out(run: Run) -> None:
    code, out, err = run(
        *ASKED, "-o", "out.parquet", "--report", "report.json", "--chart", "sizes.svg", "--frontier", "frontier.svg",
        "--lang", "fr",
    )  # fmt: skip
    assert (code, out) == (0, ""), err
    assert polars.read_parquet("out.parquet").columns == ["age", "sex", "illness"]
    assert json.loads(Path("report.json").read_text())["risk"]["smallest"] >= 2
    assert Path("sizes.svg").read_text().startswith("<svg")
    assert Path("frontier.svg").read_text().startswith("<svg")
    assert "confidentialité différentielle" in " ".join(err.split())


def test_models_hierarchies_and_suppression(run: Run) -> None:
    Path("trees.toml").write_text("[age]\nsteps = [10, 20, 40]\nrange = [1, 80]\n[sex.tree]\n'*' = ['F', 'M']\n")
    code, out, err = run(
        *ASKED, "--hierarchies", "trees.toml", "--method", "global", "--suppression", "20%", "--distinct", "2",
        "--recursive", "4,2", "--t", "0.6", "--alpha", "0.8", "--entropy", "1.1",
    )  # fmt: skip
    assert code == 0, err
    assert "distinct l-diversity, l = 2: attained" in " ".join(err.split())
    assert out.startswith('"age","sex","illness"')


def test_k_map_takes_its_population_from_a_file(run: Run) -> None:
    Path("town.csv").write_text("age,sex\n" + "24,F\n12,F\n29,F\n35,M\n41,M\n38,M\n" * 3)
    code, out, err = run(
        "anonymise",
        "people.csv",
        "--k",
        "1",
        "--quasi-identifiers",
        "age,sex",
        "--population",
        "town.csv",
        "--k-map",
        "3",
    )
    assert code == 0, err
    assert '"24","F"' in out


def test_risk(run: Run) -> None:
    code, out, _ = run("risk", "people.csv", "--quasi-identifiers", "sex", "--sensitive", "illness", "--format", "json")
    body = json.loads(out)
    assert code == 0
    assert body["risk"]["smallest"] == 3
    assert body["attained"]["distinct l-diversity, on illness, l ="] == 2
    code, out, _ = run("risk", "people.csv", "--quasi-identifiers", "age,sex", "--lang", "fr")
    assert "6 personnes sont seules" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--epsilon", "1"), 3),
        (("-o", "people.csv"), 2),
        (("-o", "people.xlsx"), 2),
        (("--cuts", "age"), 2),
        (("--recursive", "4"), 2),
        (("--suppression", "many%"), 2),
        (("--distinct", "5"), 3),
        (("--method", "magic"), 2),
    ],
)
def test_exit_codes(words: tuple[str, ...], expected: int, run: Run) -> None:
    code, _, err = run(*ASKED, *words)
    assert code == expected, err
    assert "Traceback" not in err
    assert Path("people.csv").read_text() == PEOPLE


def test_broken_files_are_not_quoted(run: Run) -> None:
    Path("broken.csv").write_text("age,sex\n1,2\nsecretmark,3,4,5\n")
    for name in ("broken.csv", "absent.csv", "people.txt"):
        code, out, err = run("risk", name, "--quasi-identifiers", "age")
        assert code == 2
        assert "secretmark" not in out + err
