"""Figures of risk against their formulas, and attacks against the same attacks run by hand on the released text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars
import pytest

import sfumato as sf
from sfumato.anonymise import assess, attacks
from sfumato.anonymise.risk import risk_of
from sfumato.testing import anonymity


def test_risk_by_formula() -> None:
    risk = risk_of(np.array([1, 2, 5, 0]), population=np.array([4, 2, 50, 9]), threshold=0.2)
    assert (risk.people, risk.groups, risk.smallest, risk.uniques) == (8, 3, 1, 1)
    assert risk.prosecutor_highest == 1
    assert risk.prosecutor_mean == pytest.approx(3 / 8)
    assert risk.journalist_highest == 0.5
    assert risk.journalist_mean == pytest.approx((1 / 4 + 2 / 2 + 5 / 50) / 8)
    assert risk.marketer == pytest.approx((1 / 4 + 2 / 2 + 5 / 50) / 8)
    assert risk.above == 3
    alone = risk_of(np.array([1, 2, 5]))
    assert not alone.population_known
    assert alone.journalist_highest == 1
    assert alone.marketer == pytest.approx(3 / 8)


def linked_by_hand(
    table: polars.DataFrame, frame: polars.DataFrame, quasi: list[str], sensitive: str
) -> tuple[list[int], int]:
    """For each person, the released rows that their values fit; and how many people have their secret told by all of them."""
    rows = frame.to_dicts()
    matches, told = [], 0
    for person in table.iter_rows(named=True):
        fitting = [row for row in rows if all(anonymity.covers(row[name], person[name]) for name in quasi)]
        matches.append(len(fitting))
        told += len({row[sensitive] for row in fitting}) == 1
    return matches, told


@pytest.mark.parametrize("method", ["mondrian", "relaxed", "global"])
def test_linkage_is_what_a_reader_finds(method: Any, random_table: Callable[[int], polars.DataFrame]) -> None:
    quasi = ["age", "sex"] if method == "global" else ["age", "job", "sex"]
    for number in range(6):
        table = random_table(700 + number)
        if method == "global":
            table = table.drop_nulls()
        frame, report = sf.anonymise(
            table,
            k=3,
            quasi_identifiers=quasi,
            sensitive=["illness"],
            method=method,
            suppression="0.2" if method == "global" else 0,
        )
        matches, told = linked_by_hand(table, frame, quasi, "illness")
        found = [match for match in matches if match]
        assert report.linkage.targets == table.height
        assert report.linkage.fewest_matches == min(found)
        assert report.linkage.mean_matches == pytest.approx(sum(found) / len(found))
        assert report.linkage.absent == matches.count(0)
        assert report.linkage.singled_out == matches.count(1)
        assert report.linkage.expected == pytest.approx(sum(1 / match for match in found))
        assert report.linkage.told == {"illness": told}


def test_a_large_attack_takes_every_so_many_th_target(
    adult: polars.DataFrame, adult_quasi: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attacks, "MOST_WORK", 100_000)
    report = sf.anonymise(adult[:3000], k=5, quasi_identifiers=adult_quasi).report
    assert 0 < report.linkage.targets < 3000
    assert report.linkage.fewest_matches >= 5


def test_homogeneity_by_hand(random_table: Callable[[int], polars.DataFrame]) -> None:
    table = random_table(11)
    quasi = ["age", "sex"]
    frame, report = sf.anonymise(table, k=2, quasi_identifiers=quasi, sensitive=["illness"])
    groups = anonymity.alike(frame.to_dicts(), quasi).values()
    (attack,) = report.homogeneity
    whole = Counter(table["illness"])
    assert attack.certain == sum(len(group) for group in groups if len({row["illness"] for row in group}) == 1)
    guessed = sum(max(Counter(row["illness"] for row in group).values()) for group in groups)
    assert attack.guessed == pytest.approx(guessed / table.height)
    assert attack.baseline == pytest.approx(max(whole.values()) / table.height)
    odds = 1.0
    for group in groups:
        for value, count in Counter(row["illness"] for row in group).items():
            inside, outside = count / len(group), whole[value] / table.height
            odds = max(odds, float("inf") if inside == 1 else inside / (1 - inside) / (outside / (1 - outside)))
    assert attack.odds == pytest.approx(odds)


def test_risk_of_a_file_as_it_stands(people: polars.DataFrame) -> None:
    found = assess(people, quasi_identifiers=["sex"], sensitive=["illness"], population=polars.concat([people] * 3))
    assert found.risk.smallest == 3
    assert found.risk.journalist_highest == pytest.approx(1 / 9)
    assert found.attained["k-anonymity, k ="] == 3
    assert found.attained["distinct l-diversity, on illness, l ="] == 2
    rows = people.to_dicts()
    assert found.attained["t-closeness, on illness, t ="] == pytest.approx(
        float(anonymity.farthest_equal(rows, ["sex"], "illness"))
    )
    assert "3" in str(found)


def test_suppressed_rows_of_another_tool_flatter_no_figure() -> None:
    """A peer writes "*" for who is suppressed: as one large group it would lower the mean, as a small one break k."""
    table = polars.DataFrame({"age": ["]10, 20]"] * 3 + ["*"], "sex": ["F"] * 3 + ["*"]})
    found = assess(table, quasi_identifiers=["age", "sex"])
    assert (found.risk.people, found.risk.smallest, found.suppressed) == (3, 3, 1)
    assert "suppressed" in str(found)
    everything = polars.DataFrame({"age": ["*"] * 4})
    assert assess(everything, quasi_identifiers=["age"]).risk.smallest == 4


def test_what_leaves_is_counts(random_table: Callable[[int], polars.DataFrame]) -> None:
    """No value of a sensitive column, and no exact quasi-identifier, is in a report."""
    table = random_table(5).with_columns(polars.col("illness").replace({"flu": "markedword"}), pay=polars.lit(771177))
    released = sf.anonymise(table, k=3, quasi_identifiers=["age", "job"], sensitive=["illness", "pay"])
    said = str(released.report) + repr(released.report) + str(released.report.to_dict())
    assert "markedword" not in said
    assert "771177" not in said


def test_a_missing_value_that_matches_any_is_missing_to_the_attacker_too() -> None:
    table = polars.DataFrame({"age": [20, 21, None, 22, 60, 61, 62, None], "sex": ["F"] * 4 + ["M"] * 4})
    report = sf.anonymise(table, k=4, quasi_identifiers=["age", "sex"], null="wildcard").report
    assert report.linkage.absent == 0
    assert report.linkage.fewest_matches == 4
