"""What a question that is asked again and again may cost until a day, and when the budget runs out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, final

from sfumato.accounting import Filter, ZcdpFilter
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import decimal_text

if TYPE_CHECKING:
    from sfumato.curator.ledger.records import Charge

Every = Literal["week", "month", "quarter", "year"]
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_MOST = 10_000
_LAST = 9990


@final
@dataclass(frozen=True, slots=True)
class Forecast:
    """`times` questions are asked until the day; each may cost `each` of the budget, and be asked at `epsilon`."""

    times: int
    each: Fraction
    epsilon: Fraction
    runs_out: date | None = None
    """The first day on which a question at the price that was named finds too little left; None if that is after the day."""


def forecast(
    left: Charge,
    budget: Filter,
    *,
    today: date,
    until: date,
    every: Every,
    price: Fraction | None = None,
    each: int = 1,
) -> Forecast:
    """From what is left today. A question is asked today and after every period, the day `until` included.

    Every version of the rows is charged anew, for the budget belongs to the people: a year of months is twelve questions.
    """
    if until < today:
        raise BadInput("the day of the forecast has passed", hint="give a day to come, such as 2030-12-31")
    if each < 1:
        raise BadInput("no question is forecast", hint="give --questions 1 or more")
    days = [today]
    while (day := _later(today, every, len(days))) <= until:
        days.append(day)
        if len(days) > _MOST:
            raise BadInput("the forecast has more than ten thousand questions", hint="give a nearer day")
    times = len(days) * each
    share = left.amount / times
    if share == 0:
        raise NotSupported(
            "nothing of the budget is left", hint="the owner can raise it: `sfumato policy accept`", code="SF003"
        )
    cost = None if price is None else _cost(price, budget) * each
    out = None
    if cost is not None:
        enough = int(left.amount // cost)
        out = None if enough >= len(days) else days[enough]
    return Forecast(times, share, _epsilon(share, budget), out)


def _later(today: date, every: Every, periods: int) -> date:
    """The same day of a later month, or its last one where that month is shorter."""
    if every == "week":
        return today + timedelta(weeks=periods)
    month = today.month - 1 + periods * _MONTHS[every]
    year = today.year + month // 12
    if year > _LAST:
        return date.max
    first = date(year, month % 12 + 1, 1)
    following = date(year + (month % 12 == 11), (month % 12 + 1) % 12 + 1, 1)
    return first + timedelta(days=min(today.day, (following - first).days) - 1)


def _cost(epsilon: Fraction, budget: Filter) -> Fraction:
    """What a question at this price is charged."""
    if isinstance(budget, ZcdpFilter):
        return ZcdpFilter(epsilon, budget.delta, budget.conversion).rho_max
    return epsilon


def _epsilon(amount: Fraction, budget: Filter) -> Fraction:
    """The largest price, to six digits, that is charged no more than an amount."""
    if not isinstance(budget, ZcdpFilter):
        return Fraction(decimal_text(amount, rounding="down"))
    low, high = Fraction(0), Fraction(1)
    while _cost(high, budget) <= amount:
        low, high = high, high * 2
    for _ in range(40):
        middle = Fraction(decimal_text((low + high) / 2, rounding="down"))
        if middle in {low, high}:
            break
        low, high = (middle, high) if _cost(middle, budget) <= amount else (low, middle)
    return low
