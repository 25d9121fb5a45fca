"""Synthetic data from pairs that are measured where the model is furthest off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.synthetic.fit import fitted
from sfumato.mechanisms.synthetic.junction import Columns, cells_of
from sfumato.mechanisms.synthetic.measured import Measured
from sfumato.mechanisms.synthetic.model import Floats
from sfumato.mechanisms.synthetic.purse import Noise
from sfumato.mechanisms.synthetic.rounds import Choose, Measure, Rounds, Said, Step

_STEPS = 60
_FINE = 1 << 20
_TENTH = Fraction(1, 10)


@final
@dataclass(frozen=True)
class Aim(Rounds):
    """In each round the marginal that the model misses most is chosen and measured, and the model fitted anew.

    Proof: McKenna, Mullins, Sheldon and Miklau 2022, Algorithms 2 to 4 and Theorem 1, by adaptive composition: a round of share
    s spends s/10 on choosing and 9s/10 on noise. Every single column is measured first, all d of them with the noise of d first
    rounds; among them it goes by codes^(2/3), not evenly as in the paper: that makes the sum of all noise the least.
    The workload is all pairs of columns, so the candidates are pairs and single columns. The score of r is
    w_r (|c_r - model_r|_1 - n_r E|Z|), n_r its cells; w_r counts the columns it shares with the pairs of the workload, d - 1
    times its own number of columns, so that w_r is 1 or 1/2 after division by the largest. c_r moves by at most l1 in l1, and
    the rest is public, so no score moves by more than l1 (`Choose`). When what was measured moves the model's table by no more
    than the noise's expected sum n_r E|Z|, the next rounds get the share that halves noise and doubles the rate; the last round
    gets what is left. Shares are exact fractions, and `Said.after` lets no sum of them exceed one.

    A candidate must keep the model's junction tree within the part of `cells` that is spent of the whole, as in the paper.
    """

    choices: ClassVar[Fraction] = _TENTH

    shape: tuple[int, ...]
    scale: Positive = Positive()
    noise: Noise = "gaussian"
    one_cell: bool = False
    cells: int = 1 << 18
    rounds: int = 16
    """The most rounds there may be is this times the number of columns."""

    def __post_init__(self) -> None:
        self.check()
        for name in ("cells", "rounds"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadInput(f"{name} is not a whole number of 1 or more", hint=f"leave {name} out")

    @property
    def singles(self) -> tuple[Fraction, ...]:
        weights = [round(bins ** (2 / 3) * _FINE) for bins in self.shape]
        return tuple((1 - _TENTH) / self.rounds * Fraction(weight, sum(weights)) for weight in weights)

    def begin(self) -> Said:
        return Said(share=Fraction(1, self.rounds * len(self.shape)))

    def step(self, said: Said) -> Step | None:
        d = len(self.shape)
        if len(said.measured) < d:
            return Measure((len(said.measured),), self.singles[len(said.measured)])
        if len(said.chosen) > len(said.measured) - d:
            return Measure(said.chosen[-1], (1 - _TENTH) * said.share)
        return self._choice(said) if said.left > 0 else None

    def heard(self, said: Said, step: Step, outcome: Any) -> Said:
        match step:
            case Choose():
                return said.after(step.share, chosen=(*said.chosen, outcome))
            case Measure():
                return self._measured(said, step, outcome)

    def _measured(self, said: Said, step: Measure, new: Measured) -> Said:
        measured = (*said.measured, new)
        if len(measured) < len(self.shape):
            return said.after(step.share, measured=measured)
        fit = fitted(self.shape, measured, steps=_STEPS, start=said.fit)
        share = said.share
        if said.fit is not None:
            moved = fit.total * fit.model.marginal(step.columns) - said.fit.total * said.fit.model.marginal(
                step.columns
            )
            if float(np.abs(moved).sum()) <= moved.size * self.purse.absolute(step.share):
                share = self.purse.sharper(share)
        left = said.left - step.share
        return said.after(step.share, measured=measured, fit=fit, share=left if left <= 2 * share else share)

    def _choice(self, said: Said) -> Choose:
        assert said.fit is not None
        allowed = float(1 - said.left) * self.cells
        sets = {each.columns for each in said.measured}
        homes = said.fit.model.tree
        tables: dict[Columns, Floats] = {(i,): said.fit.model.marginal((i,)) for i in range(len(self.shape))}
        tables |= said.fit.model.pairs()
        candidates = tuple(
            columns
            for columns in tables
            if homes.home(columns) is not None or cells_of(self.shape, sets | {columns}) <= allowed
        )
        noise = self.purse.absolute((1 - _TENTH) * said.share)
        return Choose(
            candidates,
            tuple(said.fit.total * tables[columns] for columns in candidates),
            tuple(noise * tables[columns].size for columns in candidates),
            _TENTH * said.share,
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls((1,), "1/4", "laplace", rounds=2),)
