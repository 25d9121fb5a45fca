"""Rows under other names: every column gets a tag in front, so that two sides of a join never share one."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from sfumato.core import Bug
from sfumato.queries.expression import Call, Expression, Field, Literal, Measure
from sfumato.queries.plan import Derive, Filter, Gather, Join, Order, Read, Rows, Scan, Window


def tagged(rows: Rows, tag: str) -> Rows:
    """The same rows, their columns called `tag` and what they were called."""
    match rows:
        case Scan(table, prefix):
            return Scan(table, tag + prefix)
        case Filter(child, conditions):
            return Filter(tagged(child, tag), tuple(named(each, tag) for each in conditions))
        case Derive(child, columns):
            return Derive(tagged(child, tag), tuple((tag + name, named(each, tag)) for name, each in columns))
        case Join(left, right, kind, on, link, unique):
            return Join(
                tagged(left, tag),
                tagged(right, tag),
                kind,
                tuple(named(each, tag) for each in on),
                None if link is None else (tag + link[0], tag + link[1]),
                None if unique is None else tag + unique,
            )
        case Gather(child, keys, folds):
            return Gather(
                tagged(child, tag),
                tuple((tag + name, named(of, tag)) for name, of in keys),
                tuple(
                    (tag + name, replace(fold, of=_maybe(fold.of, tag), by=_orders(fold.by, tag)))
                    for name, fold in folds
                ),
            )
        case Window(child, columns):
            overs = (
                (
                    tag + name,
                    replace(
                        over,
                        of=_maybe(over.of, tag),
                        by=_orders(over.by, tag),
                        within=tuple(named(each, tag) for each in over.within),
                    ),
                )
                for name, over in columns
            )
            return Window(tagged(child, tag), tuple(overs))
        case Read():
            raise Bug("rows were joined after they were normalised")
        case _:
            assert_never(rows)


def _maybe(of: Expression | None, tag: str) -> Expression | None:
    return None if of is None else named(of, tag)


def _orders(orders: tuple[Order, ...], tag: str) -> tuple[Order, ...]:
    return tuple(replace(order, by=named(order.by, tag)) for order in orders)


def named(expression: Expression, tag: str) -> Expression:
    """The expression over the tagged columns."""
    match expression:
        case Field(name):
            return Field(tag + name)
        case Call(operation, arguments):
            return Call(operation, tuple(named(each, tag) for each in arguments))
        case Literal():
            return expression
        case Measure():
            raise Bug("a measure stands below the release")
        case _:
            assert_never(expression)
