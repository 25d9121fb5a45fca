"""Spark gives the same integers as plain Python, reads every type without failing, and says nothing of its own."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato.core import BadInput, EngineFailed
from sfumato.engines.base import Engine, Source
from sfumato.queries.bounded import bound
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql.parse import parse
from sfumato.testing.engine import check_engine, compare

pytestmark = pytest.mark.slow


@pytest.fixture
def factory(spark: Any) -> Callable[[Mapping[str, Source]], Any]:
    from sfumato.engines.spark import Spark

    def made(sources: Mapping[str, Source]) -> Spark:
        return Spark({name: replace(each, data=spark.createDataFrame(each.data)) for name, each in sources.items()})

    return made


def test_contract(factory: Any) -> None:
    checked = check_engine(factory, 10)
    assert checked.answered >= 10


@pytest.mark.torture
def test_contract_at_length(factory: Any, record_property: Callable[[str, object], None]) -> None:
    checked = check_engine(factory, 500, word=os.urandom(8).hex())
    record_property("questions", checked.answered)
    record_property("refused", checked.refused)


def column(spark: Any, sql: str, kind: Any, missing: tuple[str, ...] = ("",)) -> list[object]:
    """What the values that `sql` lists are read as."""
    from sfumato.engines.spark import Spark

    frame = spark.sql(f"SELECT x FROM VALUES {sql} AS t (x)")
    return sorted(
        Spark({"t": Source({"x": kind}, data=frame, missing=missing)}).execute("SELECT x FROM t").column(0).to_pylist(),
        key=lambda value: (value is None, str(value)),
    )


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        ("('10'), ('0x1F'), ('1_0'), ('+4'), ('12.0'), ('12.5'), ('99999999999999999999')", "integer", [10, 12, 4]),
        ("(1.9D), (-0.5D), (double('NaN')), (double('Infinity')), (1e300D)", "integer", [-1, 1]),
        ("(CAST(1.9 AS DECIMAL(38, 2))), (CAST(-99999999999999999999 AS DECIMAL(38, 2)))", "integer", [1]),
        ("(true), (NULL)", "integer", [1]),
        ("('1.5'), ('x'), ('1e400'), ('')", "number", [1.5, float("inf")]),
        ("('2020-02-29'), ('2020-02-30'), ('today')", "date", [datetime.date(2020, 2, 29)]),
        ("(TIMESTAMP '2020-01-01 23:59:59')", "date", [datetime.date(2020, 1, 1)]),
        ("('a'), (''), ('é')", "category", ["a", "é"]),
        ("(7), (NULL)", "text", ["7"]),
        ("(true), (NULL)", "boolean", [True]),
    ],
)
def test_no_value_makes_a_statement_fail(spark: Any, values: str, kind: Any, wanted: list[object]) -> None:
    """Spark throws where it cannot cast; what cannot be read is NULL here, as on the other engines."""
    found = column(spark, values, kind)
    assert [value for value in found if value is not None] == wanted


@pytest.mark.parametrize("where", ["catalogue", "parquet", "csv", "frame"])
def test_rows_come_from_a_table_a_path_or_a_live_frame(spark: Any, tmp_path: Path, where: str) -> None:
    from sfumato.engines.spark import Spark

    frame = spark.createDataFrame([("u", 30), ("v", 40), ("v", None)], "id string, age int")
    source = Source({"age": "integer"}, unit="id")
    match where:
        case "catalogue":
            frame.createOrReplaceTempView("folk")
            source = replace(source, location="spark:folk")
        case "parquet":
            frame.write.parquet(str(tmp_path / "folk"))
            source = replace(source, location=f"spark:parquet:{tmp_path}/folk")
        case "csv":
            frame.write.option("header", "true").csv(str(tmp_path / "folk"))
            source = replace(source, location=f"spark:csv:{tmp_path}/folk")
        case _:
            source = replace(source, data=frame)
    engine: Engine = Spark({"people": source})
    assert engine.execute("SELECT age FROM people ORDER BY age NULLS LAST").column(0).to_pylist() == [30, 40, None]
    assert set(engine.schema("people")) == {"id", "age"}


def test_a_text_refers_to_nothing_outside_of_the_question(factory: Any) -> None:
    """Spark would put its settings and its environment in the place of ${...}: a count would tell them, all rows or none."""
    columns = (Column("g", "category", values=("a", "b")),)
    policy = Schema((Table("t", columns, None, size=2),), Unit("row"))
    found: list[dict[str, Any]] = [{"g": "a"}, {"g": "b"}]
    engine = factory({"t": Source({"g": "category"}, data=pa.Table.from_pylist(found))})
    for text in ("${spark.app.name}", "${env:PATH}", "$${x}${"):
        question = f"SELECT COUNT(*) FROM t WHERE g || '{text}' = 'a{text}' AND g || '{text}' LIKE '%$%{{%'"
        compare(engine, bound(parse(question, policy), policy), found, question)


def test_what_cannot_be_read_is_said_by_its_name(spark: Any) -> None:
    from sfumato.engines.spark import Spark

    frame = spark.createDataFrame([(datetime.date(2020, 1, 1),)], "day date")
    with pytest.raises(BadInput, match="no column height"):
        Spark({"t": Source({"height": "number"}, data=frame)})
    with pytest.raises(BadInput, match="day cannot be read as number"):
        Spark({"t": Source({"day": "number"}, data=frame)})
    with pytest.raises(EngineFailed):
        Spark({"t": Source({}, location="spark:no_such_table")})


CONNECTED = """
from pyspark.sql import SparkSession

from sfumato.engines.base import Source
from sfumato.engines.spark import Spark

session = SparkSession.builder.remote("local[1]").getOrCreate()
frame = session.createDataFrame([("u", 30), ("v", 40), ("v", None)], "id string, age int")
engine = Spark({"people": Source({"age": "integer"}, data=frame, unit="id")})
print(type(session).__module__, engine.execute("SELECT sum(age) AS n FROM people").to_pylist())
"""


def test_frames_of_spark_connect_are_read_too(spark: Any) -> None:
    """In a process of its own: a process has one kind of session."""
    done = subprocess.run([sys.executable, "-c", CONNECTED], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["pyspark.sql.connect.session", "[{'n':", "70}]"], done.stderr[-2000:]
