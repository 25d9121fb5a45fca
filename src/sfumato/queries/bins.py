"""Bins between public edges: what HISTOGRAM(x, 0, 18, 65, 120) makes of a number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from sfumato.core import NotSupported
from sfumato.queries.expression import Call, Expression, Literal

MOST = 10_000


def edges_of(of: Call) -> tuple[Fraction, ...]:
    """The edges of a call of `bin`: all its arguments but the first."""
    return tuple(Fraction(each.value) for each in of.arguments[1:] if isinstance(each, Literal))  # type: ignore[arg-type]


def labels(edges: Sequence[Fraction]) -> tuple[str, ...]:
    """The bins as people write them: each holds its lower edge, the last one its upper edge too."""
    texts = [_text(edge) for edge in edges]
    return tuple(
        f"[{low}, {high}{']' if place == len(texts) - 2 else ')'}" for place, (low, high) in enumerate(pairwise(texts))
    )


def label_of(x: Fraction, edges: Sequence[Fraction]) -> str | None:
    """The bin that holds x; None outside of the edges."""
    if not edges[0] <= x <= edges[-1]:
        return None
    return labels(edges)[min(bisect_right(edges, x), len(edges) - 1) - 1]


def checked_edges(edges: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Rising edges, two or more; they are written down by whoever asks, since a table's ends are somebody's values."""
    if len(edges) < 2:
        raise NotSupported(
            "bins need their edges: those of the rows would be somebody's values",
            hint="write HISTOGRAM(x, 0, 18, 65, 120)",
            code="SF021",
        )
    if any(after <= before for before, after in pairwise(edges)):
        raise NotSupported(
            "edges fall or repeat", hint="write them in increasing order, each of them once", code="SF021"
        )
    if len(edges) > MOST or len(set(labels(edges))) < len(edges) - 1:
        raise NotSupported(
            "these are too many bins, or they are too narrow to be told apart",
            hint="write at most 10 000 edges, of at most 12 digits",
            code="SF021",
        )
    return tuple(edges)


def is_ordered(key: Expression) -> bool:
    """Whether it is a bin."""
    return isinstance(key, Call) and key.operation == "bin"


def _text(edge: Fraction) -> str:
    if edge.denominator == 1:
        return str(edge.numerator)
    return f"{Decimal(edge.numerator) / Decimal(edge.denominator):.12f}".rstrip("0")
