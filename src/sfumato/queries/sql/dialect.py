"""The last step before an engine: the same tree, in words that mean the same to it."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

ESCAPE = "\x01"
"""A character that no pattern of a question holds: patterns have no escape here, and some engines take a backslash for one."""


def written(query: exp.Expr, dialect: str) -> str:
    """The statement as text. Whatever engines understand differently is settled here, node by node, before it is made."""
    settle, kinds = _SETTLED[dialect]
    for node in list(query.find_all(*kinds)):
        node.replace(settle(node))
    return query.sql(dialect=dialect, copy=False, normalize_functions=False, comments=False)


def _for_duckdb(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Select):
        # Passing over no row changes none, and no condition moves below it.
        return node.offset(0, copy=False) if node.meta.get(APART) else node
    return _days(node)


def _days(node: exp.Expr) -> exp.Expr:
    kind = exp.Add if isinstance(node, exp.DateAdd) else exp.Sub
    return exp.paren(kind(this=node.this, expression=node.expression), copy=False)


def _for_postgres(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.DateAdd() | exp.DateDiff():
            return _days(node)
        case exp.IntDiv(this=left, expression=right) if not _wide(node):
            # Between 64-bit integers a slash cuts off, which is quicker than DIV of numerics; nothing here is negative.
            return exp.Div(this=left, expression=right, typed=True, safe=False)
        case exp.DataType() if _is_wide(node):
            return exp.DataType.build("decimal")
        case exp.IsNan(this=of):
            return exp.EQ(this=of, expression=exp.cast(exp.Literal.string("NaN"), "double"))
        case exp.Substring(this=of):
            start, length = (_short(node.args[name]) for name in ("start", "length"))
            return exp.Substring(this=of, start=start, length=length)
        case exp.Like():
            return _unescaped(node, "")
        case _:
            return node


def _for_spark(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.CTE():
            node.set("materialized", None)
            return node
        case exp.Select():
            # Sorting all rows by unit takes half as long again. Units are shared out evenly, so none of the tables is large.
            looked_up = node.meta.get(LOOKED_UP)
            return node if looked_up is None else node.hint(f"SHUFFLE_HASH({looked_up})", dialect="spark", copy=False)
        case exp.DateAdd(this=day, expression=days):
            return exp.Anonymous(this="DATE_ADD", expressions=[day, days])
        case exp.DateDiff(this=day, expression=other):
            return exp.cast(exp.Anonymous(this="DATEDIFF", expressions=[day, other]), "bigint")
        case exp.Extract(expression=day) if node.name.upper() == "ISODOW":
            return exp.Extract(this=exp.var("DAYOFWEEK_ISO"), expression=day)
        case exp.Sum(this=of):
            # A sum of 64-bit integers stays one here, and would fail where it no longer fits.
            return _in_limbs(of) if node.meta.get(NARROW) else exp.Sum(this=exp.cast(of, _WIDE))
        case exp.DataType() if _is_wide(node):
            return exp.DataType.build(_WIDE)
        case exp.Literal(this=text) if node.is_string and _REFERENCE in text:
            return _unreferenced(text)
        case exp.Like():
            return _unescaped(node, ESCAPE)
        case _:
            return node


NARROW = "narrow"
"""Said of a sum whose terms have 64 bits."""
APART = "apart"
"""Said of a SELECT that conditions above it must not enter."""
LOOKED_UP = "looked up"
"""Said of a SELECT over a join: the side whose rows are found by hash, one for each unit."""
_WIDE = "decimal(38, 0)"
_LIMB = 21
_REFERENCE = "${"
"""Spark reads ${env:NAME} as a setting or a variable of its environment, inside texts too."""
_SETTLED: dict[str, tuple[Callable[[exp.Expr], exp.Expr], tuple[type[exp.Expr], ...]]] = {
    "duckdb": (_for_duckdb, (exp.DateAdd, exp.DateDiff, exp.Select)),
    "postgres": (
        _for_postgres,
        (exp.DateAdd, exp.DateDiff, exp.IntDiv, exp.IsNan, exp.Like, exp.Substring, exp.DataType),
    ),
    "spark": (
        _for_spark,
        (exp.CTE, exp.Select, exp.DateAdd, exp.DateDiff, exp.Extract, exp.Sum, exp.Like, exp.DataType, exp.Literal),
    ),
}


def _in_limbs(of: exp.Expr) -> exp.Expr:
    """The sum of 64-bit integers in three parts of 21 bits, each a fast 64-bit sum that fits for 2^42 rows, put together wide.

    of = (of >> 42) 2^42 + ((of >> 21) mod 2^21) 2^21 + of mod 2^21, where >> rounds down, for negative numbers too.
    """
    low = exp.Literal.number(2**_LIMB - 1)

    def shifted(bits: int) -> exp.Expr:
        return exp.Anonymous(this="SHIFTRIGHT", expressions=[exp.cast(of.copy(), "bigint"), exp.Literal.number(bits)])

    def part(limb: exp.Expr, bits: int) -> exp.Expr:
        return exp.Mul(this=exp.cast(exp.Sum(this=limb), _WIDE), expression=exp.Literal.number(2**bits))

    middle = exp.BitwiseAnd(this=shifted(_LIMB), expression=low)
    last = exp.BitwiseAnd(this=exp.paren(exp.cast(of.copy(), "bigint")), expression=low.copy())
    total = exp.Add(
        this=exp.Add(this=part(shifted(2 * _LIMB), 2 * _LIMB), expression=part(middle, _LIMB)),
        expression=exp.cast(exp.Sum(this=last), _WIDE),
    )
    return exp.paren(total, copy=False)


def _is_wide(node: exp.Expr) -> bool:
    return isinstance(node, exp.DataType) and node.this == exp.DataType.Type.INT128


def _wide(node: exp.Expr) -> bool:
    """Whether a part of it may have more than 64 bits: it is a sum, or said to be wide."""
    return node.find(exp.Sum) is not None or any(map(_is_wide, node.find_all(exp.DataType)))


def _unescaped(like: exp.Expr, escape: str) -> exp.Expr:
    """LIKE without an escape; `escape` is how an engine is told that there is none."""
    return exp.Escape(this=exp.Like(this=like.this, expression=like.expression), expression=exp.Literal.string(escape))


def _unreferenced(text: str) -> exp.Expr:
    """The same text in pieces, so that it refers to nothing: what a machine is set to is no analyst's business."""
    first, *others = text.split(_REFERENCE)
    joined: exp.Expr = exp.Literal.string(first + "$")
    for place, part in enumerate(others):
        end = "$" if place < len(others) - 1 else ""
        joined = exp.DPipe(this=joined, expression=exp.Literal.string("{" + part + end), safe=True)
    return exp.paren(joined, copy=False)


def _short(number: exp.Expr) -> exp.Expr:
    """A 64-bit integer where only 32 bits are taken: no text is longer than they count."""
    most = exp.Least(this=number, expressions=[exp.Literal.number(2**31 - 1)])
    return exp.cast(exp.Greatest(this=most, expressions=[exp.Neg(this=exp.Literal.number(2**31 - 1))]), "int")
