"""The promise, on generated tables, by a checker that shares no code with the algorithms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars
import pytest

import sfumato as sf
from sfumato.anonymise import (
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    Model,
    Ranks,
    RecursiveDiversity,
    TCloseness,
    Tree,
)
from sfumato.core.errors import NotSupported
from sfumato.testing import anonymity

QUASI = ["age", "height", "job", "day", "sex"]
ILLNESSES = {"flu": ["lungs", "*"], "asthma": ["lungs", "*"], "ulcer": ["belly", "*"], "none": ["no", "*"]}
METHODS = ("mondrian", "relaxed", "local", "global", "microaggregate")


def promises(draw: np.random.Generator) -> list[Model]:
    """Some of the models, with parameters that tables may or may not be able to keep."""
    all_of_them: list[Model] = [
        DistinctDiversity(int(draw.integers(2, 4)), column="illness"),
        EntropyDiversity(str(round(float(draw.uniform(1.2, 2.5)), 2)), column="illness"),
        RecursiveDiversity(str(round(float(draw.uniform(1, 4)), 1)), 2, column="illness"),
        AlphaK(str(round(float(draw.uniform(0.4, 0.9)), 2)), 2, column="illness"),
        TCloseness(str(round(float(draw.uniform(0.15, 0.5)), 2)), distance="equal", column="illness"),
        TCloseness(str(round(float(draw.uniform(0.15, 0.5)), 2)), distance="hierarchical", column="illness"),
        TCloseness(str(round(float(draw.uniform(0.1, 0.4)), 2)), distance="ordered", column="pay"),
    ]
    return [all_of_them[place] for place in draw.choice(7, int(draw.integers(0, 3)), replace=False)]


def kept(model: Model, rows: list[dict[str, Any]], quasi: list[str]) -> bool:
    match model:
        case DistinctDiversity(l, str(column)):
            return anonymity.fewest_values(rows, quasi, column) >= l
        case EntropyDiversity(l, str(column)):
            return anonymity.entropy_reached(rows, quasi, column, Fraction(str(l)))
        case RecursiveDiversity(c, l, str(column)):
            return anonymity.recursive_reached(rows, quasi, column, c=Fraction(str(c)), place=l)
        case AlphaK(alpha, k, _, str(column)):
            small = anonymity.smallest_group(rows, quasi)
            return small >= k and anonymity.largest_part(rows, quasi, column) <= Fraction(str(alpha))
        case TCloseness(t, "equal", str(column)):
            return anonymity.farthest_equal(rows, quasi, column) <= Fraction(str(t))
        case TCloseness(t, "ordered", str(column)):
            return anonymity.farthest_ordered(rows, quasi, column) <= Fraction(str(t))
        case TCloseness(t, "hierarchical", str(column)):
            return anonymity.farthest_hierarchical(rows, quasi, column, ILLNESSES) <= Fraction(str(t))
    raise AssertionError(f"no checker for {model}")


def check(number: int, table: polars.DataFrame) -> bool:
    """One table, one method, one promise; False if the table cannot keep it and that was said."""
    draw = np.random.default_rng(10_000 + number)
    method: Any = METHODS[number % len(METHODS)]
    quasi = list(draw.choice(QUASI, int(draw.integers(1, 6)), replace=False))
    k = int(draw.integers(2, 8))
    asked: list[Model] = promises(draw)
    hierarchies: dict[str, Any] = {"illness": Tree.of(ILLNESSES)}
    if method == "microaggregate":
        quasi, asked = [name for name in ("age", "height") if table[name].null_count() == 0], []
        if not quasi:
            return False
    elif "job" in quasi and draw.random() < 0.5:
        hierarchies["job"] = Ranks(tuple("abcdefgh"), (2, 4))
    suppression = "0.1" if method in ("local", "global") and draw.random() < 0.5 else 0
    try:
        frame, report = sf.anonymise(
            table,
            k=k,
            quasi_identifiers=quasi,
            sensitive=["illness", "pay"],
            models=asked,
            hierarchies=hierarchies,
            method=method,
            suppression=suppression,
        )
    except NotSupported:
        # It may only be said of a table that cannot: as one group of all, it breaks the promise itself.
        rows = [{**row, **dict.fromkeys(quasi, "*")} for row in table.to_dicts()]
        if not suppression:
            assert k > len(rows) or not all(kept(model, rows, quasi) for model in asked)
        return False
    rows = frame.to_dicts()
    assert len(rows) == report.released
    assert report.suppressed <= Fraction(str(suppression)) * table.height
    assert anonymity.smallest_group(rows, quasi) >= k, f"table {number}: {method} broke k = {k}"
    for model in asked:
        assert kept(model, rows, quasi), f"table {number}: {method} broke {model}"
    if not report.suppressed:
        assert frame["pay"].to_list() == table["pay"].to_list()
        if method != "microaggregate":
            tree = {name: list(path) for name, path in _jobs().items()}
            for before, after in zip(table.to_dicts(), rows, strict=True):
                for name in quasi:
                    said = tree if name == "job" and "job" in hierarchies else None
                    assert anonymity.covers(after[name], before[name], tree=said), (name, before[name], after[name])
    return True


def _jobs() -> dict[str, list[str]]:
    letters = "abcdefgh"
    pairs = ["a..b", "c..d", "e..f", "g..h"]
    fours = ["a..d", "e..h"]
    return {letter: [letter, pairs[place // 2], fours[place // 4], "*"] for place, letter in enumerate(letters)}


@pytest.mark.parametrize("start", range(0, 100, 25))
def test_the_promise_holds(start: int, random_table: Callable[[int], polars.DataFrame]) -> None:
    done = [check(number, random_table(number)) for number in range(start, start + 25)]
    assert sum(done) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 700, 50))
def test_the_promise_holds_on_five_hundred_tables(
    start: int, random_table: Callable[[int], polars.DataFrame], record_property: Callable[[str, object], None]
) -> None:
    done = [check(number, random_table(number)) for number in range(start, start + 50)]
    record_property("released", sum(done))
    assert sum(done) >= 30


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "relaxed", "local", "global"])
def test_the_promise_holds_on_large_tables(method: Any, adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    """Columns drawn apart, so that few people are alike; checked by Polars' group-by."""
    draw = np.random.default_rng(1)
    rows = 200_000
    table = polars.DataFrame(
        {name: adult[name][draw.integers(0, adult.height, rows)] for name in [*adult_quasi, "income", "occupation"]}
    )
    quasi = adult_quasi if method in ("mondrian", "relaxed") else ["age", "education", "race", "sex"]
    frame, report = sf.anonymise(
        table,
        k=8,
        quasi_identifiers=quasi,
        sensitive=["income", "occupation"],
        models=[DistinctDiversity(3, column="occupation"), TCloseness("0.3", distance="equal", column="income")],
        method=method,
        suppression="0.02" if method == "global" else 0,
    )
    column = polars.col("income")
    share = (frame["income"] == ">50K").mean()
    groups = frame.group_by(quasi).agg(
        size=polars.len(), kinds=polars.col("occupation").n_unique(), rich=(column == ">50K").mean()
    )
    assert groups.height == report.utility.classes > 10
    assert groups["size"].min() >= 8
    assert groups["kinds"].min() >= 3
    assert (groups["rich"] - share).abs().max() <= 0.3 + 1e-12


@pytest.mark.parametrize("method", ["mondrian", "local"])
def test_the_checker_notices_a_row_that_strays(method: Any, random_table: Callable[[int], polars.DataFrame]) -> None:
    """The checker itself is checked: change one cell of a good release, and it must say so."""
    table = random_table(3)
    frame, _ = sf.anonymise(table, k=4, quasi_identifiers=["age", "sex"], sensitive=["illness"], method=method)
    rows = frame.to_dicts()
    assert anonymity.smallest_group(rows, ["age", "sex"]) >= 4
    rows[0]["age"] = "37"
    assert anonymity.smallest_group(rows, ["age", "sex"]) < 4
    assert not anonymity.covers("]10, 20]", 10)
    assert anonymity.covers("]10, 20]", 20)
