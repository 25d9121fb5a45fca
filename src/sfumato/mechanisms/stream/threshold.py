"""What sessions that compare numbers with a noisy threshold share: the play, its price, its exact law, its accuracy."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Self, final

from sfumato.accounting import Loss, Pure
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability, up
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import clamped_step
from sfumato.mechanisms.parameter import Grain, Positive, Rational
from sfumato.mechanisms.stream.interactive import Interactive, Play
from sfumato.noise import DiscreteLaplace, Geometric, Source

Noise = Literal["exponential", "laplace"]

_LAW_BITS = 96
_CUT = 1 << (_LAW_BITS - 60)
_LONGEST_LAW = 3
_FAR = 1 << 20
_WIDEST_LAW = 4


class Reply(NamedTuple):
    """Whether the number was found to be above, and if so by how much: an unbiased number before the selection."""

    above: bool
    gap: int | float | None = None

    def __bool__(self) -> bool:
        return self.above


BELOW = Reply(False)


@final
@dataclass(frozen=True)
class Comparison:
    """Numbers against a threshold, all in steps: `positives` times above, with noise of two scales, drawn afresh or once.

    Comparing q + nu - E nu >= T + rho - E rho takes the mean out of one-sided noise; the means are rounded to one whole
    public `offset`.
    """

    threshold: int
    rounded: bool
    positives: int
    threshold_noise: DiscreteLaplace | Geometric
    query_noise: DiscreteLaplace | Geometric
    grain: Fraction | None

    @classmethod
    def of(
        cls,
        threshold: Fraction,
        positives: int,
        scales: tuple[Fraction, Fraction],
        noise: Noise,
        grain: Fraction | None,
    ) -> Comparison:
        kind = Geometric if noise == "exponential" else DiscreteLaplace
        step = grain or Fraction(1)
        line = math.ceil(threshold / step)
        return cls(line, line * step != threshold, positives, kind(scales[0] / step), kind(scales[1] / step), grain)

    @cached_property
    def offset(self) -> int:
        """The mean of the queries' noise less that of the threshold's."""
        means = [law.mean if isinstance(law, Geometric) else 0.0 for law in (self.query_noise, self.threshold_noise)]
        return round(means[0] - means[1])

    def play(self, source: Source) -> Play:
        """The line that a number and its noise must reach is drawn once. Below it no trace of either is kept."""
        line = self.threshold + self.offset + self.threshold_noise.sample(source)
        left, reply = self.positives, None
        while left:
            value = yield reply
            gap = value + self.query_noise.sample(source) - line
            reply = BELOW if gap < 0 else self._above(gap)
            left -= reply.above
        return reply

    def repeat(self, steps: list[int], count: int, source: Source) -> Sequence[tuple[Reply, ...]] | None:
        """`count` transcripts at once, as `play` would give them one by one; None when the inputs are long or far apart."""
        import numpy as np

        line = self.threshold + self.offset + self.threshold_noise.sample(source, count)
        left, code = np.full(count, self.positives), np.zeros(count, dtype=np.int64)
        for step in steps:
            # 0 ended, 1 below, 2 + gap above
            gap = np.maximum(step + self.query_noise.sample(source, count) - line, -1)
            if int(gap.max()) > _FAR or len(steps) > _LONGEST_LAW:
                return None
            code = code * (_FAR + 3) + np.where(left > 0, gap + 2, 0)
            left -= (left > 0) & (gap >= 0)
        found, places = np.unique(code, return_inverse=True)
        transcripts = [self._spelt(int(each), len(steps)) for each in found]
        return [transcripts[place] for place in places.tolist()]

    def _spelt(self, code: int, length: int) -> tuple[Reply, ...]:
        digits = [code // (_FAR + 3) ** place % (_FAR + 3) for place in reversed(range(length))]
        return tuple(BELOW if digit == 1 else self._above(digit - 2) for digit in digits if digit)

    def number(self, steps: int) -> int | float:
        """Steps as callers see them."""
        return steps if self.grain is None else float(steps * self.grain)

    def _above(self, gap: int) -> Reply:
        return Reply(True, self.number(gap))

    def case(self, left: Sequence[int], right: Sequence[int]) -> Case[Sequence[Any]]:
        """Two streams that differ by at most one step each, in steps from the threshold."""
        one, other = ([self.number(self.threshold + step) for step in steps] for steps in (left, right))
        return Case(one, other, Sensitivity.of(self.grain or 1), tight=False)

    def loss(self, moved: Sensitivity, *, monotone: bool) -> Loss:
        """See the proofs of the mechanisms: the line moves by D, the noise of each positive by 2 D (D when monotone)."""
        reach = moved if self.grain is None or moved.l1 == 0 else _on_grid(moved, self.grain)
        step = Fraction(math.floor(reach.linf))
        per_positive = step if monotone else 2 * step
        bound = step / self.threshold_noise.scale + self.positives * per_positive / self.query_noise.scale
        return nothing(reach) if bound == 0 else Pure(bound, reach.about)

    # ── accuracy ─────────────────────────────────────────────────────────────

    def margin(self, queries: int, confidence: Number) -> float:
        """The least margin found by `_misses`: with this confidence, over at most `queries` numbers, whatever is called
        above is at least T - margin and whatever is called below at most T + margin."""
        if isinstance(queries, bool) or not isinstance(queries, int) or queries < 1:
            raise BadInput("accuracy is about 1 question or more", hint="give the most questions that may be asked")
        miss = float(1 - probability(confidence, name="confidence"))
        low, high = -1, 1
        while self._misses(high, queries) > miss:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._misses(middle, queries) <= miss else (middle, high)
        # A number floored to the lattice is less than a step away from itself, as is a threshold raised to it.
        steps = high + self.rounded + (self.grain is not None)
        return up(steps * (self.grain or Fraction(1)))

    def _misses(self, margin: int, queries: int) -> float:
        """At least the chance that, for some number, its noise and the line's differ from their mean by over `margin`.

        P(|nu - rho - offset| > margin for some of them) <= the sum over rho of P(rho) min(1, queries P(... | rho)).
        """
        return _misses(self.threshold_noise, self.query_noise, self.offset, margin, queries)

    # ── the law ──────────────────────────────────────────────────────────────

    def law(self, steps: list[int]) -> Law | None:
        """Every transcript's probability: given the line, the numbers' noises are independent. Short ones only."""
        scale = max(self.threshold_noise.scale, self.query_noise.scale)
        if len(steps) > _LONGEST_LAW or self.positives > 2 or scale > _WIDEST_LAW:
            return None
        weights: dict[Any, tuple[int, int]] = {}
        for rho, (low, high) in _masses(self.threshold_noise).items():
            line = self.threshold + self.offset + rho
            for transcript, chance in self._given(line, steps, self.positives).items():
                old = weights.get(transcript, (0, 0))
                share = low * chance[0] >> _LAW_BITS, -(-high * chance[1] >> _LAW_BITS)
                weights[transcript] = old[0] + share[0], old[1] + share[1]
        # What was cut is all that the lower bounds do not account for; it may belong to any transcript.
        rest = (1 << _LAW_BITS) - sum(low for low, _ in weights.values())
        return Law(_LAW_BITS, {key: (low, high + rest) for key, (low, high) in weights.items()}, rest)

    def _given(self, line: int, steps: list[int], left: int) -> dict[tuple[Reply, ...], tuple[int, int]]:
        if not steps or not left:
            return {(): (1 << _LAW_BITS, 1 << _LAW_BITS)}
        replies = {BELOW: _below(self.query_noise, line - steps[0])}
        for nu, chance in _masses(self.query_noise).items():
            if (gap := steps[0] + nu - line) >= 0:
                replies[self._above(gap)] = chance
        found = {}
        after_below = self._given(line, steps[1:], left)
        after_above = self._given(line, steps[1:], left - 1)
        for reply, (low, high) in replies.items():
            for rest, chance in (after_above if reply.above else after_below).items():
                found[(reply, *rest)] = low * chance[0] >> _LAW_BITS, -(-high * chance[1] >> _LAW_BITS)
        return found


class Comparing(Interactive[Reply]):
    """What is said of a session that compares, once its `Comparison` is known. The proofs are with the mechanisms."""

    threshold: Rational
    scale: Positive
    ratio: Positive
    noise: Noise
    grain: Grain
    monotone: bool

    def __post_init__(self) -> None:
        if self.noise not in ("exponential", "laplace"):
            raise BadInput("an unknown kind of noise was asked", hint="give noise='exponential' (better) or 'laplace'")
        if self._positives < 1:
            raise BadInput("a session that may find nothing was asked", hint="give 1 or more positives")

    @property
    @abstractmethod
    def _positives(self) -> int: ...

    @cached_property
    def _comparison(self) -> Comparison:
        scales = self.scale, self.ratio * self.scale
        return Comparison.of(self.threshold, self._positives, scales, self.noise, self.grain)

    @final
    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        return self._comparison.loss(Sensitivity.of(sensitivity), monotone=self.monotone)

    @final
    def play(self, source: Source) -> Play:
        return self._comparison.play(source)

    @final
    def steps(self, value: Any) -> int:
        return clamped_step(value, self.grain)

    @final
    def repeat(self, value: Sequence[Any], count: int, source: Source) -> Sequence[tuple[Reply, ...]]:
        at_once = self._comparison.repeat([self.steps(each) for each in value], count, source)
        return super().repeat(value, count, source) if at_once is None else at_once

    @final
    def law(self, value: Sequence[Any]) -> Law | None:
        return self._comparison.law([self.steps(each) for each in value])

    @final
    def within(self, confidence: Number, *, queries: int = 1) -> float:
        """How far from the threshold a reply can be wrong, at this confidence, when at most `queries` numbers are asked.

        Whatever is called above is at least threshold - margin, whatever is called below at most threshold + margin; so
        when all numbers are below threshold - margin nothing is called above.
        """
        return self._comparison.margin(queries, confidence)

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """The scale that spends exactly epsilon; without a ratio, the one of least variance (see `best_ratio`)."""
        target = positive(epsilon, name="epsilon")
        probability(delta, name="delta")
        made: Any = cls
        if public.get("ratio") is None:
            unit = made(scale=1, **{**public, "ratio": 1})
            public["ratio"] = best_ratio(unit._positives, monotone=unit.monotone)
        price = made(scale=1, **public).loss(sensitivity).pure()
        assert price is not None
        if price[0] == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public stream needs no mechanism")
        result: Self = made(scale=price[0] / target, **public)
        return result


def best_ratio(positives: int, *, monotone: bool) -> Fraction:
    """How much wider the queries' noise is than the threshold's when the sum of the two variances is least.

    epsilon = 1/b + n/(r b) with n = 2 positives (or positives); b^2 + (r b)^2 is least at r^3 = n (Lyu, Su and Li 2017).
    """
    count = positives if monotone else 2 * positives
    return Fraction(round(count ** (1 / 3) * 4096), 4096)


def textbook_margin(*, queries: int, epsilon: Number, confidence: Number) -> float:
    """8 (ln k + ln(2/beta)) / epsilon: Dwork and Roth 2014, Theorem 3.24, for two-sided noise, D = 1 and an even split.

    Stated right: k is the most questions that may be asked, fixed before; the bound is on the numbers themselves, not on
    what they became with their noise; and if all are below T - alpha, nothing is called above, with the same confidence.
    """
    beta = float(1 - probability(confidence, name="confidence"))
    return 8 * (math.log(queries) + math.log(2 / beta)) / float(positive(epsilon, name="epsilon"))


def _on_grid(moved: Sensitivity, grain: Fraction) -> Sensitivity:
    """Each number is one cell: floored, two neighbours' numbers differ by at most ceil(linf / grain) steps."""
    return Sensitivity.of(Fraction(math.ceil(moved.linf / grain)), about=moved.about)


def nothing(reach: Sensitivity) -> Loss:
    """The price of what moves by less than a step."""
    from sfumato.accounting import DiscreteLaplaceLoss

    return DiscreteLaplaceLoss(Fraction(1), Fraction(0), reach.about)


@lru_cache(maxsize=64)
def _masses(law: DiscreteLaplace | Geometric) -> dict[int, tuple[int, int]]:
    masses, k = {}, 0
    while (pair := law.pmf_bounds(k, _LAW_BITS))[1] > _CUT:
        masses[k] = pair
        if k and isinstance(law, DiscreteLaplace):
            masses[-k] = pair
        k += 1
    return masses


@lru_cache(maxsize=4096)
def _below(law: DiscreteLaplace | Geometric, m: int) -> tuple[int, int]:
    """Bounds of P(noise < m)."""
    low, high = law.tail_bounds(m, _LAW_BITS)
    return (1 << _LAW_BITS) - high, (1 << _LAW_BITS) - low


def _misses(
    line: DiscreteLaplace | Geometric, query: DiscreteLaplace | Geometric, offset: int, margin: int, queries: int
) -> float:
    import numpy as np

    two_sided = isinstance(line, DiscreteLaplace)
    scale, wide = float(line.scale), float(query.scale)
    far = math.ceil(45 * scale) + 1
    # Many steps are summed in blocks of `width`, each part of the chance taken at the end where it is larger.
    width = max(1, far // 4096)
    first = np.arange(-far if two_sided else 0, far, width, dtype=np.float64)
    masses = _tail(first, scale, two_sided) - _tail(first + width, scale, two_sided)
    above = _tail(first + offset + margin + 1, wide, two_sided)
    under = 1 - _tail(first + width + offset - margin - 2, wide, two_sided)
    return float((masses * np.minimum(1.0, queries * (above + under))).sum()) * (1 + 1e-9) + 2e-19


def _tail(m: Any, scale: float, two_sided: bool) -> Any:
    """P(noise >= m), in floats."""
    import numpy as np

    if not two_sided:
        return np.exp(-np.maximum(m, 0.0) / scale)
    a = math.exp(-1 / scale)
    right = np.exp(-np.maximum(m, 1 - m) / scale) / (1 + a)
    return np.where(m >= 1, right, 1 - right)
