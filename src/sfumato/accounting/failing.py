"""Another loss, but for an event that may show everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from sfumato.accounting.loss import Loss, words
from sfumato.accounting.rounding import with_failure
from sfumato.core.exact import probability
from sfumato.core.neighbours import Neighbours


@final
@dataclass(frozen=True, slots=True)
class Failing(Loss):
    """`inner` outside of an event of probability at most `mass` under either neighbour.

    Proof: write the neighbours' laws A = (1 - s) P + s R and B = (1 - t) Q + t T with s, t at most `mass`, and P, Q as close
    as `inner` says. For any set S and any real epsilon A(S) - e^epsilon B(S) <= s + (1 - s) P(S) - e^epsilon (1 - t) Q(S),
    which grows with s and with t, hence is at most mass + (1 - mass) (P(S) - e^epsilon Q(S)).
    """

    inner: Loss
    mass: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", probability(self.mass, name="mass"))

    @property
    def about(self) -> Neighbours:
        return self.inner.about

    @property
    def symmetric(self) -> bool:
        return self.inner.symmetric

    @property
    def failure(self) -> Fraction:
        return self._with(self.inner.failure)

    def delta(self, epsilon: float) -> float:
        return with_failure(self.mass, self.inner.delta(epsilon))

    def renyi(self, order: float) -> float:
        return self.inner.renyi(order)

    def zcdp(self) -> tuple[Fraction, Fraction] | None:
        form = self.inner.zcdp()
        return None if form is None else (form[0], self._with(form[1]))

    def pure(self) -> tuple[Fraction, Fraction] | None:
        form = self.inner.pure()
        return None if form is None else (form[0], self._with(form[1]))

    def describe(self) -> Mapping[str, str]:
        return words("failing", self.about, mass=self.mass, inner=dict(self.inner.describe()))

    def _with(self, failure: Fraction) -> Fraction:
        """Either event, which need not be independent: their sum is safe, and no more than one."""
        return min(Fraction(1), self.mass + failure)
