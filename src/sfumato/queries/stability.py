"""How far one unit can move the exact integers of a tally."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add
from typing import assert_never

from sfumato.core import Bug, NotSupported, Relation, Sensitivity
from sfumato.core.neighbours import Neighbours
from sfumato.queries.cells import cells, steps
from sfumato.queries.infer import Scope, infer
from sfumato.queries.plan import Distinct, Heads, Ranked, Rowwise, Statistic, Tally, Units, Weigh
from sfumato.queries.rows import scope_of


def sensitivities(tally: Tally, about: Neighbours) -> tuple[Sensitivity, ...]:
    """One for each statistic, over all its cells in all groups; together they are one vector, so they add.

    Proof, add/remove: a unit's rows are filtered, keyed and measured one by one, so another unit's rows change nothing
    of them, nor of its own n (rows left) or k (groups left). Its n rows weigh w = min(W, W*B // n) each, W*B together at
    most. A row lies in one group and adds w*c, c its cells. So a unit's vector is a sum of n vectors w*c in the cells of
    one group each, and any norm of it is at most W*B times the largest norm of one c. For a count c = 1. For a mean
    c = (v, top - v) or 0: l1 is top, each cell at most top. For moments c = (v, top - v, r), 0 <= r <= top: l1 is at
    most 2 top, and l2 squared v^2 + (top - v)^2 + r^2 <= 2 top^2 (v^2 + (top - v)^2 <= top^2 as v (top - v) >= 0).
    For a total c = t, |t| <= top. Counting units, each of k cells gets min(W, W*B // k): l1 is at most W*min(B, groups),
    one cell at most W.
    Counting different values: the unit's shares are at most W*B together, in k values of all groups. The rest of the
    table has some sum s of shares in each value, and min(W, s + w) - min(W, s) lies in [0, w], so a unit that comes adds a
    non-negative vector with l1 at most W*B to the same vector of the rest, in whatever groups.
    Places of a quantile are cells too, most of them 0: a row with a place adds w to one cell, as to a count's, and a row
    without one adds nothing.
    Private keys: only the rows in a unit's first `most` groups are left, in an order made of its own name and of its own
    groups' names; no other unit changes either, so all of the above holds of what is left, in `most` groups at most. The number
    of units of a group counts each once: l1 is at most `most`, one cell at most 1. All groups that there could be are cells,
    and those without rows hold 0.
    Replace: the vector moves by b - a, both bounded as above: l1 doubles; where all cells are non-negative, one cell
    moves by at most max(a, b), and |b - a|^2 <= |a|^2 + |b|^2; where they are signed, linf doubles and l2 squared
    quadruples. Sums that stop at the largest integer move no further than the sums themselves.
    """
    groups = 1
    for key in tally.keys:
        groups *= len(key.values)
    if tally.private:
        groups = _most(tally)
    scope = scope_of(tally.child)
    return tuple(_sensitivity(each, tally, groups, scope, about) for each in tally.statistics)


def together(parts: tuple[Sensitivity, ...]) -> Sensitivity:
    """All statistics as one vector."""
    return reduce(add, parts)


def _sensitivity(statistic: Statistic, tally: Tally, groups: int, scope: Scope, about: Neighbours) -> Sensitivity:
    weigh = _weigh(tally)
    count = groups * statistic.width
    if tally.private and about.relation is Relation.REPLACE:
        count *= 2
    match statistic:
        case Heads():
            reach = Fraction(groups)
            return _between(reach, Fraction(1), reach, count, about, signed=False)
        case Units():
            whole = Fraction(weigh.whole)
            one = min(weigh.bound, groups) * whole
            return _between(one, whole, one * whole, count, about, signed=False)
        case Distinct():
            reach = Fraction(weigh.whole * weigh.bound)
            return _between(reach, reach, reach * reach, count, about, signed=False)
        case Ranked():
            _check_places(statistic, scope)
            reach = Fraction(weigh.whole * weigh.bound)
            places = groups * (statistic.top + 1)
            return _between(reach, reach, reach * reach, places, about, signed=False)
        case Rowwise(kind):
            _check_cells(statistic, scope)
            reach = Fraction(weigh.whole * weigh.bound * statistic.top)
            match kind:
                case "count" | "present" | "mean":
                    return _between(reach, reach, reach * reach, count, about, signed=False)
                case "total":
                    signed = statistic.low < 0 < statistic.high
                    return _between(reach, reach, reach * reach, count, about, signed=signed)
                case "moments":
                    return _between(2 * reach, reach, 2 * reach * reach, count, about, signed=False)
                case _:
                    assert_never(kind)
        case _:
            assert_never(statistic)


def _between(
    l1: Fraction, linf: Fraction, l2_squared: Fraction, cells: int, about: Neighbours, *, signed: bool
) -> Sensitivity:
    """From the norms of one unit's own contribution to the distance between neighbours."""
    match about.relation:
        case Relation.ADD_REMOVE:
            return Sensitivity(l1, linf, l2_squared, about, cells)
        case Relation.REPLACE if signed:
            return Sensitivity(2 * l1, 2 * linf, 4 * l2_squared, about, cells)
        case Relation.REPLACE:
            return Sensitivity(2 * l1, linf, 2 * l2_squared, about, cells)
        case Relation.SECRETS:
            raise NotSupported(
                "a question to tables is not asked under a Pufferfish framework",
                hint="use a Pufferfish mechanism by itself",
            )
        case _:
            assert_never(about.relation)


def _weigh(tally: Tally) -> Weigh:
    weigh = tally.child
    if not isinstance(weigh, Weigh):
        raise Bug("a tally without weights has no sensitivity")
    if weigh.bound * weigh.whole >= 2**62:
        raise NotSupported("max_rows is too large", hint="declare a bound of at most a million millions", code="SF002")
    return weigh


def _most(tally: Tally) -> int:
    """In how many private groups a unit has rows."""
    if tally.most is None:
        raise Bug("private groups without a bound were about to be priced")
    return tally.most


def _check_cells(statistic: Rowwise, scope: Scope) -> None:
    """What the proof assumes of each cell, read off the expressions that the engine will compute."""
    for cell in cells(statistic):
        of = infer(cell, scope)
        least = -statistic.top if statistic.kind == "total" and statistic.low < 0 else 0
        if of.nullable or not (isinstance(of.low, Fraction) and isinstance(of.high, Fraction)):
            raise Bug("a cell may be NULL or without a range")
        if of.low < least or of.high > statistic.top or of.grain is None or of.grain.denominator != 1:
            raise Bug("a cell may leave the range that its sensitivity assumes")


def _check_places(statistic: Ranked, scope: Scope) -> None:
    """Places are whole numbers from 0 to `top`, or none."""
    of = infer(steps(statistic), scope)
    whole = of.grain is not None and of.grain.denominator == 1
    if not (whole and isinstance(of.low, Fraction) and isinstance(of.high, Fraction)):
        raise Bug("a place is not a whole number")
    if of.low < 0 or of.high > statistic.top:
        raise Bug("a place may lie outside of its lattice")
