"""Which values a key can take, when that is public: listed, or derived from lists and ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from fractions import Fraction
from functools import lru_cache
from itertools import product

from sfumato.queries.bins import edges_of, labels
from sfumato.queries.evaluate import evaluate
from sfumato.queries.expression import Call, Expression, Field, Literal, Measure, fields, plain
from sfumato.queries.infer import Scope, Type, edges, infer
from sfumato.queries.schema import Value

KEYS = 10**6
"""No key may have more values than this."""
TRIALS = 10**5
"""A key whose values are found by trying every input tries at most so many."""


def domain(expression: Expression, scope: Scope, listed: Mapping[str, tuple[Value, ...]]) -> tuple[Value, ...] | None:
    """Every value but NULL that an expression can take, when that is public; `listed` has the columns' public keys."""
    match expression:
        case Literal(value):
            return () if value is None else (value,)
        case Field(name) if name in listed:
            return listed[name]
        case Call("bin"):
            return labels(edges_of(expression))
        case Call("case", arguments):
            return _union([*arguments[1::2], arguments[-1]], scope, listed)
        case Call("coalesce", arguments):
            return _union(arguments, scope, listed)
    kind = infer(expression, scope)
    if kind.kind == "boolean":
        return (False, True)
    if kind.kind == "number" and kind.bounded:
        low, high, grain = edges(kind)
        if (high - low) / grain >= KEYS:
            return None
        return _grid(low, high, grain)
    return _image(expression, scope, listed)


@lru_cache(maxsize=16)
def _grid(low: Fraction, high: Fraction, grain: Fraction) -> tuple[Value, ...]:
    """Every step from low to high: asked for again at every rewrite, and long."""
    return tuple(plain(low + step * grain) for step in range(int((high - low) / grain) + 1))


def _union(
    branches: Iterable[Expression], scope: Scope, listed: Mapping[str, tuple[Value, ...]]
) -> tuple[Value, ...] | None:
    values: dict[Value, None] = {}
    for branch in branches:
        found = domain(branch, scope, listed)
        if found is None:
            return None
        values.update(dict.fromkeys(found))
    return tuple(values)


def _image(expression: Expression, scope: Scope, listed: Mapping[str, tuple[Value, ...]]) -> tuple[Value, ...] | None:
    """The values on every combination of its columns' values, if those are few."""
    if isinstance(expression, Field):
        return _days(scope[expression.name])
    inputs: dict[str, tuple[Value, ...]] = {}
    for name in sorted(fields(expression)):
        values = domain(Field(name), scope, listed)
        if values is None:
            return None
        inputs[name] = (*values, None) if scope[name].nullable else values
    if math.prod(len(values) for values in inputs.values()) > TRIALS:
        return None
    rows: Iterator[dict[Field | Measure, Value]] = (
        {Field(name): value for name, value in zip(inputs, row, strict=True)} for row in product(*inputs.values())
    )
    return tuple(dict.fromkeys(value for value in (evaluate(expression, row) for row in rows) if value is not None))


def _days(of: Type) -> tuple[Value, ...] | None:
    if of.kind != "date" or not isinstance(of.low, date) or not isinstance(of.high, date):
        return None
    if (of.high - of.low).days >= TRIALS:
        return None
    return tuple(of.low + timedelta(days=count) for count in range((of.high - of.low).days + 1))
