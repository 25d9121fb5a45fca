"""Private groups: how far one unit reaches in them, which ones an engine keeps of each unit, and broken copies of both."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from sfumato.core import NotSupported, Relation
from sfumato.engines.base import Source
from sfumato.engines.duckdb import DuckDB
from sfumato.queries import stability
from sfumato.queries.bounded import Bounded, bound
from sfumato.queries.groups import keys_of, name_of
from sfumato.queries.ingested import Ingested, counted_at_ingest
from sfumato.queries.plan import Heads
from sfumato.queries.schema import Column, Schema, Table, Unit
from sfumato.queries.sql import emit as emitter
from sfumato.queries.sql import firsts
from sfumato.queries.sql.parse import parse
from sfumato.testing import keys, questions
from sfumato.testing.engine import source
from sfumato.testing.stability import check_moved, without

Rows = list[dict[str, Any]]
COLUMNS = (
    Column("z", "text", values="private", null="group"),
    Column("q", "integer", values="private"),
    Column("g", "category", values=("a", "b")),
    Column("x", "integer", range=(Fraction(-3), Fraction(5))),
)
ROW = st.fixed_dictionaries(
    {
        "person": st.sampled_from(["u", "v", "w", None]),
        "z": st.sampled_from(["p", "q", "r", "s", "", None]),
        "q": st.sampled_from([1, 2, -7, 10**15, None]),
        "g": st.sampled_from(["a", "b", "c", None]),
        "x": st.sampled_from([-100, 0, 5, None]),
    }
)


def policy(max_rows: int, max_groups: int, relation: Relation = Relation.ADD_REMOVE) -> Schema:
    return Schema((Table("people", COLUMNS, unit="person"),), Unit("person", relation, max_rows, max_groups))


@st.composite
def texts(draw: st.DrawFn) -> str:
    chosen = draw(
        st.lists(st.sampled_from(["z", "q", "g", "z || g", "q % 2", "x > 0"]), min_size=1, max_size=3, unique=True)
    )
    kinds = ["COUNT(*)", "COUNT(DISTINCT person)", "COUNT(DISTINCT x)", "SUM(x)", "AVG(x)", "VAR_POP(x)", "COUNT(x)"]
    measured = draw(st.lists(st.sampled_from(kinds), max_size=2, unique=True))
    where = draw(st.sampled_from(["", " WHERE x > 0", " WHERE z <> 'p'"]))
    shown = [*(f"{key} AS g{place}" for place, key in enumerate(chosen)), *measured]
    return f"SELECT {', '.join(shown)} FROM people{where} GROUP BY {', '.join(chosen)}"


def asked(text: str, schema: Schema) -> Bounded:
    try:
        bounded = bound(parse(text, schema), schema)
    except NotSupported:
        reject()
    if not bounded.private:
        reject()
    return bounded


def check(bounded: Bounded, here: Any, there: Any, *, groups: int) -> None:
    check_moved(bounded, *keys.aligned(bounded, here, there))
    assert bounded.tally.statistics[0] in {Heads(False), Heads(True)}
    for one, other in ((here, there), (there, here)):
        # Groups that only one neighbour has are where the threshold has to hide a person who is alone.
        new = [cells for name, cells in one.items() if name not in other]
        assert len(new) <= groups
        assert all(cells[0] == 1 for cells in new)


CASE = (
    texts(),
    st.lists(ROW, max_size=14),
    st.lists(ROW, max_size=7),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([Relation.ADD_REMOVE, Relation.REPLACE]),
)


def neighbour(rows: Rows, others: Rows, relation: Relation) -> Rows:
    left = without(rows, "u")
    return left if relation is Relation.ADD_REMOVE else [*left, *({**row, "person": "u"} for row in others)]


def moved(text: str, rows: Rows, others: Rows, max_rows: int, max_groups: int, relation: Relation) -> None:
    bounded = asked(text, policy(max_rows, max_groups, relation))
    there = keys.by_hand(bounded, neighbour(rows, others, relation))
    check(bounded, keys.by_hand(bounded, rows), there, groups=max_groups)


@given(*CASE)
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
def test_one_unit_reaches_no_further_than_promised(
    text: str, rows: Rows, others: Rows, max_rows: int, max_groups: int, relation: Relation
) -> None:
    moved(text, rows, others, max_rows, max_groups, relation)


@pytest.mark.torture
@given(*CASE)
@settings(max_examples=20_000, suppress_health_check=list(HealthCheck))
def test_one_unit_reaches_no_further_at_length(
    text: str, rows: Rows, others: Rows, max_rows: int, max_groups: int, relation: Relation
) -> None:
    moved(text, rows, others, max_rows, max_groups, relation)


def duckdb(rows: Rows) -> DuckDB:
    import pyarrow as pa

    types = {"person": pa.string(), "z": pa.string(), "q": pa.int64(), "g": pa.string(), "x": pa.int64()}
    data = pa.table({name: pa.array([row[name] for row in rows], type=kind) for name, kind in types.items()})
    return DuckDB(
        {"people": Source({c.name: c.type for c in COLUMNS}, data=data, unit="person", missing=())}, threads=1
    )


@given(texts(), st.lists(ROW, max_size=14), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
def test_duckdb_finds_the_same_groups(text: str, rows: Rows, max_rows: int, max_groups: int) -> None:
    bounded = asked(text, policy(max_rows, max_groups))
    engine = duckdb(rows)
    keys.compare(engine, bounded, rows, text)
    engine.close()


def test_generated_questions_on_hostile_tables() -> None:
    """Every unit of a hostile table in turn."""
    draw = questions.Draw("keys/hostile")
    schema = keys.schema(max_rows=2, max_groups=2)
    rows = questions.rows(draw, 60, units=6)
    for _ in range(40):
        try:
            bounded = bound(parse(keys.question(draw), schema), schema)
        except NotSupported:
            continue
        here = keys.by_hand(bounded, rows)
        for unit in {row["person"] for row in rows} - {None}:
            check(bounded, here, keys.by_hand(bounded, without(rows, unit)), groups=2)


MANY: Rows = [
    *({"person": "u", "z": f"only-{place}", "q": place, "g": "a", "x": 5} for place in range(9)),
    *({"person": "v", "z": f"shared-{place}", "q": 1, "g": "b", "x": 1} for place in range(2)),
    *({"person": "w", "z": f"shared-{place}", "q": 1, "g": "b", "x": 0} for place in range(2)),
]
QUESTION = "SELECT z, COUNT(*), COUNT(DISTINCT person) FROM people GROUP BY z"


def test_the_promise_is_tight() -> None:
    """A person in many groups uses the whole of what is promised: `max_groups` groups, and `max_rows` rows."""
    bounded = asked(QUESTION, policy(2, 3))
    here, there = keys.by_hand(bounded, MANY), keys.by_hand(bounded, without(MANY, "u"))
    (heads, counts), nothing = keys.aligned(bounded, here, there)
    assert sum(heads) - sum(nothing[0]) == bounded.sensitivities[0].l1 == 3
    # Weights are floored: two rows among three of the person's weigh a millionth less than two together.
    assert sum(counts) - sum(nothing[1]) > bounded.sensitivities[1].l1 * Fraction(999_999, 1_000_000)


def test_which_groups_are_kept_follows_from_the_persons_own_rows() -> None:
    """Whoever else is in the table, and in whatever order it stands."""
    bounded = asked(QUESTION, policy(2, 3))
    whole = keys.by_hand(bounded, MANY)
    for rows in (MANY[:9], list(reversed(MANY)), [*MANY, {**MANY[0], "person": "t", "z": "only-4"}]):
        mine = {name for name in keys.by_hand(bounded, rows) if "only" in name}
        assert {name for name in whole if "only" in name} <= mine


def test_units_do_not_all_keep_the_same_groups() -> None:
    """The order is each unit's own, so that no group starves."""
    bounded = asked("SELECT z FROM people GROUP BY z", policy(1, 1))
    rows = [{"person": f"u{n}", "z": f"z{k}", "q": 1, "g": "a", "x": 1} for n in range(300) for k in range(6)]
    found = keys.by_hand(bounded, rows)
    assert len(found) == 6
    assert min(cells[0] for cells in found.values()) > 20


Check = Callable[[], None]


def reaches_too_far() -> None:
    bounded = asked(QUESTION, policy(2, 3))
    there = keys.on_engine(duckdb(without(MANY, "u")), bounded)
    check(bounded, keys.on_engine(duckdb(MANY), bounded), there, groups=3)


def differs() -> None:
    keys.compare(duckdb(MANY), asked(QUESTION, policy(2, 3)), MANY, QUESTION)


def different_values() -> None:
    text = "SELECT z, COUNT(DISTINCT q) FROM people GROUP BY z"
    bounded = asked(text, policy(2, 3))
    check(bounded, keys.on_engine(duckdb(MANY), bounded), keys.on_engine(duckdb(without(MANY, "u")), bounded), groups=3)


ORIGINAL = firsts.first


@pytest.mark.parametrize("check", [reaches_too_far, differs, different_values])
@pytest.mark.parametrize("extra", [1, 10])
def test_a_looser_cap_is_noticed(monkeypatch: pytest.MonkeyPatch, check: Check, extra: int) -> None:
    check()
    monkeypatch.setattr(emitter, "first", lambda pairs, many, name, most: ORIGINAL(pairs, many, name, most + extra))
    with pytest.raises(AssertionError):
        check()


def test_an_order_without_the_unit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlglot import exp

    differs()
    monkeypatch.setattr("sfumato.queries.sql.firsts.unit_part", lambda: exp.Literal.string(""))
    with pytest.raises(AssertionError):
        differs()


def test_too_small_a_promise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    reaches_too_far()
    monkeypatch.setattr(stability, "_most", lambda tally: (tally.most or 1) - 1)
    with pytest.raises(AssertionError):
        reaches_too_far()


def test_rows_counted_at_ingest_are_not_taken_for_those_that_are_left() -> None:
    """A person's rows outside of their first groups are left out, so their weight is not that of all their rows."""
    bounded = asked("SELECT z, SUM(x) FROM people GROUP BY z", policy(2, 3))
    assert counted_at_ingest(bounded.tally, {"people": Ingested("rows_of_person")}) == bounded.tally
    whole = keys.schema(max_rows=2, max_groups=2)
    rows = questions.rows(questions.Draw("keys/ingest"), 80, units=5)
    engine = DuckDB({"people": source(rows, whole)})
    text = "SELECT note, SUM(age) AS s FROM people GROUP BY note"
    found = bound(parse(text, whole), whole)
    ingested = found.sql("duckdb", {"people": Ingested("rows_of_person")})
    assert keys.on_engine(engine, found, ingested) == keys.by_hand(found, rows)


@pytest.mark.parametrize("key", [None, True, False, "", 'é"\\', 3, Fraction(1, 3), -(10**20)])
def test_a_group_is_called_by_its_values(key: Any) -> None:
    assert keys_of(name_of((key, "a"))) == (key, "a")
    assert type(keys_of(name_of((key,)))[0]) is type(key)


def test_a_unit_per_row_is_in_one_group() -> None:
    schema = Schema((Table("people", COLUMNS, unit=None),), Unit("row", Relation.ADD_REMOVE, 1, 7))
    bounded = asked("SELECT z, COUNT(*) FROM people GROUP BY z", schema)
    assert bounded.tally.most == 1
    assert bounded.tally.statistics == (Heads(told=True),)
    assert bounded.sensitivities[0].l1 == 1
    keys.compare(duckdb(MANY), bounded, MANY, "one row per unit")
