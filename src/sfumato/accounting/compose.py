"""Several releases as one loss."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from sfumato.accounting.gaussian import Gdp
from sfumato.accounting.laws import Direction
from sfumato.accounting.loss import Loss, real, words
from sfumato.accounting.rounding import above
from sfumato.accounting.zcdp import Zcdp, line_of
from sfumato.core.errors import BadInput, NotSupported
from sfumato.core.exact import sqrt_up, up
from sfumato.core.neighbours import Neighbours, Relation

LEAST_DELTA = 1e-10
"""What the Fourier transforms of numeric composition leave of a delta below this is noise."""


@final
@dataclass(frozen=True, slots=True)
class Composed(Loss):
    """Releases one after the other, each possibly chosen after the earlier ones were seen.

    Parts stay apart, so that each promise adds up in its own way: the largest ratios add, the lines of zCDP add (which
    is less than the line of the sum), and `delta` composes a dominating pair per part, direction by direction.

    Proof: Zhu, Dong and Wang 2022, Theorem 10, for the curve (adaptive, per direction); Bun and Steinke 2016, Lemma 1.8
    and 8.2, for the lines; Dwork, Rothblum and Vadhan 2010 for the ratios. Failures add.
    """

    parts: tuple[tuple[Loss, int], ...]

    @property
    def about(self) -> Neighbours:
        return self.parts[0][0].about

    @property
    def symmetric(self) -> bool:
        return all(loss.symmetric for loss, _ in self.parts)

    @property
    def failure(self) -> Fraction:
        return min(Fraction(1), sum((loss.failure * times for loss, times in self.parts), Fraction(0)))

    def delta(self, epsilon: float) -> float:
        at = real(epsilon)
        if math.isinf(at):
            return 1.0 if at < 0 else up(self.failure)
        bounded, line = self.pure(), line_of(self)
        beyond = bounded is not None and at >= bounded[0]
        if bounded is not None and beyond and bounded[1] == 0:
            return 0.0
        bounds = [max(self.curve(direction, at) for direction in self.directions)]
        if bounded is not None and beyond:
            bounds.append(up(bounded[1]))
        if line is not None:
            bounds.append(line.delta(at))
        return min(bounds)

    def curve(self, direction: Direction, epsilon: float) -> float:
        from sfumato.accounting.numeric import composition

        return composition(self.parts, direction).delta(epsilon)

    @property
    def directions(self) -> tuple[Direction, ...]:
        return (Direction.REMOVE,) if self.symmetric else (Direction.REMOVE, Direction.ADD)

    def _epsilon(self, delta: float) -> float:
        from sfumato.accounting.numeric import composition

        if delta < LEAST_DELTA:
            raise NotSupported(
                f"numeric composition was asked for a delta below {LEAST_DELTA:g}",
                hint="ask at a delta of 1e-10 or more, or for epsilon(), the sum of the pure losses",
            )
        worst = 0.0
        for direction in self.directions:
            composed = composition(self.parts, direction)
            if composed.delta(worst) > delta:
                worst = composed.epsilon(delta)
        if math.isinf(worst) and self.failure < delta:
            raise NotSupported(
                "numeric composition of so many parts rounds by more than this delta",
                hint="ask at a larger delta, or charge the parts under zcdp",
            )
        line = line_of(self)
        return worst if line is None else min(worst, line.epsilon(delta))

    def renyi(self, order: float) -> float:
        return above(math.fsum(times * loss.renyi(order) for loss, times in self.parts))

    def zcdp(self) -> tuple[Fraction, Fraction] | None:
        return _summed([(loss.zcdp(), times) for loss, times in self.parts])

    def pure(self) -> tuple[Fraction, Fraction] | None:
        return _summed([(loss.pure(), times) for loss, times in self.parts])

    def describe(self) -> Mapping[str, str]:
        return words("composed", self.about, parts=[[times, dict(loss.describe())] for loss, times in self.parts])


def compose(losses: Iterable[Loss]) -> Loss:
    """All of them together. Equal ones are counted, Gaussians and lines merged, the order forgotten."""
    counts: Counter[Loss] = Counter()
    for loss in losses:
        for part, times in loss.parts if isinstance(loss, Composed) else ((loss, 1),):
            counts[part] += times
    return _composed(counts)


def repeat(loss: Loss, times: int) -> Loss:
    """`loss`, `times` times over."""
    if times < 1:
        raise BadInput("a loss was repeated fewer than one time", hint="multiply a loss by 1 or more")
    parts = loss.parts if isinstance(loss, Composed) else ((loss, 1),)
    return _composed(Counter({part: count * times for part, count in parts}))


def _composed(counts: Counter[Loss]) -> Loss:
    if not counts:
        raise BadInput("nothing was composed", hint="give at least one loss")
    if len({loss.about for loss in counts}) > 1:
        first, second, *_ = sorted({str(loss.about) for loss in counts})
        raise BadInput(
            f"two losses speak of different neighbours: {first}; {second}",
            hint="compute both under the relation and unit of one policy; Pufferfish losses keep their own account",
        )
    about = next(iter(counts)).about
    if about.relation is Relation.SECRETS and sum(counts.values()) > 1:
        raise NotSupported(
            "two Pufferfish releases do not add up: what both tell together of a secret is not known from each",
            hint="release all the numbers as one vector, priced once on beliefs about the vector",
        )
    gaussians = {loss: times for loss, times in counts.items() if isinstance(loss, Gdp)}
    lines = {loss: times for loss, times in counts.items() if isinstance(loss, Zcdp)}
    merged = {loss: times for loss, times in counts.items() if loss not in gaussians and loss not in lines}
    if gaussians:
        squares = sum((loss.mu**2 * times for loss, times in gaussians.items()), Fraction(0))
        only = next(iter(gaussians)) if sum(gaussians.values()) == 1 else Gdp(sqrt_up(squares), about)
        merged[only] = 1
    if lines:
        rho = sum((loss.rho * times for loss, times in lines.items()), Fraction(0))
        failure = sum((loss.failure * times for loss, times in lines.items()), Fraction(0))
        merged[Zcdp(rho, failure, about)] = 1
    parts = sorted(merged.items(), key=lambda part: str(part[0].describe()))
    return parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else Composed(tuple(parts))


def _summed(terms: list[tuple[tuple[Fraction, Fraction] | None, int]]) -> tuple[Fraction, Fraction] | None:
    total, failure = Fraction(0), Fraction(0)
    for term, times in terms:
        if term is None:
            return None
        total, failure = total + term[0] * times, failure + term[1] * times
    return total, min(Fraction(1), failure)
