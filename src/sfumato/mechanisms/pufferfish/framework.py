"""A Pufferfish framework: which secrets must look alike, and under which beliefs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Self, final

from sfumato.core.errors import BadInput
from sfumato.core.neighbours import Neighbours, Relation
from sfumato.core.private import Private
from sfumato.mechanisms.pufferfish.belief import Belief, Law


@final
@dataclass(frozen=True)
class Contrast:
    """Two secrets under one belief, and the laws of the number given each; the other order is meant too."""

    belief: str
    first: str
    second: str
    left: Law
    right: Law


@final
@dataclass(frozen=True)
class Framework:
    """(S, Q, Theta) of Kifer and Machanavajjhala 2014: pairs of secrets, and a public family of beliefs.

    A release is (epsilon, delta)-Pufferfish private when, under every belief, for every pair that it thinks possible, in both
    orders, P(output in O | first) <= e^epsilon P(output in O | second) + delta, over the data and the noise. Differential
    privacy is the case of independent records and secrets about one of them. What is promised holds for these beliefs only,
    and two releases do not add up: their joint law given a secret is not known from the two.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    beliefs: tuple[Belief, ...]

    @classmethod
    def of(cls, name: str, pairs: Iterable[Sequence[str]], beliefs: Iterable[Belief]) -> Self:
        """Pairs of secrets by name, and beliefs that speak of them."""
        listed = list(beliefs)
        if any(isinstance(belief, Private) for belief in listed):
            raise BadInput(
                "a belief was made of private data",
                hint="beliefs are public: the noise is calibrated on them, and tells them",
            )
        return cls(name, tuple((first, second) for first, second in pairs), tuple(listed))

    def __post_init__(self) -> None:
        if not self.name or not self.pairs or not self.beliefs:
            raise BadInput("a framework lacks a name, a pair or a belief", hint="give at least one of each")
        for first, second in self.pairs:
            if first == second:
                raise BadInput("a pair has the same secret twice", hint="give two secrets that exclude each other")
            for belief in self.beliefs:
                known = {secret for secret, _ in belief.chances}
                if {first, second} - known:
                    raise BadInput(
                        f"the belief {belief.name!r} does not know the secret {min({first, second} - known)!r}",
                        hint="give every belief a law for every secret, or a chance of 0",
                    )
                for secret in (first, second):
                    if dict(belief.chances)[secret] > 0 and belief.law(secret) is None:
                        raise BadInput(
                            f"the belief {belief.name!r} has no law given {secret!r}", hint="give it, or a chance of 0"
                        )
            if not any(belief.law(first) and belief.law(second) for belief in self.beliefs):
                raise BadInput(
                    f"no belief thinks both {first!r} and {second!r} possible, so nothing would be promised of them",
                    hint="give both secrets a chance above 0 under some belief, or leave the pair out",
                )
        widths = {contrast.left.width for contrast in self.contrasts} | {c.right.width for c in self.contrasts}
        if len(widths) > 1:
            raise BadInput("beliefs speak of vectors of different lengths", hint="describe one released vector")

    @cached_property
    def contrasts(self) -> tuple[Contrast, ...]:
        """All pairs under all beliefs that think both secrets possible."""
        return tuple(self._contrasts())

    def _contrasts(self) -> Iterator[Contrast]:
        for belief in self.beliefs:
            for first, second in self.pairs:
                left, right = belief.law(first), belief.law(second)
                if left is not None and right is not None:
                    yield Contrast(belief.name, first, second, left, right)

    @property
    def width(self) -> int:
        return self.contrasts[0].left.width

    @property
    def about(self) -> Neighbours:
        """Two frameworks that differ in anything are about different things, whatever their names."""
        return Neighbours(Relation.SECRETS, f"{self.name} ({self.digest[:12]})")

    @cached_property
    def digest(self) -> str:
        return sha256(repr((self.name, self.pairs, self.beliefs)).encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.name}: {len(self.pairs)} pairs, {len(self.beliefs)} beliefs, sha256 {self.digest}"
