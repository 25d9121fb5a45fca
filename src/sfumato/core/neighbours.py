"""Which two tables must look alike: what "differ by one unit" means for a promise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar, final


class Relation(Enum):
    """How one table becomes its neighbour."""

    ADD_REMOVE = "add-remove"
    """One unit's rows are added or taken away; how many units there are is private."""

    REPLACE = "replace"
    """One unit's rows are replaced by others; how many units there are is public."""

    SECRETS = "secrets"
    """Two secrets of a Pufferfish framework; its own account, never added to the others."""


@final
@dataclass(frozen=True, slots=True)
class Neighbours:
    """A relation, and the unit that it protects (a person, a household, a row).

    It rides on every sensitivity and every loss and is never an argument of a mechanism: a mechanism adds noise to a
    number and cannot know how far one person moves it.
    """

    relation: Relation
    unit: str = "unit"

    ADD_REMOVE: ClassVar[Neighbours]
    REPLACE: ClassVar[Neighbours]

    def protecting(self, unit: str) -> Neighbours:
        """The same relation about another unit."""
        return replace(self, unit=unit)

    def __str__(self) -> str:
        match self.relation:
            case Relation.ADD_REMOVE:
                return f"add or remove one {self.unit}"
            case Relation.REPLACE:
                return f"replace one {self.unit}"
            case Relation.SECRETS:
                return f"one secret about a {self.unit} or another"


Neighbours.ADD_REMOVE = Neighbours(Relation.ADD_REMOVE)
Neighbours.REPLACE = Neighbours(Relation.REPLACE)
