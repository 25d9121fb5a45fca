"""Several releases as one loss."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.accounting.loss import Loss
from sfumato.core.errors import NotSupported


def compose(losses: Iterable[Loss]) -> Loss:
    """All of them together, each possibly chosen after the earlier ones were seen."""
    raise NotSupported("losses cannot be added yet", hint="add the pairs of pure() or zcdp()")


def repeat(loss: Loss, times: int) -> Loss:
    """`loss`, `times` times over."""
    raise NotSupported("losses cannot be multiplied yet", hint="multiply the pairs of pure() or zcdp()")
