"""Hierarchies: trees or refused, whatever they are read from; every rule grows the tree that its words describe."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import narwhals as nw
import polars
import pytest

import sfumato as sf
from sfumato.anonymise import Dates, Hierarchy, Prefixes, Ranks, Steps, Tree, load, read_csv
from sfumato.anonymise.column import read
from sfumato.anonymise.hierarchy import climb
from sfumato.core.errors import BadInput


def grown(values: list[Any], hierarchy: Hierarchy | None) -> dict[str, list[str]]:
    """Every leaf with its names, upwards."""
    series = nw.from_native(polars.Series("c", values), series_only=True)
    _, tree = climb(read(series, exact=True), hierarchy)
    return {
        leaf: [tree.labels[level][tree.node_of[level, place]] for level in range(1, tree.depth + 1)]
        for place, leaf in enumerate(tree.leaves)
    }


def test_steps_hold_their_right_end() -> None:
    paths = grown([10, 11, 15, 20], Steps((5, 10), 10, 20))
    assert paths["10"] == ["]5, 10]", "]0, 10]", "*"]
    assert paths["11"] == ["]10, 15]", "]10, 20]", "*"]
    assert paths["15"] == ["]10, 15]", "]10, 20]", "*"]
    assert len(paths) == 11, "the leaves are public: all numbers of the range, not those of the table"


def test_steps_of_decimals_do_not_lose_their_edges() -> None:
    paths = grown([1.1, 0.3, 0.30000000000000004], Steps((0.1, 1)))
    assert paths["1.1"][0] == "]1, 1.1]"
    assert paths["0.3"][0] == "]0.2, 0.3]"
    assert paths["0.30000000000000004"][0] == "]0.3, 0.4]"


def test_dates_prefixes_and_ranks() -> None:
    assert grown([date(2021, 5, 3)], Dates(("month", "quarter", "year", "decade")))["2021-05-03"] == [
        "2021-05",
        "2021-Q2",
        "2021",
        "2020s",
        "*",
    ]
    assert grown(["75011", "69001"], Prefixes((4, 2)))["75011"] == ["7501*", "75***", "*"]
    assert grown(["low", "high"], Ranks(("low", "mid", "high", "top"), (2,)))["high"] == ["high..top", "*"]


def test_without_a_hierarchy_a_category_is_itself_or_nothing() -> None:
    assert grown(["a", "b"], None) == {"a": ["*"], "b": ["*"]}
    assert grown([3, 47, 61], None)["47"] == ["]45, 50]", "]40, 50]", "]0, 50]", "*"]


def test_a_missing_value_is_a_leaf_of_its_own() -> None:
    paths = grown(["a", "b", None], Tree.of({"a": ["ab"], "b": ["ab"], "c": ["cd"]}))
    assert paths["NULL"] == ["NULL", "*"]
    assert paths["c"] == ["cd", "*"]


def test_loss_is_leaves_under_less_one() -> None:
    tree = Tree.of({"a": ["ab"], "b": ["ab"], "c": ["cde"], "d": ["cde"], "e": ["cde"]})
    assert tree.loss(0).tolist() == [0] * 5
    assert tree.loss(1).tolist() == [0.25, 0.25, 0.5, 0.5, 0.5]
    assert tree.loss(2).tolist() == [1] * 5


def test_from_files(tmp_path: Path) -> None:
    (tmp_path / "job.csv").write_text("clerk;office;*\ncook;kitchen;*\nwaiter;kitchen;*\n")
    (tmp_path / "town.csv").write_text("Paris,France\nLyon,France\nRome,Italy\n")
    (tmp_path / "trees.toml").write_text(
        """
        [age]
        steps = [5, 10]
        range = [0, 99]
        [zip]
        prefix = [3, 1]
        [born]
        dates = ["year", "decade"]
        [rank]
        order = ["low", "mid", "high"]
        runs = [2]
        [job]
        csv = "job.csv"
        [place.tree.Europe]
        France = ["Paris"]
        Italy = ["Rome"]
        [place.tree]
        Sea = ["Atlantic"]
        """
    )
    trees = load(tmp_path / "trees.toml")
    assert trees["age"] == Steps((5, 10), 0, 99)
    assert trees["zip"] == Prefixes((3, 1))
    assert trees["born"] == Dates(("year", "decade"))
    assert trees["rank"] == Ranks(("low", "mid", "high"), (2,))
    assert isinstance(trees["job"], Tree)
    assert grown(["cook"], trees["job"])["waiter"] == ["kitchen", "*"]
    assert grown(["Rome"], trees["place"])["Rome"] == ["Italy", "Europe", "*"]
    assert grown(["Rome"], trees["place"])["Atlantic"] == ["Atlantic", "Sea", "*"]
    assert grown(["Rome"], read_csv(tmp_path / "town.csv"))["Lyon"] == ["France", "*"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a;x;*\nb;y;*\na;y;*\n", "not a tree"),
        ("a;x;P\nb;x;Q\n", "not a tree"),
        ("a;x;*\nb;*\n", "different lengths"),
        ("", "no value"),
    ],
)
def test_what_is_no_tree_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "job.csv").write_text(text)
    with pytest.raises(BadInput, match=said):
        read_csv(tmp_path / "job.csv")


@pytest.mark.parametrize(
    "bad", [Steps((5, 7)), Steps((10, 5)), Steps((0,)), Ranks(("a", "b", "c"), (2, 3)), Prefixes((2, 4))]
)
def test_rules_that_do_not_nest_are_refused(bad: Hierarchy) -> None:
    values: list[Any] = [1, 2, 3] if isinstance(bad, Steps) else ["a", "b", "c"]
    with pytest.raises(BadInput):
        grown(values, bad)


@pytest.mark.parametrize("text", ["[age]\nsteps = 5\n", "[age]\nstep = [5]\n", "age = [", '[born]\ndates = ["week"]\n'])
def test_files_that_say_nothing_known_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "trees.toml").write_text(text)
    with pytest.raises(BadInput):
        load(tmp_path / "trees.toml")


def test_a_hierarchy_that_misses_values_says_how_many_and_not_which() -> None:
    table = polars.DataFrame({"job": ["clerk", "secretmarker", "othermarker"] * 4})
    with pytest.raises(BadInput, match="misses 2 distinct values") as caught:
        sf.anonymise(table, k=2, quasi_identifiers=["job"], hierarchies={"job": Tree.of({"clerk": ["office"]})})
    assert "marker" not in str(caught.value)
    with pytest.raises(BadInput, match="misses"):
        grown([5, 200], Steps((5, 10), 0, 99))
