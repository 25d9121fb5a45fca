"""Histograms over domains of which most cells are empty: only cells that pass a threshold are told."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self, final

from sfumato.accounting import DiscreteLaplaceLoss, Loss
from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, positive, probability, up
from sfumato.core.interval import log_of_ratio
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case, Mechanism
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.number.lattice import clamped_step
from sfumato.mechanisms.parameter import Positive
from sfumato.noise import DiscreteLaplace, Geometric, Source

Counts = Mapping[int, int]
"""Cells from 0 to `domain` - 1 that are not empty, and what they hold."""

Kept = tuple[tuple[int, int], ...]
"""Cells in order, and their noisy counts, of at least the threshold."""

_FIRST_BITS = 96
_MOST_FALSE = 1 << 24


@final
@dataclass(frozen=True)
class SparseHistogram(Mechanism[Counts, Kept]):
    """Discrete Laplace noise on every cell of a public domain, the empty ones too; those of `threshold` or more are told.

    Proof: the flat histogram, and post-processing. What is drawn has the very law of that (Cormode, Procopiuc, Srivastava and
    Tran 2012): an empty cell passes with p = P(Z >= threshold), independently, so the number of cells before the next that
    passes is geometric, P(G >= k) = (1 - p)^k, drawn as the whole part of ln U / ln(1 - p) in certified arithmetic; and a noise
    that passes is threshold plus a geometric one, since the law has no memory. The i-th empty cell is cell i plus the number of
    held cells at or before it. So its time grows with what it tells, and not
    with the domain; the domain must be public.
    """

    domain: int
    threshold: int
    scale: Positive = Positive()

    def __post_init__(self) -> None:
        for name in ("domain", "threshold"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadInput(f"the {name} is not a whole number of 1 or more", hint=f"give a {name} such as 100")
        if self.false_cells > _MOST_FALSE:
            raise BadInput("more than 2**24 empty cells would pass", hint="raise the threshold")

    def loss(self, sensitivity: Sensitivity | Number) -> Loss:
        reach = Sensitivity.of(sensitivity)
        return DiscreteLaplaceLoss(self.scale, reach.l1, reach.about)

    @property
    def false_cells(self) -> float:
        """How many empty cells are told, on average, if all are empty."""
        return self.domain * up(Fraction(self._noise.tail_bounds(self.threshold, 128)[1], 1 << 128))

    def sample(self, value: Counts, source: Source) -> Kept:
        return self.repeat(value, 1, source)[0]

    def repeat(self, value: Counts, count: int, source: Source) -> Sequence[Kept]:
        """`count` draws: their empty cells, all independent, lie one draw after the other in a single line."""
        held = self._read(value)
        empty = self.domain - len(held)
        before = [cell - i for i, cell in enumerate(held)]
        told: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        places = self._passing(empty * count, source)
        for place, more in zip(places, Geometric(self.scale).sample(source, len(places)).tolist(), strict=True):
            draw, i = divmod(place, empty)
            told[draw].append((i + bisect_right(before, i), self.threshold + more))
        noises = self._noise.sample(source, (count, len(held))).tolist()
        for kept, noise in zip(told, noises, strict=True):
            seen = zip(held, (exact + z for exact, z in zip(held.values(), noise, strict=True)), strict=True)
            kept += [pair for pair in seen if pair[1] >= self.threshold]
        return [tuple(sorted(kept)) for kept in told]

    def _passing(self, cells: int, source: Source) -> list[int]:
        """Which of so many empty cells pass."""
        found, place = [], -1
        while (place := place + 1 + self._gap(source)) < cells:
            found.append(place)
        return found

    def _gap(self, source: Source) -> int:
        """The whole part of ln U / ln(1 - p), from as many digits of U and of p as decide it."""
        bits = _FIRST_BITS
        seen = source.bits(bits)
        while True:
            slow, fast = _rates(self._noise, self.threshold, bits)
            if seen and slow:
                one = 1 << bits
                near, far = log_of_ratio(one, seen + 1, bits)[0], log_of_ratio(one, seen, bits)[1]
                if max(near, 0) // fast == far // slow:
                    return far // slow
            seen = seen << bits | source.bits(bits)
            bits *= 2

    def within(self, confidence: Number) -> float:
        """The half-width of a count's error, a cell that is not told counting as one below the threshold."""
        return float(max(self._noise.within(confidence), self.threshold - 1))

    def law(self, value: Counts) -> Law | None:
        """Cell by cell, for domains of one or two cells and light noise."""
        if self.domain > 2 or self.scale > 2:
            return None
        bits, held = 128, self._read(value)
        weights: dict[Any, tuple[int, int]] = {(): (1 << bits, 1 << bits)}
        rest = 0
        for cell in range(self.domain):
            exact = held.get(cell, 0)
            low, high = self._noise.tail_bounds(self.threshold - exact, bits)
            outcomes: list[tuple[Kept, tuple[int, int]]] = [((), ((1 << bits) - high, (1 << bits) - low))]
            count = self.threshold
            while count < exact or self._noise.pmf_bounds(count - exact, bits)[1] >> (bits - 46):
                outcomes.append((((cell, count),), self._noise.pmf_bounds(count - exact, bits)))
                count += 1
            rest += self._noise.tail_bounds(count - exact, bits)[1]
            weights = {
                kept + more: (w[0] * v[0] >> bits, -(-w[1] * v[1] >> bits))
                for kept, w in weights.items()
                for more, v in outcomes
            }
        return Law(bits, weights, rest)

    def audit_cases(self) -> Sequence[Case[Counts]]:
        return (
            Case({}, {0: 1}, Sensitivity.of(1), tight=False),
            Case({0: self.threshold}, {0: self.threshold + 2}, Sensitivity.of(2), tight=False),
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(2, 2, 1),)

    @classmethod
    def calibrate(
        cls, *, sensitivity: Sensitivity | Number = 1, epsilon: Number, delta: Number = 0, **public: Any
    ) -> Self:
        """scale = l1/epsilon. Without a threshold, the least one at which at most one empty cell is told, on average."""
        probability(delta, name="delta")
        moved = Fraction(Sensitivity.of(sensitivity).l1 // 1)
        if moved == 0:
            raise BadInput("nothing to protect: the sensitivity is 0", hint="a public value needs no mechanism")
        scale = moved / positive(epsilon, name="epsilon")
        if "threshold" in public:
            return cls(scale=scale, **public)
        domain = public.get("domain")
        if isinstance(domain, bool) or not isinstance(domain, int) or domain < 1:
            raise BadInput("the domain is not a whole number of 1 or more", hint="give a domain such as 10**6")
        # 2 P(Z > t) is at most 2/domain at the half-width t of that confidence.
        chance = Fraction(max(0, domain - 2), domain)
        return cls(scale=scale, threshold=DiscreteLaplace(scale).within(chance) + 1, domain=domain)

    def _read(self, value: Counts) -> dict[int, int]:
        """In the order of cells. An empty cell that is listed is a held cell that holds 0: the law is the same."""
        if not isinstance(value, Mapping):
            raise BadInput("a sparse histogram is not a mapping", hint="give {cell: count}")
        if any(isinstance(cell, bool) or not isinstance(cell, int) or not 0 <= cell < self.domain for cell in value):
            raise BadInput("a cell lies outside of the domain", hint="number cells from 0 to the domain's size less 1")
        return {cell: clamped_step(value[cell], None) for cell in sorted(value)}

    @cached_property
    def _noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale)


@lru_cache(maxsize=256)
def _rates(noise: DiscreteLaplace, threshold: int, bits: int) -> tuple[int, int]:
    """Bounds of -ln(1 - p), scaled by 2**bits; both 0 where these digits do not tell p from 0."""
    low, high = noise.tail_bounds(threshold, bits)
    one = 1 << bits
    slow = log_of_ratio(one, one - low, bits)[0]
    return (slow, log_of_ratio(one, one - high, bits)[1]) if slow > 0 else (0, 0)
