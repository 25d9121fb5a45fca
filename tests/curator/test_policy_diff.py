"""A change of policy is said in words: every weakening, everything that differs, the most important first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.curator.policy import Policy
from sfumato.curator.policy.diff import Change, Effect, changes

BASE = """\
[dataset]
name = "survey"
id = "d-1"
version = "1"
size = 10_000
[unit]
kind = "household"
max_rows = 2
max_groups = 3
[budget]
epsilon = 2.0
delta = 1e-6
per_analyst = { default = 0.5, ana = 1.0 }
[tables.people]
source = "csv:people.csv"
unit = "person_id"
[tables.people.columns.age]
type = "integer"
range = [18, 90]
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
[tables.people.columns.income]
type = "number"
range = [0, 1000]
grain = 10
[tables.people.columns.birth]
type = "date"
range = [1930-01-01, 2007-12-31]
[tables.towns]
source = "csv:towns.csv"
public = true
unique = ["code"]
[tables.towns.columns.code]
values = ["a", "b"]
"""

HIDDEN = '[tables.people.columns.zip]\nvalues = "private"\n'
TABLE = '[tables.visits]\nsource = "csv:v.csv"\nunit = "person_id"\n'

# What to write instead, and where the change must be said. All of these weaken or widen, and reversed none of the first do.
WEAKENED: list[tuple[str, str, str]] = [
    ('id = "d-1"', 'id = "d-2"', "id [dataset]"),
    ('"household"', '"person"', "kind [unit]"),
    ('"household"', '"device"', "kind [unit]"),
    ("max_groups = 3", 'max_groups = 3\nneighbours = "replace"', "neighbours [unit]"),
    ("epsilon = 2.0", "epsilon = 2.001", "epsilon [budget]"),
    ("delta = 1e-6", "delta = 1.1e-6", "delta [budget]"),
    ("delta = 1e-6", 'delta = 1e-6\naccountant = "zcdp"', "accountant [budget]"),
    ("ana = 1.0", "ana = 1.1", "ana [budget.per_analyst]"),
    ("ana = 1.0", "ana = 1.0, eve = 0.6", "eve [budget.per_analyst]"),
    ("default = 0.5, ", "", "default [budget.per_analyst]"),
    ('csv"\nunit = "person_id"', 'csv"\npublic = true', "public [tables.people]"),
    ('unit = "person_id"', 'unit = "row_id"', "unit [tables.people]"),
]
WIDENED: list[tuple[str, str, str]] = [
    ("max_rows = 2", "max_rows = 3", "max_rows [unit]"),
    ("max_groups = 3", "max_groups = 4", "max_groups [unit]"),
    ("[18, 90]", "[17, 90]", "range [tables.people.columns.age]"),
    ("[18, 90]", "[18, 91]", "range [tables.people.columns.age]"),
    ("[18, 90]", "[19, 100]", "range [tables.people.columns.age]"),
    ("2007-12-31", "2008-12-31", "range [tables.people.columns.birth]"),
    ('["F", "M"]', '["F", "M", "X"]', "values [tables.people.columns.sex]"),
    ('["F", "M"]', '"private"', "values [tables.people.columns.sex]"),
    ('["F", "M"]', '["F", "M"]\nnull = "group"', "null [tables.people.columns.sex]"),
    ("grain = 10", "grain = 5", "grain [tables.people.columns.income]"),
    ("[tables.towns]", HIDDEN + "[tables.towns]", "[tables.people.columns.zip]"),
    ("[tables.towns]", TABLE + "[tables.towns]", "[tables.visits]"),
    ('["code"]', '["code", "name"]', "unique [tables.towns]"),
]
NEUTRAL: list[tuple[str, str, str]] = [
    ('"survey"', '"census"', "name [dataset]"),
    ('version = "1"', 'version = "2"', "version [dataset]"),
    ("10_000", "20_000", "size [dataset]"),
    ("people.csv", "others.csv", "source [tables.people]"),
    ("[unit]", 'missing = ["?"]\n[unit]', "missing [dataset]"),
    ("[unit]", 'contact = "dpo"\n[unit]', "contact [dataset]"),
    ('["F", "M"]', '["M", "F"]', "values [tables.people.columns.sex]"),
    ("[unit]", "[answers]\nconfidence = 0.9\n[unit]", "confidence [answers]"),
    ("[unit]", '[answers]\npost_process = ["nonnegative"]\n[unit]', "post_process [answers]"),
    ("[unit]", '[ledger]\nat = "sqlite:x"\n[unit]', "at [ledger]"),
    ("max_rows = 2", "max_rows = 2\nmax_rows_is_fact = true", "max_rows_is_fact [unit]"),
    ("[18, 90]", '[18, 90]\nwhy = "adults"', "why [tables.people.columns.age]"),
]
ALL = [*WEAKENED, *WIDENED, *NEUTRAL]


def policy(text: str) -> Policy:
    return Policy.parse(text, folder=Path("/nowhere"))


def edited(*edits: tuple[str, str, str]) -> Policy:
    text = BASE
    for old, new, _ in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return policy(text)


def at(found: list[Change], place: str) -> Change:
    (change,) = [each for each in found if each.place == place]
    return change


def test_a_policy_beside_itself_says_nothing() -> None:
    assert changes(policy(BASE), policy(BASE + "# a comment\n")) == []


@pytest.mark.parametrize("edit", WEAKENED, ids=lambda edit: edit[2])
def test_a_weaker_promise_is_said_first(edit: tuple[str, str, str]) -> None:
    found = changes(policy(BASE), edited(edit))
    assert found[0].effect is Effect.WEAKER
    assert at(found, edit[2]).effect is Effect.WEAKER


@pytest.mark.parametrize("edit", WIDENED, ids=lambda edit: edit[2])
def test_what_reaches_further_is_said(edit: tuple[str, str, str]) -> None:
    (change,) = changes(policy(BASE), edited(edit))
    assert (change.place, change.effect) == (edit[2], Effect.WIDER)


@pytest.mark.parametrize("edit", [*WEAKENED, *WIDENED], ids=lambda edit: edit[2])
def test_the_way_back_is_not_called_weaker(edit: tuple[str, str, str]) -> None:
    incomparable = {"id [dataset]", "neighbours [unit]", "unit [tables.people]"}
    back = changes(edited(edit), policy(BASE))
    assert back
    if edit[2] not in incomparable and "[19, 100]" not in edit[1]:
        assert {change.effect for change in back} <= {Effect.NARROWER, Effect.STRONGER, Effect.SAME}


@pytest.mark.parametrize("edit", NEUTRAL, ids=lambda edit: edit[2])
def test_what_changes_no_protection_is_said_as_such(edit: tuple[str, str, str]) -> None:
    (change,) = changes(policy(BASE), edited(edit))
    assert (change.place, change.effect) == (edit[2], Effect.SAME)


def apart(edits: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Edits that do not touch the same text."""
    chosen: list[tuple[str, str, str]] = []
    for edit in edits:
        if not any(edit[0] in other[0] or other[0] in edit[0] for other in chosen):
            chosen.append(edit)
    return chosen


@settings(max_examples=80)
@given(st.lists(st.sampled_from(ALL), min_size=1, max_size=8))
def test_every_weakening_among_many_changes_is_said(drawn: list[Any]) -> None:
    edits = apart(drawn)
    found = changes(policy(BASE), edited(*edits))
    said = {change.place: change for change in found}
    weaker = {edit[2] for edit in edits if edit in WEAKENED}
    for place in weaker:
        assert said[place].effect is Effect.WEAKER, place
    for edit in edits:
        assert edit[2] in said
    assert len(said) == len(found)
    effects = [list(Effect).index(change.effect) for change in found]
    assert effects == sorted(effects)
    for change in found:
        assert change.en
        assert change.fr
        assert change.en != change.fr or change.effect is Effect.SAME


def test_words() -> None:
    found = changes(policy(BASE), edited(("epsilon = 2.0", "epsilon = 3", ""), ("max_rows = 2", "max_rows = 10", "")))
    assert [change.en.split(":")[0] for change in found] == [
        "the budget of all answers rises from 2 to 3",
        "at most 10 rows of each unit count, before 2",
    ]
    assert "95.26 %" in found[0].en  # e^3 / (1 + e^3) = 0.95257
    assert "88.08 %" in found[0].fr  # e^2 / (1 + e^2) = 0.88080


def test_a_public_list_in_a_file_is_compared_by_its_keys(tmp_path: Path) -> None:
    text = BASE.replace('values = ["F", "M"]', 'values = "csv:sexes.csv:code"')
    (tmp_path / "sexes.csv").write_text("code\nF\nM\n")
    before = Policy.parse(text, folder=tmp_path)
    (tmp_path / "sexes.csv").write_text("code\nF\nM\nX\n")
    (change,) = changes(before, Policy.parse(text, folder=tmp_path))
    assert (change.place, change.effect) == ("values [tables.people.columns.sex]", Effect.WIDER)
    assert "gains 1 and loses 0" in change.en
    (tmp_path / "sexes.csv").write_text("code,note\nF,same\nM,keys\n")
    assert changes(before, Policy.parse(text, folder=tmp_path)) == []
    (tmp_path / "sexes.csv").write_text("code\nF\n")
    (change,) = changes(before, Policy.parse(text, folder=tmp_path))
    assert change.effect is Effect.NARROWER


def test_keys_that_move_to_another_level_are_counted(tmp_path: Path) -> None:
    text = BASE.replace('values = ["F", "M"]', 'values = "csv:codes.csv:code"\nlevels = ["chapter", "code"]')
    (tmp_path / "codes.csv").write_text("chapter,code\nA,F\nA,M\n")
    before = Policy.parse(text, folder=tmp_path)
    (tmp_path / "codes.csv").write_text("chapter,code\nA,F\nB,M\n")
    (change,) = changes(before, Policy.parse(text, folder=tmp_path))
    assert change.en == "1 keys of people.sex stand under other levels"
