"""What an attacker looks at: features of an output, and the event that separates two neighbours best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_CELLS = 512
Codes = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True)
class Feature:
    """A way to sort outputs into cells 0, 1, 2, ...; `ordered` cells may be joined into tails."""

    name: str
    cells: int
    ordered: bool
    encode: Callable[[Any], Codes]


@final
@dataclass(frozen=True, slots=True)
class Event:
    """A set of cells of one feature, and the direction in which it tells the neighbours apart."""

    feature: Feature
    members: NDArray[np.bool_]
    reverse: bool
    name: str

    def hits(self, outputs: Any) -> int:
        return int(self.members[self.feature.encode(outputs)].sum())


def features(sample: Any) -> list[Feature]:
    """The features worth trying on outputs of this kind."""
    values = np.asarray(sample) if _numeric(sample) else None
    if values is None or values.ndim != 1:
        return [_labels(sample)]
    if values.dtype.kind == "f":
        return [_bins(values), _grid()]
    return [_bins(values)]


def _numeric(sample: Any) -> bool:
    return (isinstance(sample, np.ndarray) and sample.dtype.kind in "iuf") or all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in sample[:1000]
    )


def _bins(values: NDArray[Any]) -> Feature:
    """Every distinct value when there are few, else equally filled bins."""
    distinct = np.unique(values[:100_000])
    edges = distinct if distinct.size <= _CELLS else np.unique(np.quantile(values, np.linspace(0, 1, _CELLS)))

    def encode(outputs: Any) -> Codes:
        codes: Codes = np.searchsorted(edges, np.asarray(outputs), side="right")
        return codes

    return Feature("value", edges.size + 1, True, encode)


def _grid() -> Feature:
    """How fine a float is: the exponent of its lowest bit. Sums of floats round to grids that depend on their terms."""
    span = 1200

    def encode(outputs: Any) -> Codes:
        mantissa, exponent = np.frexp(np.asarray(outputs, dtype=np.float64))
        whole = np.abs(mantissa * 2.0**53).astype(np.int64)
        lowest = np.where(whole == 0, 0, np.log2((whole & -whole).astype(np.float64) + (whole == 0)))
        codes: Codes = np.clip(exponent - 53 + lowest.astype(np.int64) + span, 0, span + 1100).astype(np.int64)
        return codes

    return Feature("float grid", span + 1101, True, encode)


def _labels(sample: Sequence[Any]) -> Feature:
    """Any other output is a label of its own; those not seen while learning share cell 0."""
    codes = {label: i for i, label in enumerate(dict.fromkeys(map(_label, sample)), start=1)}

    def encode(outputs: Any) -> Codes:
        return np.fromiter((codes.get(_label(output), 0) for output in outputs), dtype=np.int64, count=len(outputs))

    return Feature("label", len(codes) + 1, False, encode)


def _label(output: Any) -> Any:
    if isinstance(output, np.ndarray):
        return tuple(output.tolist())
    return output if isinstance(output, tuple) else repr(output)


@final
@dataclass(frozen=True, slots=True)
class Order:
    """Cells in the order in which they join an event, learnt for one direction."""

    feature: Feature
    cells: NDArray[np.intp]
    reverse: bool
    name: str


Worth = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
"""What events are worth to an attacker, from their hits under one neighbour and under the other."""


def learn(left: Any, right: Any) -> list[Order]:
    """For each feature and direction: cells from either end, and by likelihood ratio."""
    pooled = np.concatenate([left, right]) if isinstance(left, np.ndarray) else [*left, *right]
    orders = []
    for feature in features(pooled):
        p = np.bincount(feature.encode(left), minlength=feature.cells)
        q = np.bincount(feature.encode(right), minlength=feature.cells)
        up = np.arange(feature.cells)
        for reverse, (one, other) in ((False, (p, q)), (True, (q, p))):
            ratio = np.argsort(-(one + 0.5) / (other + 0.5), kind="stable")
            orders.append(Order(feature, ratio, reverse, "likelihood ratio"))
            if feature.ordered:
                orders += [Order(feature, up, reverse, "lower tail"), Order(feature, up[::-1], reverse, "upper tail")]
    return orders


def choose(orders: list[Order], left: Any, right: Any, *, worth: Worth) -> Event:
    """The event of greatest worth on draws that the orders were not learnt from."""
    best: tuple[float, Event] | None = None
    counts: dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}
    for order in orders:
        feature = order.feature
        if id(feature) not in counts:
            counts[id(feature)] = (
                np.bincount(feature.encode(left), minlength=feature.cells),
                np.bincount(feature.encode(right), minlength=feature.cells),
            )
        p, q = counts[id(feature)][:: -1 if order.reverse else 1]
        values = worth(np.cumsum(p[order.cells]), np.cumsum(q[order.cells]))
        top = int(np.argmax(values))
        if best is None or values[top] > best[0]:
            members = np.zeros(feature.cells, dtype=np.bool_)
            members[order.cells[: top + 1]] = True
            best = float(values[top]), Event(feature, members, order.reverse, f"{order.name} of {feature.name}")
    assert best is not None
    return best[1]
