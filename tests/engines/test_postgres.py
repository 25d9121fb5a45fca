"""PostgreSQL gives the same integers as plain Python and DuckDB, and says nothing of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.core import BadInput, EngineFailed
from sfumato.engines.base import Source
from sfumato.engines.postgres import Place, Postgres, place_of
from sfumato.testing.engine import check_engine

TYPES = {"int64": "bigint", "double": "double precision", "bool": "boolean", "date32[day]": "date", "string": "text"}


def loaded(where: str, name: str, source: Source) -> Source:
    """The source with its rows in a table of the server."""
    import psycopg

    data = source.data
    columns = ", ".join(f'"{field.name}" {TYPES[str(field.type)]}' for field in data.schema)
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        connection.execute(f'CREATE TABLE "{name}" ({columns})')
        with connection.cursor().copy(f'COPY "{name}" FROM STDIN') as copy:
            for row in data.to_pylist():
                copy.write_row(list(row.values()))
    return replace(source, location=f"postgresql:{where}", data=None)


@pytest.fixture
def factory(database: str) -> Callable[[Mapping[str, Source]], Postgres]:
    return lambda sources: Postgres({name: loaded(database, name, each) for name, each in sources.items()})


def test_contract_on_a_few_questions(factory: Any) -> None:
    assert check_engine(factory, 30, word="few").answered >= 30


@pytest.mark.slow
def test_contract(factory: Any) -> None:
    checked = check_engine(factory, 200)
    assert checked.answered >= 200


@pytest.mark.torture
def test_contract_at_length(factory: Any, record_property: Callable[[str, object], None]) -> None:
    checked = check_engine(factory, 10_000, word=os.urandom(8).hex())
    record_property("questions", checked.answered)
    record_property("refused", checked.refused)


PEOPLE = {"age": "integer", "name": "text", "income": "number", "born": "date", "ok": "boolean"}


def run(where: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(where, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def people(where: str, **changes: Any) -> Postgres:
    source = Source(PEOPLE, location=f"postgresql:{where}", unit="person", **changes)  # type: ignore[arg-type]
    return Postgres({"people": source})


@pytest.fixture
def table(database: str) -> str:
    """Types of every kind, and values that would make a cast fail."""
    run(
        database,
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE people (person uuid, age numeric, name varchar(20), income numeric, born timestamptz, ok boolean)",
        "INSERT INTO people SELECT gen_random_uuid(), x, '', y, z, NULL FROM (VALUES"
        " (1.9, 1e400, timestamptz '2020-02-29 23:59:59+00'), (-1.1, -1e400, 'infinity'), ('NaN', 'NaN', '-infinity'),"
        " (1e30, 1e-400, '0044-03-15 BC'), (NULL, NULL, NULL)) AS v (x, y, z)",
    )
    return database


def test_no_value_makes_a_statement_fail(table: str) -> None:
    found = people(table).execute("SELECT age, name, income FROM people ORDER BY age, income").to_pylist()
    assert [row["age"] for row in found] == [-2, 1, None, None, None]
    assert {row["name"] for row in found} == {None}, "an empty text is missing"
    assert sorted(row["income"] for row in found if row["income"] is not None) == [float("-inf"), 0.0, float("inf")]
    days = people(table).execute("SELECT born FROM people WHERE born = DATE '2020-02-29'").num_rows
    assert days == 1


def test_nothing_can_be_written(table: str) -> None:
    engine = people(table)
    for sql in ("DELETE FROM people", "SELECT 1; DROP TABLE people", "CREATE TABLE x (y int)"):
        with pytest.raises(EngineFailed):
            engine.execute(sql)
    assert engine.execute("SELECT count(*) AS n FROM people").to_pylist() == [{"n": 5}]


def test_a_backslash_ends_no_text_whatever_the_server_is_set_to(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c standard_conforming_strings=off")
    escape = "SELECT 'a\\' || ' OR 1 = 1 --' AS x"
    assert people(table).execute(escape).column(0).to_pylist() == ["a\\ OR 1 = 1 --"]


def test_what_cannot_be_read_is_said_by_its_name(table: str) -> None:
    with pytest.raises(BadInput, match="no column height"):
        Postgres({"people": Source({"height": "number"}, location=f"postgresql:{table}")})
    with pytest.raises(BadInput, match="name cannot be read as integer"):
        Postgres({"people": Source({"name": "integer"}, location=f"postgresql:{table}")})
    with pytest.raises(BadInput, match="no table"):
        Postgres({"folk": Source({}, location=f"postgresql:{table}")})
    with pytest.raises(BadInput, match="several servers"):
        Postgres({name: Source({}, location=f"postgresql:{name} {table}") for name in ("port=1", "port=2")})


def test_no_server_is_one_sentence_without_a_password() -> None:
    with pytest.raises(EngineFailed) as error:
        people("host=127.0.0.1 port=1 user=me password=hunter2")
    assert "hunter2" not in str(error.value)
    assert error.value.__suppress_context__


def test_a_lost_connection_is_opened_again(table: str) -> None:
    engine = people(table)
    run(
        table,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )
    with pytest.raises(EngineFailed):
        engine.execute("SELECT 1 AS one")
    assert engine.execute("SELECT 1 AS one").to_pylist() == [{"one": 1}]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE people RENAME COLUMN age TO years",
        "ALTER TABLE people ALTER COLUMN age TYPE bigint USING 1",
        "ALTER TABLE people DROP COLUMN person",
        "DROP TABLE people",
    ],
)
def test_a_schema_that_changes_between_preview_and_ask_is_said_before_the_charge(table: str, change: str) -> None:
    engine = people(table)
    engine.look()
    run(table, change)
    with pytest.raises(BadInput, match="SF019"):
        engine.look()


def test_columns_that_nobody_reads_may_change(table: str) -> None:
    engine = Postgres({"people": Source({"age": "integer"}, location=f"postgresql:{table}", unit="person")})
    run(table, "ALTER TABLE people DROP COLUMN income", "ALTER TABLE people ADD COLUMN extra int")
    engine.look()


def test_a_look_opens_a_lost_connection_again(table: str) -> None:
    engine = people(table)
    run(
        table,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )
    engine.look()
    assert engine.execute("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_the_rights_that_the_guide_grants_are_enough(table: str) -> None:
    """The first block of SQL in docs/engines.md, under a role of a name of our own."""
    role = f"reader_{os.urandom(4).hex()}"
    guide = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()
    granted = guide.split("```sql\n")[1].split("```")[0].replace("sfumato_reader", role)
    run(table, *granted.strip().splitlines())
    try:
        where = f"{table} options='-c role={role}'"
        source = Source({"age": "integer"}, location=f"postgresql:{where}", unit="person")
        assert Postgres({"people": source}).execute("SELECT count(age) AS n FROM people").to_pylist() == [{"n": 2}]
        with pytest.raises(BadInput, match="SF019 born of people changed on the server, or may not be read"):
            people(where).look()
        with pytest.raises(EngineFailed):
            people(where).execute("SELECT name FROM people")
    finally:
        run(table, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_public_list_goes_where_the_rows_are(table: str) -> None:
    import pyarrow as pa

    levels = pa.table({"chapter": ["I", "II", None], "code": ["A00", "it's", "C"]})
    sources = {
        "people": Source({"age": "integer"}, location=f"postgresql:{table}", unit="person"),
        "codes": Source({"chapter": "text", "code": "category"}, data=levels, missing=()),
    }
    found = Postgres(sources).execute("SELECT chapter, code FROM codes ORDER BY code").to_pylist()
    assert found == [{"chapter": "I", "code": "A00"}, {"chapter": None, "code": "C"}, {"chapter": "II", "code": "it's"}]


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("postgresql:service=clinic", Place("service=clinic", "stays")),
        ("postgresql:service=clinic:hospital.stays", Place("service=clinic", "hospital.stays")),
        ("postgresql://db.local:5432/clinic", Place("//db.local:5432/clinic", "stays")),
        ("postgresql://db.local:5432/clinic:visits", Place("//db.local:5432/clinic", "visits")),
    ],
)
def test_places(location: str, place: Place) -> None:
    assert place_of(location, "stays") == place


def test_a_question_through_the_one_door(table: str, tmp_path: Any) -> None:
    """From the policy to the answer; a source that is away costs nothing, and answers given before need none."""
    import sfumato as sf
    from sfumato.curator.home import Home
    from sfumato.curator.ledger.records import Charge
    from sfumato.curator.policy import Policy

    text = f"""
[dataset]
name = "people"
id = "d-pg"
version = "1"
[unit]
kind = "person"
[budget]
epsilon = 3
[tables.people]
source = "postgresql:{table}"
unit = "person"
[tables.people.columns.age]
type = "integer"
range = [0, 100]
"""
    (tmp_path / "policy.toml").write_text(text)
    home = Home(tmp_path / "home")
    Policy.load(tmp_path / "policy.toml").new_ledger(home)
    first = sf.open(tmp_path / "policy.toml", home=home).session("ana").ask("SELECT COUNT(*) FROM people", epsilon=1)
    run(table, "ALTER TABLE people RENAME TO away")
    data = sf.open(tmp_path / "policy.toml", home=home)
    again = data.session("ana").ask("SELECT COUNT(*) FROM people", epsilon=1)
    assert again.rows == first.rows
    with pytest.raises(BadInput, match="no table people"):
        data.session("ana").ask("SELECT AVG(age) FROM people", epsilon=1)
    assert data.ledger.totals().spent == Charge(first.charged.amount)
