"""The account of a framework: one release, because two do not add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput, NotAllowed
from sfumato.mechanisms.pufferfish.framework import Framework


@final
@dataclass(frozen=True)
class Account:
    """What was promised about a framework's secrets. It stands beside the budget of differential privacy, never in it.

    Of two releases, each hiding a secret, the pair may tell it (a secret in the parity of two fair coins), so a second one
    is refused: publish everything about these secrets as one vector.
    """

    framework: Framework
    promised: Loss | None = None

    def charge(self, loss: Loss) -> Account:
        """The account after a release at this price; nothing else ever fits."""
        if loss.about != self.framework.about:
            raise BadInput(
                f"the account of one framework was charged a loss about another thing: {loss.about}",
                hint="price the release on this framework's beliefs",
            )
        if self.promised is not None:
            raise NotAllowed(
                f"a number about the secrets of {self.framework.name!r} was released already, and two do not add up",
                hint="release all the numbers at once, as one vector",
            )
        return Account(self.framework, loss)
