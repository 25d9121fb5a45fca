"""What a release costs, as a value: two curves and a mass of failure, about one neighbour relation."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import final

from sfumato.accounting.laws import Curve, Direction, Law
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, down, probability, up
from sfumato.core.neighbours import Neighbours


class Loss(ABC):
    """How much more likely one unit can make any set of outcomes, over all neighbours that `about` names.

    `delta` is the whole truth, failure included; `renyi` and the first half of `zcdp` and `pure` speak of what happens
    outside of an event of mass `failure`. Subclasses are frozen dataclasses; what comes out is an upper bound.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def about(self) -> Neighbours:
        """Which tables the promise is about."""

    @property
    @abstractmethod
    def failure(self) -> Fraction:
        """Mass of the event outside of which `renyi`, `zcdp` and `pure` hold; it counts in `delta`."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """At least P(S) - e^epsilon Q(S), for any set S of outcomes, laws P, Q of two neighbours, real epsilon."""

    @abstractmethod
    def renyi(self, order: float) -> float:
        """At least the Renyi divergence of this order (1 or more, infinity included), outside of the failure."""

    @abstractmethod
    def zcdp(self) -> tuple[Fraction, Fraction] | None:
        """(rho, failure): outside of it, each Renyi divergence is at most rho times its order. None: no such rho."""

    @abstractmethod
    def pure(self) -> tuple[Fraction, Fraction] | None:
        """(epsilon, failure): outside of the failure, no ratio exceeds e^epsilon. None: there is no such epsilon."""

    @abstractmethod
    def describe(self) -> Mapping[str, str]:
        """Kind and parameters in canonical text, for certificates and digests."""

    @property
    def symmetric(self) -> bool:
        """Whether both directions have one curve."""
        return True

    def curve(self, direction: Direction, epsilon: float) -> float:
        """`delta` in one direction."""
        return self.delta(epsilon)

    def law(self, direction: Direction) -> Law:
        """What numeric composition starts from; a kind with a dominating pair of laws says it here."""
        return Curve(lambda epsilon: self.curve(direction, epsilon))

    @final
    def epsilon(self, delta: Number = 0) -> float:
        """The smallest epsilon of 0 or more with delta(epsilon) <= delta, rounded up; infinity when there is none."""
        allowed = probability(delta, name="delta")
        if self.failure > allowed:
            return math.inf
        bounded = self.pure()
        ceiling = math.inf if bounded is None or bounded[1] > allowed else up(bounded[0])
        return min(ceiling, self._epsilon(down(allowed))) if allowed > 0 else ceiling

    def _epsilon(self, delta: float) -> float:
        """Bisection on `delta`, which falls with epsilon; a kind with something faster overrides it."""
        low, high = 0.0, 1.0
        if self.delta(low) <= delta:
            return low
        while self.delta(high) > delta:
            low, high = high, high * 2
            if math.isinf(high):
                return math.inf
        while high - low > high * 2.0**-50:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    @final
    def __add__(self, other: Loss) -> Loss:
        """Both releases, the second possibly chosen after the first was seen."""
        if not isinstance(other, Loss):
            return NotImplemented
        from sfumato.accounting.compose import compose

        return compose((self, other))

    @final
    def __mul__(self, times: int) -> Loss:
        """The same loss, `times` times over."""
        if isinstance(times, bool) or not isinstance(times, int):
            return NotImplemented
        from sfumato.accounting.compose import repeat

        return repeat(self, times)

    __rmul__ = __mul__

    @final
    def group(self, size: int) -> Loss:
        """The same release, about tables that differ by up to `size` units."""
        from sfumato.accounting.group import group

        return group(self, size)


def real(epsilon: float) -> float:
    """`epsilon` as any real number or an infinity; not-a-number is refused."""
    value = float(epsilon)
    if math.isnan(value):
        raise BadInput("epsilon is not a number", hint="ask for delta at a real epsilon, such as 1.0")
    return value


def order_of(order: float) -> float:
    """A Renyi order that the formulas can take: 1 stands for its limit, read slightly above since orders grow."""
    value = float(order)
    if not value >= 1:
        raise BadInput("a Renyi order must be 1 or more", hint="ask for an order such as 2, 8 or math.inf")
    return max(value, 1 + 2.0**-10)


def words(kind: str, about: Neighbours, **parameters: object) -> dict[str, str]:
    """The canonical description of a loss: its kind, its parameters (those of other losses as JSON), its neighbours."""
    return {
        "kind": kind,
        **{name: _text(value) for name, value in parameters.items()},
        "relation": about.relation.value,
        "unit": about.unit,
    }


def _text(value: object) -> str:
    return str(value) if isinstance(value, Fraction | int | str) else json.dumps(value, sort_keys=True)
