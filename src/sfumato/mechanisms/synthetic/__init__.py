"""Synthetic tables: which marginals to measure is chosen round by round, a model explains them, and rows are drawn from it.

Whoever publishes one does this:

1. **Domain.** `Domain((Column.of("sex", ("F", "M")), Column.binned("age", (0, 20, 40, 65, 120), whole=True), ...))`, from the
   policy's public values and cut points; missing values are a code of their own.
2. **Price, before anything is read.** `mechanism = mechanism_of("aim").calibrate(shape=domain.shape, epsilon=1, delta="1e-9",
   sensitivity=reach)`, or `.of_rho(...)`; `mechanism.loss(reach)`. `reach` is how far one unit moves the table of all
   combinations of codes: a unit of several rows is weighed down to `B` rows' worth by the plan, so l1 = B under add/remove (in
   units of the weight), 2B under replace. What that means for a marginal is `Purse`'s business; `one_cell=True` says that a
   unit's weight is at most linf in all, as row weights have it, and halves the price of noise under replace.
3. **Exact counts.** One statement, GROUP BY every coded column, the sum of the rows' whole weights as the measure. Rounds
   choose marginals as they go, so all must be at hand, and this is the least that has them all: no raw value leaves the engine.
   `private = answer.map(lambda found: domain.table(columns, weights).watched(progress))` keeps it sealed.
4. **Release.** `mechanism.release(private, reach).value` is a `Synthesis`, the noisy marginals; nothing can seed it.
   `synthesis.rows(count)` and `domain.decode(...)` are post-processing, as often as one likes. Where weights are
   `W` times a row, the number of rows is `synthesis.total / W`.
"""

from __future__ import annotations

from sfumato.core.errors import BadInput
from sfumato.mechanisms.synthetic.aim import Aim
from sfumato.mechanisms.synthetic.domain import Bin, Column, Domain
from sfumato.mechanisms.synthetic.measured import Measured
from sfumato.mechanisms.synthetic.mst import Mst
from sfumato.mechanisms.synthetic.synthesis import Synthesis
from sfumato.mechanisms.synthetic.table import Table

__all__ = ["Aim", "Bin", "Column", "Domain", "Measured", "Mst", "Synthesis", "Table", "mechanism_of"]


def mechanism_of(method: str = "aim") -> type[Aim] | type[Mst]:
    """The mechanism of a method by name: "aim", which errs least, or "mst", a tree of pairs."""
    match method:
        case "aim":
            return Aim
        case "mst":
            return Mst
        case _:
            raise BadInput("an unknown method of synthesis was asked for", hint="the methods are 'aim' and 'mst'")
