"""PostgreSQL gives the same integers as plain Python and DuckDB, and says nothing of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from sfumato.core import BadInput, EngineFailed
from sfumato.engines.base import Source
from sfumato.engines.postgres import Place, Postgres, place_of
from sfumato.testing.engine import check_engine

TYPES = {"int64": "bigint", "double": "double precision", "bool": "boolean", "date32[day]": "date", "string": "text"}


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    import psycopg

    name = f"rows_{os.urandom(6).hex()}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE 'C' ENCODING 'UTF8'")
    yield f"{postgres} dbname={name}"
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


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


def test_contract(factory: Any) -> None:
    checked = check_engine(factory, 200)
    assert checked.answered >= 200


@pytest.mark.torture
def test_contract_at_length(factory: Any, record_property: Callable[[str, object], None]) -> None:
    checked = check_engine(factory, 10_000, word=os.urandom(8).hex())
    record_property("questions", checked.answered)
    record_property("refused", checked.refused)
