"""Every error sfumato raises on purpose. Each says what happened and what to do next; none holds a row's data.

SfumatoError
├─ BadInput         an argument makes no sense, whatever the data (a ValueError too)
├─ NotSupported     the question has no private answer in the form asked
├─ NotAllowed       the policy forbids it to this analyst
├─ NotFound         it is not there, or it is another's: nobody learns which
├─ BudgetExceeded   it costs more than what is left           (.cost, .left)
├─ BadPolicy        the policy contradicts itself or the schema (.line, .column)
├─ LedgerDamaged    the chain or its head does not verify; spending stops
├─ EngineFailed     fixed text, no engine message
└─ Bug              an invariant broke; please report
"""

from __future__ import annotations

from typing import final


class SfumatoError(Exception):
    """What happened, why it protects someone, and what to type next."""

    def __init__(self, message: str, *, hint: str, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        label = f"{self.code} " if self.code else ""
        return f"{label}{self.message} -> {self.hint}"


@final
class BadInput(SfumatoError, ValueError):
    """An argument makes no sense, whatever the data: a scale of zero, a delta of two."""


@final
class NotSupported(SfumatoError):
    """The question has no private answer in the form asked."""


@final
class NotAllowed(SfumatoError):
    """The policy forbids it to this analyst."""


@final
class NotFound(SfumatoError):
    """It is not there, or it is another's: nobody learns which."""


@final
class BudgetExceeded(SfumatoError):
    """It costs more than what is left."""

    def __init__(self, message: str, *, hint: str, code: str | None = None, cost: str, left: str) -> None:
        super().__init__(message, hint=hint, code=code)
        self.cost = cost
        self.left = left


@final
class BadPolicy(SfumatoError):
    """The policy contradicts itself or the schema; `line` and `column` point into its text when known."""

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        code: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = "" if self.line is None else f"line {self.line}, column {self.column or 1}: "
        return place + super().__str__()


@final
class LedgerDamaged(SfumatoError):
    """The chain or its head does not verify: spending stops until the owner has looked."""


@final
class EngineFailed(SfumatoError):
    """The engine could not compute the exact answer. The engine's own words may hold data, so they are not here."""


@final
class Bug(SfumatoError):
    """An invariant of sfumato broke. The answer, if any, was not released."""

    def __init__(self, message: str, *, hint: str = "please report this", code: str | None = None) -> None:
        super().__init__(message, hint=hint, code=code)
