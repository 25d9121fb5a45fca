"""Each model says what its definition says, ties included, and survives the union of two groups."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sfumato.anonymise import (
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    Model,
    RecursiveDiversity,
    TCloseness,
    Tree,
)
from sfumato.anonymise.column import Column
from sfumato.anonymise.groups import Groups, Spread
from sfumato.core.errors import BadInput
from sfumato.testing import anonymity

VALUES = ("a", "b", "c", "d")
TREE = Tree.of({"a": ["ab", "*"], "b": ["ab", "*"], "c": ["cd", "*"], "d": ["cd", "*"]})
Table = list[list[int]]


def groups_of(counts: Table) -> Groups:
    """Groups with so many people of each value."""
    table = np.asarray(counts, np.int64)
    group, value = np.nonzero(table)
    extent = np.arange(4, dtype=np.float64)
    column = Column("v", "number", np.zeros(0, np.int32), VALUES, False, extent, extent, extent, extent)
    spread = Spread(column, TREE, group, value, table[group, value], table.sum(axis=0))
    return Groups(table.sum(axis=1), {"v": spread})


def rows_of(counts: Table) -> list[dict[str, Any]]:
    return [
        {"q": str(group), "v": value}
        for group, row in enumerate(counts)
        for value, count in zip(VALUES, row, strict=True)
        for _ in range(count)
    ]


tables = st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any), min_size=1, max_size=5)
parts = st.fractions(Fraction(1, 20), Fraction(1), max_denominator=20)


@given(tables, st.integers(1, 12))
def test_k_anonymity(counts: Table, k: int) -> None:
    assert (not KAnonymity(k).failing(groups_of(counts)).any()) == (
        anonymity.smallest_group(rows_of(counts), ["q"]) >= k
    )


@given(tables, st.integers(1, 4))
def test_distinct(counts: Table, l: int) -> None:  # noqa: E741
    rows = rows_of(counts)
    assert (not DistinctDiversity(l).failing(groups_of(counts)).any()) == (
        anonymity.fewest_values(rows, ["q"], "v") >= l
    )


@given(tables, st.fractions(1, 4, max_denominator=4))
def test_entropy_with_its_ties(counts: Table, l: Fraction) -> None:  # noqa: E741
    found = not EntropyDiversity(l).failing(groups_of(counts)).any()
    assert found == anonymity.entropy_reached(rows_of(counts), ["q"], "v", l)


@given(tables, st.fractions(Fraction(1, 4), 6, max_denominator=4), st.integers(1, 4))
def test_recursive(counts: Table, c: Fraction, l: int) -> None:  # noqa: E741
    found = not RecursiveDiversity(c, l).failing(groups_of(counts)).any()
    assert found == anonymity.recursive_reached(rows_of(counts), ["q"], "v", c=c, place=l)


@given(tables, parts)
def test_alpha(counts: Table, alpha: Fraction) -> None:
    found = not AlphaK(alpha, 1).failing(groups_of(counts)).any()
    assert found == (anonymity.largest_part(rows_of(counts), ["q"], "v") <= alpha)


@given(tables, parts)
def test_closeness_in_three_distances_with_their_ties(counts: Table, t: Fraction) -> None:
    groups, rows = groups_of(counts), rows_of(counts)
    paths = {"a": ["ab", "*"], "b": ["ab", "*"], "c": ["cd", "*"], "d": ["cd", "*"]}
    farthest = {
        "equal": anonymity.farthest_equal(rows, ["q"], "v"),
        "hierarchical": anonymity.farthest_hierarchical(rows, ["q"], "v", paths),
        "ordered": anonymity.farthest_ordered(rows, ["q"], "v"),
    }
    for distance, exact in farthest.items():
        model = TCloseness(t, distance=distance)  # type: ignore[arg-type]
        assert (not model.failing(groups).any()) == (exact <= t)
        assert not TCloseness(exact, distance=distance).failing(groups).any()  # type: ignore[arg-type]
        assert model.attained(groups) == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("number", range(10))
def test_the_distances_are_earth_movers(number: int) -> None:
    """Against the transport problem itself, solved as a linear programme."""
    draw = np.random.default_rng(number)
    counts = draw.integers(0, 8, (3, 4))
    counts[:, 0] += 1
    groups = groups_of(counts.tolist())
    whole = counts.sum(axis=0) / counts.sum()
    same_pair = np.asarray([[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]]) / 2
    ranks = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / 3
    costs = {"equal": 1 - np.eye(4), "ordered": ranks, "hierarchical": same_pair}
    for distance, cost in costs.items():
        worst = 0.0
        for row in counts:
            part = row / row.sum()
            leave = np.kron(np.eye(4), np.ones(4))
            arrive = np.kron(np.ones(4), np.eye(4))
            solved = linprog(cost.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=np.concatenate([part, whole]))
            worst = max(worst, float(solved.fun))
        assert TCloseness(1, distance=distance).attained(groups) == pytest.approx(worst, abs=1e-9)  # type: ignore[arg-type]


MODELS: list[Model] = [
    KAnonymity(3),
    DistinctDiversity(2),
    EntropyDiversity("1.7"),
    RecursiveDiversity(2, 2),
    AlphaK("0.6", 2),
    TCloseness("0.3", distance="equal"),
    TCloseness("0.3", distance="ordered"),
    TCloseness("0.3", distance="hierarchical"),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@given(counts=st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any), min_size=3, max_size=3))
def test_a_union_of_good_groups_is_good(model: Model, counts: Table) -> None:
    """What merging classes rests on; a third group keeps the whole table the same."""
    bad = model.failing(groups_of(counts))
    if bad[0] or bad[1]:
        return
    united = [[a + b for a, b in zip(counts[0], counts[1], strict=True)], counts[2]]
    assert not model.failing(groups_of(united))[0]


def test_entropy_settles_what_floats_cannot() -> None:
    """Four values equally often have entropy exactly ln 4; the float is a hair below."""
    assert not EntropyDiversity(4).failing(groups_of([[7, 7, 7, 7]])).any()
    assert EntropyDiversity("4.0000001").failing(groups_of([[7, 7, 7, 7]])).any()


def test_a_tie_in_one_column_does_not_excuse_another() -> None:
    """A group that is too far in one sensitive column, and exactly at the limit in the next, is too far."""
    far, tie = groups_of([[4, 0, 0, 0], [0, 4, 0, 0]]), groups_of([[3, 1, 0, 0], [1, 3, 0, 0]])
    both = Groups(far.sizes, {"far": far.spreads["v"], "tie": tie.spreads["v"]})
    assert not TCloseness("1/4", distance="equal").failing(tie).any()
    assert TCloseness("1/4", distance="equal").failing(both).all()
    one, even = groups_of([[4, 0, 0, 0]]), groups_of([[2, 2, 0, 0]])
    both = Groups(one.sizes, {"one": one.spreads["v"], "even": even.spreads["v"]})
    assert not EntropyDiversity(2).failing(even).any()
    assert EntropyDiversity(2).failing(both).all()


@pytest.mark.parametrize(
    "bad",
    [
        lambda: KAnonymity(0),
        lambda: DistinctDiversity(0),
        lambda: EntropyDiversity("0.5"),
        lambda: EntropyDiversity("many"),
        lambda: RecursiveDiversity(0, 2),
        lambda: AlphaK("1.5", 2),
        lambda: TCloseness(2),
    ],
)
def test_parameters_that_make_no_sense(bad: Callable[[], Model]) -> None:
    with pytest.raises(BadInput):
        bad()


def test_alpha_may_protect_some_values_only() -> None:
    table = polars.DataFrame({"q": ["x"] * 4, "v": ["a", "a", "a", "b"]})
    import sfumato as sf
    from sfumato.core.errors import NotSupported

    asked: dict[str, Any] = {"k": 2, "quasi_identifiers": ["q"], "sensitive": ["v"]}
    assert sf.anonymise(table, models=[AlphaK("0.5", 2, values=("b",))], **asked).frame.height == 4
    with pytest.raises(NotSupported):
        sf.anonymise(table, models=[AlphaK("0.5", 2)], **asked)
