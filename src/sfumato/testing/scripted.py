"""A source that says what a test wants it to say. For tests only: `sfumato.noise` never makes one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import ClassVar, Self, final

import numpy as np

from sfumato.core.errors import BadInput
from sfumato.noise.source import Keystream, Source, Words


@final
class ScriptedSource(Source):
    """Hands out the given 64-bit words in order; then, if it has one, a stream that a label determines.

    `fill` takes one word per word. `bits(n)` takes ceil(n / 64) words, the first one on top, and keeps the n top bits:
    the script reads like a binary expansion.
    """

    predictable: ClassVar[bool] = True

    def __init__(self, words: Iterable[int] = (), *, then: bytes | None = None) -> None:
        self._script = [int(word) for word in words]
        if any(not 0 <= word < 1 << 64 for word in self._script):
            raise BadInput("a scripted word is not of 64 bits", hint="give integers from 0 to 2**64 - 1")
        self._script.reverse()
        self._stream = None if then is None else Keystream(hashlib.sha256(then).digest())

    @classmethod
    def stream(cls, label: bytes) -> Self:
        """An endless stream: the same label, the same words."""
        return cls(then=label)

    @property
    def left(self) -> int:
        """How many scripted words were not used."""
        return len(self._script)

    def fill(self, out: Words) -> None:
        scripted = min(len(self._script), out.size)
        for i in range(scripted):
            out[i] = self._script.pop()
        if scripted == out.size:
            return
        if self._stream is None:
            raise BadInput("the script ran out of words", hint="script more words, or give it a stream to go on with")
        rest = np.empty(out.size - scripted, dtype=np.uint64)
        self._stream.fill(rest)
        out[scripted:] = rest

    def bits(self, n: int) -> int:
        count = (n + 63) // 64
        result = 0
        for word in self.words(count):
            result = result << 64 | int(word)
        return result >> (64 * count - n)
