"""The law of an output, as certified probabilities, for exact verification."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Law:
    """Each outcome's probability lies between two integers over 2**bits; all other outcomes together weigh at most `rest`.

    Two laws of one mechanism list the same outcomes wherever both can reach them.
    """

    bits: int
    weights: Mapping[Hashable, tuple[int, int]]
    rest: int = 0
