"""Several tables: what may be joined, that it means what raw SQL means, and that no join lets one unit reach further."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.core import BadPolicy, NotSupported, Relation
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB, _common
from sfumato.queries.bounded import Bounded, bound
from sfumato.queries.frame import count, frame
from sfumato.queries.ingested import Ingested
from sfumato.queries.plan import Filter, Join, Read, Tally, Weigh
from sfumato.queries.schema import Column, Schema, Step, Table, Unit
from sfumato.queries.sql import relation
from sfumato.queries.sql.parse import parse
from sfumato.testing import oracle, several
from sfumato.testing.questions import Draw
from sfumato.testing.stability import check_moved, reach

SCHEMA = several.schema()
Tables = several.Tables


class Search:
    """Numbers that Hypothesis chooses, and shrinks."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def below(self, n: int) -> int:
        found: int = self.data.draw(st.integers(0, n - 1))
        return found


def by_hand(bounded: Bounded, found: Tables) -> list[list[int]]:
    return [list(vector) for vector in oracle.exact(bounded.tally, found)]


def on_duckdb(bounded: Bounded, found: Tables, sql: str | None = None, schema: Schema = SCHEMA) -> list[list[int]]:
    engine = DuckDB(several.sources(found, schema), threads=1)
    return [vector.tolist() for vector in bounded.vectors(engine.execute(sql or bounded.sql("duckdb")))]


def asked(text: str, schema: Schema = SCHEMA) -> Bounded:
    return bound(parse(text, schema), schema)


# -- one unit reaches no further than promised -------------------------------------------------------------------------


def neighbours_agree(choose: several.Chooser, rows: int, exact: Any) -> None:
    relation_ = (Relation.ADD_REMOVE, Relation.REPLACE)[choose.below(2)]
    schema = several.schema((1, 2, 3)[choose.below(3)], relation_)
    bounded = asked(several.question(choose), schema)
    here, person = several.tables(choose, rows), several.PERSONS[choose.below(4)]
    there = several.without(here, person)
    if relation_ is Relation.REPLACE:
        there = several.replaced(here, person, choose, 3)
    check_moved(bounded, exact(bounded, here), exact(bounded, there))


@given(st.data())
@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
def test_neighbours_by_hand(data: st.DataObject) -> None:
    neighbours_agree(Search(data), 6, by_hand)


@given(st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
def test_neighbours_on_duckdb(data: st.DataObject) -> None:
    neighbours_agree(Search(data), 6, on_duckdb)


@pytest.mark.slow
@pytest.mark.parametrize("word", [f"joins/{place}" for place in range(300)])
def test_neighbours_with_more_rows(word: str) -> None:
    neighbours_agree(Draw(word), 14, by_hand)


@pytest.mark.torture
@given(st.data())
@settings(max_examples=20_000, suppress_health_check=list(HealthCheck), deadline=None)
def test_neighbours_at_length(data: st.DataObject) -> None:
    neighbours_agree(Search(data), 8, by_hand)


@pytest.mark.parametrize("place", range(60))
def test_duckdb_gives_the_cells_of_the_oracle(place: int) -> None:
    draw = Draw(f"joined/{place}")
    bounded, found = asked(several.question(draw)), several.tables(draw, 12)
    assert on_duckdb(bounded, found) == by_hand(bounded, found)


STAY: dict[str, Any] = {"person": "u", "stay": 1, "ward": "a", "days": 5, "admitted": None}
DIAGNOSIS: dict[str, Any] = {"stay": 1, "dx": 1, "code": "X", "severity": 5}
ACT: dict[str, Any] = {"person": "u", "kind": "x", "cost": 1.0, "price": 10.0}
WARD: dict[str, Any] = {"ward": "a", "floor": "low", "beds": 10}


def tables(**rows: several.Rows) -> Tables:
    return {name: rows.get(name, []) for name in several.KEYS}


FAN_OUT = tables(
    stays=[STAY, STAY | {"stay": 2}, STAY | {"person": "v", "stay": 3}],
    diagnoses=[DIAGNOSIS] * 7 + [DIAGNOSIS | {"stay": 2}] * 2 + [DIAGNOSIS | {"stay": 3}],
    acts=[ACT] * 5,
    wards=[WARD],
)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM stays AS s JOIN diagnoses AS d ON s.stay = d.stay",
        "SELECT COUNT(*) FROM diagnoses",
        "SELECT COUNT(*) FROM stays AS s JOIN acts AS a ON s.person = a.person",
        "SELECT COUNT(*) FROM stays AS s LEFT JOIN wards AS w ON s.ward = w.ward",
        "SELECT COUNT(*) FROM stays AS s JOIN diagnoses AS d ON s.stay = d.stay JOIN acts AS a ON a.person = s.person",
    ],
)
def test_max_rows_holds_once_after_the_join(text: str) -> None:
    """However far a join fans out, a unit has the whole of its bound and no more: the promise is kept, and tight."""
    bounded = asked(text)
    here, there = (on_duckdb(bounded, found) for found in (FAN_OUT, several.without(FAN_OUT, "u")))
    check_moved(bounded, here, there)
    assert reach(bounded, here, there) > Fraction(99, 100)


# -- what is dropped ---------------------------------------------------------------------------------------------------


def counted(text: str, found: Tables) -> float:
    bounded = asked(text, several.schema(max_rows=100))
    ((cell,),) = on_duckdb(bounded, found)
    return cell / bounded.whole


def test_orphans_and_rows_of_nobody_are_dropped() -> None:
    found = tables(
        stays=[STAY, STAY | {"person": None, "stay": 2}, STAY | {"stay": None}],
        diagnoses=[DIAGNOSIS, DIAGNOSIS | {"stay": 2}, DIAGNOSIS | {"stay": 99}, DIAGNOSIS | {"stay": None}],
    )
    assert counted("SELECT COUNT(*) FROM diagnoses", found) == 1
    assert counted("SELECT COUNT(*) FROM stays", found) == 2
    assert counted("SELECT COUNT(*) FROM diagnoses AS d LEFT JOIN stays AS s ON d.stay = s.stay", found) == 1
    assert counted("SELECT COUNT(*) FROM stays AS s LEFT JOIN diagnoses AS d ON d.stay = s.stay", found) == 2


def test_a_row_that_leads_to_two_people_is_a_row_of_each() -> None:
    """A declared key that is not one: both people count it, and each of them stays within the bound."""
    found = tables(stays=[STAY, STAY | {"person": "v"}], diagnoses=[DIAGNOSIS] * 3)
    for text in ("SELECT COUNT(*) FROM diagnoses", "SELECT COUNT(*) FROM stays JOIN diagnoses USING (stay)"):
        bounded = asked(text)
        assert counted(text, found) == 6
        for person in "uv":
            check_moved(bounded, on_duckdb(bounded, found), on_duckdb(bounded, several.without(found, person)))


def test_a_public_key_that_stands_twice_matches_nothing() -> None:
    """A violated `unique` multiplies nobody, even where rows are the units and nothing weighs them."""
    found = tables(stays=[STAY, STAY | {"ward": "b"}], wards=[WARD, WARD, WARD | {"ward": "b"}])
    assert counted("SELECT COUNT(*) FROM stays JOIN wards USING (ward)", found) == 1
    assert counted("SELECT COUNT(*) FROM stays LEFT JOIN wards USING (ward)", found) == 2
    assert counted("SELECT COUNT(beds) FROM stays LEFT JOIN wards USING (ward)", found) == 1


ALONE = Schema(
    (Table("stays", several.STAYS), Table("wards", several.WARDS, public=True, unique=("ward",))), Unit("row")
)


def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation, "_once", lambda shape, unique: shape)


def test_units_that_are_rows_are_not_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check of public keys, one row would count three times; the weights of people would still hold it."""
    found = tables(stays=[STAY], wards=[WARD] * 3)
    alone = asked("SELECT COUNT(*) FROM stays JOIN wards USING (ward)", ALONE)
    people = asked("SELECT COUNT(*) FROM stays JOIN wards USING (ward)")
    empty = found | {"stays": []}
    check_moved(alone, on_duckdb(alone, found, schema=ALONE), on_duckdb(alone, empty, schema=ALONE))
    twice(monkeypatch)
    with pytest.raises(AssertionError):
        check_moved(alone, on_duckdb(alone, found, schema=ALONE), on_duckdb(alone, empty, schema=ALONE))
    check_moved(people, on_duckdb(people, found), on_duckdb(people, empty))


# -- broken copies -----------------------------------------------------------------------------------------------------

JOINED = "SELECT COUNT(*), SUM(severity) FROM stays AS s JOIN diagnoses AS d ON s.stay = d.stay WHERE severity > 0"


def test_weights_before_the_join_are_noticed() -> None:
    """Weights from a unit's stays, carried through the join to their diagnoses: the fan-out is no longer bounded."""
    bounded = asked(JOINED)
    right = bounded.sql("duckdb")
    start, end = right.index("sfumato_weights AS"), right.rindex(") SELECT CAST")
    early = 'sfumato_weights AS (SELECT "person" AS u, LEAST(1048576, 2097152 // COUNT(*)) AS w FROM "stays" GROUP BY u'
    wrong = right[:start] + early + right[end:]
    there = several.without(FAN_OUT, "u")
    check_moved(bounded, on_duckdb(bounded, FAN_OUT, right), on_duckdb(bounded, there, right))
    with pytest.raises(AssertionError):
        check_moved(bounded, on_duckdb(bounded, FAN_OUT, wrong), on_duckdb(bounded, there, wrong))


def test_weights_before_the_filter_are_noticed() -> None:
    """They keep the promise and lose rows that had to count: the oracle sees it."""
    found = FAN_OUT | {"diagnoses": [*FAN_OUT["diagnoses"], *[DIAGNOSIS | {"severity": -1}] * 9]}
    bounded = asked(JOINED)
    weigh = bounded.tally.child
    assert isinstance(weigh, Weigh)
    assert isinstance(weigh.child, Filter)
    unfiltered = replace(bounded, tally=Tally(replace(weigh, child=weigh.child.child), (), bounded.tally.statistics))
    right, early = bounded.sql("duckdb"), unfiltered.sql("duckdb")
    rows = early[early.index("SELECT u AS u") : early.index("), sfumato_weights")]
    wrong = right.replace("FROM sfumato_rows GROUP BY u", f"FROM ({rows}) GROUP BY u")
    assert wrong != right
    assert on_duckdb(bounded, found, right) == by_hand(bounded, found)
    assert on_duckdb(bounded, found, wrong) != by_hand(bounded, found)
    check_moved(bounded, on_duckdb(bounded, found, wrong), on_duckdb(bounded, several.without(found, "u"), wrong))


def test_a_join_that_forgets_the_unit_is_noticed() -> None:
    """Diagnoses of other people's stays would move with a person who leaves."""
    bounded = asked("SELECT COUNT(*) FROM stays AS s JOIN acts AS a ON s.person = a.person")
    right = bounded.sql("duckdb")
    wrong = right.replace("ON l.u = r.u", "ON TRUE")
    assert wrong != right
    found = tables(stays=[STAY] * 2 + [STAY | {"person": p} for p in "vwz"], acts=[ACT] * 9)
    there = several.without(found, "u")
    check_moved(bounded, on_duckdb(bounded, found, right), on_duckdb(bounded, there, right))
    with pytest.raises(AssertionError):
        check_moved(bounded, on_duckdb(bounded, found, wrong), on_duckdb(bounded, there, wrong))


def test_counts_of_an_ingest_are_not_used_after_a_join() -> None:
    known = {table.name: Ingested("n") for table in SCHEMA.tables}
    assert '"n"' in asked("SELECT COUNT(*) FROM stays").sql("duckdb", known)
    for text in ("SELECT COUNT(*) FROM diagnoses", "SELECT COUNT(*) FROM stays JOIN acts USING (person)"):
        assert asked(text).sql("duckdb", known) == asked(text).sql("duckdb")


# -- it means what SQL means -------------------------------------------------------------------------------------------

GOOD = tables(
    stays=[
        STAY | {"person": f"p{place % 7}", "stay": place, "ward": "abcd"[place % 4], "days": place % 9}
        for place in range(25)
    ],
    diagnoses=[
        {"stay": place * 5 % 25, "dx": place, "code": "XYZ"[place % 3], "severity": place % 6} for place in range(40)
    ],
    results=[{"dx": place * 3 % 40, "value": 1 + place % 9} for place in range(60)],
    acts=[ACT | {"person": f"p{place % 5}", "cost": place % 20 / 2} for place in range(30)],
    wards=[WARD | {"ward": ward, "floor": floor} for ward, floor in zip("abc", ("low", "high", "low"), strict=True)],
)


@pytest.mark.parametrize("clause", [clause for clause, _ in several.FROMS if "d.person" not in clause])
def test_where_declarations_hold_a_join_is_the_join_of_raw_sql(clause: str) -> None:
    raw = duckdb.connect(config={"threads": 1})
    for name, source in several.sources(GOOD, SCHEMA).items():
        raw.register(name, source.data)
    text = f"SELECT COUNT(*) FROM {clause}"
    ((right,),) = raw.sql(text).fetchall()
    assert counted(text, GOOD) == right > 0


def test_a_public_list_is_looked_at_after_a_link_is_followed() -> None:
    """DuckDB takes any condition for one that leaves a fifth of the rows, and would hash the longer table for it."""
    linked = "FROM stays AS s JOIN diagnoses AS d ON s.stay = d.stay WHERE s.days > 2 AND s.ward IN ('a', 'b')"
    sql = asked(f"SELECT s.ward, COUNT(*) {linked} GROUP BY s.ward").sql("duckdb")
    before, after = sql.split(" OFFSET 0)")
    assert "(CAST(2 AS BIGINT) < x0)" in before
    assert "IN ('a', 'b')" in before, "what an analyst asks for may leave few rows"
    assert "IN ('a', 'b', 'c')" in after.split("sfumato_weights")[0]
    assert "OFFSET" not in asked("SELECT ward, COUNT(*) FROM stays GROUP BY ward").sql("duckdb")
    assert "OFFSET" not in asked(f"SELECT s.ward, COUNT(*) {linked} GROUP BY s.ward").sql("postgres")


def test_the_link_that_joins_is_not_looked_up_again() -> None:
    """Diagnoses joined to their stays get the unit from there: one join on the engine, as in raw SQL."""
    sql = asked("SELECT COUNT(*) FROM stays AS s JOIN diagnoses AS d ON s.stay = d.stay").sql("duckdb")
    assert sql.count("JOIN") == 2, sql  # the one of the question, and the weights
    outer = asked("SELECT COUNT(*) FROM stays AS s LEFT JOIN diagnoses AS d ON s.stay = d.stay").sql("duckdb")
    assert outer.count("JOIN") == 3, outer


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("SELECT COUNT(*) FROM stays, acts", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays CROSS JOIN acts", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays RIGHT JOIN acts USING (person)", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays FULL JOIN acts USING (person)", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays NATURAL JOIN acts", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays SEMI JOIN acts USING (person)", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays ASOF JOIN acts USING (person)", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays JOIN acts ON ward = kind", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays AS s JOIN stays AS z ON s.stay = z.stay", "SF022", "s"),
        ("SELECT COUNT(*) FROM stays JOIN acts ON TRUE", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays JOIN acts", "SF010", "acts"),
        ("SELECT COUNT(*) FROM stays JOIN acts ON stays.person = acts.person OR TRUE", "SF022", "stays"),
        ("SELECT COUNT(*) FROM stays JOIN wards ON days = beds", "SF010", "wards"),
        ("SELECT COUNT(*) FROM stays JOIN wards ON stays.ward < wards.ward", "SF010", "wards"),
        ("SELECT COUNT(*) FROM stays JOIN wards ON wards.ward = wards.ward", "SF010", "wards"),
        ("SELECT COUNT(*) FROM wards LEFT JOIN stays USING (ward)", "SF010", "stays"),
        ("SELECT COUNT(*) FROM wards JOIN wards AS w USING (ward)", "SF021", "wards"),
        ("SELECT COUNT(*) FROM stays JOIN stays USING (person)", "SF021", "stays"),
        ("SELECT COUNT(*) FROM stays JOIN acts USING (person) WHERE stay = 1", "SF022", "stay"),
        ("SELECT COUNT(stay) FROM stays", "SF022", "stay"),
        ("SELECT stay, COUNT(*) FROM stays GROUP BY stay", "SF022", "stay"),
        ("SELECT AVG(days) FROM stays AS s JOIN stays AS z USING (person)", "SF021", "days"),
        ("SELECT COUNT(*) FROM stays JOIN acts USING (kind)", "SF022", "acts"),
        ("SELECT COUNT(*) FROM stays JOIN hidden USING (person)", "SF022", "hidden"),
    ],
)
def test_other_joins_are_refused_with_their_place(text: str, code: str, place: str) -> None:
    with pytest.raises(NotSupported) as error:
        asked(text)
    assert error.value.code == code, str(error.value)
    assert f": '{place}" in str(error.value), str(error.value)


def test_too_many_tables_are_refused() -> None:
    names = [f"stays AS s{place}" for place in range(17)]
    with pytest.raises(NotSupported) as error:
        asked(f"SELECT COUNT(*) FROM {names[0]}" + "".join(f" JOIN {name} USING (person)" for name in names[1:]))
    assert error.value.code == "SF010"


# -- frames ------------------------------------------------------------------------------------------------------------


def test_frames_make_the_plan_of_sql() -> None:
    stays, diagnoses, wards = (frame(SCHEMA, name) for name in ("stays", "diagnoses", "wards"))
    both = stays.join(diagnoses, on="stay").filter("severity > 0").group_by("ward").agg(n=count())
    text = "SELECT ward, COUNT(*) AS n FROM stays JOIN diagnoses USING (stay) WHERE severity > 0 GROUP BY ward"
    assert both.plan == parse(text, SCHEMA)
    public = stays.join(wards, on={"ward": "ward"}, how="left").group_by("floor").agg(n=count())
    assert public.plan == parse(
        "SELECT floor, COUNT(*) AS n FROM stays LEFT JOIN wards USING (ward) GROUP BY floor", SCHEMA
    )
    with pytest.raises(NotSupported) as error:
        stays.join(wards, on={"days": "beds"})
    assert error.value.code == "SF010"


def test_a_linked_table_knows_its_unit() -> None:
    bounded = asked("SELECT COUNT(DISTINCT person) FROM diagnoses")
    assert on_duckdb(bounded, FAN_OUT) == [[2 * bounded.whole]]


def test_keys_of_two_types_are_compared_as_text() -> None:
    """A CSV file has text where a database has numbers: the same key all the same, and nothing that can fail."""
    import pyarrow as pa

    found = several.sources(FAN_OUT, SCHEMA)
    data = found["diagnoses"].data
    place = data.column_names.index("stay")
    words = pa.array([*(str(value) for value in data["stay"].to_pylist()[:-1]), "no number"])
    found["diagnoses"] = replace(found["diagnoses"], data=data.set_column(place, "stay", words))
    bounded = asked("SELECT COUNT(*) FROM stays JOIN diagnoses USING (stay)", several.schema(max_rows=100))
    engine = DuckDB(found, threads=1)
    assert bounded.vectors(engine.execute(bounded.sql("duckdb")))[0].tolist() == [9 * bounded.whole]


@pytest.mark.parametrize(("mine", "theirs", "one"), [("UBIGINT", "INTEGER", "HUGEINT"), ("UUID", "INTEGER", "VARCHAR")])
def test_keys_are_read_alike_on_both_sides(mine: str, theirs: str, one: str) -> None:
    assert _common(
        {"a": Source({}, keys={"k": "k"}), "b": Source({}, keys={"k": "k"})}, {"a": {"k": mine}, "b": {"k": theirs}}
    ) == {"k": one}


def test_what_a_left_join_computes_is_null_where_nothing_matches() -> None:
    text = "SELECT SUM(COALESCE(a.one, 0)) FROM stays AS s LEFT JOIN (SELECT person, 1 AS one FROM acts) AS a USING (person)"
    found = FAN_OUT | {"acts": [ACT]}
    bounded = asked(text, several.schema(max_rows=100))
    assert on_duckdb(bounded, found) == by_hand(bounded, found) == [[2 * bounded.whole]]


def test_a_column_named_like_a_field_of_a_join() -> None:
    """Names of our own give way to the owner's."""
    odd = Column("2:x", "integer", range=(Fraction(0), Fraction(9)))
    schema = Schema(
        (
            Table("a", (odd,), unit="p"),
            Table("b", (Column("x", "integer", range=(Fraction(0), Fraction(5))),), unit="p"),
        )
    )
    bounded = bound(parse('SELECT SUM("2:x"), SUM(x) FROM a JOIN b USING (p)', schema), schema)
    assert {getattr(each, "high", None) for each in bounded.tally.statistics} == {5, 9}


def test_units_along_a_path_and_a_column_of_the_same_name() -> None:
    """A linked table's own column called as the unit is not the unit."""
    own = Column("person", "text")
    schema = Schema(
        (
            Table("stays", several.STAYS, unit="person"),
            Table("notes", (own,), unit="person", path=(Step("stay", "stays", "stay"),)),
        )
    )
    with pytest.raises(NotSupported):
        parse("SELECT COUNT(*) FROM notes JOIN stays ON notes.person = stays.person", schema)


def test_reads_are_reads_of_the_plan() -> None:
    """The tally keeps the tree of joins, so that a price can be derived from it alone."""
    weigh = asked(JOINED).tally.child
    assert isinstance(weigh, Weigh)
    below = weigh.child
    while isinstance(below, Filter):
        below = below.child
    assert isinstance(below, Join)
    assert isinstance(below.left, Read)
    assert (below.link, below.kind) == (("stay", "2:stay"), "inner")


def test_a_group_that_is_on_no_list_is_left_out_without_a_word() -> None:
    """No statement asks for one. Should an engine return it all the same, an error would tell that some row has it."""
    import pyarrow as pa

    for text in (
        "SELECT ward, COUNT(*) FROM stays GROUP BY ward",
        "SELECT ward, MEDIAN(days) FROM stays GROUP BY ward",
    ):
        bounded = asked(text)
        wards = ["a", "x", "c"]
        lines = {"k0": wards, "p": [0, 0, 0], "b": [3, 4, 5], "c0": [10, 20, 30]}
        (found,) = bounded.vectors(pa.table(lines))
        assert found.tolist() == ([10, 0, 30, 0] if "COUNT" in text else [(0, 3, 10), (2, 5, 30)])


def test_a_listed_number_lies_on_its_grain() -> None:
    """Else its rows would be told under another key: 3/10 in steps of 1/2 is cut to 0."""
    with pytest.raises(BadPolicy, match="between the steps"):
        Column("x", "number", (Fraction(0), Fraction(1)), (0, Fraction(3, 10), 1), grain=Fraction(1, 2))
