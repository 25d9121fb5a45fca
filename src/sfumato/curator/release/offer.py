"""A priced release: free, and executed as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from sfumato.accounting import Loss
from sfumato.core.canonical import digest
from sfumato.core.errors import BadInput
from sfumato.core.exact import decimal_text
from sfumato.curator.certificate.tight import Tight, tight
from sfumato.curator.ledger.records import Charge, Kind, Record
from sfumato.curator.release.product import Part, Product

if TYPE_CHECKING:
    from sfumato.curator.dataset import Dataset


@final
@dataclass(frozen=True)
class Heading:
    """What a release is called. Without an edition, what is in it names it."""

    name: str = "release"
    edition: str | None = None
    title: str = ""
    issuer: str = ""
    public: tuple[str, ...] = ()
    """What the owner knows to be public about the same people; every word of it is on the certificate."""
    supersedes: str | None = None
    reason: str = ""


@final
@dataclass(frozen=True)
class Offer:
    """Products at their prices, under a heading. All of them are charged in one transaction, or none."""

    dataset: Dataset
    heading: Heading
    products: tuple[Product, ...]
    epsilon: Fraction
    delta: Fraction
    analyst: str

    @cached_property
    def parts(self) -> dict[str, Part]:
        """By key, each once: what two products share is charged once."""
        return {part.key: part for product in self.products for part in product.parts}

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        return tuple(loss for part in self.parts.values() for loss in part.losses)

    @property
    def charge(self) -> Charge:
        """What the ledger will write if nothing of it was released before."""
        return sum((part.charge for part in self.parts.values()), Charge())

    @cached_property
    def tight(self) -> Tight:
        """The guarantee of this release alone."""
        return tight(self.losses, self.delta)

    def amounts(self) -> dict[str, str]:
        """The charge in text, rounded up."""
        unit = self.dataset.budget.total.currency.value
        return {unit: decimal_text(self.charge.amount), "delta": decimal_text(self.charge.failure)}

    @cached_property
    def content(self) -> str:
        """The digest of all that it publishes and says."""
        heading = self.heading
        return digest(
            {
                "products": [[product.name, [part.key for part in product.parts]] for product in self.products],
                "epsilon": str(self.epsilon),
                "delta": str(self.delta),
                "says": [heading.title, heading.issuer, list(heading.public), heading.supersedes or "", heading.reason],
            }
        )

    @property
    def edition(self) -> str:
        return self.heading.edition or self.content[:12]

    @property
    def key(self) -> str:
        """One release for each name and edition: running it again replays it."""
        return key_of(self.heading.name, self.edition)

    def what(self) -> dict[str, Any]:
        """What the ledger writes of the release, beside the charges of its parts."""
        return {
            "release": self.heading.name,
            "edition": self.edition,
            "version": self.dataset.policy.version,
            "content": self.content,
            "parts": list(self.parts),
            "supersedes": self.supersedes() or {},
        }

    def earlier(self) -> Record | None:
        """The reservation of this name and edition; BadInput when it was of something else."""
        found = next((each for each in self.dataset.ledger.about(self.key) if each.kind is Kind.RESERVE), None)
        if found is None or found.body["what"]["content"] == self.content:
            return found
        was = found.body["what"]["version"]
        other = f", of rows {was}" if was != self.dataset.policy.version else ""
        raise BadInput(
            f"edition {self.edition} of {self.heading.name} was published already with other contents{other}: "
            "what is published stays as it is",
            hint=f"publish another edition that says why: --supersedes {self.edition} --reason ...",
        )

    def supersedes(self) -> Mapping[str, str] | None:
        """The earlier edition that this one stands for, and why; BadInput when there is none, or no reason."""
        other = self.heading.supersedes
        if other is None:
            if self.heading.reason:
                raise BadInput("a reason stands for nothing", hint="say which edition it supersedes (--supersedes)")
            return None
        if not self.heading.reason.strip():
            raise BadInput(
                "an edition is superseded for a reason, which readers are told", hint='say it with --reason "..."'
            )
        found = self.dataset.ledger.about(key_of(self.heading.name, other))
        if not any(record.kind is Kind.COMMIT for record in found):
            raise BadInput(
                f"this data set has published no edition {other} of {self.heading.name}",
                hint="`sfumato release list` says which there are",
            )
        return {"edition": other, "id": f"r-{found[0].n:06d}", "reason": self.heading.reason}


def key_of(name: str, edition: str) -> str:
    """The key of a release in the ledger."""
    return digest({"release": name, "edition": edition})
