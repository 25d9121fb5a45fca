"""From what is asked to what an engine may compute: a tuple of rules, each Plan -> Plan, applied in order."""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.queries.plan import Plan
from sfumato.queries.rewrites.order import in_order
from sfumato.queries.rewrites.read import normalised
from sfumato.queries.rewrites.tally import integers
from sfumato.queries.rewrites.weigh import weighed
from sfumato.queries.schema import Schema

Rule = Callable[[Plan, Schema], Plan]

RULES: tuple[Rule, ...] = (
    in_order,  # one spelling per question
    normalised,  # NULL, NaN, infinity and overflow settled, numbers clamped, rows without a unit dropped
    integers,  # public keys listed, undeclared ones dropped; measures shifted, scaled, made non-negative integers
    weighed,  # each unit's rows share at most max_rows, counted after everything above
)


def _whatever_groups(plan: Plan, schema: Schema) -> Plan:
    return integers(plan, schema, most_groups=math.inf)


SPARSE: tuple[Rule, ...] = (in_order, normalised, _whatever_groups, weighed)
"""For those who take only the groups that there are: their number does not matter, and is private."""

__all__ = ["RULES", "SPARSE", "Rule", "in_order"]
