"""What bins are: edges that rise, categories that are told, and no ranges without an order."""

from __future__ import annotations

import pytest

from sfumato.core import BadInput
from sfumato.mechanisms import LaplaceHistogram
from sfumato.mechanisms.histogram.axis import Categories, Edges, kind_of
from sfumato.mechanisms.histogram.compare import choose
from sfumato.mechanisms.histogram.flat import Flat
from sfumato.mechanisms.histogram.marginals import Marginals
from sfumato.mechanisms.histogram.nest import Nest
from sfumato.mechanisms.histogram.nominal import Nominal
from sfumato.mechanisms.histogram.tree import Tree
from sfumato.mechanisms.histogram.workload import Bins, Prefixes, Ranges


def test_bins_hold_their_lower_edge_and_the_last_one_both() -> None:
    age = Edges((0, 18, 65, 120))
    assert [age.bin_of(x) for x in (-1, 0, 17.9, 18, 64, 65, 120, 121, float("nan"))] == [
        None,
        0,
        0,
        1,
        1,
        2,
        2,
        None,
        None,
    ]
    assert age.labels == ("[0, 18)", "[18, 65)", "[65, 120]")
    assert list(age.positions) == [9, 41.5, 92.5]
    assert age.between(18, 120) == (1, 2)
    assert Edges.even(0, 10, 4).edges == (0, 2.5, 5, 7.5, 10)


def test_workloads_of_an_axis() -> None:
    age = Edges.even(0, 128, 64)
    workloads = [age.workload("ranges"), age.workload(kind_of("CDF")), Categories(("a", "b")).workload("bins")]
    assert workloads == [Ranges(64), Prefixes(64), Bins(2)]
    education = Categories(("primary", "secondary", "tertiary"), ordered=True)
    assert isinstance(choose(education.workload("ranges"), epsilon=1).mechanism.strategy, Flat)


def test_strategies_that_differ_have_names_that_differ() -> None:
    """The ledger tells questions apart by what a mechanism says of itself."""
    trees = [
        Tree(Nest(4, ((0, 1),)), (2, 2)),  # type: ignore[arg-type]
        Tree(Nest(4, ((0, 2),)), (2, 2)),  # type: ignore[arg-type]
        Tree.even(4, [2], ["0.5000001", "0.4999999"]),
    ]
    others = [
        Nominal(Nest(4, ((0, 1),))),
        Nominal(Nest(4, ((0, 2),))),
        Marginals.best((2, 2), [(0,)]),
        Marginals.best((2, 2), [(1,)]),
    ]
    said = [LaplaceHistogram(each, 1).describe()["strategy"] for each in (*trees, *others)]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Edges((3, 2, 1)),
        lambda: Edges((1, 1, 2)),
        lambda: Edges((1,)),
        lambda: Edges(()),
        lambda: Edges((0, float("inf"))),
        lambda: Edges((0, float("nan"), 1)),
        lambda: Edges(("a", "b")),  # type: ignore[arg-type]
        lambda: Edges((False, True)),
        lambda: Edges.even(0, 1, 0),
        lambda: Edges.even(1, 0, 3),
        lambda: Edges((0, 1, 2)).between(0, 1.5),
        lambda: Edges((0, 1, 2)).between(1, 1),
        lambda: Categories(()),
        lambda: Categories(("a", "a")),
        lambda: Categories(("a", "b")).workload("ranges"),
        lambda: Categories(("a", "b")).workload("cdf"),
        lambda: kind_of("everything"),
    ],
)
def test_bad_input_is_refused_with_a_hint(make: object) -> None:
    with pytest.raises(BadInput) as caught:
        make()  # type: ignore[operator]
    assert caught.value.hint
