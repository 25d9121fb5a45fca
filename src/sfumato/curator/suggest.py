"""What a bound would cut off: the share of rows, or of sums, for several bounds, bought like any question.

How many rows people have, and how far values reach, is private: nothing here looks at it except through a question of sums,
each of something that the bound itself limits. SUM(LEAST(n, B)) over one row per unit is what `max_rows = B` keeps of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import Number, decimal_text, fraction
from sfumato.queries.answer import Estimate
from sfumato.queries.expression import Expression, Field, Measure, call, number
from sfumato.queries.infer import column_type, edges
from sfumato.queries.plan import Aggregate, Fold, Gather, Released, Scan, Select
from sfumato.queries.rewrites.order import spelled

if TYPE_CHECKING:
    from sfumato.curator.answer import Answer
    from sfumato.curator.session import Session
    from sfumato.queries.schema import Schema, Table

ROWS = (1, 2, 3, 5, 10, 20, 50, 100)
HALVINGS = 7


@final
@dataclass(frozen=True, slots=True)
class Kept:
    """One bound: what it keeps beside the widest one, and between which ends the share that it cuts off lies."""

    bound: Fraction
    cut: float | None
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        return {"bound": decimal_text(self.bound), "cut": self.cut, "cut_low": self.low, "cut_high": self.high}


@final
@dataclass(frozen=True, slots=True)
class Suggestion:
    """The shares, and the answer that they were computed from: it was charged, and is in the ledger."""

    kept: tuple[Kept, ...]
    answer: Answer

    def least(self, share: Number = "0.05") -> Fraction:
        """The smallest bound that cuts off no more than a share, even at the far end of its bar; the widest if none does."""
        most = float(fraction(share, name="share"))
        return next((each.bound for each in self.kept if each.high <= most), self.kept[-1].bound)


def max_rows(session: Session, table: str, *, epsilon: Number, bounds: Sequence[int] = ()) -> Suggestion:
    """The share of a table's rows that each `max_rows` would cut off, of those that the largest of them keeps.

    Without bounds, a few usual ones around the policy's own: a sum is as noisy as its bound is wide.
    """
    found = _table(session.dataset.schema, table)
    own = session.dataset.schema.unit.max_rows
    bounds = bounds or [*(each for each in ROWS if each < 4 * own and each != own), own, 4 * own]
    if found.public or found.unit is None:
        raise NotSupported(
            "every row of this table is a unit of its own, or public: max_rows cuts nothing off",
            hint="name a table whose policy says unit",
            code="SF021",
        )
    if any(isinstance(each, bool) or not isinstance(each, int) or each < 1 for each in bounds):
        raise BadInput("a bound is not a whole number of 1 or more", hint="give bounds such as 1, 5, 10")
    gathered = Gather(Scan(found.name), (), (("n", Fold("rows")),))
    return _asked(session, gathered, Field("n"), Fraction(0), [Fraction(each) for each in bounds], epsilon)


def column_range(
    session: Session, table: str, column: str, *, epsilon: Number, bounds: Sequence[Number] = ()
) -> Suggestion:
    """The share of a column's sum, counted from the low end of its range, that a lower high end would cut off."""
    found = _table(session.dataset.schema, table)
    if found.public:
        raise NotSupported(
            "the rows of this table are public: a range of its columns cuts off nothing that anyone must pay to see",
            hint="name a table whose policy says unit",
            code="SF021",
        )
    declared = found.column(column)
    if declared is None:
        raise NotSupported("this column is not in the policy", hint="see `sfumato tables`", code="SF022")
    if declared.type not in {"integer", "number"} or declared.range is None:
        raise NotSupported(
            "this column has no range that could be narrowed",
            hint="the owner declares a wide range first; what lies beyond it is never read",
            code="SF002",
        )
    low, high, grain = edges(column_type(declared))
    chosen = sorted({fraction(each, name="a bound") for each in bounds} or set(_halved(low, high, grain)))
    if any(not low < each <= high or ((each - low) / grain).denominator != 1 for each in chosen):
        raise BadInput(
            "a bound lies outside of the column's range, or between its steps", hint="give ends inside the range"
        )
    if high not in chosen:
        chosen.append(high)
    # LEAST passes over a missing value and gives the bound itself: at the low end it adds nothing.
    held = call("coalesce", Field(column), number(low))
    return _asked(session, Scan(found.name), held, low, chosen, epsilon)


def _halved(low: Fraction, high: Fraction, grain: Fraction) -> list[Fraction]:
    ends = (low + (high - low) / 2**power for power in range(HALVINGS + 1))
    return [low + (end - low) // grain * grain for end in ends if end - low >= grain]


def _asked(
    session: Session, rows: Any, of: Expression, low: Fraction, bounds: Sequence[Fraction], epsilon: Number
) -> Suggestion:
    """One question of a sum for each bound. Two of them make a share, so each bar has half of what may go wrong."""
    ends = sorted(set(bounds))
    if len(ends) < 2:
        raise BadInput("one bound has nothing to be compared with", hint="give two bounds or more")
    sums = tuple(Measure("sum", spelled(_above(call("least", of, number(end)), low))) for end in ends)
    plan: Released = Select(Aggregate(rows, (), sums), tuple((f"b{place}", each) for place, each in enumerate(sums)))
    default = session.dataset.terms.confidence
    answer = session.ask(plan, epsilon=epsilon, confidence=1 - (1 - default) / 2)
    (row,) = answer.result.rows
    kept = [each for each in row if isinstance(each, Estimate)]
    return Suggestion(tuple(_share(end, each, kept[-1]) for end, each in zip(ends, kept, strict=True)), answer)


def _above(of: Expression, low: Fraction) -> Expression:
    return of if low == 0 else call("subtract", of, number(low))


def _share(bound: Fraction, kept: Estimate, whole: Estimate) -> Kept:
    """1 - kept/whole, and both ends when kept and whole lie anywhere in their bars."""
    assert kept.unbiased is not None
    assert whole.unbiased is not None
    assert kept.within is not None
    assert whole.within is not None
    if kept is whole:
        return Kept(bound, 0.0, 0.0, 0.0)
    middle = None if whole.unbiased <= 0 else _within(1 - kept.unbiased / whole.unbiased)
    least, most = whole.unbiased - whole.within, whole.unbiased + whole.within
    high = 1.0 if least <= 0 else _within(1 - (kept.unbiased - kept.within) / most)
    low = 0.0 if least <= 0 else _within(1 - (kept.unbiased + kept.within) / least)
    return Kept(bound, middle, low, high)


def _within(share: Fraction) -> float:
    return float(min(max(share, Fraction(0)), Fraction(1)))


def _table(schema: Schema, name: str) -> Table:
    found = schema.table(name)
    if found is None:
        raise NotSupported("this table is not in the policy", hint="see `sfumato tables`", code="SF022")
    return found
