"""Tables go in and come out as the same kind, rows in their order; the source is untouched and the index gives nobody away."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pandas
import polars
import pyarrow
import pytest

import sfumato as sf
from sfumato.testing import anonymity

KINDS: dict[str, Callable[[polars.DataFrame], Any]] = {
    "polars": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "pandas objects": lambda table: table.to_pandas().astype({"name": object, "sex": object, "illness": object}),
    "pandas arrow": lambda table: table.to_pandas(use_pyarrow_extension_array=True),
    "pandas categories": lambda table: table.to_pandas().astype({"sex": "category", "illness": "category"}),
    "polars categories": lambda table: table.with_columns(polars.col("sex").cast(polars.Categorical)),
    "polars enum": lambda table: table.with_columns(polars.col("sex").cast(polars.Enum(["M", "F", "X"]))),
    "arrow": lambda table: table.to_arrow(),
    "arrow chunks": lambda table: pyarrow.concat_tables([table[:3].to_arrow(), table[3:].to_arrow()]),
}


def dicts(table: Any) -> list[dict[str, Any]]:
    match table:
        case polars.DataFrame():
            return table.to_dicts()
        case pandas.DataFrame():
            return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
        case _:
            return list(table.to_pylist())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["mondrian", "local"])
def test_every_kind_of_table(kind: str, method: Any, people: polars.DataFrame) -> None:
    asked: dict[str, Any] = {
        "k": 2,
        "quasi_identifiers": ["age", "sex"],
        "identifiers": ["name"],
        "sensitive": ["illness"],
        "method": method,
    }
    table = KINDS[kind](people)
    before = dicts(table)
    frame, _ = sf.anonymise(table, **asked)
    assert type(frame) is type(table)
    assert dicts(table) == before, "the source is untouched"
    assert dicts(frame) == dicts(sf.anonymise(people, **asked).frame), "the same whatever the kind"
    assert [row["illness"] for row in dicts(frame)] == people["illness"].to_list(), "rows keep their order"


def test_the_index_is_not_kept(people: polars.DataFrame) -> None:
    """A peer returns the number of each original row; an index may be a patient's number."""
    table = people.to_pandas().set_index(pandas.Index([f"patient {row}" for row in range(8)], name="id"))
    frame, report = sf.anonymise(table, k=2, quasi_identifiers=["age", "sex"], sensitive=["illness"])
    assert frame.index.to_list() == list(range(8))
    assert frame.index.name is None
    assert frame["illness"].to_list() == people["illness"].to_list()
    assert "index" not in {name.lower() for name in frame.columns}
    assert "An index is not kept" in " ".join(str(report).split())


def test_a_shuffled_index_does_not_shuffle_rows(people: polars.DataFrame) -> None:
    table = people.to_pandas()
    table.index = pandas.Index([3, 1, 4, 1, 5, 9, 2, 6])
    frame, _ = sf.anonymise(table, k=2, quasi_identifiers=["age", "sex"], sensitive=["illness"])
    for (_, before), (_, after) in zip(table.iterrows(), frame.iterrows(), strict=True):
        assert anonymity.covers(after["age"], before["age"])
        assert after["sex"] in (before["sex"], "*")
        assert after["illness"] == before["illness"]


def test_columns_without_a_role_are_left_out_and_said(people: polars.DataFrame) -> None:
    frame, report = sf.anonymise(people, k=2, quasi_identifiers=["age"], keep=["sex"])
    assert frame.columns == ["age", "sex"]
    assert report.hidden == ("name", "illness")
    assert "name, illness" in str(report)


def test_every_type_of_value() -> None:
    table = polars.DataFrame(
        {
            "whole": polars.Series([1, 2, 3, 4, 5, 6], dtype=polars.UInt8),
            "large": [10**12 + number for number in range(6)],
            "huge": polars.Series([2**64 - 1, 2**64 - 2**40, 2**63, 1, 2, 3], dtype=polars.UInt64),
            "away": polars.Series([datetime(2020, month, 28, 23, 59) for month in range(1, 7)]).dt.replace_time_zone(
                "Asia/Tokyo"
            ),
            "real": [0.5, 1.25, -3.0, 1e9, 2.5, 0.0],
            "money": polars.Series(["1.10", "2.20", "3.30", "4.40", "5.50", "6.60"]).cast(polars.Decimal(10, 2)),
            "flag": [True, False, True, False, True, False],
            "day": [date(2020, month, 28) for month in range(1, 7)],
            "moment": [datetime(2020, month, 28, 23, 59) for month in range(1, 7)],
            "text": list("abcabc"),
        }
    )
    for name in table.columns:
        frame, _ = sf.anonymise(table, k=2, quasi_identifiers=[name])
        assert frame.group_by(name).len()["len"].min() >= 2
        for before, after in zip(table[name], frame[name], strict=True):
            value = float(before) if name in ("money", "huge") else before
            assert anonymity.covers(after, value), (name, before, after)


def test_not_a_number_is_a_missing_number() -> None:
    table = polars.DataFrame({"size": [1.5, float("nan"), None, 2.5, float("nan"), 1.5]})
    frame, report = sf.anonymise(table, k=3, quasi_identifiers=["size"])
    assert frame["size"].is_null().to_list() == [False, True, True, False, True, False]
    assert anonymity.covers(frame["size"][0], 1.5)
    assert anonymity.covers(frame["size"][0], 2.5)
    assert "a missing value counts as one value more" in str(report)


def test_public_edges_by_default_and_data_edges_when_asked() -> None:
    table = polars.DataFrame({"pay": [41_237, 41_950, 43_112, 52_003, 52_777, 53_999]})
    public, said = sf.anonymise(table, k=3, quasi_identifiers=["pay"])
    assert sorted(set(public["pay"])) == ["]41200, 43200]", "]52000, 54000]"]
    assert "public cut points" in str(said)
    data, said = sf.anonymise(table, k=3, quasi_identifiers=["pay"], edges="data")
    assert sorted(set(data["pay"])) == ["[41237, 43112]", "[52003, 53999]"]
    assert "values of people" in str(said)


def test_public_edges_do_not_depend_on_the_table() -> None:
    """Whatever else is in the table, the ends of an interval are round numbers."""
    edges = set()
    for shift in range(0, 5000, 37):
        table = polars.DataFrame({"pay": [20_011 + shift, 20_017 + shift, 31_013 + shift, 31_019 + shift]})
        for label in sf.anonymise(table, k=2, quasi_identifiers=["pay"]).frame["pay"]:
            edges |= {int(edge) for edge in label[1:-1].split(", ")}
    assert all(edge % 100 == 0 for edge in edges)


def test_edges_beyond_the_last_cut_point_stay_open() -> None:
    table = polars.DataFrame({"age": [3, 4, 24, 25, 97, 98]})
    frame, _ = sf.anonymise(table, k=2, quasi_identifiers=["age"], cuts={"age": [10, 30]})
    assert frame["age"].to_list() == ["≤ 10"] * 2 + ["]10, 30]"] * 2 + ["> 30"] * 2
