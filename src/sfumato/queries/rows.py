"""What is known of rows before any is read: their columns, the types of these, and how many rows one unit can have."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato.core import Bug, NotSupported
from sfumato.queries.domain import domain
from sfumato.queries.expression import Call, Expression, Field, Literal
from sfumato.queries.infer import Type, column_type, edges, fits, infer
from sfumato.queries.plan import Derive, Filter, Fold, Gather, Join, Over, Read, Rows, Weigh, Window
from sfumato.queries.schema import Column


def reads_of(rows: Rows | Weigh) -> tuple[Read, ...]:
    """The tables that normalised rows are read from."""
    match rows:
        case Read():
            return (rows,)
        case Join(left, right):
            return (*reads_of(left), *reads_of(right))
        case Filter(child) | Derive(child) | Gather(child) | Window(child) | Weigh(child):
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
        case Gather(child, keys, folds):
            scope = scope_of(child)
            found = {name: infer(expression, scope) for name, expression in keys}
            return found | {name: folded(fold.kind, _of(fold, scope)) for name, fold in folds}
        case Window(child, columns):
            scope = scope_of(child)
            return scope | {name: seen(over, _of(over, scope)) for name, over in columns}
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
        case Gather(child, keys, folds):
            found = declared_of(child)
            same = {name: of for name, of in keys} | {  # noqa: C416
                name: fold.of for name, fold in folds if fold.kind in {"least", "most", "first", "last"}
            }
            named = {name: found[of.name] for name, of in same.items() if isinstance(of, Field) and of.name in found}
            return {name: column for name, of in keys if (column := _listed(name, of, child))} | named
        case Window(child, columns):
            found = declared_of(child)
            taken = {"before", "after", "first", "least", "most"}
            named = {
                name: found[over.of.name]
                for name, over in columns
                if over.kind in taken and isinstance(over.of, Field) and over.of.name in found
            }
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
        case Call("and", arguments):
            return frozenset().union(*map(present, arguments))
        case _:
            return frozenset()


def owned(rows: Rows | Weigh) -> bool:
    """Whether each of these rows says by itself which unit it belongs to."""
    match rows:
        case Read(owned=mine):
            return mine
        case Join(left, right):
            return owned(left) or owned(right)
        case Filter(child) | Derive(child) | Gather(child) | Window(child) | Weigh(child):
            return owned(child)
        case _:
            raise _too_early()


def alone(rows: Rows | Weigh) -> bool:
    """Whether no unit can have more than one of these rows, whatever the tables hold.

    So it is where rows are the units, where they are gathered by unit and nothing else, and where a filter leaves the one
    row of each unit that has a given place in an order of all of them. A public match adds no row to one: values that a
    public key holds twice match nothing. Rows of one unit on both sides stay one where each side has one at most.
    """
    match rows:
        case Read(unit=unit, owned=mine):
            return mine and unit is None
        case Join(left, right, unique=unique):
            return alone(left) and (unique is not None or alone(right))
        case Gather(child, keys):
            return not keys or alone(child)
        case Filter(child, conditions):
            return alone(child) or any(_first_of(child, condition) for condition in conditions)
        case Derive(child) | Window(child) | Weigh(child):
            return alone(child)
        case _:
            raise _too_early()


def _first_of(rows: Rows, condition: Expression) -> bool:
    """Whether a condition holds in one row of each unit at most: a place among all of its rows that is one number."""
    match condition:
        case Call("eq", (Field(name), Literal(int()))) | Call("eq", (Literal(int()), Field(name))):
            while isinstance(rows, Filter | Derive | Window):
                if isinstance(rows, Window):
                    over = dict(rows.columns).get(name)
                    if over is not None:
                        return over.kind == "place" and not over.within
                rows = rows.child
    return False


def folded(kind: str, of: Type | None) -> Type:
    """The type of what a unit's rows become. Counts and sums have no range of their own: nobody's rows are limited here."""
    match kind:
        case "rows":
            return Type("number", False, Fraction(1), None, Fraction(1))
        case "present" | "distinct":
            return Type("number", False, Fraction(0), None, Fraction(1))
        case "sum" if of is not None:
            low, high, grain = edges(of)
            return Type("number", True, low if low >= 0 else None, high if high <= 0 else None, grain)
        case "mean" if of is not None:
            low, high, grain = edges(of)
            return fits(Type("number", True, low, high, grain / 1000))
        case "least" | "most" if of is not None and of.kind not in {"number", "date", "null"}:
            raise NotSupported(
                "the least and the most are taken of numbers and dates", hint="use FIRST(x ORDER BY ...)", code="SF021"
            )
        case _ if of is not None:
            return replace(of, nullable=True)
    raise Bug("a fold of a column has no column")


def seen(over: Over, of: Type | None) -> Type:
    """The type of what a row sees of the other rows of its unit."""
    return folded("rows", None) if over.kind == "place" else folded(over.kind, of)


def limits_of(kind: str, of: Type | None, most: int) -> tuple[Fraction, Fraction] | None:
    """The range that counts and sums are taken to have where a range is needed: that of at most `most` rows."""
    match kind:
        case "rows" | "place":
            return Fraction(1), Fraction(most)
        case "present" | "distinct":
            return Fraction(0), Fraction(most)
        case "sum" if of is not None:
            low, high, _ = edges(of)
            return min(low, low * most), max(high, high * most)
        case _:
            return None


def _of(one: Fold | Over, scope: dict[str, Type]) -> Type | None:
    return None if one.of is None else infer(one.of, scope)


def _listed(name: str, of: Expression, rows: Rows) -> Column | None:
    """A computed key of text as a column of its own, with the public values that it can take."""
    scope = scope_of(rows)
    if infer(of, scope).kind != "text":
        return None
    known = {each: c.values for each, c in declared_of(rows).items() if isinstance(c.values, tuple)}
    values = domain(of, scope, known)
    return None if values is None else Column(name, "text", values=values)


def _too_early() -> Bug:
    return Bug("rows were looked at before they were normalised")
