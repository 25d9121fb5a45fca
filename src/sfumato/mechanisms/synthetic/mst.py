"""Synthetic data from a tree of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.synthetic.fit import fitted
from sfumato.mechanisms.synthetic.junction import Columns
from sfumato.mechanisms.synthetic.measured import Measured
from sfumato.mechanisms.synthetic.purse import Noise
from sfumato.mechanisms.synthetic.rounds import Choose, Measure, Rounds, Said, Step

_STEPS = 150
_THIRD = Fraction(1, 3)


@final
@dataclass(frozen=True)
class Mst(Rounds):
    """All single columns with noise, a tree of pairs chosen one by one, those pairs with noise: a third of the promise each.

    Proof: McKenna, Miklau and Sheldon 2021, Algorithm 1, by adaptive composition. The d columns get 1/(3d) each. A pair is
    chosen by the exponential mechanism among those that join two parts of the tree, with 1/(3(d-1)) each, by the distance in
    l1 between its counts and what the columns' noisy counts make of it if they are independent; its counts move by at most l1
    in l1, so the distance does (`Choose`). Then the d-1 pairs get 1/(3(d-1)) each. `Purse` says what the shares cost: noise
    has at least two thirds of the whole, choices at most one third. A column on its own gets everything.
    """

    choices: ClassVar[Fraction] = _THIRD

    shape: tuple[int, ...]
    scale: Positive = Positive()
    noise: Noise = "gaussian"
    one_cell: bool = False

    def __post_init__(self) -> None:
        self.check()

    @property
    def singles(self) -> tuple[Fraction, ...]:
        d = len(self.shape)
        return (_THIRD / d if d > 1 else Fraction(1),) * d

    def begin(self) -> Said:
        return Said()

    def step(self, said: Said) -> Step | None:
        d = len(self.shape)
        if len(said.measured) < d:
            return Measure((len(said.measured),), self.singles[len(said.measured)])
        if len(said.chosen) < d - 1:
            return self._choice(said)
        if len(said.measured) < 2 * d - 1:
            return Measure(said.chosen[len(said.measured) - d], _THIRD / (d - 1))
        return None

    def heard(self, said: Said, step: Step, outcome: Any) -> Said:
        match step:
            case Choose():
                return said.after(step.share, chosen=(*said.chosen, outcome))
            case Measure():
                return said.after(step.share, measured=(*said.measured, outcome), fit=self._columns(said, outcome))

    def _columns(self, said: Said, new: Measured) -> Any:
        """The fit of the single columns, once all of them are known."""
        done = len(said.measured) + 1 == len(self.shape) and len(self.shape) > 1
        return fitted(self.shape, (*said.measured, new), steps=_STEPS) if done else said.fit

    def _choice(self, said: Said) -> Choose:
        """Among the pairs that join two parts of the tree so far."""
        assert said.fit is not None
        part = list(range(len(self.shape)))
        for i, j in said.chosen:
            part = [part[i] if each == part[j] else each for each in part]
        candidates: tuple[Columns, ...] = tuple((i, j) for i, j in self.pairs if part[i] != part[j])
        tables = said.fit.model.pairs()
        expected = tuple(said.fit.total * tables[pair] for pair in candidates)
        return Choose(candidates, expected, (0.0,) * len(candidates), _THIRD / (len(self.shape) - 1))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls((2,), 1, "laplace"),)
