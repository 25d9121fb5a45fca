"""The first groups of each unit, in a public order that is the same on every engine.

A unit's groups are ordered by the MD5 of the unit's name and the group's, each part written with its length before it, so that
no two differ only in where one part ends; then by the group's name. The order depends on the unit's own rows only. It needs no
secret: what is promised holds whichever of a person's groups are counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from sfumato.queries.infer import Type
from sfumato.queries.sql.formula import integer
from sfumato.queries.sql.relation import column

FIRST_DAY = "1970-01-01"


def name_of(keys: Iterable[tuple[str, Type]]) -> exp.Expr:
    """A group's name: the parts of its keys one after the other; `-` is NULL."""
    parts = [_part(column(name), of) for name, of in keys]
    return _joined([exp.Coalesce(this=part, expressions=[exp.Literal.string("-")]) for part in parts])


def unit_part() -> exp.Expr:
    """The unit's name with its length before it."""
    return _measured(_texted(column("u")))


def first(pairs: str, many: str, name: exp.Expr, most: int) -> exp.Query:
    """The rows of `pairs` that belong to the first `most` groups of their unit; `many` names the units that have more."""
    order = [exp.Ordered(this=exp.MD5(this=_joined([unit_part(), name.copy()]))), exp.Ordered(this=name)]
    place = exp.Window(this=exp.RowNumber(), partition_by=[column("u")], order=exp.Order(expressions=order))
    ranked = exp.select("*", exp.alias_(place, "place")).from_(pairs).join(many, using=["u"])
    light = exp.select(exp.alias_(integer(1), "one")).from_(many)
    light = light.where(exp.EQ(this=column("u", many), expression=column("u", pairs)))
    few = exp.select("*", exp.alias_(integer(1), "place")).from_(pairs).where(exp.Not(this=exp.Exists(this=light)))
    every = exp.union(few, ranked, distinct=False, copy=False)
    return exp.select("*").from_(every.subquery("p", copy=False), copy=False).where(f"place <= {most}")


def crowded(pairs: str, most: int) -> exp.Select:
    """The units with more than `most` groups."""
    return exp.select("u").from_(pairs).group_by("u").having(f"COUNT(*) > {most}")


def _part(of: exp.Expr, type_: Type) -> exp.Expr:
    match type_.kind:
        case "boolean":
            one, zero = (exp.Literal.string(digit) for digit in "10")
            none = exp.If(this=exp.Is(this=of.copy(), expression=exp.null()), true=exp.null())
            return _measured(exp.Case(ifs=[none, exp.If(this=of, true=one)], default=zero))
        case "date":
            days = exp.DateDiff(this=of, expression=exp.cast(exp.Literal.string(FIRST_DAY), "date"))
            return _measured(_texted(days))
        case "number":
            return _measured(_texted(exp.cast(of, "bigint")))
        case _:
            return _measured(of)


def _measured(text: exp.Expr) -> exp.Expr:
    """A text with its length in characters before it; NULL stays NULL."""
    return _joined([_texted(exp.cast(exp.Length(this=text.copy()), "bigint")), exp.Literal.string(":"), text])


def _texted(of: exp.Expr) -> exp.Expr:
    return exp.cast(of, "text")


def _joined(parts: list[exp.Expr]) -> exp.Expr:
    joined = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=joined, expression=part, safe=True)
    return exp.paren(joined, copy=False)
