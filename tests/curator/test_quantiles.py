"""Quantiles from question to answer: asked, charged, stored, replayed, refined; bars in ranks, and in values if paid for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.accounting import ZcdpFilter
from sfumato.core import NotSupported
from sfumato.curator.dataset import Dataset
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy
from sfumato.queries.schema import Table

Make = Callable[..., Dataset]


def table(ages: list[int], *, each: int = 1) -> Any:
    """One person for each age, with as many rows each."""
    people = [i for i in range(len(ages)) for _ in range(each)]
    return pa.table(
        {
            "person_id": [f"p{i}" for i in people],
            "sex": ["F" if i % 2 else "M" for i in people],
            "age": [ages[i] for i in people],
            "hours": [float(ages[i]) for i in people],
            "notes": people,
        },
        schema=pa.schema(
            [
                *(("person_id", pa.string()), ("sex", pa.string()), ("age", pa.int64())),
                *(("hours", pa.float64()), ("notes", pa.int64())),
            ]
        ),
    )


AGES = [i % 90 for i in range(9000)]


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_question_end_to_end(make: Make, accountant: str, max_rows: int) -> None:
    """At epsilon 5 with 9 000 people, 100 to an age, the median is off by more than two ages with probability below 1e-9."""
    session = make(epsilon="50", accountant=accountant, max_rows=max_rows, data=table(AGES, each=max_rows)).session()
    preview = session.preview("SELECT MEDIAN(age) AS m, QUANTILE(hours, 0.1, 0.5, 0.9) AS h FROM people", epsilon=5)
    answer = session.ask(preview)
    (row,) = answer.rows
    assert answer.charged == preview.charge
    assert abs(row["m"] - 45) <= 2
    assert all(abs(value - right) <= 3 for value, right in zip(row["h"], (9, 45, 81), strict=True))
    assert row["h"] == sorted(row["h"])
    again = session.ask(preview)
    assert again.replayed
    assert again.rows == answer.rows
    assert again.charged.amount == 0
    assert answer.to_arrow().column("h").type == pa.list_(pa.float64())
    assert "of the sample" in str(answer)


def test_by_group_and_frames_make_the_same_plan(make: Make) -> None:
    session = make(data=table(AGES)).session()
    people = session.table("people")
    framed = people.group_by("sex").agg(age=sf.median("age"), ends=sf.quantile("age", ".1", ".9"))
    text = "SELECT sex, MEDIAN(age) AS age, QUANTILE(age, 0.1, 0.9) AS ends FROM people GROUP BY sex"
    assert framed.plan == session.sql(text).plan
    assert people.median("age").plan == session.sql("SELECT MEDIAN(age) AS median FROM people").plan
    answer = framed.ask(epsilon=5)
    assert [row["sex"] for row in answer.rows] == ["F", "M"]
    assert all(abs(row["age"] - 45) <= 3 for row in answer.rows)
    assert answer.preview.loss.epsilon() <= 5


def test_several_quantiles_of_a_column_are_paid_for_once(make: Make) -> None:
    session = make(data=table(AGES)).session()
    one = session.preview("SELECT QUANTILE(age, 0.25, 0.5, 0.75) FROM people", epsilon=1)
    two = session.preview("SELECT MEDIAN(age), QUANTILE(age, 0.25, 0.75) FROM people", epsilon=1)
    assert one.key == two.key
    assert len(two.mechanisms) == 1


def test_ranks_are_said_from_the_question_alone(make: Make) -> None:
    text = "SELECT MEDIAN(age) FROM people"
    here = make(data=table(AGES)).session()
    width = here.preview(text, epsilon=1).rank_width("median")
    assert width == here.ask(text, epsilon=1).ranks["median"]["rows"]
    assert here.preview(text, epsilon=1).within(at=1000)["median"] == pytest.approx(width / 1000)
    assert here.preview(text, epsilon=2).rank_width("median") < width


def test_a_share_of_ranks_where_the_number_of_rows_is_asked_too(make: Make) -> None:
    session = make(data=table(AGES)).session()
    alone = session.ask("SELECT MEDIAN(age) AS m FROM people", epsilon=1)
    counted = session.ask("SELECT MEDIAN(age) AS m, COUNT(age) AS n FROM people", epsilon=1)
    assert alone.rows[0]["m_ranks"] is None
    assert counted.rows[0]["m_low"] is None
    width, share = counted.ranks["m"]["rows"], counted.rows[0]["m_ranks"]
    assert width / 9200 < share < 2 * width / 8800, "the risk is shared, so it is a little wider than the rows alone"


def test_a_bar_in_values_when_the_neighbours_are_paid_for(make: Make) -> None:
    session = make(epsilon="50", data=table(AGES)).session()
    text = "SELECT MEDIAN(age) AS m, QUANTILE(age, 0.4, 0.6) AS around, COUNT(age) AS n FROM people"
    row = session.ask(text, epsilon=10).rows[0]
    assert row["m_low"] <= 45 <= row["m_high"]
    assert row["m_high"] - row["m"] < 12
    assert row["around_low"] == [None, None], "the outer two have no neighbours further out"


@pytest.mark.slow
def test_bars_in_values_hold_the_truth(make: Make) -> None:
    """100 answers at 80 %: 45 right ones or fewer have a probability of exp(-2 100 0.35^2) < 3e-11 at most (Hoeffding)."""
    ages = [min(100, i * i % 97) for i in range(2000)]
    truth = sorted(ages)[1000]
    session = make(epsilon="100000", data=table(ages)).session()
    right = 0
    for i in range(100):
        text = f"SELECT QUANTILE(age, 0.44, 0.5, 0.56) AS q, COUNT(age) AS n FROM people WHERE age < {200 + i}"
        row = session.ask(text, epsilon="0.5", confidence="0.8").rows[0]
        low, high = row["q_low"][1], row["q_high"][1]
        right += low is None or low <= truth <= high
    assert right > 45


def test_refining_keeps_the_surer_release(make: Make) -> None:
    session = make(epsilon="50", data=table(AGES)).session()
    first = session.ask("SELECT MEDIAN(age) AS m, COUNT(age) AS n FROM people", epsilon=1)
    better = first.refine(epsilon=8)
    assert better.ranks["m"]["rows"] < first.ranks["m"]["rows"]
    worse = better.refine(epsilon="0.1")
    assert worse.ranks == better.ranks
    assert worse.rows[0]["m"] == better.rows[0]["m"]


def test_within_speaks_of_ranks(make: Make) -> None:
    session = make(data=table(AGES)).session()
    preview = session.preview("SELECT QUANTILE(age, 0.1, 0.9) AS q FROM people", within="0.01", at=5000)
    assert 0.005 < preview.within(at=5000)["q"] <= 0.01
    with pytest.raises(NotSupported, match="SF004"):
        session.preview("SELECT MEDIAN(age), COUNT(*) FROM people", within="0.01")
    means = session.preview("SELECT MEDIAN(age), AVG(age) AS a FROM people", within=1, at=5000)
    assert means.within(at=5000)["a"] <= 1


@pytest.mark.parametrize("ages", [[], [41], [41] * 500, [200] * 500, [-5] * 3])
@pytest.mark.parametrize("question", ["QUANTILE(age, 0.2, 0.5, 0.8)", "MEDIAN(age)"])
def test_any_table_has_an_answer(make: Make, ages: list[int], question: str) -> None:
    """No row, one, one value again and again, everything outside of the range: a place within the range, always."""
    session = make(epsilon="100", data=table(ages)).session()
    (row,) = session.ask(f"SELECT {question} AS q FROM people", epsilon=20).rows
    found = row["q"] if isinstance(row["q"], list) else [row["q"]]
    assert all(0 <= value <= 100 for value in found)
    if len(ages) == 500:  # exp(-20/4 * 250) and less for any other place
        assert found == [min(100, ages[0])] * len(found)


def test_a_key_names_the_mechanism_and_the_quantiles(make: Make) -> None:
    session = make(data=table(AGES)).session()
    keys = {
        session.preview(f"SELECT {each} FROM people", epsilon=price).key
        for each in ("MEDIAN(age)", "QUANTILE(age, 0.4)", "QUANTILE(age, 0.4, 0.5)", "MEDIAN(hours)")
        for price in (1, 2)
    }
    assert len(keys) == 8


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
@pytest.mark.parametrize("price", ["0.01", "1", "7"])
def test_the_charge_is_no_more_than_the_price(make: Make, accountant: str, price: str) -> None:
    session = make(accountant=accountant, max_rows=4, data=table(AGES)).session()
    for text in (
        "SELECT MEDIAN(age) FROM people",
        "SELECT QUANTILE(age, 0.1, 0.2, 0.3, 0.9), COUNT(*) FROM people",
        "SELECT sex, QUANTILE(hours, 0.5, 0.9), AVG(age) FROM people GROUP BY sex",
    ):
        preview = session.preview(text, epsilon=price)
        whole = Fraction(price)
        if isinstance(preview.budget, ZcdpFilter):
            whole = ZcdpFilter(whole, preview.budget.delta, preview.budget.conversion).rho_max
        assert Fraction("0.99") * whole <= preview.charge.amount <= whole


DAYS = """
[tables.people.columns.since]
type = "date"
range = [2020-01-01, 2020-12-31]
[tables.people.columns.rank]
type = "category"
values = ["low", "middle", "high"]
ordered = true
"""


def test_days_and_ordered_categories(tmp_path: Path) -> None:
    """At epsilon 40 with 300 people, 100 to a category, another answer has a probability below exp(-20 * 50)."""
    count = 300
    data = pa.table(
        {
            "person_id": [f"p{i}" for i in range(count)],
            "since": [date(2020, 3, 1) if i < 200 else date(2020, 9, 1) for i in range(count)],
            "rank": [("low", "middle", "high")[i // 100] for i in range(count)],
        }
    )
    (tmp_path / "policy.toml").write_text(
        '[dataset]\nname = "people"\nid = "d-days"\nversion = "1"\n[unit]\nkind = "person"\n[budget]\nepsilon = 1000\n'
        f'[tables.people]\nunit = "person_id"\n{DAYS}'
    )
    home = Home(tmp_path / "home")
    Policy.load(tmp_path / "policy.toml").new_ledger(home)
    session = sf.open(tmp_path / "policy.toml", {"people": data}, home=home).session()
    text = (
        "SELECT MEDIAN(since) AS s, QUANTILE(rank, 0.1, 0.5, 0.9) AS r, MEDIAN(rank) AS m, COUNT(rank) AS n, COUNT(since) AS c"
        " FROM people"
    )
    answer = session.ask(text, epsilon=160)
    (row,) = answer.rows
    assert (row["s"], row["r"], row["m"]) == (date(2020, 3, 1), ["low", "middle", "high"], "middle")
    assert row["r_low"][1] == "low"
    assert row["r_high"][1] == "high"
    assert row["s_ranks"] is not None
    table_ = answer.to_arrow()
    assert table_.column("s").type == pa.date32()
    assert table_.column("r").type == pa.list_(pa.string())
    assert "[low; middle; high]" in str(answer)
    assert answer.to_json()["rows"][0][0] == "2020-03-01"
    assert session.ask(text, epsilon=160).rows == answer.rows
    later = session.ask(f"{text} ORDER BY MEDIAN(since) LIMIT 1", epsilon=160)
    assert later.rows == answer.rows
    with pytest.raises(NotSupported, match="public order"):
        session.preview("SELECT MEDIAN(rank || 'x') FROM people", epsilon=1)


def test_a_tree_says_how_wide_its_bins_are(make: Make) -> None:
    """Few rows for the price: quantiles are told by bins, whose own rows are the rest of the error."""
    session = make(epsilon="50", max_rows=1).session()
    few = replace(session.dataset.terms, schema=replace(session.dataset.schema, tables=_small(session)))
    preview = few.preview(session.plan("SELECT QUANTILE(hours, 0.25, 0.75) AS q FROM people"), epsilon="0.1")
    assert type(preview.mechanisms[0]).__name__ == "TreeQuantiles"
    assert preview.bin("q") == Fraction(99, 9900) * 10
    answer = session.ask(preview)
    assert answer.ranks["q"]["bin"] == "0.1"
    assert "and those of their bin of 0.1" in str(answer)
    fine = session.preview("SELECT MEDIAN(age) AS q FROM people", epsilon="0.1")
    assert fine.bin("q") is None


def _small(session: Any) -> tuple[Table, ...]:
    return tuple(replace(each, size=1000) for each in session.dataset.schema.tables)


def test_simultaneous_bars_widen_ranks_too(make: Make) -> None:
    session = make(epsilon="50", data=table(AGES)).session()
    text = "SELECT sex, QUANTILE(age, 0.4, 0.5, 0.6) AS q, COUNT(age) AS n FROM people GROUP BY sex"
    answer = session.ask(text, epsilon=4)
    wide = answer.simultaneous()
    assert wide.to_json()["bars"] == "together, 4", "two lists and two counts"
    surer = answer.preview.rank_width("q", Fraction("0.9875"))
    assert wide.ranks["q"]["rows"] == surer > answer.ranks["q"]["rows"]
    assert wide.rows[0]["q_ranks"][1] > answer.rows[0]["q_ranks"][1]
    assert "; –" in str(session.ask(text, epsilon=12)), "the outer two have no bar in values"
