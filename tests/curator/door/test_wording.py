"""Words that travel: every verb of frames is known, everything else is refused as no question, nothing gets around a check."""

from __future__ import annotations

import contextlib
import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.errors import BadInput, BadPolicy, Bug, NotAllowed, NotSupported
from sfumato.curator.door.wording import fits, heard, verbs
from sfumato.queries.bounded import bound
from sfumato.queries.expression import MeasureKind
from sfumato.queries.frame import Frame, Grouped, Question
from sfumato.queries.schema import Column, Schema, Table

REFUSALS = (BadInput, BadPolicy, NotAllowed, NotSupported)

PEOPLE = Table(
    "people",
    (
        Column("sex", "category", values=("F", "M")),
        Column("age", "integer", range=(0, 100)),  # type: ignore[arg-type]
    ),
    unit="person_id",
)
TOWNS = Table("towns", (Column("code", "text"), Column("region", "category", values=("N", "S"))), public=True)
SCHEMA = Schema((PEOPLE, TOWNS))


def test_every_verb_takes_what_can_travel() -> None:
    """A verb that frames learn later, with a parameter of a new type, fails here and not before an analyst."""
    for kind in (Frame, Grouped, Question):
        assert verbs(kind)
        for signature in verbs(kind).values():
            for name, parameter in signature.parameters.items():
                if name != "self":
                    fits(None, str(parameter.annotation))
    with pytest.raises(Bug):
        fits(None, "Callable[..., Any]")


def test_what_makes_no_question_of_a_question_is_not_a_verb() -> None:
    for kind in (Frame, Grouped, Question):
        assert not {"ask", "preview", "measure", "sql", "rows"} & set(verbs(kind))
        assert not any(name.startswith("_") for name in verbs(kind))


GOOD: tuple[Any, ...] = (
    {"sql": "SELECT COUNT(*) FROM people"},
    {"sql": "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "steps": [["sort", ["n"], {"descending": True}]]},
    {"table": "people", "steps": [["filter", ["age >= ?", {"number": "81/2"}], {"sex": "F"}], ["count", [], {}]]},
    {"table": "people", "steps": [["group_by", ["sex"], {}], ["agg", [], {"n": {"aggregate": {"kind": "rows"}}}]]},
)

BAD: tuple[Any, ...] = (
    None,
    [],
    "SELECT 1",
    {},
    {"sql": 1},
    {"sql": "SELECT COUNT(*) FROM people", "plan": {}},
    {"table": "people"},
    {"table": "people", "steps": []},
    {"table": "people", "steps": "count"},
    {"table": "people", "steps": [["count"]]},
    {"table": "people", "steps": [["count", [], []]]},
    {"table": "people", "steps": [["_read", ["age"], {}]]},
    {"table": "people", "steps": [["__class__", [], {}]]},
    {"table": "people", "steps": [["__reduce__", [], {}]]},
    {"table": "people", "steps": [["ask", [], {}]]},
    {"table": "people", "steps": [["measure", [{"aggregate": {"kind": "rows"}}], {}]]},
    {"table": "people", "steps": [["count", [], {}], ["sort", [], {"self": 1, "by": "count"}]]},
    {"table": "people", "steps": [["filter", [1], {}], ["count", [], {}]]},
    {"table": "people", "steps": [["filter", ["age >= ?", 1.5], {}], ["count", [], {}]]},
    {"table": "people", "steps": [["filter", ["age >= ?", {"number": "1e999999999"}], {}], ["count", [], {}]]},
    {"table": "people", "steps": [["filter", ["age >= ?", {"number": "1/0"}], {}], ["count", [], {}]]},
    {"table": "people", "steps": [["filter", ["age >= ?", {"day": "yesterday"}], {}], ["count", [], {}]]},
    {"table": "people", "steps": [["filter", [], {"sex": "\ud800"}], ["count", [], {}]]},
    {"table": "people", "steps": [["filter", [], {"sex": "F\x00"}], ["count", [], {}]]},
    {"table": "people", "steps": [["filter", [], {"sex": {"pairs": {}}}], ["count", [], {}]]},
    {"table": "people", "steps": [["count", [], {}], ["head", ["1"], {}]]},
    {"table": "people", "steps": [["count", [], {}], ["head", [True], {}]]},
    {"table": "people", "steps": [["count", [], {}], ["sort", ["count"], {"descending": "yes"}]]},
    {"table": "people", "steps": [["agg", [], {"n": {"aggregate": {"kind": "everything"}}}]]},
    {"table": "people", "steps": [["agg", [], {"n": {"aggregate": {"kind": "rows", "bound": 9}}}]]},
    {"table": "people", "steps": [["agg", [], {"n": {"aggregate": {"kind": "quantile", "of": "age", "at": "x"}}}]]},
    {"table": "people", "steps": [["agg", [], {"n": "rows"}]]},
    {"table": "people", "steps": [["join", [{"frame": {"sql": "SELECT 1"}}], {"on": "sex"}], ["count", [], {}]]},
    {"table": "people", "steps": [["count", [], {}]] * 65},
)


@pytest.mark.parametrize("wording", GOOD, ids=str)
def test_questions_are_heard(wording: Any) -> None:
    assert bound(heard(json.loads(json.dumps(wording)), SCHEMA).plan, SCHEMA).size >= 1


@pytest.mark.parametrize("wording", BAD, ids=lambda each: ascii(each)[:90])
def test_what_is_no_question_is_refused(wording: Any) -> None:
    with pytest.raises(BadInput, match=r"make no question|not a finite number"):
        heard(wording, SCHEMA)


def test_a_join_is_checked_where_it_is_heard() -> None:
    """Steps that join a public table on a column that is not unique are refused as they are here: no plan can say else."""
    towns = {"frame": {"table": "towns", "steps": []}}
    with pytest.raises(NotSupported) as error:
        heard({"table": "people", "steps": [["join", [towns], {"on": {"pairs": {"sex": "region"}}}]]}, SCHEMA)
    assert error.value.code == "SF010"
    with pytest.raises(NotSupported) as hidden:
        heard({"table": "people", "steps": [["filter", ["person_id = 'x'"], {}], ["count", [], {}]]}, SCHEMA)
    assert hidden.value.code == "SF022"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["people", "sex", "age", "count"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "sql",
                    "table",
                    "steps",
                    "number",
                    "day",
                    "frame",
                    "pairs",
                    "aggregate",
                    "kind",
                    "of",
                    "at",
                    "n",
                    "sex",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(sorted({*verbs(Frame), *verbs(Grouped), *verbs(Question)}))
KINDS = st.fixed_dictionaries(
    {"aggregate": st.fixed_dictionaries({"kind": st.sampled_from(get_args(MeasureKind)), "of": st.none() | JSON})}
)
STEPS = st.lists(
    st.tuples(
        NAMES,
        st.lists(JSON | KINDS, max_size=3),
        st.dictionaries(st.sampled_from(["n", "on", "how", "sex", "of", "at", "above"]), JSON | KINDS, max_size=2),
    ).map(list),
    max_size=4,
)


@settings(max_examples=300)
@given(st.fixed_dictionaries({"table": st.just("people"), "steps": STEPS}) | JSON)
def test_anything_at_all_is_a_question_or_a_refusal(wording: Any) -> None:
    """No JSON brings forth another error than ours; what is a question goes through the same rewrites as any other."""
    with contextlib.suppress(*REFUSALS):
        bound(heard(wording, SCHEMA).plan, SCHEMA)
