"""Rehearsal: every question runs free on rows that nobody has, with the columns, types and bars of the real answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.apps.cli import cli
from sfumato.core.errors import BadInput, NotSupported
from sfumato.curator.ledger.ledger import Ledger
from sfumato.curator.policy import Policy
from sfumato.curator.rehearsal import Rehearsal
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.testing import inside, several

QUESTIONS = [
    "SELECT COUNT(*) AS n FROM people",
    "SELECT sex, COUNT(*) AS n, AVG(hours) AS h FROM people GROUP BY sex",
    "SELECT sex, VARIANCE(age) AS v, SUM(hours) AS s FROM people WHERE age > 30 GROUP BY sex ORDER BY s LIMIT 1",
    "SELECT QUANTILE(age, 0.5) AS q FROM people",
    "SELECT AVG(LEAST(n, 5)) AS m FROM (SELECT person_id, COUNT(*) AS n FROM people GROUP BY person_id)",
    "SELECT COUNT(DISTINCT age) AS d FROM people",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_columns_types_and_bars_are_the_real_ones(make: Any, text: str) -> None:
    data = make()
    session = data.session("ana")
    before = data.ledger.totals()
    dummy = session.dummy().ask(text, epsilon="0.1")
    assert data.ledger.totals() == before
    real = session.ask(text, epsilon="0.1")
    assert dummy.to_arrow().schema == real.to_arrow().schema
    assert dummy.preview == real.preview
    assert dummy.to_json()["dummy"] is True
    assert real.to_json()["dummy"] is False
    assert "DUMMY" in str(dummy)
    assert "DUMMY" in dummy._repr_html_()
    assert "DUMMY" not in str(real)


def test_no_ledger_is_opened(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = make().policy

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a rehearsal has no ledger")

    monkeypatch.setattr(Ledger, "__init__", never)
    assert len(Rehearsal.of(policy).ask(QUESTIONS[1], epsilon=1).rows) == 2
    with pytest.raises(BadInput, match="free"):
        Rehearsal.of(policy).ask(QUESTIONS[0], epsilon=1).refine(epsilon=1)


def test_no_row_is_anyones(make: Any) -> None:
    """The tables are the policy's alone: the same without any data, and not the same under another policy."""
    first, again = (make().session("ana").dummy().tables if n == 0 else Rehearsal.of(POLICY).tables for n in (0, 1))
    assert first["people"].schema.metadata == {b"sfumato": b"DUMMY"}
    assert first["people"].column_names == ["sex", "age", "hours", "notes", "person_id"]
    assert all(unit.startswith("DUMMY-") for unit in first["people"]["person_id"].to_pylist())
    ages = [each for each in first["people"]["age"].to_pylist() if each is not None]
    assert min(ages) >= 0
    assert max(ages) <= 100
    assert again["t"].num_rows == 1000


POLICY = Policy.parse(
    '[dataset]\nname = "t"\nid = "d-1"\nversion = "1"\nsize = 100000\n[unit]\nkind = "person"\nmax_rows = 2\nmax_groups = 2\n'
    '[budget]\nepsilon = 1\ndelta = 1e-6\n[tables.t]\nunit = "who"\nsource = "csv:nowhere.csv"\n'
    '[tables.t.columns.zip]\nvalues = "private"\n[tables.t.columns.day]\ntype = "date"\nrange = [2020-01-01, 2020-12-31]\n',
    folder=Path(),
)


def test_private_keys_and_dates_rehearse_too_without_a_source() -> None:
    rehearsal = Rehearsal.of(POLICY)
    answer = rehearsal.ask("SELECT zip, COUNT(*) AS n FROM t GROUP BY zip", epsilon=1, delta="5e-7")
    assert answer.columns == ("zip", "n")
    assert len(answer.rows) == 3
    assert len(rehearsal.ask("SELECT MONTH(day), COUNT(*) FROM t GROUP BY 1", epsilon=1).rows) == 12
    framed = rehearsal.table("t").filter("day > '2020-06-01'").agg(n=sf.count()).ask(epsilon=1)
    assert framed.rows[0]["n"] > 0
    with pytest.raises(NotSupported):
        rehearsal.ask("SELECT * FROM t", epsilon=1)


def test_generated_questions_over_several_tables() -> None:
    """Joins, links, subqueries and windows: whatever the real engine answers, the rehearsal's does, on rows that match."""
    from sfumato.curator.dummy import tables
    from sfumato.engines.duckdb import DuckDB
    from sfumato.queries.bounded import bound
    from sfumato.queries.sql.parse import parse
    from sfumato.testing.questions import Draw

    schema = several.schema(max_rows=2)
    made = tables(schema, 60)
    real = several.sources(several.tables(Draw("dummy"), 5), schema)
    assert {name: each.column_names for name, each in made.items()}.keys() == real.keys()
    from dataclasses import replace

    engine = DuckDB({name: replace(each, data=made[name]) for name, each in real.items()})
    draw, filled = Draw("dummy/questions"), 0
    for n in range(30):
        text = inside.question(draw) if n % 2 else several.question(draw)
        bounded = bound(parse(text, schema), schema)
        cells = bounded.vectors(engine.execute(bounded.sql("duckdb")))
        filled += any(int(each.any()) for each in cells)
    assert filled > 15


def test_a_unique_public_key_holds_each_value_once() -> None:
    from sfumato.curator.dummy import tables

    codes = Table("codes", (Column("code", "text", values=("a", "b", "c")),), public=True, unique=("code",))
    made = tables(Schema((codes,), Unit()), 10)["codes"]["code"].to_pylist()
    assert [each for each in made if each is not None] == ["a", "b", "c"]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[dataset]\nname = "t"\nid = "d-1"\nversion = "1"\n[unit]\nkind = "person"\n[budget]\nepsilon = 1\n'
    text += '[tables.t]\nunit = "who"\n'
    text += 'source = "csv:nowhere.csv"\n[tables.t.columns.sex]\nvalues = ["F", "M"]\n'
    (tmp_path / "policy.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    run = CliRunner()
    asked = run.invoke(cli, ["dummy", "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex", "--epsilon", "1"])
    assert asked.exit_code == 0, asked.output
    assert "DUMMY" in asked.stdout
    rows = run.invoke(cli, ["dummy", "--table", "t", "--rows", "3", "--format", "csv"])
    assert rows.stdout.splitlines()[0] == "sex,who"
    assert len(rows.stdout.splitlines()) == 4
    assert "DUMMY" in rows.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "policy.toml"]
