"""Where randomness comes from: an AES-256-CTR keystream keyed by the operating system. Nothing can seed it."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from functools import cache
from typing import ClassVar, NoReturn, Protocol, final
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput, Bug

Words = NDArray[np.uint64]

_CHUNK = 1 << 14  # bytes kept for small requests
_ZEROS = bytes(1 << 18)
_REKEY_AFTER = 1 << 30  # bytes under one key; the counter would repeat after 2**132
_PREDRAWN = 2048  # draws kept ready for one law
_DIRECT = 48  # single draws of one law before a table pays
_LAWS = 64  # laws with draws kept ready


class Drawable(Protocol):
    """A law that can be drawn one at a time, or by the block."""

    @property
    def tabled(self) -> bool: ...
    def draw(self, source: Source) -> int: ...
    def block(self, source: Source, count: int) -> NDArray[np.int64]: ...
    def __hash__(self) -> int: ...


class Source(ABC):
    """A supply of independent fair bits. One that is `predictable` (scripted, seeded) never meets a private value: SF015.

    Whoever writes another source and says nothing of it has a predictable one.
    """

    predictable: ClassVar[bool] = True

    @abstractmethod
    def fill(self, out: Words) -> None:
        """Overwrite every word of a contiguous array with fresh uniform bits."""

    @abstractmethod
    def bits(self, n: int) -> int:
        """A uniform integer of n bits, 0 <= result < 2**n."""

    def words(self, count: int) -> Words:
        """`count` fresh uniform 64-bit words."""
        out = np.empty(count, dtype=np.uint64)
        self.fill(out)
        return out

    def below(self, n: int) -> int:
        """A uniform integer, 0 <= result < n."""
        if n < 1:
            raise BadInput("a uniform draw below less than 1 was asked", hint="give a bound of 1 or more")
        width = (n - 1).bit_length()
        while (result := self.bits(width)) >= n:
            pass
        return result

    def one(self, law: Drawable) -> int:
        """One draw of a law."""
        return law.draw(self)


class Keystream:
    """AES-256-CTR over zeros: the counter starts at 0 under each fresh key."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._cipher = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        self.spent = 0

    def fill(self, out: Words) -> None:
        if not out.size:
            return
        octets = out.data.cast("B")
        for start in range(0, octets.nbytes, len(_ZEROS)):
            part = octets[start : start + len(_ZEROS)]
            self._cipher.update_into(_ZEROS[: part.nbytes] if part.nbytes < len(_ZEROS) else _ZEROS, part)
        self.spent += octets.nbytes

    def take(self, count: int) -> bytes:
        self.spent += count
        return self._cipher.update(bytes(count))


@final
class SystemSource(Source):
    """AES-256-CTR keyed from the operating system, rekeyed every GiB, safe in threads and across forks.

    What is drawn ahead (keystream for small requests, a block of draws per law often asked for one at a time) is state
    that two processes must never share: a forked child drops it and takes a new key. It takes no seed, and refuses to be
    copied or pickled.
    """

    predictable: ClassVar[bool] = False

    def __init__(self) -> None:
        self._reset()
        _remember(self)

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._stream: Keystream | None = None
        self._chunk, self._at = b"", 0
        self._ready: OrderedDict[Drawable, list[int]] = OrderedDict()
        self._asked: OrderedDict[Drawable, int] = OrderedDict()

    def _fresh(self) -> Keystream:
        """The keystream of this very process; the lock is held."""
        stream = self._stream
        if stream is None or stream.spent >= _REKEY_AFTER:
            self._stream = stream = Keystream(os.urandom(32))
        return stream

    def _enter(self) -> None:
        """A fork that Python's hook did not see (from C) is seen by its process number."""
        if self._process != os.getpid():
            self._reset()

    def fill(self, out: Words) -> None:
        self._enter()
        with self._lock:
            self._fresh().fill(out)

    def bits(self, n: int) -> int:
        self._enter()
        count = (n + 7) >> 3
        with self._lock:
            if count > len(self._chunk) - self._at:
                self._chunk, self._at = self._fresh().take(max(_CHUNK, count)), 0
            taken = self._chunk[self._at : self._at + count]
            self._at += count
        return int.from_bytes(taken, "little") >> (8 * count - n)

    def one(self, law: Drawable) -> int:
        """One draw of a law: computed alone while the law is new, from a block drawn ahead once it is asked for often."""
        self._enter()
        with self._lock:
            ready = self._ready.get(law)
            if ready:
                return ready.pop()
            often = ready is not None or (law.tabled and self._count(law))
        if not often:
            return law.draw(self)
        fresh = law.block(self, _PREDRAWN).tolist()
        with self._lock:
            result: int = fresh.pop()
            self._ready[law] = fresh
            self._ready.move_to_end(law)
            if len(self._ready) > _LAWS:
                self._ready.popitem(last=False)
        return result

    def _count(self, law: Drawable) -> bool:
        """Whether this law has now been drawn so often that a table pays; the lock is held."""
        asked = self._asked.pop(law, 0) + 1
        if asked > _DIRECT:
            return True
        self._asked[law] = asked
        if len(self._asked) > _LAWS:
            self._asked.popitem(last=False)
        return False

    def __reduce__(self) -> NoReturn:
        raise Bug("a source of randomness was about to be copied", hint="call system_source() in the other process")

    __copy__ = __reduce__

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


_alive: WeakSet[SystemSource] = WeakSet()


@cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    for source in list(_alive):
        source._reset()


def _remember(source: SystemSource) -> None:
    _watch_forks()
    _alive.add(source)


@cache
def system_source() -> Source:
    """The source of this process."""
    return SystemSource()
