"""Spark gives the same integers as plain Python, and says nothing of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from sfumato.engines.base import Source
from sfumato.testing.engine import check_engine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def session() -> Any:
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


@pytest.fixture
def factory(session: Any) -> Callable[[Mapping[str, Source]], Any]:
    from sfumato.engines.spark import Spark

    def made(sources: Mapping[str, Source]) -> Spark:
        return Spark({name: replace(each, data=session.createDataFrame(each.data)) for name, each in sources.items()})

    return made


def test_contract(factory: Any) -> None:
    checked = check_engine(factory, 10)
    assert checked.answered >= 10


@pytest.mark.torture
def test_contract_at_length(factory: Any, record_property: Callable[[str, object], None]) -> None:
    checked = check_engine(factory, 500, word=os.urandom(8).hex())
    record_property("questions", checked.answered)
    record_property("refused", checked.refused)
