"""The public table that will carry the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any, Self, final

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.core.exact import sqrt_up
from sfumato.core.neighbours import Relation
from sfumato.core.private import Private
from sfumato.mechanisms.weights.column import Category, Codes, Column, Columns, Floats, Numeric
from sfumato.mechanisms.weights.rows import Rows

_CENTRE = 1 << 20

CONSTANT = Fraction(1, 2)
"""The coordinate of the intercept. It is penalised like the others, so it is bounded like the others; it is never released."""


@final
@dataclass(frozen=True, eq=False)
class Reference:
    """Public rows, coded, in their own order. All rows, private ones too, are seen from their mean, the `centre`.

    Seen from the public mean, the logistic regression that is fitted needs no intercept to first order, so a short one is
    enough: it adds little to how far one row reaches, and takes most of the bias of large shifts (`benchmarks/weights.py`).
    """

    columns: Columns
    codes: Codes

    @classmethod
    def of(cls, columns: Mapping[str, Column] | Columns, table: Mapping[str, Any] | Private[Any]) -> Self:
        """From a table that holds a sequence under each column's name: a dict, a frame, an Arrow table read to a dict."""
        if isinstance(table, Private):
            raise BadInput(
                "a private table was given as the public one", hint="weights are carried by public rows only"
            )
        named = columns if isinstance(columns, Columns) else Columns.of(columns)
        return cls(named, named.code(table))

    def __post_init__(self) -> None:
        codes = self.columns.checked(self.codes)
        object.__setattr__(self, "codes", codes)
        if len(codes) < 2:
            raise BadInput(
                "the public table has fewer than two rows", hint="give a table of at least a few hundred rows"
            )
        constant = [name for i, name in enumerate(self.columns.names) if (codes[:, i] == codes[0, i]).all()]
        if constant:
            raise BadInput(
                f"the public column {constant[0]!r} is constant, so no weights can change its average",
                hint="leave the column out, or give a public table in which it varies",
            )

    def __len__(self) -> int:
        return len(self.codes)

    def __str__(self) -> str:
        digest = sha256(repr(self.columns).encode() + self.codes.tobytes()).hexdigest()
        return f"{len(self)} rows of {', '.join(self.columns.names)}, sha256 {digest}"

    @cached_property
    def centre(self) -> Floats:
        """The mean coordinates, floored to multiples of 2**-20, so that differences to it are exact floats."""
        means: Floats = np.floor(self.columns.coordinates(self.codes).mean(axis=0) * _CENTRE) / _CENTRE
        return means

    @cached_property
    def coordinates(self) -> Floats:
        """Public rows as the fit sees them."""
        return self.seen(self.codes)

    def seen(self, codes: Codes) -> Floats:
        """Coordinates less the centre: exact, each within [-1, 1]."""
        return self.columns.coordinates(codes) - self.centre

    def farthest(self, relation: Relation) -> Fraction:
        """How far one row can move the released coordinates of the minimum, at most, times (2 penalty size); rounded up.

        The minima of two objectives differ by H^-1 g, where g is the difference of their gradients at one of them and H, an
        average of second derivatives on the way, is symmetric and at least 2 penalty. So H^-1 is (I + R)/2 over 2 penalty
        with R symmetric and no longer than I, and the coordinates that are released, without the intercept, move by at most
        (|u| + |(u, k)|)/2 for g = (u, k), k the intercept's part.

        That is a convex function of g, so it is largest at the corners of what g can be. Adding or taking away a row u gives
        s (u, `CONSTANT`) for a share s within [0, 1]: |u|^2 is at most the sum over columns of the largest. Replacing u by v
        gives s (u, `CONSTANT`) - t (v, `CONSTANT`): one of the two alone, as before, or (u - v, 0), with a square of 1 at
        most per number and 2 per category.
        """
        one, two, start = Fraction(0), Fraction(0), 0
        for column in self.columns.columns:
            c = [Fraction(value) for value in self.centre[start : start + column.width].tolist()]
            match column:
                case Numeric():
                    one += max(c[0], 1 - c[0]) ** 2
                    two += 1
                case Category():
                    one += max(sum((x * x for x in c), Fraction(0)) - 2 * x + 1 for x in c)
                    two += 2
            start += column.width
        alone = (sqrt_up(one) + sqrt_up(one + CONSTANT**2)) / 2
        return max(alone, sqrt_up(two)) if relation is Relation.REPLACE else alone

    def refuse_copy(self, rows: Rows) -> None:
        """For the owner, before anything is published: a public table must not be the private one.

        It reads rows and answers yes or no, so no mechanism calls it: there it would tell whether one row is there.
        """
        own = Rows.of(self.codes)
        if np.array_equal(own.codes, rows.codes) and np.array_equal(own.weights, rows.weights):
            raise BadInput(
                "the public table is the private one: publishing weights on its rows would publish the rows",
                hint="give a table that anyone may read, such as a census extract or an earlier release",
            )

    def refuse_apart(self, rows: Rows) -> None:
        """For the owner too: half of the private rows stand where, in some column, no public row does.

        Weights cannot reach there, and nothing that is released would show it.
        """
        for i, name in enumerate(self.columns.names):
            public, private = self.codes[:, i], rows.codes[:, i]
            match self.columns.columns[i]:
                case Numeric():
                    beyond = (private < public.min()) | (private > public.max())
                case Category():
                    beyond = ~np.isin(private, public)
            if 2 * int(rows.weights[beyond].sum()) >= max(1, rows.total):
                raise BadInput(
                    f"the two tables share no common support in {name!r}: half of the private rows or more lie outside",
                    hint="give a public table that covers the private one, or leave the column out",
                )
