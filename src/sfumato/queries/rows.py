"""What is known of rows before any is read: their columns, the types of these, and how many rows one unit can have."""

from __future__ import annotations

from dataclasses import replace

from sfumato.core import Bug
from sfumato.queries.expression import Call, Expression, Field
from sfumato.queries.infer import Type, column_type, infer
from sfumato.queries.plan import Derive, Filter, Join, Read, Rows, Weigh
from sfumato.queries.schema import Column


def reads_of(rows: Rows | Weigh) -> tuple[Read, ...]:
    """The tables that normalised rows are read from."""
    match rows:
        case Read():
            return (rows,)
        case Join(left, right):
            return (*reads_of(left), *reads_of(right))
        case Filter(child) | Derive(child) | Weigh(child):
            return reads_of(child)
        case _:
            raise _too_early()


def scope_of(rows: Rows | Weigh) -> dict[str, Type]:
    """The types of the columns of normalised rows, NULL excluded where a condition excludes it."""
    match rows:
        case Read(columns=columns, prefix=prefix):
            return {prefix + column.name: column_type(column) for column in columns}
        case Filter(child, conditions):
            scope = scope_of(child)
            for name in frozenset().union(*map(present, conditions)):
                scope[name] = replace(scope[name], nullable=False)
            return scope
        case Derive(child, columns):
            scope = scope_of(child)
            return scope | {name: infer(expression, scope) for name, expression in columns}
        case Join(left, right, kind, on):
            right_scope = scope_of(right)
            if kind == "left":
                return scope_of(left) | {name: replace(of, nullable=True) for name, of in right_scope.items()}
            scope = scope_of(left) | right_scope
            for name in frozenset().union(*map(present, on)):
                scope[name] = replace(scope[name], nullable=False)
            return scope
        case Weigh(child):
            return scope_of(child)
        case _:
            raise _too_early()


def declared_of(rows: Rows | Weigh) -> dict[str, Column]:
    """The declarations behind the columns of normalised rows: their public values, and what becomes of NULL."""
    match rows:
        case Read(columns=columns, prefix=prefix):
            return {prefix + column.name: column for column in columns}
        case Join(left, right):
            return declared_of(left) | declared_of(right)
        case Derive(child, columns):
            found = declared_of(child)
            named = {name: found[of.name] for name, of in columns if isinstance(of, Field) and of.name in found}
            return found | named
        case Filter(child) | Weigh(child):
            return declared_of(child)
        case _:
            raise _too_early()


def present(condition: Expression) -> frozenset[str]:
    """The columns that cannot be NULL where `condition` is true."""
    match condition:
        case Call("not", (Call("is_null", (Field(name),)),)):
            return frozenset({name})
        case Call("eq" | "lt" | "le" | "in" | "like", arguments):
            return frozenset(each.name for each in arguments if isinstance(each, Field))
        case _:
            return frozenset()


def owned(rows: Rows | Weigh) -> bool:
    """Whether each of these rows says by itself which unit it belongs to."""
    match rows:
        case Read(owned=mine):
            return mine
        case Join(left, right):
            return owned(left) or owned(right)
        case Filter(child) | Derive(child) | Weigh(child):
            return owned(child)
        case _:
            raise _too_early()


def alone(rows: Rows | Weigh) -> bool:
    """Whether no unit can have more than one of these rows, whatever the tables hold.

    So it is where rows are the units. A public match adds no row to one: values that a public key holds twice match
    nothing. Rows of one unit on both sides stay one where each side has one at most.
    """
    match rows:
        case Read(unit=unit, owned=mine):
            return mine and unit is None
        case Join(left, right, unique=unique):
            return alone(left) and (unique is not None or alone(right))
        case Filter(child) | Derive(child) | Weigh(child):
            return alone(child)
        case _:
            raise _too_early()


def _too_early() -> Bug:
    return Bug("rows were looked at before they were normalised")
