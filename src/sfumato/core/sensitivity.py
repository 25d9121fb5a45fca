"""How far one unit can move an exact answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, non_negative, positive, sqrt_up
from sfumato.core.neighbours import Neighbours


@final
@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The largest change of an exact answer (a vector of cells) between two neighbours.

    `l1` sums the changes over cells, `linf` is the largest change of one cell, `l2_squared` sums their squares. All are
    bounds; the constructor tightens `l2_squared` to `l1 * linf`, which always holds (Hoelder).
    """

    l1: Fraction
    linf: Fraction
    l2_squared: Fraction
    about: Neighbours = field(default=Neighbours.ADD_REMOVE)

    def __post_init__(self) -> None:
        for name in ("l1", "linf", "l2_squared"):
            object.__setattr__(self, name, non_negative(getattr(self, name), name=f"sensitivity {name}"))
        object.__setattr__(self, "linf", min(self.linf, self.l1))
        object.__setattr__(self, "l2_squared", min(self.l2_squared, self.l1 * self.linf))

    @classmethod
    def of(cls, value: Sensitivity | Number, *, about: Neighbours = Neighbours.ADD_REMOVE) -> Sensitivity:
        """A sensitivity as it is; a number as one cell moved by that much."""
        if isinstance(value, Sensitivity):
            return value
        distance = non_negative(value, name="sensitivity")
        return cls(distance, distance, distance * distance, about)

    @classmethod
    def cells(cls, count: int, linf: Number = 1, *, about: Neighbours = Neighbours.ADD_REMOVE) -> Sensitivity:
        """`count` cells, each moved by at most `linf`."""
        if count < 0:
            raise BadInput("a number of cells was negative", hint="give 0 or more cells")
        each = non_negative(linf, name="sensitivity")
        return cls(count * each, each, count * each * each, about)

    def __add__(self, other: Sensitivity) -> Sensitivity:
        """Both answers together, as one vector."""
        if self.about != other.about:
            raise BadInput(
                f"two sensitivities speak of different neighbours: {self.about}; {other.about}",
                hint="compute both under the relation and unit of one policy",
            )
        return Sensitivity(
            self.l1 + other.l1, max(self.linf, other.linf), self.l2_squared + other.l2_squared, self.about
        )

    def scaled(self, factor: Number) -> Sensitivity:
        """After every cell is multiplied by `factor`."""
        k = abs(positive(factor, name="factor"))
        return Sensitivity(self.l1 * k, self.linf * k, self.l2_squared * k * k, self.about)

    def on_grid(self, grain: Number, *, cells: int = 1) -> Sensitivity:
        """In steps, after every cell is floored to a multiple of `grain`; one unit changes at most `cells` cells.

        |floor(x/g) - floor(y/g)| <= ceil(|x - y|/g), which is below |x - y|/g + 1; sum, and square-root-of-sum by
        Minkowski, over the cells that change.
        """
        g = positive(grain, name="grain")
        steps = Fraction(-(-self.linf // g))
        l1 = min(self.l1 / g + cells, cells * steps)
        l2 = sqrt_up(self.l2_squared / (g * g)) + sqrt_up(Fraction(cells))
        return Sensitivity(Fraction(l1 // 1), steps, min(l2 * l2, cells * steps * steps), self.about)
