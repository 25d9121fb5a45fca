"""How far one unit can move an exact answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, non_negative, positive, sqrt_up
from sfumato.core.neighbours import Neighbours, Relation


@final
@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The largest change of an exact answer (a vector of cells) between two neighbours.

    `l1` sums the changes over cells, `linf` is the largest change of one cell, `l2_squared` sums their squares, and at
    most `cells` cells change (None: nobody said). All are bounds, tightened by what always holds:
    l2_squared <= min(l1 * linf, cells * linf^2) and l1 <= cells * linf.
    """

    l1: Fraction
    linf: Fraction
    l2_squared: Fraction
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)
    cells: int | None = None

    def __post_init__(self) -> None:
        for name in ("l1", "linf", "l2_squared"):
            object.__setattr__(self, name, non_negative(getattr(self, name), name=f"sensitivity {name}"))
        if self.cells is not None:
            if self.cells < 0:
                raise BadInput("a number of cells was negative", hint="give 0 or more cells")
            object.__setattr__(self, "l1", min(self.l1, self.cells * self.linf))
            object.__setattr__(self, "l2_squared", min(self.l2_squared, self.cells * self.linf * self.linf))
        object.__setattr__(self, "linf", min(self.linf, self.l1))
        object.__setattr__(self, "l2_squared", min(self.l2_squared, self.l1 * self.linf))

    @classmethod
    def of(cls, value: Sensitivity | Number, *, about: Neighbours = Neighbours.ADD_REMOVE) -> Sensitivity:
        """A sensitivity as it is; a number as one cell moved by that much."""
        if isinstance(value, Sensitivity):
            return value
        distance = non_negative(value, name="sensitivity")
        return cls(distance, distance, distance * distance, about, 1)

    @classmethod
    def of_cells(cls, cells: int, linf: Number = 1, *, about: Neighbours = Neighbours.ADD_REMOVE) -> Sensitivity:
        """`cells` cells, each moved by at most `linf`."""
        each = non_negative(linf, name="sensitivity")
        return cls(cells * each, each, cells * each * each, about, cells)

    def __add__(self, other: Sensitivity) -> Sensitivity:
        """Both answers together, as one vector."""
        if self.about != other.about:
            raise BadInput(
                f"two sensitivities speak of different neighbours: {self.about}; {other.about}",
                hint="compute both under the relation and unit of one policy",
            )
        known = self.cells is not None and other.cells is not None
        return Sensitivity(
            self.l1 + other.l1,
            max(self.linf, other.linf),
            self.l2_squared + other.l2_squared,
            self.about,
            (self.cells or 0) + (other.cells or 0) if known else None,
        )

    @property
    def held(self) -> Fraction:
        """The most weight of rows that one unit holds, where the cells count rows by their place.

        Under replace the weight leaves some cells and comes back in others, so `l1` is twice that weight; of a reach that
        was taken from one cell alone, where `l1` is `linf`, it is the whole.
        """
        match self.about.relation:
            case Relation.ADD_REMOVE:
                return self.l1
            case Relation.REPLACE:
                return max(self.l1 / 2, self.linf)
            case Relation.SECRETS:
                raise BadInput(
                    "a Pufferfish promise speaks of secrets, and not of units that hold rows",
                    hint="give a sensitivity about added, removed or replaced units",
                )

    def scaled(self, factor: Number) -> Sensitivity:
        """After every cell is multiplied by `factor`, which is positive."""
        k = positive(factor, name="factor")
        return Sensitivity(self.l1 * k, self.linf * k, self.l2_squared * k * k, self.about, self.cells)

    def on_grid(self, grain: Number) -> Sensitivity:
        """In steps of `grain`, after every cell is floored to a multiple of it.

        |floor(x/g) - floor(y/g)| is an integer below |x - y|/g + 1, so at most ceil(|x - y|/g). Summed over the d cells
        that change it stays below l1/g + d; in the Euclidean norm below l2/g + sqrt(d), by Minkowski.
        """
        if self.cells is None:
            raise BadInput(
                "a vector on a grid needs to know how many cells one unit changes",
                hint="give Sensitivity(..., cells=d)",
            )
        g = positive(grain, name="grain")
        steps = Fraction(-(-self.linf // g))
        l1 = Fraction((self.l1 / g + self.cells) // 1)
        l2 = sqrt_up(self.l2_squared / (g * g)) + sqrt_up(Fraction(self.cells))
        return Sensitivity(l1, steps, l2 * l2, self.about, self.cells)
