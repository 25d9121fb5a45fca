"""Whole rows, for mechanisms that take a table of them: the columns of a policy, and how rows of these are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.accounting import Loss
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.sensitivity import Sensitivity
from sfumato.curator.ledger.records import Charge
from sfumato.mechanisms import Mechanism
from sfumato.queries.bounded import Bounded, sparse
from sfumato.queries.expression import Field, Measure
from sfumato.queries.frame import Frame
from sfumato.queries.plan import Aggregate
from sfumato.queries.rows import declared_of
from sfumato.queries.schema import Column

if TYPE_CHECKING:
    from sfumato.curator.session import Session


@final
@dataclass(frozen=True, slots=True)
class Rowed:
    """Rows of some columns, one weighed group for each combination that there is."""

    columns: tuple[Column, ...]
    bounded: Bounded

    @classmethod
    def of(cls, rows: Frame, names: Sequence[str], *, complete: bool) -> Rowed:
        """The rows of a table. `complete`: those with a missing value in any of the columns are left out."""
        table = rows.schema.table(rows.name)
        found = [None if table is None else table.column(name) for name in names]
        if not names or len(set(names)) < len(names):
            raise BadInput("no column was named, or one twice", hint="name each column once")
        for name, column in zip(names, found, strict=True):
            if column is None:
                raise NotSupported(
                    f"the policy has no column {name} in this table", hint="see `sfumato tables`", code="SF022"
                )
            if column.values == "private" or (
                column.values is None and column.range is None and column.type != "boolean"
            ):
                raise NotSupported(
                    f"{name} has no public list or range, and this product needs one",
                    hint="the owner can declare values = [...] or a range in the policy",
                    code="SF005",
                )
        if complete:
            rows = rows.filter(" AND ".join(f'"{name}" IS NOT NULL' for name in names))
        keys = tuple(expression for _, expression in rows.group_by(*names).keys)
        plan = Aggregate(rows.rows, keys, (Measure("rows"),))
        columns = tuple(column for column in found if column is not None)
        return cls(columns, sparse(plan, rows.schema))

    @property
    def order(self) -> tuple[str, ...]:
        """The names of the columns as the engine gives them: keys stand in canonical order."""
        declared = declared_of(self.bounded.tally.child)
        return tuple(declared[key.of.name].name for key in self.bounded.tally.keys if isinstance(key.of, Field))

    @property
    def reach(self) -> Sensitivity:
        """How much weight of rows one unit moves."""
        return self.bounded.sensitivity

    def what(self, session: Session, mechanism: Mechanism[Any, Any], losses: Sequence[Loss]) -> dict[str, Any]:
        """What the ledger keeps beside the charge of a mechanism that takes these rows."""
        return {
            "plan": self.bounded.key,
            "version": session.dataset.policy.version,
            "mechanisms": [mechanism.describe()],
            "losses": [dict(loss.describe()) for loss in losses],
        }


def charge_of(session: Session, losses: Sequence[Loss]) -> Charge:
    """What losses cost in the currency of the budget."""
    spent = [session.dataset.budget.cost(loss) for loss in losses]
    return Charge(sum((each.amount for each in spent), Fraction(0)), sum((each.failure for each in spent), Fraction(0)))
