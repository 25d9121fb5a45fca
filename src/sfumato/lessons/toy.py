"""A source that a class can share: the same seed, the same figures. It never meets anybody's data."""

from __future__ import annotations

import hashlib
from typing import ClassVar, final

from sfumato.core.errors import BadInput
from sfumato.noise.source import Drawable, Keystream, Source, Words

STAMP = "TOY"
_AHEAD = 2048


@final
class ToySource(Source):
    """A keystream that its seed determines, for generated tables only.

    It is `predictable`: mechanisms refuse to open a private value with it (SF015), and no policy, session or ledger has a
    place to put it in. Whoever knows the seed subtracts the noise.
    """

    predictable: ClassVar[bool] = True

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
            raise BadInput("a seed is a whole number from 0 to 2**64 - 1", hint="give --seed 7, say")
        self.seed = seed
        self._stream = Keystream(hashlib.sha256(b"sfumato toy %d" % seed).digest())
        self._ready: dict[Drawable, list[int]] = {}

    def fill(self, out: Words) -> None:
        self._stream.fill(out)

    def bits(self, n: int) -> int:
        count = (n + 7) >> 3
        return int.from_bytes(self._stream.take(count), "little") >> (8 * count - n)

    def one(self, law: Drawable) -> int:
        """From a block drawn ahead, as in production: single draws of one law come by the thousand in a lesson."""
        ready = self._ready.setdefault(law, [])
        if not ready and law.tabled:
            ready += law.block(self, _AHEAD).tolist()
        return ready.pop() if ready else law.draw(self)
