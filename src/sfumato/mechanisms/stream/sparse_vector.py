"""The first few numbers of a stream that are above a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

from sfumato.mechanisms.base import Case
from sfumato.mechanisms.parameter import Grain, Positive, Rational
from sfumato.mechanisms.stream.threshold import Comparing, Noise


@final
@dataclass(frozen=True)
class SparseVector(Comparing):
    """Says "above" or "below" to each number, with fresh noise, and closes after `positives` times "above".

    Any number of questions, chosen as one goes, for one price; every "above" also tells its noisy gap.

    Proof: Lyu, Su and Li 2017, Theorem 2 (their Algorithm 7), on the lattice, with the free gaps of Ding, Wang, Zhang and
    Kifer 2019. As for `AboveThreshold`, with the one line T + rho drawn once: on the neighbour rho' = rho + D keeps all that
    was below, at a cost of exp(D / scale) once, and each of at most `positives` numbers above has its own fresh noise, for
    which nu' = nu + D + q - q', between nu and nu + 2 D, keeps the gap to the line, at a cost of exp(2 D / (ratio scale)).
    The shifts are one-to-one on the integers and upward, so one-sided noise stays in its support; epsilon is
    D / scale + 2 positives D / (ratio scale), and half of the second term if all numbers can only move the same way
    (`monotone`). What is asked next depends on the replies alone, gaps included, which are the same.
    """

    positives: int
    threshold: Rational = Rational()
    scale: Positive = Positive()
    ratio: Positive = Positive()
    noise: Noise = "exponential"
    grain: Grain = Grain()
    monotone: bool = False

    @property
    def _positives(self) -> int:
        return self.positives

    def audit_cases(self) -> Sequence[Case[Sequence[Any]]]:
        """The first stays below, the second comes above, moving towards the line while it moves away."""
        far = 3 * int(self._comparison.threshold_noise.scale)
        last = 0 if self.monotone else -1
        return (self._comparison.case([0, 0], [1, last]), self._comparison.case([far, 0], [far + 1, last]))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(2, 5, "1/2", 2),)
