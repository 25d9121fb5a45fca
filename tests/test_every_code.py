"""SF001 to SF022: each is provoked, says what it says in its place, and is explained in both languages."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sfumato.apps.cli import main
from sfumato.apps.cli.stories import stories
from sfumato.core.errors import NotAllowed, SfumatoError
from sfumato.core.private import Private
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy
from sfumato.mechanisms import Laplace
from sfumato.testing import ScriptedSource

POLICY = """[dataset]
name = "people"
id = "d-codes"
version = "1"
size = 1000
[unit]
kind = "person"
max_rows = 1
[budget]
epsilon = 3
[tables.people]
source = "csv:people.csv"
unit = "who"
[tables.people.columns.who]
type = "text"
[tables.people.columns.sex]
values = ["F", "M"]
[tables.people.columns.age]
type = "integer"
range = [0, 99]
[tables.people.columns.income]
type = "integer"
[tables.people.columns.note]
type = "text"
[tables.visits]
source = "csv:visits.csv"
unit = "who"
[tables.visits.columns.day]
type = "integer"
range = [1, 7]
"""
COUNT = "SELECT COUNT(*) AS n FROM people"


@dataclass(frozen=True)
class Place:
    """A data set in a folder of its own, and the command line."""

    folder: Path
    capture: Any
    patch: pytest.MonkeyPatch

    def run(self, *words: str) -> str:
        """All that a command prints, on both channels."""
        self.patch.setattr(sys, "argv", ["sfumato", *words])
        with contextlib.suppress(SystemExit):
            main()
        out, err = self.capture.readouterr()
        return str(out + err)

    def ask(self, text: str, *more: str) -> str:
        return self.run("ask", text, *(more or ("--epsilon", "0.1")), "--as", "ana")

    def edit(self, old: str, new: str) -> None:
        file = self.folder / "policy.toml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    lines = [f"{n},{'FM'[n % 2]},{n % 90},{n},secret" for n in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["who,sex,age,income,note", *lines]) + "\n")
    (tmp_path / "visits.csv").write_text("who,day\n1,2\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    Policy.load("policy.toml").new_ledger(Home.default())
    return Place(tmp_path, capsys, monkeypatch)


def unit_repeats(place: Place) -> str:
    place.edit('kind = "person"', 'kind = "row"')
    (place.folder / "people.csv").write_text("who,sex,age,income,note\n1,F,1,1,x\n1,F,2,1,x\n")
    return place.run("policy", "check", "--scan")


def ledger_changed(place: Place) -> str:
    place.ask(COUNT)
    connection = sqlite3.connect(place.folder / "policy.ledger")
    connection.execute("UPDATE record SET body = replace(body, '1/10', '1/99')")
    connection.commit()
    connection.close()
    return place.ask("SELECT AVG(age) FROM people")


def two_writers(place: Place) -> str:
    place.patch.setattr("sfumato.curator.ledger.sqlite._PATIENCE", 0.1, raising=False)
    other = sqlite3.connect(place.folder / "policy.ledger", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        return place.ask(COUNT)
    finally:
        other.execute("ROLLBACK")
        other.close()


def seeded(place: Place) -> str:
    try:
        Laplace(scale=1).release(Private(5), 1, source=ScriptedSource.stream(b"seed"))
    except NotAllowed as error:
        return str(error)
    return ""


def cap_raised(place: Place) -> str:
    place.ask(COUNT)
    place.edit("epsilon = 3", "epsilon = 5")
    return place.ask("SELECT AVG(age) FROM people")


def epsilon_of_k(place: Place) -> str:
    import polars

    import sfumato as sf

    try:
        sf.anonymise(polars.DataFrame({"age": [1, 1, 2, 2]}), k=2, quasi_identifiers=["age"], epsilon=1)
    except SfumatoError as error:
        return str(error)
    return ""


def file_changed(place: Place) -> str:
    place.ask(COUNT)
    (place.folder / "people.csv").write_text("who,sex,age,income,note\n1,F,1,1,x\n")
    return place.ask("SELECT AVG(age) FROM people")


def below_zero(place: Place) -> str:
    """No group is there: each of 100 counts is below zero with probability above 0.4."""
    return place.ask("SELECT age, COUNT(*) AS n FROM people WHERE income < 0 GROUP BY age", "--epsilon", "0.1")


def large_delta(place: Place) -> str:
    place.edit("epsilon = 3\n", "epsilon = 3\ndelta = 0.1\n")
    return place.run("policy", "check")


def large_epsilon(place: Place) -> str:
    place.edit("epsilon = 3\n", "epsilon = 11\n")
    return place.run("policy", "check")


PROVOKED: dict[str, Callable[[Place], str]] = {
    "SF001": lambda p: p.ask("SELECT * FROM people"),
    "SF002": lambda p: p.ask("SELECT SUM(income) FROM people"),
    "SF003": lambda p: p.ask(COUNT, "--epsilon", "4"),
    "SF004": lambda p: p.run("preview", COUNT, "--as", "ana"),
    "SF005": lambda p: p.ask("SELECT note, COUNT(*) FROM people GROUP BY note"),
    "SF006": unit_repeats,
    "SF007": large_delta,
    "SF008": lambda p: p.ask(COUNT) + p.ask(COUNT),
    "SF009": lambda p: p.ask(COUNT + " WHERE who = '7'"),
    "SF010": lambda p: p.ask("SELECT COUNT(*) FROM people JOIN visits ON people.age = visits.day"),
    "SF011": lambda p: p.ask("SELECT MAX(age) FROM people"),
    "SF012": lambda p: p.run(
        "preview", "SELECT age, COUNT(*) FROM people GROUP BY age", "--epsilon", "0.1", "--as", "ana"
    ),
    "SF013": ledger_changed,
    "SF014": two_writers,
    "SF015": seeded,
    "SF016": large_epsilon,
    "SF017": cap_raised,
    "SF018": epsilon_of_k,
    "SF019": file_changed,
    "SF020": below_zero,
    "SF021": lambda p: p.ask("SELECT CORR(age, age) FROM people"),
    "SF022": lambda p: p.ask("SELECT AVG(hidden) FROM people"),
}


@pytest.mark.parametrize("code", PROVOKED)
def test_every_code_is_reached(place: Place, code: str) -> None:
    said = PROVOKED[code](place)
    assert code in said, said
    assert "->" in said
    assert "secret" not in said
    assert "Traceback" not in said


def test_every_code_is_explained_in_both_languages() -> None:
    codes = [f"SF{number:03}" for number in range(1, 23)]
    assert list(PROVOKED) == list(stories("en")) == list(stories("fr")) == codes
    from sfumato.apps.cli import cli

    for code in codes:
        texts = []
        for lang in ("en", "fr"):
            told = CliRunner().invoke(cli, ["explain", code, "--lang", lang, "--format", "json"])
            story = json.loads(told.stdout)
            assert all(len(story[part]) > 10 for part in ("title", "why", "do"))
            texts.append(story["why"])
        assert texts[0] != texts[1]


def test_a_question_about_many_has_no_notes(place: Place) -> None:
    said = json.loads(place.run("preview", COUNT, "--epsilon", "1", "--as", "ana", "--format", "json"))
    assert said["notes"] == []
