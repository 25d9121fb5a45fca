"""A marginal with noise, as released."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.synthetic.junction import Columns


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """Noisy counts over these columns, what share of the promise they took, and the noise's standard deviation."""

    columns: Columns
    counts: NDArray[np.int64]
    share: Fraction
    deviation: float

    def __repr__(self) -> str:
        return f"{self.columns}: {self.counts.tolist()}"
