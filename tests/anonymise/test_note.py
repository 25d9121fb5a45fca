"""The note's example, and what the note does not say: one record is generalised, but anonymity belongs to the table."""

from __future__ import annotations

import polars

import sfumato as sf
from sfumato.anonymise import assess


def test_emilie(people: polars.DataFrame) -> None:
    frame, report = sf.anonymise(
        people,
        k=2,
        quasi_identifiers=["age", "sex"],
        identifiers=["name"],
        sensitive=["illness"],
        cuts={"age": [10, 30, 50, 70]},
    )
    assert frame.row(0) == ("*", "]10, 30]", "F", "flu")
    assert report.risk.smallest >= 2
    assert not set(frame["name"]) & set(people["name"])


def test_a_class_that_agrees_tells_its_illness() -> None:
    table = polars.DataFrame(
        {"age": [12, 24, 29, 35, 38, 41], "illness": ["flu", "flu", "flu", "asthma", "flu", "asthma"]}
    )
    report = sf.anonymise(
        table, k=3, quasi_identifiers=["age"], sensitive=["illness"], cuts={"age": [10, 30, 50]}
    ).report
    (attack,) = report.homogeneity
    assert (attack.certain, attack.people) == (3, 6)
    assert report.linkage.told == {"illness": 3}
    assert "3 of 6 people have their illness told with certainty" in report.warning
    assert "not differential privacy" in report.warning


def test_before_and_after(people: polars.DataFrame) -> None:
    before = assess(people, quasi_identifiers=["age", "sex"], sensitive=["illness"])
    assert before.risk.uniques == 8
    assert before.risk.prosecutor_highest == 1
    assert before.uniques_without == {"age": 0, "sex": 8}
    released = sf.anonymise(people, k=2, quasi_identifiers=["age", "sex"], sensitive=["illness"]).frame
    after = assess(released, quasi_identifiers=["age", "sex"], sensitive=["illness"])
    assert after.risk.uniques == 0
    assert after.attained["k-anonymity, k ="] >= 2
