"""Budgets that adaptive questions are charged against: what was spent, in exact rationals, and what still fits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, Context
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import final

from sfumato.accounting.loss import Loss
from sfumato.accounting.zcdp import line_delta
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import down, fraction, positive, probability
from sfumato.core.neighbours import Neighbours, Relation


class Currency(Enum):
    """What adds up."""

    EPSILON = "epsilon"
    RHO = "rho"


@final
@dataclass(frozen=True, slots=True)
class Spent:
    """An amount of epsilon or rho, and the failure that goes with it; the two are never exchanged."""

    currency: Currency
    amount: Fraction = Fraction(0)
    failure: Fraction = Fraction(0)

    def __add__(self, other: Spent) -> Spent:
        if self.currency is not other.currency:
            raise BadInput(
                f"{other.currency.value} was added to {self.currency.value}",
                hint="charge every question of a budget through the one filter it was opened with",
            )
        return Spent(self.currency, self.amount + other.amount, self.failure + other.failure)

    def within(self, most: Spent) -> bool:
        """Whether both amount and failure are at most those of `most`."""
        return self.currency is most.currency and self.amount <= most.amount and self.failure <= most.failure

    def to_json(self) -> dict[str, str]:
        """Exact, in canonical text: {"epsilon": "3/4", "failure": "0"}."""
        return {self.currency.value: str(self.amount), "failure": str(self.failure)}

    @classmethod
    def from_json(cls, text: Mapping[str, str]) -> Spent:
        """What `to_json` wrote; anything else is refused."""
        for currency in Currency:
            if set(text) == {currency.value, "failure"}:
                amounts = (fraction(text[key], name=key) for key in (currency.value, "failure"))
                spent = cls(currency, *amounts)
                if spent.amount >= 0 and spent.failure >= 0 and spent.to_json() == dict(text):
                    return spent
        raise BadInput(
            "these are not the totals of a budget", hint="read them with Spent.from_json as to_json wrote them"
        )


class Filter(ABC):
    """Admits a question, chosen after all earlier answers, while the sums of what was charged stay within `total`."""

    __slots__ = ()

    @property
    @abstractmethod
    def about(self) -> Neighbours | None:
        """The neighbours that every admitted loss must speak of. None: the caller sees to it."""

    @property
    @abstractmethod
    def total(self) -> Spent:
        """The most that may be spent."""

    @abstractmethod
    def _form(self, loss: Loss) -> tuple[Fraction, Fraction]:
        """The loss in the currency of the filter, or an error that says why it has none."""

    @final
    @property
    def nothing(self) -> Spent:
        """What is spent before the first question."""
        return Spent(self.total.currency)

    @final
    def cost(self, loss: Loss) -> Spent:
        """What this loss is charged. Pufferfish losses never are: they do not add up, not even to one another."""
        if loss.about.relation is Relation.SECRETS:
            raise NotSupported(
                "a Pufferfish loss was charged to a budget, and such losses do not add up",
                hint="keep it beside the budget, one line per release: it is about its own secrets and beliefs",
            )
        if self.about is not None and loss.about != self.about:
            raise BadInput(
                f"a budget about one kind of neighbours was charged a loss about another: {self.about}; {loss.about}",
                hint="compute the sensitivity under the relation and unit of the policy",
            )
        return Spent(self.total.currency, *self._form(loss))

    @final
    def add(self, spent: Spent, loss: Loss) -> Spent:
        """What is spent after this loss too, admitted or not."""
        return spent + self.cost(loss)

    @final
    def admits(self, spent: Spent, loss: Loss) -> bool:
        """Whether this loss still fits: amount and failure each within their own bound."""
        return self.add(spent, loss).within(self.total)

    @final
    def left(self, spent: Spent) -> Spent:
        """What may still be spent; nothing when a cap was lowered below what was spent already."""
        after = self.total + Spent(spent.currency, -spent.amount, -spent.failure)
        return replace(after, amount=max(after.amount, Fraction(0)), failure=max(after.failure, Fraction(0)))


@final
@dataclass(frozen=True, slots=True)
class PureFilter(Filter):
    """Epsilons add up to at most `epsilon`, failures to at most `delta`; then all answers together are (epsilon, delta).

    Proof: Rogers, Roth, Ullman and Vadhan 2016, Theorem 3.6, for (epsilon_i, delta_i) chosen adaptively.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    about: Neighbours | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, name="epsilon"))
        object.__setattr__(self, "delta", probability(self.delta, name="delta"))

    @property
    def total(self) -> Spent:
        return Spent(Currency.EPSILON, self.epsilon, self.delta)

    def _form(self, loss: Loss) -> tuple[Fraction, Fraction]:
        form = loss.pure()
        if form is None:
            raise NotSupported(
                f"a loss of kind {loss.describe()['kind']} has no largest ratio, so a pure budget cannot hold it",
                hint="use Laplace noise, or open the budget with accountant: zcdp",
            )
        return form


@final
@dataclass(frozen=True, slots=True)
class ZcdpFilter(Filter):
    """A rectangle: rho adds up to at most `rho_max`, failures to at most `delta_failure`; neither buys the other.

    Proof: adaptive approximate-zCDP parameters with bounded sums compose (Whitehouse, Ramdas, Rogers and Wu 2023,
    Theorem 1) to delta_failure-approximate rho_max-zCDP, and `rho_max` is the largest rho, rounded down, whose
    conversion at `epsilon` (Zcdp.delta) is at most delta_conversion; the two deltas add up to `delta`.
    """

    epsilon: Fraction
    delta: Fraction
    conversion: Fraction = Fraction(1, 2)
    about: Neighbours | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, name="epsilon"))
        object.__setattr__(self, "delta", probability(self.delta, name="delta"))
        object.__setattr__(self, "conversion", positive(self.conversion, name="share of delta for the conversion"))
        if self.delta == 0:
            raise BadInput("a zcdp budget needs a delta above 0", hint="give a delta such as '1e-6', or use PureFilter")
        if self.conversion > 1:
            raise BadInput("a share of delta was above 1", hint="give the conversion between 0 and all of delta")

    @property
    def delta_conversion(self) -> Fraction:
        return self.delta * self.conversion

    @property
    def delta_failure(self) -> Fraction:
        return self.delta - self.delta_conversion

    @property
    def rho_max(self) -> Fraction:
        return _largest_rho(self.epsilon, self.delta_conversion)

    @property
    def total(self) -> Spent:
        return Spent(Currency.RHO, self.rho_max, self.delta_failure)

    def _form(self, loss: Loss) -> tuple[Fraction, Fraction]:
        form = loss.zcdp()
        if form is None:
            raise NotSupported(
                f"a loss of kind {loss.describe()['kind']} has no rho, so a zcdp budget cannot hold it",
                hint="state it as Approximate(epsilon, delta), which is charged epsilon^2/2 and its delta as failure",
            )
        return form


@final
@dataclass(frozen=True, slots=True)
class PureOdometer:
    """A running epsilon that is a true promise after every answer, without a limit fixed in advance.

    Proof: whatever is stopped at, the log-ratio of the answers so far is a sum of log-ratios, each within the epsilon
    charged for it. With a failure the running sum would only hold at a time fixed in advance, so those are refused.
    """

    epsilon: Fraction = Fraction(0)

    def add(self, loss: Loss) -> PureOdometer:
        """The reading after this loss too."""
        form = loss.pure()
        if form is None or form[1] != 0:
            raise NotSupported("an odometer takes pure losses only", hint="use a filter for losses with a delta")
        return PureOdometer(self.epsilon + form[0])


@lru_cache(maxsize=64)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho whose conversion at `epsilon` stays within `delta`, cut to 10 significant digits."""
    at, most = down(epsilon), down(delta)
    low, high = 0.0, 1.0
    while line_delta(high, at) <= most:
        low, high = high, 2 * high
    while high - low > 2.0**-45 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if line_delta(middle, at) <= most else (low, middle)
    return Fraction(Context(prec=10, rounding=ROUND_DOWN).create_decimal_from_float(low))
