"""What a report says, in both languages, and that it is never without its warning."""

from __future__ import annotations

import json
import re
from typing import Any

import polars
import pytest

import sfumato as sf
from sfumato.anonymise import DistinctDiversity, TCloseness
from sfumato.anonymise.words import WORDS


@pytest.mark.parametrize("method", ["mondrian", "relaxed", "local", "global", "microaggregate"])
@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("sensitive", [[], ["illness"]])
def test_every_report_warns_with_a_figure(
    method: Any, lang: Any, sensitive: list[str], people: polars.DataFrame
) -> None:
    report = sf.anonymise(people, k=2, quasi_identifiers=["age"], sensitive=sensitive, method=method, lang=lang).report
    said = " ".join(str(report).split())
    warning = said[said.index("SF018") :]
    assert ("not differential privacy" if lang == "en" else "pas de la confidentialité différentielle") in warning
    assert re.search(r"\d", warning.removeprefix("SF018"))
    if sensitive:
        assert f"{report.homogeneity[0].certain} " in warning
    else:
        highest = f"{100 * report.risk.prosecutor_highest:.1f}"
        assert highest.replace(".", "," if lang == "fr" else ".") in warning
    assert "{" not in said


def test_the_languages_say_the_same_things() -> None:
    assert WORDS["en"].keys() == WORDS["fr"].keys()
    for key, said in WORDS["en"].items():
        fields = set(re.findall(r"{(\w+)}", said))
        assert fields == set(re.findall(r"{(\w+)}", WORDS["fr"][key])), key


def test_french_is_french(people: polars.DataFrame) -> None:
    report = sf.anonymise(
        people,
        k=2,
        quasi_identifiers=["age", "sex"],
        sensitive=["illness"],
        models=[DistinctDiversity(2), TCloseness("0.7", distance="equal")],
        lang="fr",
    ).report
    said = str(report)
    for word in ("méthode", "k-anonymat", "l-diversité distincte", "t-proximité (égale)", "homogénéité", "risque"):
        assert word in said
    assert re.search(r"\d,\d", said)
    assert "the " not in said


def test_the_choices_are_said(people: polars.DataFrame) -> None:
    holes = people.with_columns(age=polars.when(polars.col("age") > 50).then(None).otherwise(polars.col("age")))
    said = {
        null: " ".join(str(sf.anonymise(holes, k=2, quasi_identifiers=["age"], null=null).report).split())
        for null in ("value", "wildcard")
    }
    assert "a missing value counts as one value more" in said["value"]
    assert "a missing value stays missing and matches every value" in said["wildcard"]
    assert "no quasi-identifier has a missing value" in str(sf.anonymise(people, k=2, quasi_identifiers=["age"]).report)


def test_a_report_is_json(people: polars.DataFrame) -> None:
    table = people.with_columns(illness=polars.lit("flu"))
    report = sf.anonymise(table, k=2, quasi_identifiers=["age", "sex"], sensitive=["illness"]).report
    body = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert body["attained"]["k-anonymity, k = 2"] >= 2
    assert body["released"] == 8
    assert body["homogeneity"][0]["certain"] == 8
    assert body["utility"]["loss_by_column"].keys() == {"age", "sex"}
    assert report._repr_html_().startswith("<pre>")


def test_the_same_table_gives_the_same_release(people: polars.DataFrame) -> None:
    once, twice = (sf.anonymise(people, k=3, quasi_identifiers=["age", "sex"]).frame for _ in range(2))
    assert once.equals(twice)
