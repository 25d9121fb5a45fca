"""A moment is of the day that it falls on in the policy's time zone: on every engine, and whatever zone that engine is in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from sfumato.engines.base import Engine, Source

MOMENTS = [
    datetime(2020, 12, 31, 23, 30, tzinfo=UTC),
    datetime(2020, 12, 31, 14, 59, 59, 999_999, tzinfo=UTC),
    datetime(2020, 12, 31, 15, 0, tzinfo=UTC),
    datetime(2021, 1, 1, 4, 59, 59, tzinfo=UTC),
    datetime(2021, 3, 27, 23, 0, tzinfo=UTC),  # Paris an hour ahead, the day before it is two
    datetime(2021, 3, 28, 22, 0, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1950, 6, 1, 3, 59, tzinfo=UTC),
    datetime(9999, 12, 30, 12, 0, tzinfo=UTC),
]
ZONES = ["UTC", "Europe/Paris", "Asia/Tokyo", "America/New_York"]
Opened = Callable[[str], Engine]


def source(zone: str, **where: Any) -> dict[str, Source]:
    return {"t": Source({"day": "date"}, timezone=zone, **where)}


def on_duckdb(tmp_path: Path) -> Opened:
    from sfumato.engines.duckdb import DuckDB

    table = pa.table({"day": pa.array(MOMENTS, pa.timestamp("us", tz="UTC"))})
    return lambda zone: DuckDB(source(zone, data=table))


def on_postgres(database: str) -> Opened:
    import psycopg

    from sfumato.engines.postgres import Postgres

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (day timestamptz)")
        connection.cursor().executemany("INSERT INTO t VALUES (%s)", [(each,) for each in MOMENTS])
        for far in ("infinity", "-infinity", "294276-12-31 23:59:59+00", "4713-01-01 00:00:00+00 BC"):
            connection.execute("INSERT INTO t VALUES (%s)", (far,))
    return lambda zone: Postgres(source(zone, location=f"postgresql:{database}"))


def on_spark(session: Any) -> Opened:
    from sfumato.engines.spark import Spark

    micros = [(each - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) for each in MOMENTS]
    rows = ", ".join(f"({each}L)" for each in [*micros, 2**63 - 1, 1 - 2**63])
    frame = session.sql(f"SELECT TIMESTAMP_MICROS(x) AS day FROM VALUES {rows} AS v (x)")
    return lambda zone: Spark(source(zone, data=frame))


@pytest.fixture(params=["duckdb", "postgres", pytest.param("spark", marks=pytest.mark.slow)])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    match request.param:
        case "postgres":
            return on_postgres(request.getfixturevalue("database"))
        case "spark":
            return on_spark(request.getfixturevalue("spark"))
        case _:
            return on_duckdb(tmp_path)


@pytest.mark.parametrize("zone", ZONES)
def test_days(opened: Opened, zone: str) -> None:
    engine = opened(zone)
    low, high = (f"CAST('{each}' AS DATE)" for each in (date(1900, 1, 1), date(9999, 12, 31)))
    found = engine.execute(f"SELECT day FROM t WHERE day >= {low} AND day <= {high}").column(0).to_pylist()
    assert sorted(found) == sorted(each.astimezone(ZoneInfo(zone)).date() for each in MOMENTS)


@pytest.mark.slow
def test_a_spark_session_in_another_zone(request: pytest.FixtureRequest) -> None:
    session = request.getfixturevalue("spark")
    before = session.conf.get("spark.sql.session.timeZone")
    opened = on_spark(session)
    session.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    try:
        test_days(opened, "Europe/Paris")
    finally:
        session.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("micros", [2**63 - 2, -9_223_372_022_400_000_000])
def test_no_moment_makes_a_statement_fail(tmp_path: Path, zone: str, micros: int) -> None:
    import duckdb

    from sfumato.engines.duckdb import DuckDB

    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute("CREATE TABLE t (day TIMESTAMPTZ)")
        made.execute(f"INSERT INTO t VALUES (make_timestamptz({micros})), ('2020-05-05 12:00:00+00')")
    engine = DuckDB(source(zone, location=f"duckdb:{tmp_path}/t.duckdb:t"))
    near = "day > DATE '1900-01-01' AND day < DATE '9999-01-01'"
    assert engine.execute(f"SELECT day FROM t WHERE {near}").column(0).to_pylist() == [date(2020, 5, 5)]
