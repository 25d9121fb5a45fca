"""One spelling per question: what may be written in any order is written in one."""

from __future__ import annotations

from dataclasses import replace

from sfumato.queries.expression import Call, Expression, Measure, call
from sfumato.queries.plan import (
    Aggregate,
    Derive,
    Filter,
    Gather,
    Having,
    Join,
    Limit,
    Order,
    Plan,
    Read,
    Scan,
    Select,
    Sort,
    Tally,
    Weigh,
    Window,
    canonical,
)
from sfumato.queries.schema import Schema

COMMUTE = frozenset({"and", "or", "eq", "add", "multiply"})


def in_order(plan: Plan, schema: Schema) -> Plan:
    """Conditions flattened, sorted and without repeats; commutative arguments, keys and measures sorted."""
    match plan:
        case Scan() | Read():
            return plan
        case Filter(child, conditions):
            below = in_order(child, schema)
            if isinstance(below, Filter):
                child, conditions = below.child, (*below.conditions, *conditions)
            else:
                child = below  # type: ignore[assignment]
            split = [part for each in conditions for part in _conjuncts(spelled(each))]
            return Filter(child, _sorted(split)) if split else child
        case Derive(child, columns):
            return Derive(in_order(child, schema), tuple((name, spelled(each)) for name, each in columns))  # type: ignore[arg-type]
        case Join(left, right, on=on):
            split = [part for each in on for part in _conjuncts(spelled(each))]
            sides = in_order(left, schema), in_order(right, schema)
            return replace(plan, left=sides[0], right=sides[1], on=_sorted(split))  # type: ignore[arg-type]
        case Gather(child, keys, folds):
            return Gather(
                in_order(child, schema),  # type: ignore[arg-type]
                tuple((name, spelled(of)) for name, of in keys),
                tuple((name, replace(fold, of=_maybe(fold.of), by=_orders(fold.by))) for name, fold in folds),
            )
        case Window(child, columns):
            overs = (
                (name, replace(o, of=_maybe(o.of), by=_orders(o.by), within=tuple(map(spelled, o.within))))
                for name, o in columns
            )
            return Window(in_order(child, schema), tuple(overs))  # type: ignore[arg-type]
        case Aggregate(child, keys, measures):
            return Aggregate(
                in_order(child, schema),  # type: ignore[arg-type]
                _sorted([spelled(key) for key in keys]),
                _sorted([spelled(measure) for measure in measures]),  # type: ignore[arg-type]
            )
        case Having(child, condition):
            return Having(in_order(child, schema), spelled(condition))  # type: ignore[arg-type]
        case Sort(child, orders):
            return Sort(in_order(child, schema), _orders(orders))  # type: ignore[arg-type]
        case Limit(child):
            return replace(plan, child=in_order(child, schema))  # type: ignore[arg-type]
        case Select(child, columns):
            return Select(in_order(child, schema), tuple((name, spelled(each)) for name, each in columns))  # type: ignore[arg-type]
        case Weigh(child) | Tally(child):
            return replace(plan, child=in_order(child, schema))  # type: ignore[arg-type]


def _maybe(of: Expression | None) -> Expression | None:
    return None if of is None else spelled(of)


def _orders(orders: tuple[Order, ...]) -> tuple[Order, ...]:
    return tuple(replace(order, by=spelled(order.by)) for order in orders)


def spelled(expression: Expression) -> Expression:
    """The expression with its commutative parts in order."""
    match expression:
        case Measure(of=of):
            return expression if of is None else replace(expression, of=spelled(of))
        case Call("not", (Call("not", (inner,)),)):
            return spelled(inner)
        case Call(("and" | "or") as operation, arguments):
            parts = _sorted([part for each in arguments for part in _parts(operation, spelled(each))])
            return parts[0] if len(parts) == 1 else Call(operation, parts)
        case Call("in", (of, *listed)):
            return call("in", spelled(of), *_sorted(listed))
        case Call(operation, arguments):
            spelt = tuple(spelled(each) for each in arguments)
            return Call(operation, tuple(sorted(spelt, key=canonical)) if operation in COMMUTE else spelt)
        case _:
            return expression


def _parts(operation: str, expression: Expression) -> tuple[Expression, ...]:
    same = isinstance(expression, Call) and expression.operation == operation
    return expression.arguments if same and isinstance(expression, Call) else (expression,)


def _conjuncts(condition: Expression) -> tuple[Expression, ...]:
    return _parts("and", condition)


def _sorted(expressions: list[Expression] | tuple[Expression, ...]) -> tuple[Expression, ...]:
    return tuple(sorted(dict.fromkeys(expressions), key=canonical))
