"""Releases as they are typed: bulletins, certificates, keys, exit codes, and what is never half-written."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final
from unittest import mock

import jsonschema
import pytest

from sfumato.apps.cli import main

ROOT = Path(__file__).parent.parent.parent

INIT = "sfumato init people.csv --unit person_id --max-rows 1 --values sex=F,M --range hours=0,99 --budget 3 -o policy.toml"
BULLETIN = """
[release]
name = "monthly"
title = "Hours, monthly"
epsilon = 1.0
delta = 1e-6
[[products]]
kind = "counts"
by = ["sex"]
share = 3
[[products]]
kind = "means"
of = "hours"
by = ["sex"]
"""


@final
@dataclass(frozen=True)
class Ran:
    """What a line printed."""

    stdout: str
    stderr: str


def run(folder: Path, line: str, *, code: int = 0, **environment: str) -> Ran:
    """A line of the command line, in this process: a new one costs a second each."""
    out, err = io.StringIO(), io.StringIO()
    around = {"SFUMATO_HOME": str(folder / "home"), "LANG": "C", **environment}
    ended: int | str | None = 0
    typed = mock.patch.dict(os.environ, around), mock.patch.object(sys, "argv", shlex.split(line))
    with chdir(folder), redirect_stdout(out), redirect_stderr(err), typed[0], typed[1]:
        try:
            main()
        except SystemExit as end:
            ended = end.code
    assert (ended or 0) == code, (line, out.getvalue(), err.getvalue())
    return Ran(out.getvalue(), err.getvalue())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people = "".join(f"{i},{'FM'[i % 2]},{20 + i % 40}\n" for i in range(500))
    (tmp_path / "people.csv").write_text(f"person_id,sex,hours\n{people}")
    (tmp_path / "bulletin.toml").write_text(BULLETIN)
    run(tmp_path, INIT)
    return tmp_path


def budget(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(folder, "sfumato budget --format json").stdout)
    return found


@pytest.mark.slow
def test_a_bulletin_from_preview_to_database(folder: Path) -> None:
    shown = json.loads(
        run(folder, "sfumato release run bulletin.toml --version 2026-11 --preview --format json").stdout
    )
    assert shown["cost"] == {"epsilon": "1", "delta": "0"}
    assert [product["epsilon"] for product in shown["products"]] == ["0.75", "0.25"]
    assert budget(folder)["spent"]["epsilon"] == "0", "a preview is free"

    first = json.loads(run(folder, "sfumato release run bulletin.toml --version 2026-11 --format json").stdout)
    assert (first["charged"], first["replayed"]) == ({"epsilon": "1", "delta": "0"}, False)
    written = {path.name: path.read_bytes() for path in (folder / "monthly-2026-11").iterdir()}

    to = "--to duckdb:bi.duckdb --to parquet:tables"
    again = json.loads(run(folder, f"sfumato release run bulletin.toml --version 2026-11 {to} --format json").stdout)
    assert (again["charged"], again["replayed"]) == ({"epsilon": "0", "delta": "0"}, True)
    assert budget(folder)["spent"]["epsilon"] == "1", "cron may run it as often as it likes"
    assert {path.name: path.read_bytes() for path in (folder / "monthly-2026-11").iterdir()} == written

    import duckdb
    import pyarrow.parquet as pq

    with duckdb.connect(str(folder / "bi.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT sex, count_unbiased FROM monthly_counts_sex ORDER BY sex").fetchall()
        found = connection.execute(
            "SELECT comment FROM duckdb_tables() WHERE table_name = 'monthly_counts_sex'"
        ).fetchall()
    assert [sex for sex, _ in rows] == ["F", "M"]
    assert found[0][0] == f"{first['release']}, 2026-11"
    assert pq.read_table(folder / "tables" / "monthly_counts_sex.parquet").column("count_unbiased").to_pylist() == [
        value for _, value in rows
    ]

    (folder / "people.csv").unlink()
    import shutil

    shutil.rmtree(folder / "monthly-2026-11")
    run(folder, "sfumato release run bulletin.toml --version 2026-11")
    assert {path.name: path.read_bytes() for path in (folder / "monthly-2026-11").iterdir()} == written, (
        "made again from the ledger alone, without the rows"
    )


@pytest.mark.slow
def test_certificates_and_keys_as_typed(folder: Path) -> None:
    missing = run(folder, "sfumato key show", code=2)
    assert "no key to sign releases with yet" in missing.stderr
    run(folder, 'sfumato release unprotected "exact totals, annual report"')
    assert budget(folder)["unprotected"][0].endswith("exact totals, annual report")
    assert "exact totals" in run(folder, "sfumato budget").stderr
    run(folder, "sfumato release run bulletin.toml --version 2026-11")
    key = run(folder, "sfumato key show").stdout.splitlines()[0]
    there = "monthly-2026-11/certificate.json"
    said = run(folder, f"sfumato certificate verify {there}", SFUMATO_HOME="/nonexistent").stdout
    assert key in said, "whoever has the file can verify it: no home, no ledger, no network"
    run(folder, f"sfumato certificate verify monthly-2026-11 --policy policy.toml --signer '{key}'")
    run(folder, f"sfumato certificate verify {there} --signer 'dead beef'", code=6)
    french = run(folder, f"sfumato certificate show {there} --lang fr").stdout
    assert "Ce qui est garanti" in french
    assert "exact totals" in french
    page = run(folder, f"sfumato certificate show {there} --format aipd --lang fr").stdout
    assert "Individualisation" in page
    assert (
        json.loads(run(folder, f"sfumato certificate show {there} --format json").stdout)["guarantee"]["epsilon"] == "1"
    )
    listed = json.loads(run(folder, "sfumato release list --format json").stdout)
    assert [(each["edition"], each["superseded"]) for each in listed] == [("2026-11", "")]

    csv = folder / "monthly-2026-11" / "counts-sex.csv"
    csv.write_text(csv.read_text().replace("F", "G"))
    changed = run(folder, f"sfumato certificate verify {there}", code=6)
    assert "counts-sex.csv was changed" in changed.stderr
    other = folder / "other.toml"
    other.write_text((folder / "policy.toml").read_text().replace('id = "', 'id = "x'))
    (folder / there).rename(folder / "alone.json")
    run(folder, "sfumato certificate verify alone.json", code=6)


@pytest.mark.parametrize(
    ("change", "line", "code", "says"),
    [
        (("epsilon = 1.0", "epsilon = 30"), "", 4, "SF003"),
        (('by = ["sex"]', 'by = ["hours2"]'), "", 3, "hours2"),
        (('kind = "means"', 'kind = "median"'), "", 2, "there is no kind median"),
        (('kind = "means"', 'kind = "means"\nat = 3'), "", 2, "products.2.at: there is no such key"),
        (("epsilon = 1.0", ""), "", 2, "release.epsilon: this key is missing"),
        (("epsilon = 1.0", "epsilon = ["), "", 2, "is not TOML"),
        (("epsilon = 1.0", "epsilon = -1.0"), "", 2, "epsilon must be above 0"),
        (("", ""), "--to mysql:x", 2, "not a place that tables can be written to"),
        (("", ""), "--to postgresql:password=x", 2, "a password was given"),
        (("", ""), "--output people.csv/out", 2, "cannot be written"),
        (("", ""), "--output taken", 2, "exists and is not this release"),
        (("", ""), "--supersedes 2026-10 --reason x", 2, "no edition 2026-10"),
        (("", ""), "--policy nowhere.toml", 5, "there is no policy"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    folder: Path, change: tuple[str, str], line: str, code: int, says: str
) -> None:
    (folder / "taken").mkdir()
    text = BULLETIN.replace(*change) if change[0] else BULLETIN
    (folder / "bulletin.toml").write_text(text)
    before = sorted(path.name for path in folder.iterdir())
    refused = run(folder, f"sfumato release run bulletin.toml --version 2026-11 {line}", code=code)
    assert says in refused.stderr
    assert " -> " in refused.stderr
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("policy.ledger-")) == [
        name for name in before if not name.startswith("policy.ledger-")
    ]
    assert budget(folder)["spent"]["epsilon"] == "0"


@pytest.mark.slow
def test_products_without_a_bulletin(folder: Path) -> None:
    line = "sfumato release make counts:sex means:hours/sex quantiles:hours/sex@0.25,0.75 --epsilon 0.6 --output out"
    run(folder, line)
    assert {path.name for path in (folder / "out").glob("*.csv")} == {
        *("counts-sex.csv", "means-hours-sex.csv", "quantiles-hours-sex.csv")
    }
    assert "charged 0" in run(folder, line).stderr, "the same products at the same price are the same release"
    assert budget(folder)["spent"]["epsilon"] == "0.6"
    for wrong in ("counts", "means:a,b", "quantiles:hours", "median:hours"):
        assert "is no product" in run(folder, f"sfumato release make {wrong} --epsilon 1 --output x", code=2).stderr


def test_an_audit_is_recorded_for_certificates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One mechanism stands for all of them, which take minutes."""
    import sfumato.mechanisms
    from sfumato.core.canonical import digest
    from sfumato.mechanisms import Laplace

    monkeypatch.setattr(sfumato.mechanisms, "ALL", (Laplace,))
    run(folder, "sfumato audit Laplace --record", code=2)
    run(folder, "sfumato audit --runs 2000 --record")
    run(folder, "sfumato release make counts:sex --epsilon 1 --output out")
    audit = json.loads((folder / "out" / "certificate.json").read_text())["audit"]
    assert audit["digest"] == digest(json.loads((folder / "home" / "audit.json").read_text()))
    assert audit["says"].startswith("1 mechanisms attacked, none caught")


EVERY_KIND = """
[release]
name = "all"
epsilon = 2
delta = 1e-7
public = ["a census"]
[[products]]
kind = "histogram"
of = "hours"
method = "privelet"
[[products]]
kind = "histogram"
of = "hours"
edges = [0, 20, 40, 99]
name = "bins"
[[products]]
kind = "quantiles"
of = "hours"
at = [0.25, 0.5]
[[products]]
kind = "marginals"
columns = ["sex", "hours"]
[[products]]
kind = "weights"
public = "census.csv"
[[products]]
kind = "synthetic"
method = "mst"
edges = { hours = [0, 25, 50, 100] }
[[products]]
kind = "question"
name = "asked"
sql = "SELECT sex, SUM(hours) AS hours FROM people GROUP BY sex"
"""


@pytest.mark.slow
def test_a_bulletin_of_every_kind(folder: Path) -> None:
    (folder / "census.csv").write_text("sex,hours\n" + "".join(f"{'FM'[i % 2]},{i % 100}\n" for i in range(600)))
    (folder / "every.toml").write_text(EVERY_KIND)
    text = folder / "policy.toml"
    text.write_text(text.read_text().replace("[dataset]\n", "[dataset]\nsize = 500\n"))
    shown = json.loads(run(folder, "sfumato release run every.toml --version 1 --preview --format json").stdout)
    assert [product["name"] for product in shown["products"]] == [
        *("histogram-hours", "bins", "quantiles-hours", "marginals-sex-hours", "weights", "synthetic", "asked")
    ]
    assert "weights" in run(folder, "sfumato release run every.toml --version 1 --preview --lang fr").stdout
    run(folder, "sfumato release run every.toml --version 1 --scan")
    names = {path.name for path in (folder / "all-1").glob("*.csv")}
    assert names >= {
        "synthetic.csv",
        "synthetic-columns.csv",
        "weights.csv",
        "weights-averages.csv",
        "asked.csv",
        "bins.csv",
    }
    verified = json.loads(run(folder, "sfumato certificate verify all-1 --format json").stdout)
    assert verified["files"] == len(list((folder / "all-1").iterdir())) - 1
    schema = json.loads((ROOT / "docs" / "certificate.schema.json").read_text())
    jsonschema.validate(json.loads((folder / "all-1" / "certificate.json").read_text()), schema)
    for form in ("text", "html", "aipd"):
        assert "None" not in run(folder, f"sfumato certificate show all-1/certificate.json --format {form}").stdout


def test_the_bulletin_of_the_guide_is_one(tmp_path: Path) -> None:
    from sfumato.curator.release.bulletin import Bulletin

    guide = (ROOT / "docs" / "releases.md").read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", guide, re.S)
    (tmp_path / "bulletin.toml").write_text(block)
    assert len(Bulletin.load(tmp_path / "bulletin.toml").products) == 2
    for kind in ("counts", "means", "histogram", "quantiles", "marginals", "weights", "synthetic", "question"):
        assert f"| `{kind}` |" in guide


@pytest.mark.slow
def test_tables_go_to_postgresql(folder: Path, postgres: str) -> None:
    import psycopg

    for _ in range(2):
        run(folder, f"sfumato release run bulletin.toml --version 2026-11 --to 'postgresql:{postgres}'")
    with psycopg.connect(postgres) as connection:
        rows = connection.execute("SELECT sex, count, count_scale FROM monthly_counts_sex ORDER BY sex").fetchall()
        connection.execute("DROP TABLE monthly_counts_sex, monthly_means_hours_sex")
    assert [row[0] for row in rows] == ["F", "M"]
    run(folder, "sfumato release run bulletin.toml --version 2026-11 --to 'postgresql:host=/nonexistent'", code=7)


@pytest.mark.slow
def test_a_lost_signing_key_is_said(folder: Path) -> None:
    run(folder, "sfumato release run bulletin.toml --version 1")
    (folder / "home" / "signing.pem").write_text("no key")
    refused = run(folder, "sfumato release run bulletin.toml --version 2", code=6)
    assert "restore signing.pem" in refused.stderr
    assert budget(folder)["spent"]["epsilon"] == "1"
