"""Measures of what is left, each against its formula on the released text or on a table small enough to do by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import polars
import pytest

import sfumato as sf
from sfumato.anonymise import frontier
from sfumato.testing import anonymity


@pytest.mark.parametrize("method", ["mondrian", "local"])
def test_sizes_and_entropy_by_hand(method: Any, random_table: Callable[[int], polars.DataFrame]) -> None:
    table = random_table(21).select("job", "sex").drop_nulls()
    frame, report = sf.anonymise(table, k=3, quasi_identifiers=["job", "sex"], method=method)
    sizes = [len(group) for group in anonymity.alike(frame.to_dicts(), ["job", "sex"]).values()]
    utility = report.utility
    assert utility.classes == len(sizes)
    assert utility.discernibility == sum(size**2 for size in sizes)
    assert utility.average_class == pytest.approx(table.height / len(sizes))
    assert utility.normalised_average_class == pytest.approx(table.height / len(sizes) / 3)
    parts = []
    for name in ("job", "sex"):
        often = Counter(table[name])
        uncertain = 0.0
        for label in frame[name]:
            counts = [count for value, count in often.items() if anonymity.covers(label, value)]
            uncertain -= sum(count / sum(counts) * math.log(count / sum(counts)) for count in counts)
        whole = -sum(count / table.height * math.log(count / table.height) for count in often.values())
        parts.append(uncertain / table.height / whole)
    assert utility.entropy_loss == pytest.approx(sum(parts) / 2, abs=1e-12)


def test_nothing_lost_and_everything_lost() -> None:
    table = polars.DataFrame({"age": [20] * 5 + [50] * 5, "sex": ["F"] * 5 + ["M"] * 5, "illness": ["a", "b"] * 5})
    exact = sf.anonymise(table, k=5, quasi_identifiers=["age", "sex"], sensitive=["illness"]).report
    blurred = sf.anonymise(table, k=6, quasi_identifiers=["age", "sex"], sensitive=["illness"]).report
    assert (exact.utility.loss, exact.utility.entropy_loss) == (0, 0)
    assert exact.query_error().median == 0
    assert blurred.utility.loss == 1
    assert blurred.utility.entropy_loss == pytest.approx(1)
    assert blurred.query_error().mean > 0


def test_errors_of_counts_grow_with_k(adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    errors = [
        sf.anonymise(adult, k=k, quasi_identifiers=adult_quasi).report.query_error(queries=200) for k in (2, 20, 200)
    ]
    assert errors[0].queries == 200
    assert errors[0].median < errors[1].median < errors[2].median
    assert errors[0].median < 0.02


def test_a_classifier_learns_less_from_less(adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    fine = sf.anonymise(adult, k=2, quasi_identifiers=adult_quasi, sensitive=["income"]).report.accuracy("income")
    coarse = sf.anonymise(adult, k=3000, quasi_identifiers=adult_quasi, sensitive=["income"]).report.accuracy("income")
    assert fine.before == coarse.before > fine.always_the_commonest > 0.7
    assert fine.after == pytest.approx(fine.before, abs=0.01)
    assert coarse.after < fine.after


def test_accuracy_of_what_is_not_sensitive_is_refused(people: polars.DataFrame) -> None:
    report = sf.anonymise(people, k=2, quasi_identifiers=["age"], sensitive=["illness"]).report
    with pytest.raises(sf.SfumatoError, match="not a sensitive column"):
        report.accuracy("sex")


def test_microaggregation_keeps_means_and_groups(random_table: Callable[[int], polars.DataFrame]) -> None:
    for number in range(40, 46):
        table = random_table(number).select("age", "height").drop_nulls()
        frame, report = sf.anonymise(table, k=4, quasi_identifiers=["age", "height"], method="microaggregate")
        sizes = frame.group_by("age", "height").len()["len"]
        assert sizes.min() >= 4
        assert frame["age"].mean() == pytest.approx(table["age"].mean())
        assert frame["height"].mean() == pytest.approx(table["height"].mean())
        assert "exact means of groups" in str(report)


def test_microaggregation_of_a_large_table_works_in_blocks(adult: polars.DataFrame) -> None:
    frame, report = sf.anonymise(adult, k=5, quasi_identifiers=["age", "hours_per_week"], method="microaggregate")
    assert frame.group_by("age", "hours_per_week").len()["len"].min() >= 5
    assert report.utility.loss < 0.01


def test_the_frontier_falls(adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    found = frontier(adult[:5000], ks=(2, 10, 50), quasi_identifiers=adult_quasi, sensitive=["income"])
    assert [point.k for point in found.points] == [2, 10, 50]
    assert found.points[0].loss < found.points[1].loss < found.points[2].loss
    assert found.points[0].risk > found.points[1].risk > found.points[2].risk
    assert found.points[0].told > found.points[2].told
