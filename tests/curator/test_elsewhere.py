"""The owner's checks of a server: what is missing, of another type, not to be read, or not there at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.apps.cli import main
from sfumato.core import EngineFailed
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy
from sfumato.curator.policy.elsewhere import look_elsewhere

POLICY = """
[dataset]
name = "stays"
id = "d-stays"
version = "1"
[unit]
kind = "person"
[budget]
epsilon = 3
[tables.stays]
source = "postgresql:{where}:hospital.stays"
unit = "person"
[tables.stays.columns]
age = {{ type = "integer", range = [0, 120] }}
ward = {{ values = ["a", "b"] }}
[tables.acts]
source = "postgresql:{where}:hospital.acts"
unit = "stay -> stays.id"
[tables.acts.columns]
times = {{ type = "integer", range = [0, 9] }}
"""


@pytest.fixture
def server(postgres: str) -> Iterator[tuple[str, Any]]:
    """A database as a role that owns nothing sees it, and how its owner changes it."""
    import psycopg

    name = f"elsewhere_{os.urandom(6).hex()}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        connection.execute(f"CREATE ROLE {name} LOGIN")

    def change(*statements: str) -> None:
        with psycopg.connect(f"{postgres} dbname={name}", autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.replace("READER", name))

    change(
        "CREATE SCHEMA hospital",
        "CREATE TABLE hospital.stays (person text, id bigint, age integer, ward text, secret text)",
        "CREATE TABLE hospital.acts (stay bigint, times integer)",
        "GRANT USAGE ON SCHEMA hospital TO READER",
        "GRANT SELECT (person, id, age, ward) ON hospital.stays TO READER",
        "GRANT SELECT ON hospital.acts TO READER",
    )
    yield f"{postgres.replace('user=postgres', '')} user={name} dbname={name}", change
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE {name}")


def policy_at(where: str, folder: Path) -> Policy:
    (folder / "policy.toml").write_text(POLICY.format(where=where))
    return Policy.load(folder / "policy.toml")


def test_a_server_that_answers_questions_is_well(server: Any, tmp_path: Path) -> None:
    where, _ = server
    assert look_elsewhere(policy_at(where, tmp_path)) == ()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("ALTER TABLE hospital.stays DROP COLUMN ward", "no column ward"),
        ("ALTER TABLE hospital.acts DROP COLUMN stay", "the source of acts has no column stay"),
        (
            "ALTER TABLE hospital.stays ALTER COLUMN age TYPE text",
            "stays: the source's column age cannot be read as integer",
        ),
        ("REVOKE SELECT (ward) ON hospital.stays FROM READER", "column ward of stays may not be read"),
        ("REVOKE SELECT (person) ON hospital.stays FROM READER", "column person of stays may not be read"),
        ("REVOKE USAGE ON SCHEMA hospital FROM READER", "does not let us look at the source of stays"),
        ("DROP TABLE hospital.acts", "the source of acts"),
    ],
)
def test_what_stops_questions_is_named(server: Any, tmp_path: Path, statement: str, says: str) -> None:
    where, change = server
    change(statement)
    found = look_elsewhere(policy_at(where, tmp_path))
    assert any(says in error.message for error in found), found
    assert {error.code for error in found} == {"SF019"}
    assert all(error.line is not None for error in found)


def test_a_server_that_is_away_is_an_engine_that_failed(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match="cannot be reached"):
        look_elsewhere(policy_at(f"host={tmp_path} user=nobody dbname=none", tmp_path))


def test_doctor_and_check_look_at_the_server(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where, change = server
    policy_at(where, tmp_path).new_ledger(Home.default())

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["sfumato", *words, "--lang", "en"])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, "".join(capsys.readouterr())

    monkeypatch.chdir(tmp_path)
    code, said = run("doctor")
    assert code == 0, said
    assert "was not found" not in said
    code, said = run("policy", "check")
    assert (code, "not compared" in said) == (0, True)
    code, said = run("policy", "check", "--scan")
    assert (code, "rows were not read" in said) == (0, True), said
    change("ALTER TABLE hospital.stays DROP COLUMN age")
    for words in (("doctor",), ("policy", "check", "--scan")):
        code, said = run(*words)
        assert (code, "no column age" in said) == (5, True), said
    (tmp_path / "policy.toml").write_text(POLICY.format(where=f"host={tmp_path} user=nobody dbname=none"))
    assert run("doctor")[0] == 7
    assert run("policy", "check", "--scan")[0] == 7
