"""A priced release is charged whole, computed part by part, and stored; or it was before, and comes out again."""

from __future__ import annotations

from typing import final

from sfumato.core.errors import BudgetExceeded, EngineFailed
from sfumato.core.exact import decimal_text
from sfumato.curator.certificate.body import body
from sfumato.curator.certificate.signing import Signer
from sfumato.curator.ledger.ledger import Committed, Reserved
from sfumato.curator.ledger.records import Charge
from sfumato.curator.release.offer import Offer
from sfumato.curator.release.product import Part, Stored
from sfumato.curator.release.published import Published
from sfumato.curator.settle import settle
from sfumato.curator.stopped import stopped


def execute(offer: Offer) -> Published:
    """Charge every part in one transaction, compute what is not stored yet, and store the certificate's body.

    A process that dies leaves reservations: the next one takes them over, pays nothing, and computes what is missing. What
    was stored is never computed again, so all runs hand out the same numbers and the same certificate.
    """
    signer = Signer.of(offer.dataset.home)
    offer.earlier()
    ledger = offer.dataset.ledger
    if (done := ledger.find(offer.key)) is None:
        found = _reserved(offer)
        settled = {part.key: _settled(offer, part, found[part.key]) for part in offer.parts.values()}
        done = _settled(offer, _Record(offer, settled), found[offer.key])
    else:
        settled = {key: each for key in offer.parts if (each := ledger.find(key)) is not None}
    return Published(offer, settled, done, signer)


def _reserved(offer: Offer) -> dict[str, Reserved | Committed]:
    """Every part and the release itself, in one transaction; what can be known to fail is said before."""
    dataset = offer.dataset
    _ = offer.tight
    new = [part for key, part in offer.parts.items() if dataset.ledger.find(key) is None]
    if new:
        dataset.ready(name for part in new for name in part.reads)
    wanted = [(part.key, part.charge, part.what()) for part in offer.parts.values()]
    wanted.append((offer.key, Charge(), offer.what()))
    try:
        found = dataset.ledger.reserve_all(wanted, analyst=offer.analyst, policy=dataset.policy.digest)
    except BudgetExceeded as error:
        raise _too_dear(offer, error) from None
    return {key: each for (key, _, _), each in zip(wanted, found, strict=True)}


def _settled(offer: Offer, part: Part | _Record, found: Reserved | Committed) -> Committed:
    def compute() -> Stored:
        try:
            return part.compute()
        except EngineFailed:
            raise stopped(offer.dataset.ledger, offer.analyst) from None

    return settle(
        offer.dataset.ledger,
        found,
        compute=compute,
        analyst=offer.analyst,
        charge=part.charge,
        policy=offer.dataset.policy.digest,
    )


@final
class _Record:
    """The release itself: it costs nothing, and its answer is the certificate's body."""

    charge = Charge()

    def __init__(self, offer: Offer, settled: dict[str, Committed]) -> None:
        self._offer, self._settled = offer, settled

    def compute(self) -> Stored:
        offer = self._offer
        record = offer.earlier()
        assert record is not None
        products = [
            product.described([self._settled[part.key] for part in product.parts]) for product in offer.products
        ]
        return {"certificate": body(offer, products=products, record=record)}


def _too_dear(offer: Offer, error: BudgetExceeded) -> BudgetExceeded:
    """The refusal of the whole: what all parts cost together, and what would fit."""
    left = offer.dataset.ledger.left(offer.analyst).analyst
    unit = offer.dataset.budget.total.currency.value
    cost, rest = decimal_text(offer.charge.amount), decimal_text(left.amount, rounding="down")
    fits = left.amount > 0 and offer.charge.amount > left.amount and unit == "epsilon"
    most = decimal_text(offer.epsilon * left.amount / offer.charge.amount, rounding="down") if fits else ""
    return BudgetExceeded(
        f"this release costs {unit} {cost}, and {rest} is left for {offer.analyst}: nothing was charged or written",
        hint=f"epsilon {most} in all would fit" if most else error.hint,
        code="SF003",
        cost=cost,
        left=rest,
    )
