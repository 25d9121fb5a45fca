"""Inside one person: rows gathered by the unit and windows within it, what they mean, and that they bound by themselves."""

from __future__ import annotations

import random
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.core import NotSupported, Relation
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB
from sfumato.queries import rows as known
from sfumato.queries.answer import Estimate, answer
from sfumato.queries.bounded import Bounded, bound
from sfumato.queries.plan import Gather, Weigh
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql import relation
from sfumato.queries.sql.parse import parse
from sfumato.testing import inside, oracle, several
from sfumato.testing.questions import Draw
from sfumato.testing.stability import check_moved

FIRST, LAST = date(2020, 1, 1), date(2020, 12, 31)
COLUMNS = (
    Column("admitted", "date", range=(FIRST, LAST)),
    Column("discharged", "date", range=(FIRST, LAST)),
    Column("age", "integer", range=(Fraction(0), Fraction(120))),
    Column("ward", "category", values=("a", "b", "c")),
)
SCHEMA = Schema((Table("stays", COLUMNS, unit="patient"),), Unit("person", max_rows=3))


def stays() -> list[dict[str, Any]]:
    """Patient n has n % 6 + 1 stays, three weeks apart, or seven; some come back within a month."""
    found = []
    for patient in range(40):
        for stay in range(patient % 6 + 1):
            day = FIRST + timedelta(days=patient + stay * (21 if patient % 3 else 49))
            found.append(
                {
                    "patient": f"p{patient}",
                    "admitted": day,
                    "discharged": day + timedelta(days=(patient + stay) % 5),
                    "age": 30 + patient + stay,
                    "ward": "abc"[(patient + stay) % 3],
                }
            )
    return found


DATA = pa.Table.from_pylist(stays())
ENGINE = DuckDB({"stays": Source({c.name: c.type for c in COLUMNS}, data=DATA, unit="patient", missing=())}, threads=1)
RAW = duckdb.connect(config={"threads": 1})
RAW.register("stays", DATA)

WORDS = {
    "patients with two stays or more": """
        SELECT COUNT(*) AS n FROM (SELECT patient FROM stays GROUP BY patient HAVING COUNT(*) >= 2) AS p""",
    "share of patients who are back within 30 days": """
        WITH s AS (
            SELECT patient, admitted - LAG(discharged) OVER (PARTITION BY patient ORDER BY admitted) AS gap FROM stays
        ), p AS (SELECT patient, MAX(CASE WHEN gap <= 30 THEN 1 ELSE 0 END) AS back FROM s GROUP BY patient)
        SELECT AVG(back) AS rate FROM p""",
    "first stays by month": """
        SELECT MONTH(first) AS m, COUNT(*) AS n
        FROM (SELECT patient, MIN(admitted) AS first FROM stays GROUP BY patient) AS p GROUP BY m ORDER BY m""",
    "first stays by ward": """
        SELECT ward, COUNT(*) AS n FROM (
            SELECT ward, ROW_NUMBER() OVER (PARTITION BY patient ORDER BY admitted) AS place FROM stays
        ) AS s WHERE place = 1 GROUP BY ward ORDER BY ward""",
    "mean stays per patient": """
        SELECT AVG(LEAST(n, 6)) AS mean FROM (SELECT patient, COUNT(*) AS n FROM stays GROUP BY patient) AS p""",
    "share of patients older than 65 at their first stay": """
        SELECT AVG(CASE WHEN age > 65 THEN 1 ELSE 0 END) AS share
        FROM (SELECT patient, FIRST(age ORDER BY admitted) AS age FROM stays GROUP BY patient) AS p""",
    "days in hospital, patients with many": """
        SELECT COUNT(*) AS n FROM (
            SELECT patient, SUM(discharged - admitted) AS days FROM stays GROUP BY patient) AS p WHERE days > 5""",
    "patients who were in more than one ward": """
        SELECT COUNT(*) AS n FROM (SELECT patient, COUNT(DISTINCT ward) AS w FROM stays GROUP BY patient) AS p WHERE w > 1""",
    "patients by the ward of their last stay": """
        SELECT w, COUNT(*) AS n FROM (SELECT patient, LAST(ward ORDER BY admitted) AS w FROM stays GROUP BY patient) AS p
        GROUP BY w ORDER BY w""",
    "mean age over the stays of each patient, on average": """
        SELECT AVG(a) AS mean FROM (SELECT patient, AVG(age) AS a FROM stays GROUP BY patient) AS p""",
    "patients who stayed in each ward": """
        SELECT ward, COUNT(*) AS n FROM (SELECT patient, ward FROM stays GROUP BY patient, ward) AS p
        GROUP BY ward ORDER BY ward""",
    "stays of patients with at least four": """
        SELECT COUNT(*) AS n FROM stays JOIN (SELECT patient FROM stays GROUP BY patient HAVING COUNT(*) > 3) AS many
        USING (patient)""",
    "days so far at each third stay": """
        SELECT SUM(LEAST(so_far, 30)) AS days FROM (
            SELECT SUM(discharged - admitted) OVER (PARTITION BY patient ORDER BY admitted) AS so_far,
                   ROW_NUMBER() OVER (PARTITION BY patient ORDER BY admitted) AS place
            FROM stays) AS s WHERE place = 3""",
}
UNBIASED = [
    name for name in WORDS if name not in {"patients who stayed in each ward", "stays of patients with at least four"}
]


def ours(text: str, schema: Schema = SCHEMA) -> tuple[Bounded, list[tuple[Any, ...]]]:
    bounded = bound(parse(text, schema), schema)
    result = answer(bounded, bounded.vectors(ENGINE.execute(bounded.sql("duckdb"))))
    plain = [tuple(float(c.value or 0) if isinstance(c, Estimate) else c for c in row) for row in result.rows]
    return bounded, [row for row in plain if row[-1]]


@pytest.mark.parametrize("name", UNBIASED)
def test_questions_about_patients_have_no_bias_at_all(name: str) -> None:
    """max_rows is 3 and patients have up to 6 stays: without noise, the answers are those of raw SQL all the same."""
    bounded, found = ours(WORDS[name])
    raw = [
        tuple(float(c) if place == len(row) - 1 else c for place, c in enumerate(row))
        for row in RAW.sql(WORDS[name]).fetchall()
    ]
    assert [row[:-1] for row in found] == [row[:-1] for row in raw]
    assert [row[-1] for row in found] == pytest.approx([float(row[-1]) for row in raw], rel=1e-3)
    assert (bounded.whole, bounded.tally.child.bound) == (1, 1)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name in WORDS if name not in UNBIASED])
def test_questions_about_stays_mean_what_they_say_too(name: str) -> None:
    """Where a patient may have several rows, max_rows holds for these, and an ample one leaves nothing out."""
    ample = Schema(SCHEMA.tables, Unit("person", max_rows=100))
    _, found = ours(WORDS[name], ample)
    assert [row[-1] for row in found] == pytest.approx([float(row[-1]) for row in RAW.sql(WORDS[name]).fetchall()])
    _, cut = ours(WORDS[name])
    assert sum(row[-1] for row in cut) <= sum(row[-1] for row in found)


def test_counting_stays_is_biased_where_counting_patients_is_not() -> None:
    _, stays_ = ours("SELECT COUNT(*) AS n FROM stays")
    assert stays_[0][0] < DATA.num_rows
    _, patients = ours("SELECT COUNT(*) AS n FROM (SELECT patient FROM stays GROUP BY patient) AS p")
    assert patients[0][0] == 40


def test_a_mean_without_a_limit_takes_that_of_max_rows() -> None:
    """`n` has no range of its own; where one is needed it has that of max_rows rows, and conditions see it whole."""
    _, found = ours("SELECT AVG(n) AS mean FROM (SELECT patient, COUNT(*) AS n FROM stays GROUP BY patient) AS p")
    assert found[0][0] == pytest.approx(sum(min(patient % 6 + 1, 3) for patient in range(40)) / 40)
    _, found = ours(
        "SELECT COUNT(*) AS n FROM (SELECT patient, COUNT(*) AS n FROM stays GROUP BY patient) AS p WHERE n > 5"
    )
    assert found[0][0] == 6
    _, found = ours(
        "SELECT n, COUNT(*) AS c FROM (SELECT patient, COUNT(*) AS n FROM stays GROUP BY patient) AS p GROUP BY n"
    )
    assert found == [(1, 7.0), (2, 7.0), (3, 26.0)]


# -- one unit reaches no further, whatever happens inside --------------------------------------------------------------


class Search:
    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def below(self, n: int) -> int:
        found: int = self.data.draw(st.integers(0, n - 1))
        return found


def by_hand(bounded: Bounded, found: several.Tables) -> list[list[int]]:
    return [list(vector) for vector in oracle.exact(bounded.tally, found)]


def on_duckdb(bounded: Bounded, found: several.Tables) -> list[list[int]]:
    engine = DuckDB(several.sources(found, several.schema()), threads=1)
    return [vector.tolist() for vector in bounded.vectors(engine.execute(bounded.sql("duckdb")))]


def neighbours_agree(choose: several.Chooser, exact: Any) -> None:
    about = (Relation.ADD_REMOVE, Relation.REPLACE)[choose.below(2)]
    schema = several.schema((1, 2, 3)[choose.below(3)], about)
    bounded = bound(parse(inside.question(choose), schema), schema)
    here, person = several.tables(choose, 6), several.PERSONS[choose.below(4)]
    there = several.without(here, person)
    if about is Relation.REPLACE:
        there = several.replaced(here, person, choose, 3)
    check_moved(bounded, exact(bounded, here), exact(bounded, there))


@given(st.data())
@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
def test_neighbours_by_hand(data: st.DataObject) -> None:
    neighbours_agree(Search(data), by_hand)


@given(st.data())
@settings(max_examples=10, suppress_health_check=list(HealthCheck), deadline=None)
def test_neighbours_on_duckdb(data: st.DataObject) -> None:
    neighbours_agree(Search(data), on_duckdb)


def twins(people: int, each: int, seed: int) -> several.Tables:
    """People with `each` stays that are alike in all that questions read, in any order."""
    rows = [
        {"person": f"p{place}", "stay": None, "ward": "a", "days": 3, "admitted": None}
        for place in range(people)
        for _ in range(each)
    ]
    random.Random(seed).shuffle(rows)
    return {name: [] for name in several.KEYS} | {"stays": rows}


@pytest.mark.parametrize("each", [2, 3])
@pytest.mark.parametrize("other", ["PARTITION BY person, ward ORDER BY days", "PARTITION BY person ORDER BY ward DESC"])
@pytest.mark.parametrize("where", ["a = b", "a = 1 AND b = 1"])
def test_windows_agree_about_rows_that_are_alike(each: int, other: str, where: str) -> None:
    """Each window would number twins as it meets them: whether both say 1 of the same row was up to everybody's rows."""
    text = (
        "SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY days) AS a,"
        f" ROW_NUMBER() OVER ({other}) AS b FROM stays) AS q WHERE {where}"
    )
    bounded = bound(parse(text, several.schema(max_rows=1)), several.schema(max_rows=1))
    here = twins(2000, each, 1)
    fewer = here | {"stays": [row for row in here["stays"] if row["person"] != "p0"]}
    check_moved(bounded, on_duckdb(bounded, here), on_duckdb(bounded, fewer))
    assert on_duckdb(bounded, here) == on_duckdb(bounded, twins(2000, each, 2))


@pytest.mark.torture
@given(st.data())
@settings(max_examples=20_000, suppress_health_check=list(HealthCheck), deadline=None)
def test_neighbours_at_length(data: st.DataObject) -> None:
    neighbours_agree(Search(data), by_hand)


@pytest.mark.parametrize("place", range(80))
def test_duckdb_gives_the_cells_of_the_oracle(place: int) -> None:
    draw, schema = Draw(f"inside/{place}"), several.schema()
    bounded = bound(parse(inside.question(draw), schema), schema)
    found = several.tables(draw, 14)
    assert on_duckdb(bounded, found) == by_hand(bounded, found)


ACTS = "SELECT COUNT(*) FROM (SELECT person FROM acts GROUP BY person HAVING {}) AS p"


def total_of(prices: list[float | None], condition: str) -> list[list[int]]:
    rows = [{"person": "u", "kind": "x", "cost": 1.0, "price": price} for price in prices]
    found: several.Tables = {name: [] for name in several.KEYS} | {"acts": rows}
    bounded = bound(parse(ACTS.format(condition), several.schema()), several.schema())
    assert on_duckdb(bounded, found) == by_hand(bounded, found)
    return on_duckdb(bounded, found)


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("SUM(price) > 160", True),
        ("SUM(price) > 170", False),
        ("SUM(price) IN (10, 170)", True),
        ("GREATEST(0, LEAST(100, SUM(price))) = 100", True),
    ],
)
def test_a_total_is_compared_whole_on_a_coarse_grid(condition: str, held: bool) -> None:
    """Neither max_rows nor the grid of tens stands between a person's total and a condition on it."""
    assert total_of([84.0, 90.0, None], condition) == [[int(held)]]


def test_what_lies_off_the_grid_of_a_total_is_refused_with_the_grid() -> None:
    with pytest.raises(NotSupported, match="without a public range") as error:
        parse(ACTS.format("SUM(price) > 165"), several.schema())
    assert "multiples of 10" in str(error.value.hint)


GATHERED = "SELECT COUNT(*) FROM (SELECT person FROM stays GROUP BY person) AS p"
MANY: several.Tables = {name: [] for name in several.KEYS} | {
    "stays": [{"person": "u", "stay": n, "ward": "a", "days": n, "admitted": None} for n in range(5)]
}


def moved(text: str) -> None:
    schema = several.schema()
    bounded = bound(parse(text, schema), schema)
    check_moved(bounded, on_duckdb(bounded, MANY), on_duckdb(bounded, several.without(MANY, "u")))


def test_rows_that_are_not_gathered_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GROUP BY that is lost leaves a unit all of its rows at full weight."""
    moved(GATHERED)

    def lost(rows: Gather) -> relation.Shape:
        shape = relation.shaped(rows.child)
        return relation.Shape(shape.query, {}, {}, unit=True)

    monkeypatch.setattr(relation, "_gathered", lost)
    with pytest.raises(AssertionError):
        moved(GATHERED)


def test_rows_taken_for_one_each_that_are_not_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place within another key is one row for each of its values: it does not stand for one row of a unit."""
    text = (
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY person, days ORDER BY admitted) AS place FROM stays)"
        " AS s WHERE place = 1"
    )
    moved(text)
    monkeypatch.setattr(known, "_first_of", lambda rows, condition: True)
    with pytest.raises(AssertionError):
        moved(text)


def test_a_place_is_one_row_of_a_unit_and_needs_no_weights() -> None:
    schema = several.schema(max_rows=9)
    for condition, weighed in (("place = 1", False), ("place <= 1", True), ("place = 1 OR days > 3", True)):
        text = (
            "SELECT COUNT(*) FROM (SELECT days, ROW_NUMBER() OVER (PARTITION BY person ORDER BY days) AS place FROM stays)"
            f" AS s WHERE {condition}"
        )
        weigh = bound(parse(text, schema), schema).tally.child
        assert isinstance(weigh, Weigh)
        assert (weigh.bound == 9) is weighed


# -- what is refused ---------------------------------------------------------------------------------------------------

S = "SELECT COUNT(*) FROM (SELECT {} FROM stays{}) AS s"


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (S.format("ROW_NUMBER() OVER (ORDER BY age) AS x", ""), "SF021", "ROW_NUMBER"),
        (S.format("SUM(age) OVER () AS x", ""), "SF021", "SUM"),
        (S.format("LAG(age) OVER (PARTITION BY ward ORDER BY age) AS x", ""), "SF021", "LAG"),
        (S.format("LAG(age) OVER (PARTITION BY patient) AS x", ""), "SF021", "LAG"),
        (S.format("LAG(patient) OVER (PARTITION BY patient ORDER BY age) AS x", ""), "SF022", "LAG"),
        (S.format("LAG(age, age) OVER (PARTITION BY patient ORDER BY age) AS x", ""), "SF021", "age"),
        (S.format("NTILE(3) OVER (PARTITION BY patient ORDER BY age) AS x", ""), "SF021", "NTILE"),
        (S.format("SUM(age) OVER (PARTITION BY patient ORDER BY age ROWS 1 PRECEDING) AS x", ""), "SF021", "SUM"),
        (S.format("ward, COUNT(*) AS n", " GROUP BY ward"), "SF021", "ward"),
        (S.format("patient, age", " GROUP BY patient"), "SF021", "age"),
        (S.format("patient, FIRST(age) AS a", " GROUP BY patient"), "SF021", "FIRST"),
        (S.format("patient, MIN(ward) AS a", " GROUP BY patient"), "SF021", "ward"),
        (S.format("patient, MEDIAN(age) AS a", " GROUP BY patient"), "SF021", "MEDIAN"),
        (S.format("patient, COUNT(*) AS n", " GROUP BY patient LIMIT 3"), "SF021", "3"),
        (S.format("patient, COUNT(*)", " GROUP BY patient"), "SF021", "COUNT"),
        (S.format("DISTINCT patient", ""), "SF021", "patient"),
        (S.format("age", " HAVING age > 3"), "SF021", "age"),
        ("SELECT patient, COUNT(*) FROM stays GROUP BY patient", "SF022", "patient"),
        ("SELECT AVG(LAG(age) OVER (PARTITION BY patient ORDER BY age)) FROM stays", "SF021", "LAG"),
    ],
)
def test_what_leaves_one_person_is_refused_with_its_place(text: str, code: str, place: str) -> None:
    with pytest.raises(NotSupported) as error:
        parse(text, SCHEMA)
    assert error.value.code == code, str(error.value)
    assert f": '{place}" in str(error.value), str(error.value)
