"""The notes' theorems as bounds that can be computed: the statement as printed, and as it should read.

Each is a function of public parameters that returns a float; a `Statement` holds the two beside each other, so that a test can
show where the printed one fails and that the corrected one holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number


@final
@dataclass(frozen=True, slots=True)
class Statement:
    """One theorem or lemma: where it is printed, the bound as printed, and the bound corrected.."""

    note: str
    place: str
    printed: Callable[..., float]
    corrected: Callable[..., float]
    slip: str


def above_threshold_printed(*, output: int, epsilon: Number, confidence: Number) -> float:
    """The margin 8 (ln k + ln(2/beta)) / epsilon with k the index that came out: it exists for k of 1 or more only."""
    from sfumato.mechanisms.stream.threshold import textbook_margin

    if output < 1:
        raise BadInput(
            "the printed bound takes the logarithm of the output, which is 0 or -1 here",
            hint="use above_threshold, which takes the most questions that may be asked",
        )
    return textbook_margin(queries=output, epsilon=epsilon, confidence=confidence)


def above_threshold(*, queries: int, epsilon: Number, confidence: Number) -> float:
    """The same with k the most questions that may be asked; it bounds the answers, and holds when nothing is above."""
    from sfumato.mechanisms.stream.threshold import textbook_margin

    return textbook_margin(queries=queries, epsilon=epsilon, confidence=confidence)


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        note="003",
        place="Lemma 2.2.1.1",
        printed=above_threshold_printed,
        corrected=above_threshold,
        slip="k is the random output; the answers are bounded with their noise; nothing is said when nothing is above",
    ),
)
"""Every statement that was computed so far, in the order of the notes."""
