"""The last step before an engine: the same tree, in words that mean the same to it."""

from __future__ import annotations

from sqlglot import exp

ESCAPE = "\x01"
"""A character that no pattern of a question holds: patterns have no escape here, and some engines take a backslash for one."""


def written(query: exp.Expr, dialect: str) -> str:
    """The statement as text. Whatever engines understand differently is settled here, node by node, before it is made."""
    match dialect:
        case "postgres":
            for node in list(query.find_all(exp.IntDiv, exp.IsNan, exp.Like, exp.Substring)):
                node.replace(_for_postgres(node))
        case "spark":
            for node in list(query.find_all(exp.CTE, exp.Like)):
                node.replace(_for_spark(node))
    return query.sql(dialect=dialect, copy=False, normalize_functions=False, comments=False)


def _for_postgres(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.IntDiv(this=left, expression=right):
            # DIV is for numerics; between integers a slash cuts off, and nothing here is negative.
            return exp.Div(this=left, expression=right, typed=True, safe=False)
        case exp.IsNan(this=of):
            return exp.EQ(this=of, expression=exp.cast(exp.Literal.string("NaN"), "double"))
        case exp.Substring(this=of):
            start, length = (_short(node.args[name]) for name in ("start", "length"))
            return exp.Substring(this=of, start=start, length=length)
        case _:
            return _unescaped(node, "")


def _for_spark(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.CTE():
            node.set("materialized", None)
            return node
        case _:
            return _unescaped(node, ESCAPE)


def _unescaped(like: exp.Expr, escape: str) -> exp.Expr:
    """LIKE without an escape; `escape` is how an engine is told that there is none."""
    return exp.Escape(this=exp.Like(this=like.this, expression=like.expression), expression=exp.Literal.string(escape))


def _short(number: exp.Expr) -> exp.Expr:
    """A 64-bit integer where only 32 bits are taken: no text is longer than they count."""
    most = exp.Least(this=number, expressions=[exp.Literal.number(2**31 - 1)])
    return exp.cast(exp.Greatest(this=most, expressions=[exp.Neg(this=exp.Literal.number(2**31 - 1))]), "int")
