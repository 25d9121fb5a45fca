"""An interactive mechanism before a data set: charged whole when it starts, asked one question after the other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.accounting import Approximate, Loss
from sfumato.core import Relation, Sensitivity
from sfumato.core.canonical import digest
from sfumato.core.errors import BadInput, Bug, EngineFailed, NotSupported
from sfumato.core.exact import Number, down, fraction, positive, probability
from sfumato.core.neighbours import Neighbours
from sfumato.core.private import Private
from sfumato.curator.ledger.records import Charge
from sfumato.curator.stopped import stopped
from sfumato.mechanisms.number.bounded_noise import BoundedNoise
from sfumato.mechanisms.number.online_bounded_noise import OnlineBoundedNoise
from sfumato.mechanisms.stream.above_threshold import AboveThreshold
from sfumato.mechanisms.stream.interactive import Interactive, Running
from sfumato.mechanisms.stream.sparse_vector import SparseVector
from sfumato.mechanisms.stream.threshold import Reply
from sfumato.noise.secret import secret_bytes
from sfumato.queries.bounded import Bounded, bound
from sfumato.queries.plan import Released, Rowwise, Units, tables_of
from sfumato.queries.rewrites.weigh import WHOLE

if TYPE_CHECKING:
    from sfumato.curator.ledger.ledger import Position
    from sfumato.curator.session import Session
    from sfumato.queries.frame import Question

_PER_ROW = 16
"""Bounded noise lies on a sixteenth of a row: finer would be slow, coarser would add to the sensitivity."""


@final
@dataclass(frozen=True, slots=True)
class Live:
    """A mechanism under way. Every reply was paid for when it started; its last reply closes it, and so does a crash.

    Proof: the numbers that it is asked are counts of rows or units without keys, chosen after earlier replies were seen.
    One unit moves each of them by at most `max_rows` rows' weight (`stability.sensitivities`), all in the same direction
    under add/remove, which is what the mechanism's loss is about. Questions are bounded before they are computed, and one
    that could move further is refused.
    """

    session: Session
    running: Running[Any]
    reach: Sensitivity
    charged: Charge
    position: Position

    @property
    def closed(self) -> bool:
        """Whether it has given its last reply."""
        return self.running.closed

    def ask(self, question: str | Question | Released) -> Any:
        """The reply to one count: whether it is above the threshold (and by how much), or the count with noise."""
        dataset = self.session.dataset
        dataset.ledger.refuse_frozen(self.session.analyst)
        bounded = self._counting(question)
        dataset.refuse_without_rows(tables_of(bounded.tally))
        try:
            exact = dataset.exact(bounded)
        except EngineFailed:
            raise stopped(dataset.ledger, self.session.analyst) from None
        scale = WHOLE // bounded.whole
        number: Private[int] = exact.map(lambda vectors: int(vectors[0][0]) * scale)
        return _in_rows(self.running.ask(number))

    def _counting(self, question: str | Question | Released) -> Bounded:
        bounded = bound(self.session.plan(question), self.session.dataset.schema)
        match bounded.tally.statistics:
            case (Units() | Rowwise("count" | "present"),) if not bounded.tally.keys:
                pass
            case _:
                raise NotSupported(
                    "an interactive mechanism was asked something other than one count",
                    hint="ask SELECT COUNT(*) FROM ... WHERE ..., without GROUP BY",
                    code="SF021",
                )
        moved = bounded.sensitivity.scaled(WHOLE // bounded.whole)
        if moved.about != self.reach.about or moved.linf > self.reach.linf:
            raise BadInput(
                "one unit could move this count further than the mechanism was started for",
                hint="start another one after the policy has changed",
            )
        return bounded


def start(
    session: Session, mechanism: type[Interactive[Any]], *, epsilon: Number, delta: Number = 0, **public: Any
) -> Live:
    """Charge an interactive mechanism whole, and start it. Numbers in `public` (a threshold) are in rows."""
    dataset = session.dataset
    unit = dataset.schema.unit
    about = Neighbours(unit.neighbours, unit.kind)
    each = Fraction(WHOLE * unit.max_rows)
    reach = Sensitivity(each, each, each * each, about, 1)
    target, mass = positive(epsilon, name="epsilon"), probability(delta, name="delta")
    in_weights = _in_weights(mechanism, public, monotone=about.relation is Relation.ADD_REMOVE)
    made = mechanism.calibrate(sensitivity=reach, epsilon=target, delta=mass, **in_weights)
    cost = dataset.budget.cost(_promise(made.loss(reach), target, mass))
    charge = Charge(cost.amount, cost.failure)
    described = made.describe()
    key = digest({"start": secret_bytes(16).hex(), "mechanism": described})
    what = {"plan": "interactive", "version": dataset.policy.version, "mechanisms": [described]}
    reserved = dataset.ledger.reserve(
        key, analyst=session.analyst, charge=charge, what=what, policy=dataset.policy.digest
    )
    return Live(session, made.start(), reach, charge, reserved.position)


def _promise(loss: Loss, epsilon: Fraction, delta: Fraction) -> Loss:
    """What is charged: the loss itself when it is pure, and otherwise the (epsilon, delta) that it was calibrated to keep."""
    largest = loss.pure()
    if largest is not None and largest[0] <= epsilon and largest[1] <= delta:
        return loss
    if loss.delta(down(epsilon)) > delta:
        raise Bug("a mechanism was calibrated to a promise that it does not keep")
    return Approximate(epsilon, delta, loss.about)


def _in_weights(mechanism: type[Interactive[Any]], public: dict[str, Any], *, monotone: bool) -> dict[str, Any]:
    """Public parameters in the units of a cell, where a row of full weight weighs WHOLE."""
    if mechanism in (AboveThreshold, SparseVector):
        line = fraction(public.get("threshold", 0), name="threshold")
        if public.get("monotone") and not monotone:
            raise BadInput(
                "numbers were said to move one way only, and under replace one person's leaving may be another's coming",
                hint="leave monotone out: the policy's neighbours decide it",
            )
        return {"monotone": monotone, **public, "threshold": line * WHOLE}
    if mechanism in (BoundedNoise, OnlineBoundedNoise):
        return {"grain": Fraction(WHOLE, _PER_ROW), **public}
    raise NotSupported(
        f"{mechanism.__name__} speaks of what one unit moves in all numbers together, and questions have no such bound",
        hint="start AboveThreshold, SparseVector, BoundedNoise or OnlineBoundedNoise",
    )


def _in_rows(reply: Any) -> Any:
    match reply:
        case Reply(above, gap):
            return Reply(above, None if gap is None else gap / WHOLE)
        case _:
            return reply / WHOLE
