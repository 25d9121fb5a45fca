"""A local report's price: the largest ratio between the probabilities of one report under two truths."""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato.accounting import Loss, Pure
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive
from sfumato.core.interval import exp_bounds, log_bounds
from sfumato.core.neighbours import Neighbours, Relation
from sfumato.core.sensitivity import Sensitivity

BITS = 96
_STEPS = 2**60

ONE_ANSWER = Sensitivity.of(1, about=Neighbours.REPLACE)
"""One person's one answer is another: what the neighbours of local mechanisms are."""


def loss_of(ratio: Fraction, sensitivity: Sensitivity | Number) -> Loss:
    """ln(ratio) for each of the answers that one person gives, rounded up; their reports are independent.

    A report that is there or not is seen by whoever collects them, so the promise is about another answer, not about none.
    """
    reach = Sensitivity.of(sensitivity, about=Neighbours.REPLACE)
    if reach.about.relation is not Relation.REPLACE:
        raise BadInput(
            f"a report was priced about other neighbours ({reach.about}), and that someone reported at all is not hidden",
            hint="give the number of answers per person, or a sensitivity about Neighbours.REPLACE",
        )
    return Pure(math.ceil(reach.l1) * Fraction(log_bounds(ratio, BITS)[1], 2**BITS), about=reach.about)


def growth(epsilon: Number, sensitivity: Sensitivity | Number = 1) -> Fraction:
    """The largest ratio that epsilon allows to each of one person's answers: e^(epsilon / answers), rounded down."""
    answers = math.ceil(Sensitivity.of(sensitivity).l1)
    if answers == 0:
        raise BadInput("nothing to protect: the sensitivity is 0", hint="a public answer needs no mechanism")
    return Fraction(exp_bounds(positive(epsilon, name="epsilon") / answers, BITS)[0], 2**BITS)


def rounded_down(chance: Fraction) -> Fraction:
    """A multiple of 2**-60 at or below `chance`."""
    return Fraction(math.floor(chance * _STEPS), _STEPS)


def rounded_up(chance: Fraction) -> Fraction:
    """A multiple of 2**-60 at or above `chance`."""
    return Fraction(math.ceil(chance * _STEPS), _STEPS)
