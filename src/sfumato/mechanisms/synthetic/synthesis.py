"""What synthesis releases: noisy marginals; and what follows from them at no cost: a model, and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.synthetic.fit import Fit, fitted
from sfumato.mechanisms.synthetic.measured import Measured
from sfumato.mechanisms.synthetic.model import Floats, Model
from sfumato.mechanisms.synthetic.rows import rows_of
from sfumato.noise import Source, system_source

_STEPS = 250


@final
@dataclass(frozen=True, eq=False)
class Synthesis:
    """The transcript: every marginal that was measured, in order. All else is computed from it."""

    shape: tuple[int, ...]
    measured: tuple[Measured, ...]
    before: Fit | None = None
    """Where the fit of the rounds stood; the last one starts there."""

    @cached_property
    def fit(self) -> Fit:
        return fitted(self.shape, self.measured, steps=_STEPS, start=self.before)

    @property
    def model(self) -> Model:
        return self.fit.model

    @property
    def total(self) -> float:
        """About how much weight the table has: the total of each marginal, by its precision."""
        return self.fit.total

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The model's table over one or two columns, or any that were modelled together."""
        return self.total * self.model.marginal(tuple(columns))

    def rows(self, count: int | None = None, *, source: Source | None = None) -> NDArray[np.int64]:
        """Rows of codes, as close to the model as rounding allows. `count` is the noisy total if not given."""
        wanted = max(1, round(self.total)) if count is None else count
        return rows_of(self.model, wanted, source or system_source())

    def __repr__(self) -> str:
        return f"Synthesis({', '.join(map(repr, self.measured))})"
