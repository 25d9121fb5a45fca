"""The first number of a stream that is above a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

from sfumato.mechanisms.base import Case
from sfumato.mechanisms.parameter import Grain, Positive, Rational
from sfumato.mechanisms.stream.threshold import Comparing, Noise


@final
@dataclass(frozen=True)
class AboveThreshold(Comparing):
    """Says "below" to each number until one, with fresh noise, reaches the threshold with its own noise; then it closes.

    Any number of questions, chosen as one goes, for one price. The reply that closes it also tells the noisy gap.

    Proof: Dwork, Naor, Reingold, Rothblum and Vadhan 2009 (Dwork and Roth 2014, Theorem 3.23), for the free gap Ding, Wang,
    Zhang and Kifer 2019, for one-sided noise on the lattice as follows. Fix a transcript that ends at question k with gap
    g, and the noises nu_i of the questions before. Let all numbers move by at most D. On the neighbour, take the threshold's
    noise rho' = rho + D: whatever was below, q_i + nu_i < T + rho, stays below, as q'_i + nu_i < T + rho + D. Take
    nu'_k = nu_k + D + q_k - q'_k: the gap is again g. Both are one-to-one on the integers, 0 <= rho' - rho = D and
    0 <= nu'_k - nu_k <= 2 D, so both stay in the support of one-sided noise, and the probabilities of rho and nu_k
    are at most exp(D / scale) and exp(2 D / (ratio scale)) times those of rho' and nu'_k. A transcript in which nothing
    was above needs the first shift only. What is asked next depends on the replies alone, which are the same. If all
    numbers can only move the same way (`monotone`: counts under add/remove, a constant threshold): moving up, rho' = rho + D
    and nu'_k = nu_k + D - (q'_k - q_k) in [nu_k, nu_k + D]; moving down, rho' = rho and nu'_k = nu_k + q_k - q'_k.
    Numbers are floored to the lattice first (they then move by ceil(D / grain) steps), the threshold is public.
    """

    threshold: Rational = Rational()
    scale: Positive = Positive()
    ratio: Positive = Positive()
    noise: Noise = "exponential"
    grain: Grain = Grain()
    monotone: bool = False

    @property
    def _positives(self) -> int:
        return 1

    def audit_cases(self) -> Sequence[Case[Sequence[Any]]]:
        """One number goes down while the other goes up: the first stays below, the second comes above."""
        compare, far = self._comparison, 3 * int(self._comparison.threshold_noise.scale)
        last = 0 if self.monotone else -1
        return (compare.case([0, 0], [1, last]), compare.case([far, 0], [far + 1, last]))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(50, 2, "5/4"), cls(0, 1, "1/2", noise="laplace", grain="1/2"), cls(3, 2, 1, monotone=True))
