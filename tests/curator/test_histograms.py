"""Ordered groups for ranges and cumulative counts: chosen by expected error, charged, stored, pooled, summed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sfumato.core import BadInput, NotSupported, Relation
from sfumato.curator.dataset import Dataset
from sfumato.mechanisms import GaussianHistogram, LaplaceHistogram
from sfumato.queries.answer import Estimate
from sfumato.queries.schema import Unit
from sfumato.queries.sql.parse import parse

from .test_quantiles import AGES, table

Make = Callable[..., Dataset]
AGE = "SELECT age, COUNT(*) AS n FROM people GROUP BY age"


def rows(found: Estimate) -> float:
    assert found.unbiased is not None
    return float(found.unbiased)


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("workload", ["bins", "ranges", "cdf"])
def test_a_workload_end_to_end(make: Make, accountant: str, max_rows: int, workload: str) -> None:
    """A bar at 1 - 1e-10 is missed with probability 1e-10; ranges are sums of the stored cells, to the last bit."""
    session = make(epsilon="50", accountant=accountant, max_rows=max_rows, data=table(AGES, each=max_rows)).session()
    preview = session.preview(AGE, epsilon=2, workload=workload, confidence="0.9999999999")
    answer = session.ask(preview)
    assert answer.charged == preview.charge
    truth = [100 * max_rows] * 90 + [0] * 11
    for row, right in zip(answer.rows, truth, strict=True):
        assert row["n_low"] <= right <= row["n_high"]
    for low, high in ((0, 100), (18, 64), (None, 17), (30, 30)):
        found = answer.range(low, high)
        first, last = low or 0, 100 if high is None else high
        assert found.within is not None
        assert abs(rows(found) - sum(truth[first : last + 1])) <= found.within
        assert rows(found) == pytest.approx(sum(row["n_unbiased"] for row in answer.rows[first : last + 1]))
    again = session.ask(preview)
    assert again.replayed
    assert again.rows == answer.rows
    assert again.range(18, 64) == answer.range(18, 64)


def test_workloads_choose_and_say_so(make: Make) -> None:
    session = make(data=table(AGES)).session()
    plain = session.preview(AGE, epsilon=1)
    ranges = session.preview(AGE, epsilon=1, workload="ranges")
    (comparison,) = ranges.comparisons()
    assert plain.comparisons() == ()
    assert plain.key != ranges.key
    assert isinstance(ranges.mechanisms[0], LaplaceHistogram)
    assert ranges.mechanisms[0] == comparison.mechanism
    assert comparison.options[0].variance < 0.7 * next(o.variance for o in comparison.options if o.name == "flat")
    assert ranges.charge == plain.charge
    few = session.preview("SELECT HISTOGRAM(age, 0, 18, 65, 100) FROM people", epsilon=1, workload="ranges")
    assert few.comparisons()[0].best.name == "flat", "below about a hundred bins nothing beats it by much"


def test_gaussian_noise_under_zcdp(make: Make) -> None:
    session = make(accountant="zcdp", data=table(AGES)).session()
    preview = session.preview(AGE, epsilon=1, workload="ranges")
    assert isinstance(preview.mechanisms[0], GaussianHistogram)
    assert preview.comparisons()[0].best.name == "factored"
    whole = session.preview(AGE, epsilon=1).charge.amount
    assert abs(preview.charge.amount / whole - 1) < Fraction(1, 10**6)


def test_a_grid_of_two_ordered_axes_and_one_without_order(make: Make) -> None:
    session = make(epsilon="50", data=table(AGES)).session()
    text = "SELECT sex, HISTOGRAM(age, 0, 10, 20, 30, 40, 50, 60, 70, 80, 90) AS age, FLOOR(hours / 25) AS h, COUNT(*) AS n"
    answer = session.ask(
        f"{text} FROM people GROUP BY sex, h", epsilon=20, workload="ranges", confidence="0.9999999999"
    )
    found = answer.range("[20, 30)", "[30, 40)", sex="F", h=1)
    assert found.within is not None
    assert abs(rows(found) - 800) <= found.within, "the odd ones of 25 to 39"
    with pytest.raises(BadInput, match="one key with an order"):
        answer.range("[20, 30)", "[30, 40)")
    with pytest.raises(BadInput, match="no key town"):
        answer.range(town="x")
    with pytest.raises(BadInput, match="not one of the answer's"):
        answer.range("[20, 31)", h=1)
    with pytest.raises(BadInput, match="ends before"):
        answer.range("[30, 40)", "[20, 30)", h=1)


def test_refined_histograms_are_pooled(make: Make) -> None:
    session = make(epsilon="50", data=table(AGES)).session()
    first = session.ask(AGE, epsilon=1, workload="ranges", confidence="0.9999999999")
    better = first.refine(epsilon=1)
    one, two = first.range(18, 64), better.range(18, 64)
    assert one.within is not None
    assert two.within is not None
    assert 0.5 < two.within / one.within < 0.85, "about the square root of a half"
    assert abs(rows(two) - 4700) <= two.within
    assert rows(two) == pytest.approx(sum(row["n_unbiased"] for row in better.rows[18:65]))


def test_histogram_is_a_key(make: Make) -> None:
    session = make(epsilon="100", data=table([5, 17, 18, 64, 65, 99, 100])).session()
    text = "SELECT HISTOGRAM(age, 0, 18, 65, 99) AS age, COUNT(*) AS n FROM people"
    found = {row["age"]: row["n"] for row in session.ask(text, epsilon=40).rows}
    assert found == {"[0, 18)": 2, "[18, 65)": 2, "[65, 99]": 2}, "100 lies in no bin; wrong with probability 1e-17"
    framed = session.table("people").histogram("age", [0, 18, 65, 99])
    assert framed.plan == session.sql("SELECT HISTOGRAM(age, 0, 18, 65, 99) FROM people").plan
    both = session.table("people").binned("age", [0, "18.5", 99], "sex").agg(n=__import__("sfumato").count())
    assert [row["age"] for row in both.ask(epsilon=1).rows] == ["[0, 18.5)"] * 2 + ["[18.5, 99]"] * 2


@pytest.mark.parametrize(
    ("text", "workload", "match"),
    [
        ("SELECT sex, COUNT(*) FROM people GROUP BY sex", "ranges", "no order"),
        ("SELECT COUNT(*) FROM people", "cdf", "no order"),
        ("SELECT age, AVG(hours) FROM people GROUP BY age", "ranges", "counts and sums"),
        ("SELECT age, MEDIAN(hours) FROM people GROUP BY age", "ranges", "counts and sums"),
        ("SELECT HISTOGRAM(age) FROM people", "bins", "bins need their edges"),
        ("SELECT HISTOGRAM(age, 10) FROM people", "bins", "bins need their edges"),
        ("SELECT HISTOGRAM(age, 10, 0) FROM people", "bins", "edges fall"),
        ("SELECT HISTOGRAM(age, 0, 0, 10) FROM people", "bins", "edges fall"),
        ("SELECT HISTOGRAM(sex, 0, 10) FROM people", "bins", "bins are of numbers"),
        ("SELECT HISTOGRAM(age, 0, age) FROM people", "bins", "a number is needed"),
        ("SELECT HISTOGRAM(notes, 0, 10) FROM people", "bins", "SF002"),
    ],
)
def test_refused(make: Make, text: str, workload: str, match: str) -> None:
    with pytest.raises(NotSupported, match=match):
        make().session().preview(text, epsilon=1, workload=workload)


def test_an_unknown_workload(make: Make) -> None:
    with pytest.raises(BadInput, match="no known kind"):
        make().session().preview(AGE, epsilon=1, workload="marginals")


def test_within_is_met_by_any_strategy(make: Make) -> None:
    preview = make().session().preview(AGE, within=30, workload="ranges")
    assert 15 < preview.within()["n"] <= 30


@pytest.mark.parametrize("ages", [[], [41], [41] * 300, [200] * 300])
def test_any_table_has_an_answer(make: Make, ages: list[int]) -> None:
    answer: Any = make(epsilon="100", data=table(ages)).session().ask(AGE, epsilon=40, workload="cdf")
    assert rows(answer.range()) == pytest.approx(len(ages), abs=20)


@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_replace_is_priced_in_full(make: Make, accountant: str) -> None:
    """Under replace a unit leaves one cell and enters another: the same price buys noise for both."""
    added = make(accountant=accountant, max_rows=3).terms
    about = Unit("person", Relation.REPLACE, 3)
    replaced = replace(added, schema=replace(added.schema, unit=about))
    for text, workload in (
        (AGE, "ranges"),
        (AGE, "cdf"),
        ("SELECT sex, age, SUM(hours) AS s FROM people GROUP BY sex, age", "ranges"),
        ("SELECT MEDIAN(age) AS n FROM people", "bins"),
        ("SELECT sex, QUANTILE(age, 0.1, 0.9) AS n FROM people GROUP BY sex", "bins"),
    ):
        plan = parse(text, added.schema)
        one, other = (each.preview(plan, epsilon=1, workload=workload) for each in (added, replaced))
        assert other.charge.amount == pytest.approx(one.charge.amount, rel=1e-4)
        assert other.loss.about.relation is Relation.REPLACE
        assert other.bounded.sensitivity.l1 == 2 * one.bounded.sensitivity.l1
        if text != "SELECT MEDIAN(age) AS n FROM people":  # one quantile under replace moves half as far, twice
            assert other.cell_widths()[0] > one.cell_widths()[0]


def test_ranges_of_sums(make: Make) -> None:
    session = make(epsilon="50", data=table(AGES)).session()
    text = "SELECT age, SUM(hours) AS s FROM people GROUP BY age"
    found = session.ask(text, epsilon=5, workload="ranges", confidence="0.9999999999").range(10, 19)
    assert found.within is not None
    assert abs(rows(found) - 100 * sum(range(10, 20))) <= found.within


@pytest.mark.parametrize("workload", ["bins", "ranges", "cdf"])
def test_one_bin_alone_or_beside_others(make: Make, workload: str) -> None:
    session = make(epsilon="100", data=table(AGES)).session()
    alone = session.ask("SELECT HISTOGRAM(age, 0, 100) AS a FROM people", epsilon=10, workload=workload)
    assert rows(alone.range()) == pytest.approx(9000, abs=20), "wrong by 20 with probability exp(-200)"
    beside = session.ask(
        "SELECT sex, HISTOGRAM(age, 0, 100) AS a FROM people GROUP BY sex", epsilon=10, workload=workload
    )
    assert rows(beside.range(sex="F")) == pytest.approx(4500, abs=40)
