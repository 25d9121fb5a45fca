"""Mondrian by array passes cuts as Mondrian one node at a time does, and loses no more than is known to be possible."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars
import pytest

import sfumato as sf
from sfumato.anonymise import DistinctDiversity, KMap, TCloseness, mondrian
from sfumato.testing import anonymity


def one_node_at_a_time(table: polars.DataFrame, k: int) -> set[frozenset[int]]:
    """The definition, in plain Python: widest column first, ties by place; cut beside the median, nearest to the middle."""
    columns = []
    for name in table.columns:
        values = table[name].to_list()
        if table[name].dtype == polars.String:
            names = sorted(set(values))
            order = sorted(names, key=lambda value: (-values.count(value), names.index(value)))
        else:
            order = sorted(set(values))
        columns.append([order.index(value) for value in values])
    sizes = [max(column) + 1 for column in columns]
    texts = [dtype == polars.String for dtype in table.dtypes]

    def width(node: list[int], place: int) -> Fraction:
        found = {columns[place][row] for row in node}
        span = len(found) - 1 if texts[place] else max(found) - min(found)
        return Fraction(span, max(1, sizes[place] - 1))

    done: set[frozenset[int]] = set()
    waiting = [list(range(table.height))]
    while waiting:
        node = waiting.pop()
        halves = None
        for place in sorted(range(len(columns)), key=lambda place: (-width(node, place), place)):
            if width(node, place) == 0:
                break
            values = sorted(columns[place][row] for row in node)
            middle = values[len(values) // 2]
            before, after = (sum(value < middle for value in values), sum(value <= middle for value in values))
            cuts = [(abs(2 * before - len(node)), before, middle - 1), (abs(2 * after - len(node)), after, middle)]
            for _, count, last in sorted(cuts, key=lambda cut: cut[0]):
                if k <= count <= len(node) - k:
                    halves = (
                        [row for row in node if columns[place][row] <= last],
                        [row for row in node if columns[place][row] > last],
                    )
                    break
            if halves:
                break
        if halves:
            waiting.extend(halves)
        else:
            done.add(frozenset(node))
    return done


@pytest.mark.parametrize("number", range(40))
def test_the_same_classes_as_by_hand(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(number)
    rows, k = int(draw.integers(5, 300)), int(draw.integers(2, 7))
    table = polars.DataFrame(
        {
            "age": draw.integers(0, 40, rows),
            "job": draw.choice(list("abcdefgh"), rows, p=draw.dirichlet(np.ones(8))),
            "sex": draw.choice(["F", "M"], rows),
            "town": draw.choice([f"t{place}" for place in range(20)], rows),
        }
    )
    # Small blocks, so that even a small table is cut into several.
    monkeypatch.setattr(mondrian, "BLOCK", 16)
    if rows < k:
        return
    report = sf.anonymise(table, k=k, quasi_identifiers=table.columns, edges="data").report
    outcome = report.outcome
    of_person = outcome.classes.of_rows(len(outcome.people.weight))[outcome.people.of_person]
    found = {frozenset(np.flatnonzero(of_person == number).tolist()) for number in set(of_person.tolist())}
    assert found == one_node_at_a_time(table, k)


BARS = {2: 0.0054, 5: 0.0180, 10: 0.033, 50: 0.097}


@pytest.mark.parametrize("k", sorted(BARS))
def test_little_is_lost_on_adult(k: int, adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    frame, report = sf.anonymise(adult, k=k, quasi_identifiers=adult_quasi)
    assert report.utility.loss <= BARS[k]
    assert frame.group_by(adult_quasi).len()["len"].min() >= k


def test_the_loss_is_what_the_labels_say(adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    """The loss counted once more from the released text: values in a set, years in an interval."""
    table = adult.sample(600, seed=1)
    frame, report = sf.anonymise(table, k=7, quasi_identifiers=adult_quasi)
    total = 0.0
    for name in adult_quasi:
        values = set(table[name])
        for label in frame[name]:
            covered = [value for value in values if anonymity.covers(label, value)]
            if name == "age":
                low, high = min(values), max(values)
                inside = [year for year in range(low, high + 1) if anonymity.covers(label, year)]
                total += (len(inside) - 1) / (high - low)
            else:
                total += (len(covered) - 1) / (len(values) - 1)
    assert report.utility.loss == pytest.approx(total / table.height / len(adult_quasi), abs=1e-12)


def test_relaxed_parts_people_of_one_value() -> None:
    table = polars.DataFrame({"age": [30] * 9 + [31]})
    strict = sf.anonymise(table, k=2, quasi_identifiers=["age"]).report
    relaxed = sf.anonymise(table, k=2, quasi_identifiers=["age"], method="relaxed").report
    assert strict.utility.classes == 1
    assert relaxed.utility.classes == 2
    assert relaxed.risk.smallest >= 2


def test_k_map_counts_the_population() -> None:
    """Alone in the table, but not alone among those it could have come from."""
    town = polars.DataFrame({"age": [20, 20, 20, 30, 30, 30, 40, 40, 40], "sex": ["F"] * 9})
    table = polars.DataFrame({"age": [20, 30, 40], "sex": ["F"] * 3})
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "k": 1, "population": town}
    frame, report = sf.anonymise(table, models=[KMap(3)], **asked)
    assert frame["age"].to_list() == ["20", "30", "40"]
    assert report.risk.prosecutor_highest == 1
    assert report.risk.journalist_highest == pytest.approx(1 / 3)
    frame, report = sf.anonymise(table, models=[KMap(4)], **asked)
    assert min(report.attained.values()) == 3, "k = 1 is exceeded: everybody is in one class"
    for label in frame["age"]:
        assert sum(anonymity.covers(label, age) for age in town["age"]) >= 4


@pytest.mark.parametrize("method", ["mondrian", "local", "global"])
def test_k_map_on_random_tables(method: Any, random_table: Callable[[int], polars.DataFrame]) -> None:
    for number in range(12):
        town = random_table(900 + number).select("age", "sex", "job").drop_nulls()
        table = town[: max(4, town.height // 3)]
        frame, _ = sf.anonymise(
            table, k=1, quasi_identifiers=["age", "job"], models=[KMap(4)], population=town, method=method
        )
        for row in frame.unique().iter_rows(named=True):
            matching = [
                person
                for person in town.iter_rows(named=True)
                if all(anonymity.covers(row[name], person[name]) for name in ("age", "job"))
            ]
            assert len(matching) >= 4


def test_a_wildcard_stays_missing_and_widens_nothing() -> None:
    table = polars.DataFrame({"age": [20, 21, None, 22, 60, 61, 62, None], "sex": ["F"] * 4 + ["M"] * 4})
    as_value = sf.anonymise(table, k=4, quasi_identifiers=["age", "sex"]).frame
    as_wildcard, report = sf.anonymise(table, k=4, quasi_identifiers=["age", "sex"], null="wildcard")
    assert as_value["age"][2] == "]60, 62] | NULL"
    assert as_wildcard["age"].to_list() == ["]19, 22]"] * 2 + [None] + ["]19, 22]"] + ["]59, 62]"] * 3 + [None]
    assert "matches every value" in str(report)
    for row in as_wildcard.iter_rows(named=True):
        alike = [
            other
            for other in as_wildcard.iter_rows(named=True)
            if other["sex"] == row["sex"] and (None in (other["age"], row["age"]) or other["age"] == row["age"])
        ]
        assert len(alike) >= 4


def test_models_with_many_sensitive_columns(adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    table = adult[:4000]
    frame, report = sf.anonymise(
        table,
        k=5,
        quasi_identifiers=adult_quasi,
        sensitive=["income", "occupation", "hours_per_week"],
        models=[
            DistinctDiversity(2),
            TCloseness("0.5", column="occupation"),
            TCloseness("0.3", column="hours_per_week"),
        ],
    )
    assert {"income", "occupation", "hours_per_week"} <= set(frame.columns)
    rows = frame.to_dicts()
    for name in ("income", "occupation", "hours_per_week"):
        assert anonymity.fewest_values(rows, adult_quasi, name) >= 2
    assert anonymity.farthest_equal(rows, adult_quasi, "occupation") <= Fraction(1, 2)
    assert anonymity.farthest_ordered(rows, adult_quasi, "hours_per_week") <= Fraction(3, 10)
    attained = report.attained["t-closeness (auto), t = 0.3, on hours_per_week"]
    assert attained == pytest.approx(float(anonymity.farthest_ordered(rows, adult_quasi, "hours_per_week")), abs=1e-12)


def test_more_columns_than_a_word_holds() -> None:
    """Many columns of many values: keys are ranked in turns, widths are taken from extremes, nothing overflows."""
    draw = np.random.default_rng(5)
    table = polars.DataFrame({f"c{place}": draw.integers(0, 10**9, 400) for place in range(12)})
    frame, report = sf.anonymise(table, k=3, quasi_identifiers=table.columns, edges="data")
    assert frame.group_by(table.columns).len()["len"].min() >= 3
    assert report.utility.classes > 60


def test_identical_people_are_one_class() -> None:
    table = polars.DataFrame({"age": [30] * 50, "sex": ["F"] * 50})
    frame, report = sf.anonymise(table, k=5, quasi_identifiers=["age", "sex"])
    assert report.utility.classes == 1
    assert report.utility.loss == 0
    assert frame.row(0) == ("30", "F")


def test_closeness_keeps_its_own_threshold(adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    """A peer overwrites its threshold: asked 0.05, most of its groups are farther."""
    table = adult[:8000]
    frame, report = sf.anonymise(
        table, k=5, quasi_identifiers=adult_quasi, sensitive=["income"], models=[TCloseness("0.05")]
    )
    rows = frame.to_dicts()
    assert report.utility.classes > 3
    assert anonymity.farthest_equal(rows, adult_quasi, "income") <= Fraction(1, 20)
