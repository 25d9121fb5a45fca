"""What one row adds to each cell of a statistic, before its weight: integer expressions, never NULL."""

from __future__ import annotations

from typing import assert_never

from sfumato.core import Bug
from sfumato.queries.expression import Expression, Field, Literal, call, number
from sfumato.queries.plan import Ranked, Rowwise

ZERO, ONE = Literal(0), Literal(1)


def cells(statistic: Rowwise) -> tuple[Expression, ...]:
    """The cells in order. A mean is two non-negative halves: steps above the low end, and steps below the high end."""
    match statistic.kind:
        case "count":
            return (ONE,)
        case "present":
            return (there(statistic),)
        case "total":
            return (call("coalesce", steps(statistic), ZERO),)
        case "mean":
            return _halves(statistic)
        case "moments":
            return (*_halves(statistic), call("coalesce", spread(statistic), ZERO))
        case _:
            assert_never(statistic.kind)


def _halves(statistic: Rowwise) -> tuple[Expression, Expression]:
    above = steps(statistic)
    below = call("subtract", number(statistic.top), above)
    return call("coalesce", above, ZERO), call("coalesce", below, ZERO)


def there(statistic: Rowwise) -> Expression:
    """1 where the column is not NULL."""
    return call("case", call("is_null", _of(statistic)), ZERO, ONE)


def steps(statistic: Rowwise | Ranked) -> Expression:
    """The column in whole steps, NULL where it is. What was computed is clamped again, whatever was proved of it."""
    of = _of(statistic)
    if not isinstance(of, Field):
        of = call("clamp", of, number(statistic.low), number(statistic.high))
    total = isinstance(statistic, Rowwise) and statistic.kind == "total"
    origin = number(0) if total else number(statistic.low)
    return call("steps", of, origin, number(statistic.step))


def spread(statistic: Rowwise) -> Expression:
    """The square of the distance to the middle, in as many steps as the column itself has."""
    return call("spread", steps(statistic), number(statistic.top))


def _of(statistic: Rowwise | Ranked) -> Expression:
    if statistic.of is None:
        raise Bug("a statistic of a column has no column")
    if isinstance(statistic, Ranked) and statistic.scale != "number":
        return _counted(statistic)
    return statistic.of


def _counted(statistic: Ranked) -> Expression:
    """Days as their number since the first, categories as their place in the order."""
    if statistic.scale == "day":
        return call("days_between", statistic.of, Literal(statistic.names[0]))
    places = (
        part
        for place, name in enumerate(statistic.names)
        for part in (call("eq", statistic.of, Literal(name)), Literal(place))
    )
    return call("case", *places, Literal(None))
