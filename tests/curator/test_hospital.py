"""A hospital through the one door: linked tables, a public list with levels, places, dates, and missing values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core import BadInput, BadPolicy, NotSupported
from sfumato.curator.home import Home
from sfumato.curator.policy import Policy
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB

POLICY = """\
[dataset]
name = "hospital"
id = "d-hospital"
version = "1"
timezone = "Europe/Paris"
missing = ["", "NA"]

[unit]
kind = "person"
max_rows = 10

[budget]
epsilon = 1_000_000

[tables.stays]
source = "csv:stays.csv"
unit = "patient_id"

[tables.stays.columns.admitted]
type = "date"
range = [2020-01-01, 2020-12-31]

[tables.stays.columns.discharged]
type = "date"
range = [2020-01-01, 2020-12-31]

[tables.stays.columns.commune]
type = "text"

[tables.stays.columns.sex]
values = ["F", "M"]
null = "group"

[tables.stays.columns.age]
type = "integer"
range = [0, 100]

[tables.diagnoses]
source = "csv:dx.csv"
unit = "stay_id -> stays.stay_id"

[tables.diagnoses.columns.icd10]
values = "csv:icd10.csv:code"
levels = ["chapter", "block", "code"]

[tables.communes]
source = "csv:communes.csv"
public = true
unique = ["code"]

[tables.communes.columns.region]
values = ["north", "south"]
"""
ICD10 = "chapter,block,code\nI,A0,A00\nI,A0,A01\nI,B0,B05\nII,C0,C01\n"
STAYS = (
    "patient_id,stay_id,admitted,discharged,commune,sex,age\n"
    "p1,1,2020-01-05,2020-01-09,c1,F,60\np1,2,2020-01-20,2020-01-21,c1,F,60\np2,3,2020-03-01,2020-03-05,c2,M,NA\n"
    "p3,4,2020-05-01,2020-05-02,c9,NA,80\n,5,2020-05-01,2020-05-02,c1,F,70\n"
)
DX = "stay_id,icd10\n1,A00\n1,B05\n2,A01\n3,C01\n4,Z99\n9,A00\n"
COMMUNES = "code,region\nc1,north\nc2,south\n"

Opened = Callable[..., Any]


@pytest.fixture
def hospital(tmp_path: Path) -> Any:
    for name, text in (("stays", STAYS), ("dx", DX), ("communes", COMMUNES), ("icd10", ICD10)):
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "policy.toml").write_text(POLICY)
    policy, home = Policy.load(tmp_path / "policy.toml"), Home(tmp_path / "home")
    policy.new_ledger(home)
    return sf.open(policy, home=home).session("ana")


def rows(session: Any, text: str) -> list[tuple[Any, ...]]:
    """The answer at a price so high that the noise rounds away (once in more than 10^9 runs it does not)."""
    found = session.ask(text, epsilon=900_000)
    return [tuple(_rounded(row[name]) for name in found.columns) for row in found.rows]


def _rounded(cell: Any) -> Any:
    return round(cell, 1) if isinstance(cell, float) else cell


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT COUNT(*) AS n FROM diagnoses", [(5,)]),
        ("SELECT COUNT(DISTINCT patient_id) AS n FROM diagnoses", [(3,)]),
        ("SELECT LEVEL(icd10, 'chapter') AS c, COUNT(*) AS n FROM diagnoses GROUP BY c", [("I", 3), ("II", 1)]),
        (
            "SELECT LEVEL(icd10, 'block') AS b, COUNT(*) AS n FROM diagnoses WHERE LEVEL(icd10, 'chapter') = 'I' GROUP BY b",
            [("A0", 2), ("B0", 1), ("C0", 0)],
        ),
        (
            "SELECT LEVEL(d.icd10, 'chapter') AS c, AVG(age) AS a FROM stays s JOIN diagnoses d ON s.stay_id = d.stay_id"
            " WHERE LEVEL(d.icd10, 'chapter') = 'I' GROUP BY c",
            [("I", 60.0)],
        ),
        (
            "SELECT region, COUNT(*) AS n FROM stays JOIN communes ON commune = code GROUP BY region",
            [("north", 2), ("south", 1)],
        ),
        ("SELECT sex, COUNT(*) AS n FROM stays GROUP BY sex", [("F", 2), ("M", 1), (None, 1)]),
        ("SELECT AVG(age) AS a, COUNT(*) AS n FROM stays", [(66.7, 4)]),
        ("SELECT QUARTER(admitted) AS q, COUNT(*) AS n FROM stays GROUP BY q", [(1, 3), (2, 1), (3, 0), (4, 0)]),
        ("SELECT AVG(discharged - admitted) AS d FROM stays", [(2.5,)]),
        (
            "SELECT COUNT(*) AS n FROM (SELECT patient_id FROM stays GROUP BY patient_id HAVING COUNT(*) >= 2) AS p",
            [(1,)],
        ),
    ],
)
def test_questions(hospital: Any, text: str, expected: list[tuple[Any, ...]]) -> None:
    found = rows(hospital, text)
    assert found[: len(expected)] == expected


def test_levels_in_frames(hospital: Any) -> None:
    frame = hospital.table("diagnoses").filter("LEVEL(icd10, 'chapter') = 'I'")
    plan = frame.group_by(block="LEVEL(icd10, 'block')").count().plan
    assert plan.columns[0][0] == "block"
    answer = frame.group_by(block="LEVEL(icd10, 'block')").count().ask(epsilon=900_000)
    assert [(row["block"], row["count"]) for row in answer.rows] == [("A0", 2), ("B0", 1), ("C0", 0)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT LEVEL(icd10, 'verse') AS c, COUNT(*) FROM diagnoses GROUP BY c", "SF021"),
        ("SELECT LEVEL(sex, 'chapter') AS c, COUNT(*) FROM stays GROUP BY c", "SF005"),
        ("SELECT LEVEL(icd10) AS c, COUNT(*) FROM diagnoses GROUP BY c", "SF021"),
        ("SELECT commune, COUNT(*) FROM stays GROUP BY commune", "SF005"),
        ("SELECT admitted, icd10, age, COUNT(*) FROM stays JOIN diagnoses USING (stay_id) GROUP BY 1, 2, 3", "ok"),
        (
            "SELECT admitted, discharged, age, COUNT(*) FROM stays GROUP BY admitted, discharged, age",
            "SF005",
        ),
    ],
)
def test_levels_and_keys_that_are_refused(hospital: Any, text: str, code: str) -> None:
    if code == "ok":
        assert hospital.preview(text, epsilon=1).bounded.size == 366 * 4 * 101
        return
    with pytest.raises(NotSupported) as error:
        hospital.preview(text, epsilon=1)
    assert error.value.code == code
    assert "(line 1" in str(error.value) or code == "SF005"


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("YEAR(admitted)", 1),
        ("QUARTER(admitted)", 4),
        ("MONTH(admitted)", 12),
        ("WEEK(admitted)", 53),
        ("DATE_TRUNC('quarter', admitted)", 4),
        ("DATE_TRUNC('month', admitted)", 12),
        ("DATE_TRUNC('week', admitted)", 53),
        ("discharged - admitted", 731),
    ],
)
def test_the_range_of_a_date_makes_public_keys(hospital: Any, key: str, count: int) -> None:
    assert hospital.preview(f"SELECT {key} AS k, COUNT(*) FROM stays GROUP BY k", epsilon=1).bounded.size == count


def test_the_day_of_a_moment_is_that_of_the_declared_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the engine runs: half past eleven at night in London is the next day in Paris."""
    moments = pa.array([1577921400], pa.timestamp("s", tz="UTC"))  # 2020-01-01 23:30 UTC
    for zone, day in (
        ("UTC", date(2020, 1, 1)),
        ("Europe/Paris", date(2020, 1, 2)),
        ("America/Lima", date(2020, 1, 1)),
    ):
        for here in ("Asia/Tokyo", "America/Los_Angeles"):
            monkeypatch.setenv("TZ", here)
            source = Source({"d": "date"}, data=pa.table({"d": moments}), timezone=zone)
            assert DuckDB({"t": source}).execute('SELECT "d" FROM t').column(0).to_pylist() == [day]


def test_an_unknown_zone_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(BadPolicy) as error:
        Policy.parse(POLICY.replace("Europe/Paris", "Europe/Atlantis"), folder=tmp_path)
    assert (error.value.line, "time zone" in str(error.value)) == (5, True)


@pytest.mark.parametrize(
    ("text", "group", "dropped", "there"),
    [
        ("SELECT COUNT(*) AS n FROM stays", [], [], []),
        ("SELECT sex, COUNT(*) AS n FROM stays GROUP BY sex", ["sex"], [], []),
        ("SELECT icd10, COUNT(*) AS n FROM diagnoses GROUP BY icd10", [], ["icd10"], []),
        ("SELECT sex, AVG(age) AS a FROM stays GROUP BY sex", ["sex"], [], ["age"]),
        ("SELECT SUM(age) AS a FROM stays WHERE age IS NOT NULL", [], [], []),
        ("SELECT AVG(COALESCE(age, 0)) AS a FROM stays", [], [], []),
        (
            "SELECT region, COUNT(DISTINCT age) AS n FROM stays JOIN communes ON commune = code GROUP BY region",
            [],
            ["region"],
            ["age"],
        ),
    ],
)
def test_an_answer_says_what_became_of_missing_values(
    hospital: Any, text: str, group: list[str], dropped: list[str], there: list[str]
) -> None:
    answer = hospital.ask(text, epsilon=1)
    said = {key: list(names) for key, names in answer.to_json()["missing"].items()}
    assert said == {"group": group, "dropped": dropped, "there": there}
    assert ("missing" in repr(answer)) is bool(group or dropped or there)


def test_a_mean_divides_by_the_number_of_values_that_are_there(hospital: Any) -> None:
    """p2's age is NA: the mean is over three stays, while COUNT(*) has four."""
    (row,) = hospital.ask("SELECT AVG(age) AS a, COUNT(age) AS there, COUNT(*) AS n FROM stays", epsilon=900_000).rows
    assert (round(row["a"], 1), row["there"], row["n"]) == (66.7, 3, 4)


def test_null_refuse_asks_for_a_decision(tmp_path: Path, hospital: Any) -> None:
    strict = POLICY.replace("range = [0, 100]", 'range = [0, 100]\nnull = "refuse"')
    policy = Policy.parse(strict, folder=tmp_path)
    from sfumato.queries.bounded import bound
    from sfumato.queries.sql.parse import parse

    schema = policy.schema()
    for text in (
        "SELECT AVG(age) FROM stays",
        "SELECT COUNT(DISTINCT age) FROM stays",
        "SELECT age, COUNT(*) FROM stays GROUP BY age",
    ):
        with pytest.raises(NotSupported) as error:
            bound(parse(text, schema), schema)
        assert error.value.code == "SF021"
        bound(parse(text.replace("stays", "stays WHERE age IS NOT NULL", 1), schema), schema)


def test_levels_agree_with_their_codes(hospital: Any) -> None:
    """Chapters and blocks come out of one question, their bars are their own; an unlisted code is nobody's."""
    question = hospital.table("diagnoses").group_by("icd10").agg(n=sf.count())
    preview = question.preview(epsilon=900, workload="levels", confidence="0.9999999999")
    answer = hospital.ask(preview)
    truth = {"I": 3, "II": 1}
    chapters, blocks = answer.level("chapter"), answer.level("block")
    assert list(chapters) == ["I", "II"]
    assert list(blocks) == ["A0", "B0", "C0"]
    for name, right in truth.items():
        assert abs(chapters[name].unbiased - right) <= chapters[name].within
    assert chapters["I"].unbiased == blocks["A0"].unbiased + blocks["B0"].unbiased
    codes = {row["icd10"]: row["n_unbiased"] for row in answer.rows}
    assert float(blocks["A0"].unbiased) == pytest.approx(codes["A00"] + codes["A01"])
    assert {option.name for option in preview.comparisons()[0].options} == {"flat", "tree", "weighted tree"}
    with pytest.raises(BadInput, match="no such level"):
        answer.level("region")
    with pytest.raises(NotSupported, match="a key that has none"):
        hospital.preview("SELECT sex, COUNT(*) FROM stays GROUP BY sex", epsilon=1, workload="levels")


def test_levels_are_rehearsed_on_terms_alone(hospital: Any) -> None:
    """What a server says of its policy is enough: the list of codes travels with it, each under its chapter."""
    from sfumato.curator.door.wire import terms_from_json, terms_to_json
    from sfumato.curator.rehearsal import Rehearsal

    here = hospital.dummy(rows=200)
    there = Rehearsal(terms_from_json(terms_to_json(here.terms)), hospital.left(), rows=200)
    text = "SELECT LEVEL(icd10, 'chapter') AS c, COUNT(*) AS n FROM diagnoses GROUP BY c"
    found = [{row["c"]: row["n"] for row in each.ask(text, epsilon=10**9).rows} for each in (here, there)]
    assert found[0] == found[1]
    assert all(n > 0 for n in found[0].values())
