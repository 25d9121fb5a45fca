"""What all importance weightings share: the fit, how far one unit moves it, the lattice; noise is the subclass's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self, final

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, sqrt_up
from sfumato.core.neighbours import Neighbours
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import half_width, law_on_lattice
from sfumato.mechanisms.parameter import power_below
from sfumato.mechanisms.weights.column import Category, Numeric
from sfumato.mechanisms.weights.reference import Reference
from sfumato.mechanisms.weights.rows import Rows
from sfumato.mechanisms.weights.tilt import Objective, solve
from sfumato.noise import DiscreteGaussian, DiscreteLaplace, Grid, Source

Steps = tuple[int, ...]
"""A tilt in whole steps of the grain, one per coordinate."""

_LOOSE = Fraction(1, 1 << 10)
_GRAINS = 1 << 10


class Weighting(Mechanism[Rows, Steps]):
    """The tilt b* of a logistic regression of private against public rows, floored to a lattice, plus noise.

    How far one unit moves it: J (`Objective`) is strongly convex with 2 penalty whatever the rows, and two neighbours'
    gradients differ by the unit's own rows alone, so their minima by L farthest / (2 penalty size) for a weight of L
    (`Reference.farthest`; several rows add up to at most L times a point of the convex hull of 0 and the rows). What is
    computed has a gradient of at most `tolerance`, certified (`solve`), so it lies within tolerance / (2 penalty) of its
    minimum: two neighbours' come to

        L farthest / (2 penalty size) + tolerance / penalty

    at most in the Euclidean norm of the released coordinates. In steps, after flooring, divide by
    the grain and add sqrt(d); the sum over d coordinates is at most sqrt(d) times that. `size` is public: under add/remove the
    number of rows plays no part.
    """

    reference: Reference
    size: Any
    penalty: Any
    tolerance: Any
    grain: Fraction | None

    @property
    def step(self) -> Fraction:
        """The grain; without one, whole numbers."""
        return self.grain or Fraction(1)

    @property
    @abstractmethod
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """The law of one coordinate's noise, in steps."""

    @final
    def steps(self, sensitivity: Sensitivity | Number) -> Sensitivity:
        """How many steps one unit moves the tilt, from how far it moves the counts of rows by codes."""
        reach = Sensitivity.of(sensitivity)
        weight = reach.held
        if weight == 0:
            return Sensitivity.of(0, about=reach.about)
        d = self.reference.columns.width
        moved = weight * self.reference.farthest(reach.about.relation) / (2 * self.penalty * self.size)
        euclidean = (moved + self.tolerance / self.penalty) / self.step
        root = sqrt_up(Fraction(d))
        l2 = euclidean + root
        return Sensitivity(Fraction(root * l2 // 1), Fraction(-(-euclidean // 1)), l2 * l2, reach.about, d)

    @final
    def fit(self, value: Rows) -> Steps:
        """The exact answer: no noise yet."""
        if not isinstance(value, Rows):
            raise BadInput("the private table is not coded rows", hint="give Rows.of(codes, weights)")
        objective = Objective.of(value, self.reference, size=self.size, penalty=self.penalty)
        return tuple(Grid(self.step).floor(solve(objective, self.tolerance)[:-1]).tolist())

    @final
    def sample(self, value: Rows, source: Source) -> Steps:
        return self.repeat(value, 1, source)[0]

    @final
    def repeat(self, value: Rows, count: int, source: Source) -> Sequence[Steps]:
        """`count` draws around one fit, which is deterministic."""
        exact = self.fit(value)
        noises = self.noise.sample(source, (count, len(exact)))
        return [tuple(b + z for b, z in zip(exact, noise, strict=True)) for noise in noises.tolist()]

    @final
    def within(self, confidence: Number) -> float:
        """The half-width of one coordinate of the tilt: noise, flooring and the solver's tolerance."""
        slack = -(-self.tolerance / (2 * self.penalty) // self.step)
        return half_width(self.noise.within(confidence) + int(slack), self.step)

    @final
    def law(self, value: Rows) -> Law | None:
        exact = self.fit(value)
        law = law_on_lattice(self.noise, exact[0], grain=None) if len(exact) == 1 else None
        return None if law is None else Law(law.bits, {(each,): pair for each, pair in law.weights.items()}, law.rest)

    @final
    def audit_cases(self) -> Sequence[Case[Rows]]:
        """One row at the far corner comes, or goes over to the near one, while the others pull the other way a little.

        Rows just beyond the centre tilt the table away from the far corner, whose sigmoid is then nearly 1, and curve the
        objective little, as they are short: that is where the bound is nearly reached.
        """
        far, near = self._corners()
        one, two = Sensitivity.of(1), Sensitivity.of_cells(2, 1, about=Neighbours.REPLACE)
        crowd = max(1, int(self.size))
        alone = Rows.of([near], [crowd])
        return (
            Case(Rows.of([near, far], [crowd, 1]), alone, one, tight=False),
            Case(Rows.of([near, far], [crowd, 1]), Rows.of([near], [crowd + 1]), two, tight=False),
        )

    def _corners(self) -> tuple[list[int], list[int]]:
        far, near, start = [], [], 0
        for column in self.reference.columns.columns:
            centre = self.reference.centre[start : start + column.width]
            match column:
                case Numeric(steps=steps):
                    up = centre[0] <= 0.5
                    far.append(steps if up else 0)
                    below = int(np.ceil(centre[0] * steps)) - 1 if up else int(np.floor(centre[0] * steps)) + 1
                    near.append(min(max(below, 0), steps))
                case Category():
                    far.append(int(np.argmin(centre)))
                    near.append(int(np.argmax(centre)))
            start += column.width
        return far, near

    @classmethod
    @abstractmethod
    def quietest(cls, steps: Sensitivity, epsilon: Number, delta: Number, grain: Fraction) -> Number:
        """The least noise that keeps (epsilon, delta) when the tilt moves by so many steps."""

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The least noise for (epsilon, delta). Without a penalty, tolerance or grain, public ones that suit the noise.

        The penalty weighs bias, which grows with it, against noise, which falls: see `usual_penalty`.
        """
        reach, target = Sensitivity.of(sensitivity), positive(epsilon, name="epsilon")
        for name in ("reference", "size"):
            if name not in public:
                raise BadInput(
                    f"no {name} was given", hint="give the public table, and about how many rows are private"
                )
        reference, size = public["reference"], positive(public["size"], name="size")
        if not isinstance(reference, Reference):
            raise BadInput("the reference is not a public table", hint="give Reference.of(columns, table)")
        if reach.l1 == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        row = reach.held * reference.farthest(reach.about.relation) / size
        if "penalty" not in public:
            public["penalty"] = usual_penalty(row, reference.columns.width, target)
        public.setdefault("tolerance", row * _LOOSE)
        if "grain" not in public:
            public["grain"] = power_below(row / (2 * positive(public["penalty"], name="penalty")) / _GRAINS)
        made: Any = cls
        unit = made(**{cls.noise_field: 1, **public})
        amount = cls.quietest(unit.steps(reach), epsilon, delta, unit.step)
        result: Self = made(**{cls.noise_field: amount, **public})
        return result


def usual_penalty(row: Fraction, width: int, epsilon: Fraction) -> Fraction:
    """A penalty from public numbers only: it grows like the square root of one row's pull over epsilon.

    Noise in the tilt goes like sqrt(width) row / (2 penalty epsilon), bias like the penalty over the table's curvature; their
    sum is least where both are equal. The constant was chosen on made-up tables (`benchmarks/weights.py`).
    """
    root = sqrt_up(sqrt_up(Fraction(width)) * row / epsilon)
    return max(power_below(root / 4), Fraction(1, 1 << 20))
