"""Global recoding is optimal, by trying every node; local recoding loses no more than is known to be possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import sfumato as sf
from sfumato.anonymise import (
    DistinctDiversity,
    EntropyDiversity,
    Hierarchy,
    Model,
    Ranks,
    Steps,
    TCloseness,
    Tree,
    load,
)
from sfumato.core.errors import NotSupported
from sfumato.testing import anonymity

ADULT_TREES = Path(__file__).parents[2] / "benchmarks" / "adult.toml"


def table_of(number: int) -> polars.DataFrame:
    draw = np.random.default_rng(number)
    rows = int(draw.integers(20, 120))
    return polars.DataFrame(
        {
            "age": draw.integers(1, 21, rows),
            "job": draw.choice(list("abcdefgh"), rows, p=draw.dirichlet(np.ones(8))),
            "sex": draw.choice(["F", "M"], rows),
            "illness": draw.choice(["flu", "asthma", "ulcer"], rows, p=[0.5, 0.3, 0.2]),
        }
    )


HIERARCHIES: dict[str, Hierarchy] = {
    "age": Steps((5, 10), 1, 20),
    "job": Ranks(tuple("abcdefgh"), (2, 4)),
    "sex": Tree.of({"F": [], "M": []}),
}


def name_at(column: str, value: Any, level: int) -> str:
    """The hierarchies above, spelled out by hand."""
    if column == "sex":
        return value if level == 0 else "*"
    if level == 3:
        return "*"
    if level == 0:
        return str(value)
    if column == "age":
        width = (5, 10)[level - 1]
        last = -(-value // width) * width
        return f"]{last - width}, {last}]"
    place, run = ord(value) - 97, (2, 4)[level - 1]
    first = place // run * run
    return f"{chr(97 + first)}..{chr(97 + first + run - 1)}"


def under(column: str, level: int) -> int:
    return {"sex": (1, 2), "age": (1, 5, 10, 20), "job": (1, 2, 4, 8)}[column][level]


def best_by_trying(table: polars.DataFrame, k: int, limit: int, entropy: Fraction | None) -> float | None:
    """Every combination of levels, as the definition says."""
    rows = table.to_dicts()
    quasi = ["age", "job", "sex"]
    leaves = {"age": 20, "job": 8, "sex": 2}
    best: float | None = None
    for levels in product(range(4), range(4), range(2)):
        named = [
            {**row, **{name: name_at(name, row[name], level) for name, level in zip(quasi, levels, strict=True)}}
            for row in rows
        ]
        groups = anonymity.alike(named, quasi)
        good = [
            group
            for group in groups.values()
            if len(group) >= k and (entropy is None or anonymity.entropy_reached(group, quasi, "illness", entropy))
        ]
        kept = sum(map(len, good))
        if len(rows) - kept > limit:
            continue
        loss = sum((under(name, level) - 1) / (leaves[name] - 1) for name, level in zip(quasi, levels, strict=True)) / 3
        cost = (kept * loss + len(rows) - kept) / len(rows)
        best = cost if best is None else min(best, cost)
    return best


@pytest.mark.parametrize("number", range(24))
def test_global_recoding_is_the_best_of_all(number: int) -> None:
    table = table_of(number)
    k, part = 2 + number % 4, ("0", "0.05", "0.2")[number % 3]
    entropy = Fraction(3, 2) if number % 2 else None
    models: list[Model] = [] if entropy is None else [EntropyDiversity("1.5")]
    best = best_by_trying(table, k, int(Fraction(part) * table.height), entropy)
    asked: dict[str, Any] = {
        "k": k,
        "quasi_identifiers": ["age", "job", "sex"],
        "sensitive": ["illness"],
        "models": models,
        "hierarchies": HIERARCHIES,
        "method": "global",
        "suppression": part,
    }
    if best is None:
        with pytest.raises(NotSupported):
            sf.anonymise(table, **asked)
        return
    frame, report = sf.anonymise(table, **asked)
    assert report.utility.loss == pytest.approx(best, abs=1e-9)
    assert report.recoding is not None
    assert report.recoding.cost == pytest.approx(best, abs=1e-9)
    levels = report.recoding.levels
    kept = iter(frame.iter_rows(named=True))
    if not report.suppressed:
        for row, said in zip(table.iter_rows(named=True), kept, strict=True):
            for name, level in zip(("age", "job", "sex"), levels, strict=True):
                assert said[name] == name_at(name, row[name], level)


def test_pruning_looks_at_few_nodes(adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    report = sf.anonymise(
        adult, k=5, quasi_identifiers=adult_quasi, hierarchies=load(ADULT_TREES), method="global", suppression="0.05"
    ).report
    assert report.recoding is not None
    assert report.recoding.nodes == 2160
    assert report.recoding.looked_at < 300


GLOBAL_BARS = {2: 0.127, 5: 0.190, 10: 0.250, 50: 0.414}
LOCAL_BARS = {2: 0.016, 5: 0.033, 10: 0.049, 50: 0.102}


@pytest.mark.parametrize("k", sorted(GLOBAL_BARS))
def test_adult_loses_no_more_than_with_arx(k: int, adult: polars.DataFrame, adult_quasi: list[str]) -> None:
    trees = load(ADULT_TREES)
    asked: dict[str, Any] = {"k": k, "quasi_identifiers": adult_quasi, "hierarchies": trees}
    whole = sf.anonymise(adult, method="global", suppression="0.05", **asked).report
    assert whole.utility.loss <= GLOBAL_BARS[k]
    assert whole.suppressed <= 0.05 * adult.height
    local = sf.anonymise(adult, **asked).report
    assert local.method == "local"
    assert local.suppressed == 0
    assert local.utility.loss <= LOCAL_BARS[k]


def test_the_loss_of_a_hierarchy_is_counted_in_leaves() -> None:
    """By hand from the released names: leaves under each, less one, over all leaves less one."""
    table = table_of(77)
    frame, report = sf.anonymise(table, k=4, quasi_identifiers=["age", "job", "sex"], hierarchies=HIERARCHIES)
    sizes = {"age": 20, "job": 8, "sex": 2}
    count: Counter[str] = Counter()
    for row in frame.iter_rows(named=True):
        for name in sizes:
            level = next(
                level
                for level in range(4)
                if any(name_at(name, value, level) == row[name] for value in table[name].unique())
            )
            count[name] += under(name, level) - 1
    by_hand = {name: count[name] / (size - 1) / table.height for name, size in sizes.items()}
    assert report.utility.loss_by_column == pytest.approx(by_hand)


def test_suppressed_people_are_gone_and_not_in_the_risk() -> None:
    """A peer keeps them as a group of "*": k is then broken by the few, or the risk is flattered by the many."""
    table = polars.DataFrame({"age": [1] * 10 + [2] * 10 + [18], "sex": ["F"] * 21})
    frame, report = sf.anonymise(
        table,
        k=5,
        quasi_identifiers=["age", "sex"],
        hierarchies=HIERARCHIES_OF_TWO,
        method="global",
        suppression="0.05",
    )
    assert frame.height == 20
    assert report.suppressed == 1
    assert report.risk.people == 20
    assert report.risk.prosecutor_highest == 0.1
    assert report.linkage.absent == 1
    assert report.utility.discernibility == 10**2 + 10**2 + 21


HIERARCHIES_OF_TWO: dict[str, Hierarchy] = {"age": Steps((5, 10), 1, 20), "sex": Tree.of({"F": [], "M": []})}


def test_people_left_over_join_a_class_when_none_may_be_suppressed() -> None:
    table = polars.DataFrame({"age": [1] * 10 + [2] * 10 + [18], "sex": ["F"] * 21})
    asked: dict[str, Any] = {"k": 5, "quasi_identifiers": ["age", "sex"], "hierarchies": HIERARCHIES_OF_TWO}
    frame, report = sf.anonymise(table, method="local", **asked)
    assert frame.height == 21
    assert sorted(frame["age"].to_list()) == ["*"] * 11 + [str(frame["age"][0] if frame["age"][0] != "*" else 2)] * 10
    frame, report = sf.anonymise(table, method="local", suppression="0.05", **asked)
    assert (frame.height, report.suppressed) == (20, 1)


@pytest.mark.parametrize("method", ["local", "global"])
def test_closeness_is_to_the_table_that_is_released(method: Any) -> None:
    """Suppression changes the table that readers compare a group with; the promise must hold against that one."""
    for number in range(10):
        table = table_of(300 + number)
        try:
            frame, report = sf.anonymise(
                table,
                k=3,
                quasi_identifiers=["age", "job"],
                sensitive=["illness"],
                models=[TCloseness("0.25"), DistinctDiversity(2)],
                hierarchies={name: HIERARCHIES[name] for name in ("age", "job")},
                method=method,
                suppression="0.3",
            )
        except NotSupported:
            continue
        rows = frame.to_dicts()
        assert anonymity.farthest_equal(rows, ["age", "job"], "illness") <= Fraction(1, 4)
        assert report.attained["t-closeness (auto), t = 0.25"] == pytest.approx(
            float(anonymity.farthest_equal(rows, ["age", "job"], "illness"))
        )


def test_a_large_lattice_is_thinned_not_refused(
    random_table: Callable[[int], polars.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.anonymise import local

    monkeypatch.setattr(local, "MOST_NODES", 7)
    table = random_table(1)
    frame, _ = sf.anonymise(table, k=3, quasi_identifiers=["age", "job", "day"], method="local")
    assert frame.group_by(["age", "job", "day"]).len()["len"].min() >= 3
