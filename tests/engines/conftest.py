"""Servers and sessions that the engines' tests share: a database of their own, a Spark of two threads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """An empty database on the tests' PostgreSQL server."""
    import psycopg

    name = f"rows_{os.urandom(6).hex()}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE 'C' ENCODING 'UTF8'")
    yield f"{postgres} dbname={name}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A live Spark session on this machine, as a user would hand it over."""
    if shutil.which("java") is None:
        pytest.skip("Spark: needs Java 17, apt-get install default-jre-headless")
    sql = pytest.importorskip("pyspark.sql", reason="Spark: pip install 'sfumato[spark]'")
    from sfumato.engines.spark import _LOCAL

    builder = sql.SparkSession.builder.master("local[2]").appName("tests")
    for key, value in _LOCAL.items():
        builder = builder.config(key, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()
