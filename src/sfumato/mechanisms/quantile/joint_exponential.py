"""Several quantiles in one exponential mechanism: errors that go the same way are paid for once."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Self, final

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, probability
from sfumato.core.interval import exp_bounds
from sfumato.core.neighbours import Relation
from sfumato.core.sensitivity import Sensitivity
from sfumato.mechanisms.base import Case
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.parameter import Positive
from sfumato.mechanisms.quantile.asked import Levels, Points, wholes
from sfumato.mechanisms.quantile.chain import FLOOR_BITS, Chain, outputs
from sfumato.mechanisms.quantile.inverse_sensitivity import rank_cases
from sfumato.mechanisms.quantile.jitter import Jittering, pieces, together
from sfumato.mechanisms.quantile.tally import Tally
from sfumato.noise import Source

WIDEST = 470
_WRITTEN = 20_000
_BITS = 192


@final
@dataclass(frozen=True)
class JointExponential(Jittering):
    """All quantiles q_1 < ... < q_m at once: an increasing list o of points with probability proportional to
    exp(-rate * sum over j = 0 ... m of |w(o_j, o_(j+1)] - n (q_(j+1) - q_j)|) + 2^-128 / (number of lists),
    where w(s, t] is the weight in that interval, n all of it, o_0 left of everything, o_(m+1) at the end, q_0 = 0, q_(m+1) = 1.

    Rows are first moved apart (`jitter` points per lattice point, `piece` the weight that moves together), and points
    floored back: ties would leave whole places between two quantiles' ranks.

    Proof: Gillenwater, Joseph and Kulesza 2021. A weight w added falls into one interval, say k: that term moves by at most
    w (1 - g_k), the others, whose targets move, by w g_j, where g_j = q_(j+1) - q_j: 2 w (1 - g_k) in all. A unit's weights
    follow each other: the sum moves by at most D = 2 l1 (1 - min g) under add/remove. Under replace, with M <= B taken
    away and P <= B added, it moves by at most 2 B = l1 (P >= M, say: |P - g (P - M)| + |M + g' (P - M)| plus (P - M)
    times the other gaps is at most 2 P). The second term of the weight is a constant: the whole still changes by a factor
    within exp(-rate D) ... exp(rate D), and so does the sum over all lists: a range of 2 rate D. Jitter keeps
    neighbours (`jittered`). Sums of exponentials are computed in floats, forward by sums of positive terms only, and
    then drawn from backward exactly as the binary fractions they are (`Chain`, `Dyadic`): each list's probability is within
    a factor exp(-eta) ... exp(eta) of the stated one, so 2 eta is added to the charge, eta = (m + 2) 2^-35.

    Proof of eta: each of at most 2 m + 2 factors of a drawn probability is a quotient of a term and a sum of such terms. Terms
    are products of at most 8 numbers, each within 2^-49 (exponentials) or 2^-53 (lengths, quotients); sums of up to
    2^28 positive terms lose 2^-36.9 at most (`running`), once where the next step's term holds the sum and once where it
    is drawn from; no other operation occurs, and no product leaves the range of full precision: weights below
    2^-64 of the constant are dropped or garbled, which changes a probability by a factor within 1 +- 2^-62.
    """

    size: int
    quantiles: Levels = Levels()
    rate: Positive = Positive()
    jitter: int = 1
    piece: int = 1
    by_group: bool = False

    def __post_init__(self) -> None:
        self._check()
        if outputs(self.points, len(self.quantiles)).bit_length() > WIDEST:
            raise BadInput(
                "too many quantiles for so fine a lattice",
                hint="ask for fewer, on fewer points, or use RecursiveQuantiles",
            )
        if wholes(self.quantiles)[1] > 1 << 10:
            raise BadInput("quantiles have too many digits", hint="round them to 3 digits, or use RecursiveQuantiles")

    @property
    def slack(self) -> Fraction:
        return Fraction(2 * (len(self.quantiles) + 2), 1 << 35)

    def rounds(self, reach: Sensitivity) -> tuple[int, Fraction]:
        if reach.about.relation is Relation.REPLACE:
            return 1, 2 * reach.l1
        ends = (Fraction(0), *self.quantiles, Fraction(1))
        return 1, 4 * reach.l1 * (1 - min(b - a for a, b in pairwise(ends)))

    def drawn(self, tally: Tally, source: Source, count: int) -> list[list[int]]:
        return Chain(tally, self.points, *wholes(self.quantiles), self.rate).draw(source, count)

    def within(self, confidence: Number, *, rows: int = 1 << 20) -> float:
        """How far in rank (weight) each released point may be from its quantile, with this confidence for all at once,
        whatever the data, when there are at most `rows` pieces of weight.

        Some list has ranks within c pieces of right, c the most that fall on one point, hence a sum of at most (m + 1) c
        pieces; one whose largest error is t has a sum of at least 2 t. So P(error > t) is at most the number of lists times
        exp(-rate (2 t - (m + 1) c piece)); c is bounded with half of the risk (`together`).
        """
        miss = float(1 - probability(confidence, name="confidence"))
        lists = math.log(outputs(self.points, len(self.quantiles)))
        lump = together(rows, self.jitter, miss / 2) * self.piece
        sums = (lists + math.log(2 / miss)) / float(self.rate) + (len(self.quantiles) + 1) * lump
        return math.nextafter((sums / 2 + lump) * (1 + 1e-9), math.inf)

    def law(self, value: Tally | Sequence[Tally]) -> Law | None:
        """The stated law, every list of points; what is drawn is within exp(eta) of it."""
        lists = outputs(self.points, len(self.quantiles))
        if not isinstance(value, Tally) or self.size > 64:
            return None
        places, each = pieces(value.inside(self.size), self.piece)
        shifts = self.jitter**places.size
        if lists * shifts > _WRITTEN:
            return None
        found: dict[Hashable, tuple[int, int]] = {}
        for shift in product(range(self.jitter), repeat=places.size):
            moved = Tally.of(places * self.jitter + np.array(shift, dtype=np.int64), each)
            for points, (low, high) in self._weighed(moved, lists).items():
                old = found.get(points, (0, 0))
                found[points] = old[0] + low // shifts, old[1] - (-high // shifts)
        return Law(_BITS, found)

    def _weighed(self, tally: Tally, lists: int) -> dict[Points, tuple[int, int]]:
        tops, bottom = wholes(self.quantiles)
        upto = np.searchsorted(tally.places, np.arange(self.points), side="right")
        ranks = (tally.below[upto] * bottom).tolist()
        known: dict[int, tuple[int, int]] = {}
        weights = []
        for points in combinations_with_replacement(range(self.points), len(tops)):
            errors = [0, *(ranks[t] - top * tally.total for t, top in zip(points, tops, strict=True)), 0]
            away = sum(abs(b - a) for a, b in pairwise(errors))
            if away not in known:
                known[away] = exp_bounds(-self.rate * Fraction(away, bottom), 2 * _BITS)
            low, high = known[away]
            constant = (1 << (2 * _BITS - FLOOR_BITS)) // lists
            weights.append((points, low + constant, high + constant + 1))
        least, most = sum(low for _, low, _ in weights), sum(high for _, _, high in weights)
        found: dict[Points, tuple[int, int]] = {}
        for points, low, high in weights:
            key = tuple(t // self.jitter for t in points)
            old = found.get(key, (0, 0))
            found[key] = old[0] + (low << _BITS) // most, old[1] - (-(high << _BITS) // least)
        return found

    def audit_cases(self) -> Sequence[Case[Tally]]:
        """A row comes at the near end, and what is best comes near too; moves there; or is the only one."""
        if len(self.quantiles) == 1:
            return rank_cases(self.size)
        places = [self.size // 3, self.size - 2]
        return (
            Case(Tally.of(places, [4, 3]), Tally.of([0, *places], [1, 4, 3]), Sensitivity.of(1), tight=False),
            *rank_cases(self.size),
        )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(42, "1/2", 1), cls(24, ["1/4", "3/4"], 1), cls(8, "1/2", 1, jitter=2))
