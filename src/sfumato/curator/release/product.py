"""What can be published: something that prices itself before anything is read, and computes once it is charged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, final

from sfumato.accounting import Loss
from sfumato.curator.ledger.ledger import Committed
from sfumato.curator.ledger.records import Charge
from sfumato.curator.release.table import Table

if TYPE_CHECKING:
    from sfumato.curator.session import Session

Stored = Mapping[str, Any]
"""What the ledger keeps of a part: JSON of texts and whole numbers."""


@final
@dataclass(frozen=True, slots=True)
class Portion:
    """What a product is priced with: whose session, and its own part of the release's epsilon and delta."""

    session: Session
    epsilon: Fraction
    delta: Fraction
    confidence: Fraction | None = None


class Part(Protocol):
    """What the ledger charges in one record, and stores in another once it is computed."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The digest of everything that decides what is computed: charged once, replayed ever after."""

    @property
    @abstractmethod
    def charge(self) -> Charge:
        """What the ledger writes before anything is read."""

    @property
    @abstractmethod
    def reads(self) -> Sequence[str]:
        """The tables whose rows it is computed from."""

    @property
    @abstractmethod
    def losses(self) -> Sequence[Loss]:
        """What it costs, for the guarantee of the release alone."""

    @abstractmethod
    def what(self) -> dict[str, Any]:
        """What the ledger writes beside the charge."""

    @abstractmethod
    def compute(self) -> Stored:
        """Read the rows, and release through a mechanism; only called after the charge is written."""


class Product(Protocol):
    """A priced product. Everything it says before `tables` is public: the policy, the plan, the noise."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called on the certificate."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Of its tables, which become names of files."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Part]: ...

    @abstractmethod
    def foreseen(self) -> dict[str, Any]:
        """For a preview: its `name`, its `epsilon` in text, and the half-width of each column's bars `within`."""

    @abstractmethod
    def tables(self, found: Sequence[Committed]) -> Sequence[Table]:
        """What people receive, from what the ledger stored of each part. It costs nothing."""

    @abstractmethod
    def described(self, found: Sequence[Committed]) -> dict[str, Any]:
        """Its entry in the certificate: canonical JSON, without floats."""


class Wanted(Protocol):
    """A product that was asked for and has no price yet."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def share(self) -> Fraction:
        """Its part of the budget, beside the other products' shares."""

    @abstractmethod
    def priced(self, portion: Portion) -> Product:
        """The product at its price; reads no rows."""
