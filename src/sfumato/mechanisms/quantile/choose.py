"""Which mechanism finds these quantiles best: by how many there are, how many rows, how wide the lattice, and epsilon."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.quantile.asked import OnLattice, levels_of, wholes
from sfumato.mechanisms.quantile.chain import outputs
from sfumato.mechanisms.quantile.independent import IndependentQuantiles
from sfumato.mechanisms.quantile.joint_exponential import WIDEST, JointExponential
from sfumato.mechanisms.quantile.recursive import RecursiveQuantiles
from sfumato.mechanisms.quantile.tally import checked_size
from sfumato.mechanisms.quantile.tree import TreeQuantiles

_FEW = 300
_BINS, _FAN_OUT = 1024, 16
_FINEST = 24
_MOST_ROWS = 1 << 21


def choose(
    *,
    size: int,
    quantiles: Number | Iterable[Number],
    rows: int,
    epsilon: Number,
    delta: Number = 0,
    sensitivity: Sensitivity | Number = 1,
    piece: int = 1,
    by_group: bool = False,
) -> OnLattice:
    """The mechanism with the least expected rank error, calibrated. `rows` is about how many there are (in each group): a
    public figure, which only accuracy depends on; `piece` the weight of one row.

    One quantile: by itself. Few rows for epsilon (rows epsilon below 300 units' worth): a tree of up to 1 024 bins, whose
    error does not grow with the width of the range. Else jointly, where the lattice and the rows allow a lattice fine
    enough to part equal rows; else by halves, which takes any number of quantiles, and a delta.
    """
    reach = Sensitivity.of(sensitivity)
    levels, target, mass = levels_of(quantiles), positive(epsilon, name="epsilon"), probability(delta, name="delta")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
        raise BadInput("the number of rows is not 0 or more", hint="say about how many rows there are, such as 10000")
    own: dict[str, Any] = {"size": checked_size(size), "quantiles": levels, "by_group": by_group}
    paid: dict[str, Any] = {"sensitivity": reach, "epsilon": target, "delta": mass}
    if len(levels) == 1:
        return IndependentQuantiles.calibrate(**own, **paid)
    if reach.l1 and rows * piece * target / reach.held < _FEW:
        return TreeQuantiles.calibrate(bins=min(size, _BINS), fan_out=_FAN_OUT, **own, **paid)
    fine = _finest(size, len(levels), WIDEST)
    if rows <= _MOST_ROWS and fine >= max(1 << 8, rows >> 4) and wholes(levels)[1] <= 1 << 10:
        return JointExponential.calibrate(jitter=fine, piece=piece, **own, **paid)
    return RecursiveQuantiles.calibrate(jitter=_finest(size, 1, 60), piece=piece, **own, **paid)


def _finest(size: int, count: int, bits: int) -> int:
    """The most points per lattice point, up to 2^24, that leave the number of lists below 2^bits."""
    return next((1 << k for k in range(_FINEST, 0, -1) if outputs(size << k, count).bit_length() <= bits), 0) or 1
