"""The guarantee of one release alone: as small as is known of mechanisms that were fixed before the first answer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.accounting import Loss, Zcdp
from sfumato.accounting.compose import compose
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import Number, probability, up

_WORTH = 0.99

Tight = tuple[float, float, str]
"""epsilon, delta, and how they were found."""


def tight(losses: Sequence[Loss], delta: Number) -> Tight:
    """The least epsilon at `delta` that is known of all of them together; the sum of the losses where nothing is less.

    The ledger is charged the sum, which holds whatever is asked next; the least epsilon holds because these losses were all
    fixed before the first of them was computed (Composed.epsilon: numeric composition of dominating pairs). A promise without
    delta is kept where a delta would buy less than a hundredth of epsilon.
    """
    together = compose(losses)
    allowed = probability(delta, name="delta")
    pure = together.pure()
    whole = (up(pure[0]), up(pure[1])) if pure is not None and pure[1] <= allowed else (math.inf, 0.0)
    composed, how = math.inf, "numeric composition of the losses"
    if allowed > 0:
        try:
            composed = together.epsilon(allowed)
        except NotSupported:  # so small a delta is beyond it, but not beyond the sum of rhos
            line = together.zcdp()
            if line is None and math.isinf(whole[0]):
                raise
            if line is not None:
                composed, how = Zcdp(*line, together.about).epsilon(allowed), "sum of the rhos"
    if math.isinf(min(whole[0], composed)):
        raise BadInput(
            "this release can fail with a probability above the delta that was given for it",
            hint="publish with a delta, such as delta='1e-6'",
        )
    if composed < _WORTH * whole[0]:
        return composed, up(allowed), how
    return *whole, "sum of the losses"
