"""The words everything else is written in: private values, sensitivities, neighbours, exact numbers, errors."""

from sfumato.core.errors import (
    BadInput,
    BadPolicy,
    BudgetExceeded,
    Bug,
    EngineFailed,
    LedgerDamaged,
    NotAllowed,
    NotFound,
    NotSupported,
    SfumatoError,
)
from sfumato.core.neighbours import Neighbours, Relation
from sfumato.core.private import Private
from sfumato.core.sensitivity import Sensitivity

__all__ = [
    "BadInput",
    "BadPolicy",
    "BudgetExceeded",
    "Bug",
    "EngineFailed",
    "LedgerDamaged",
    "Neighbours",
    "NotAllowed",
    "NotFound",
    "NotSupported",
    "Private",
    "Relation",
    "Sensitivity",
    "SfumatoError",
]
