"""DuckDB as an engine: the contract, every kind of source, and no word of data in any failure."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.core import BadInput, EngineFailed
from sfumato.engines.base import Engine, Source, failure
from sfumato.engines.duckdb import DuckDB
from sfumato.testing.engine import check_engine

PEOPLE = pa.table({"id": ["u", "v", "v"], "age": [30, 40, None], "sex": ["F", "M", ""]})
COLUMNS: dict[str, Any] = {"age": "integer", "sex": "category"}


def ages(engine: Engine) -> list[object]:
    found: list[object] = engine.execute('SELECT "age" FROM "people" ORDER BY "age"').column(0).to_pylist()
    return found


def test_contract_on_a_few_questions() -> None:
    checked = check_engine(lambda sources: DuckDB(sources), 40)
    assert checked.answered == 40


@pytest.mark.slow
def test_contract() -> None:
    assert check_engine(lambda sources: DuckDB(sources), 200, word="contract").answered == 200


@pytest.mark.torture
def test_contract_at_length(record_property: Any) -> None:
    checked = check_engine(lambda sources: DuckDB(sources), 10_000, word="torture")
    record_property("questions", checked.answered)
    assert checked.answered == 10_000


def test_it_is_an_engine() -> None:
    assert isinstance(DuckDB({}), Engine)


@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow], ids=["arrow", "pandas", "polars"]
)
def test_tables_in_memory(make: Any) -> None:
    """pandas turns a column of integers with a gap into doubles: they are read as integers again."""
    engine = DuckDB({"people": Source(COLUMNS, data=make(PEOPLE), unit="id")})
    assert ages(engine) == [30, 40, None]
    assert engine.schema("people") == {"id": "VARCHAR", "age": "BIGINT", "sex": "VARCHAR"}


def test_parquet_globs(tmp_path: Path) -> None:
    pq.write_table(PEOPLE.slice(0, 1), tmp_path / "a.parquet")
    pq.write_table(PEOPLE.slice(1), tmp_path / "b.parquet")
    engine = DuckDB({"people": Source(COLUMNS, location=f"parquet:{tmp_path}/*.parquet", unit="id")})
    assert ages(engine) == [30, 40, None]


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(PEOPLE, tmp_path / "p.parquet")
    monkeypatch.chdir(tmp_path)
    assert ages(DuckDB({"people": Source(COLUMNS, location="parquet:p.parquet", unit="id")})) == [30, 40, None]


def test_a_duckdb_file_is_opened_for_reading(tmp_path: Path) -> None:
    import duckdb

    file = tmp_path / "it's.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("given", PEOPLE)
        connection.sql("CREATE TABLE people AS SELECT * FROM given")
    engine = DuckDB({"people": Source(COLUMNS, location=f"duckdb:{file}:people", unit="id")})
    assert ages(engine) == [30, 40, None]
    with pytest.raises(EngineFailed):
        engine.execute('DROP TABLE "source_0"."people"')


def test_csv_is_text_until_the_policy_says_what_it_is(tmp_path: Path) -> None:
    lines = [
        "id,age,hours,born,sick,sex",
        "007,30,1.5,2020-02-29,true,F",
        "7,12.0,x,2020-02-30,maybe,",
        " 7,12.5,1e400,,f,?",
    ]
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n")
    columns: dict[str, Any] = {
        "age": "integer",
        "hours": "number",
        "born": "date",
        "sick": "boolean",
        "sex": "category",
    }
    source = Source(columns, location=f"csv:{tmp_path}/p.csv", unit="id", missing=("", "?"))
    found = DuckDB({"p": source}).execute('SELECT * FROM "p"').to_pylist()
    assert [row["id"] for row in found] == ["007", "7", " 7"], "spellings of a unit stay apart"
    assert [row["age"] for row in found] == [30, 12, None], "12.5 is no integer: no cast may round it to one"
    assert [row["hours"] for row in found][:2] == [1.5, None]
    assert [row["born"] for row in found] == [datetime.date(2020, 2, 29), None, None]
    assert [row["sick"] for row in found] == [True, None, False]
    assert [row["sex"] for row in found] == ["F", None, None]


@pytest.mark.parametrize(
    ("given", "kind", "wanted"),
    [
        (pa.array([1.9, -0.5, float("nan"), float("inf"), 1e300, 2.0]), "integer", [1, -1, None, None, None, 2]),
        (pa.array([1, 2**64 - 1], pa.uint64()), "integer", [1, None]),
        (pa.array([True, None]), "integer", [1, None]),
        (pa.array([1, 2], pa.int8()), "number", [1.0, 2.0]),
        (pa.array(["10", "9" * 30, "0x1F", "1_0", "+4", "-0"]), "integer", [10, None, None, None, 4, 0]),
        (pa.array([datetime.datetime(2020, 1, 1, 23, 59)]), "date", [datetime.date(2020, 1, 1)]),
        (pa.array([1, 2]), "category", ["1", "2"]),
        (pa.array(["a", "b"]).dictionary_encode(), "category", ["a", "b"]),
    ],
)
def test_columns_are_read_as_declared(given: Any, kind: Any, wanted: list[object]) -> None:
    engine = DuckDB({"t": Source({"x": kind}, data=pa.table({"x": given}))})
    assert engine.execute('SELECT "x" FROM "t"').column(0).to_pylist() == wanted


@pytest.mark.parametrize("odd", ["u,a,'hello,3\n", 'u,"a","it\'s, ""ok""",3\n', 'u,a,"two\nlines",3\n'])
def test_how_a_file_is_read_is_up_to_no_row(tmp_path: Path, odd: str) -> None:
    """DuckDB would guess quotes and separators from the rows: one of them could change what all the others say."""

    def wards(text: str) -> list[object]:
        (tmp_path / "t.csv").write_text("person,ward,note,days\n" + text)
        source = Source({"ward": "category"}, location=f"csv:{tmp_path}/t.csv", unit="person")
        found: list[object] = (
            DuckDB({"t": source}).execute('SELECT "ward" FROM "t" ORDER BY "person"')["ward"].to_pylist()
        )
        return found

    others = "".join(f"p{place:03},'a',fine,3\n" for place in range(500))
    assert wards(others) == ["'a'"] * 500
    assert wards(others + odd) == ["'a'"] * 500 + ["a"]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id;x,y;z\nu;1;2\n", ["id", "x,y", "z"]),
        ('\ufeff"id"\tx\ty\nu\t1\t2\n', ["id", "x", "y"]),
        ("id|x|x\nu|1|2\n", ["id", "x", "x_1"]),
        ("id,,x\nu,1,2\n", ["id", "column1", "x"]),
        ("id\nu\n", ["id"]),
    ],
)
def test_a_header_settles_how_a_file_is_read(tmp_path: Path, text: str, columns: list[str]) -> None:
    (tmp_path / "t.csv").write_text(text)
    engine = DuckDB({"t": Source(dict.fromkeys(columns, "text"), location=f"csv:{tmp_path}/t.csv")})
    (row,) = engine.execute('SELECT * FROM "t"').to_pylist()
    assert row == dict(zip(columns, ["u", "1", "2"], strict=False))


def test_files_of_one_source_have_one_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,age\nu,30\n")
    (tmp_path / "b.csv").write_text("age,id\n40,v\n")
    with pytest.raises(BadInput, match="one header"):
        DuckDB({"t": Source({"age": "integer"}, location=f"csv:{tmp_path}/*.csv", unit="id")})
    (tmp_path / "b.csv").write_text("id,age\nv,40\n")
    assert ages(DuckDB({"people": Source({"age": "integer"}, location=f"csv:{tmp_path}/*.csv", unit="id")})) == [30, 40]


@pytest.mark.parametrize(("collation", "one", "other"), [("NOCASE", "u", "U"), ("NOACCENT", "u", "ü")])
def test_texts_of_a_duckdb_file_are_compared_by_their_bytes(
    tmp_path: Path, collation: str, one: str, other: str
) -> None:
    """A collation would make one unit of two, and let a value that is on no list into a group."""
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute(f"CREATE TABLE t (person VARCHAR COLLATE {collation}, ward VARCHAR COLLATE {collation}, age INT)")
        made.execute("INSERT INTO t VALUES (?, ?, 1), (?, ?, 2)", [one, one, other, other])
    engine = DuckDB({"t": Source({"ward": "category"}, location=f"duckdb:{tmp_path}/t.duckdb:t", unit="person")})
    for column in ("person", "ward"):
        assert engine.execute(f'SELECT "{column}", count(*) FROM "t" GROUP BY 1').num_rows == 2
        assert engine.execute(f"SELECT 1 FROM t WHERE \"{column}\" IN ('{one}')").num_rows == 1


def test_units_of_any_type_stay_apart() -> None:
    units = pa.array([0.1 + 0.2, 0.3, float("nan"), None])
    engine = DuckDB({"t": Source({}, data=pa.table({"u": units}), unit="u")})
    assert engine.execute('SELECT count(DISTINCT "u") AS n FROM "t"').column(0).to_pylist() == [3]


def test_a_missing_column_is_said_before_any_question() -> None:
    with pytest.raises(BadInput, match="SF019"):
        DuckDB({"people": Source({"height": "number"}, data=PEOPLE)})


def test_a_type_that_cannot_be_is_said_before_any_question() -> None:
    days = pa.table({"x": pa.array([datetime.date(2020, 1, 1)])})
    with pytest.raises(BadInput, match="SF019"):
        DuckDB({"t": Source({"x": "number"}, data=days)})


def test_an_unknown_kind_of_source_is_refused() -> None:
    with pytest.raises(BadInput):
        DuckDB({"people": Source({}, location="ftp:people")})


SENTINEL = "sentinel-4711"


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT CAST("sex" AS BIGINT) FROM "people"',
        'SELECT error("sex") FROM "people"',
        f"SELECT '{SENTINEL}'::DATE",
        "SELECT 9223372036854775807 + 1::BIGINT",
        "SELECT FROM",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '1GB'",
        "SELECT * FROM 'https://example.org/x.parquet'",
        "SELECT * FROM read_text('/etc/hostname')",
        "COPY (SELECT 1) TO '/tmp/sfumato-out.csv'",
    ],
)
def test_failures_say_one_fixed_sentence(sql: str) -> None:
    """No extension, no setting, no network; and neither message nor traceback holds what was in a cell."""
    import traceback

    data = pa.table({"id": ["u"], "sex": [SENTINEL]})
    engine = DuckDB({"people": Source({"sex": "category"}, data=data, unit="id")})
    with pytest.raises(EngineFailed) as caught:
        engine.execute(sql)
    shown = "".join(traceback.format_exception(caught.value))
    assert SENTINEL not in shown
    assert shown.count("Error") == 0, "the engine's own exception is shown"
    assert shown.splitlines()[-1] == f"sfumato.core.errors.EngineFailed: {failure()}"


def test_python_names_are_not_tables() -> None:
    """DuckDB would read a variable of the caller as a table."""
    secret = pd.DataFrame({"x": [1]})
    assert len(secret) == 1
    with pytest.raises(EngineFailed):
        DuckDB({}).execute("SELECT * FROM secret")


def test_threads_share_one_engine() -> None:
    from concurrent.futures import ThreadPoolExecutor

    engine = DuckDB({"people": Source(COLUMNS, data=PEOPLE, unit="id")})
    with ThreadPoolExecutor(8) as pool:
        assert all(found == [30, 40, None] for found in pool.map(lambda _: ages(engine), range(40)))
