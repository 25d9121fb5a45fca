"""Mechanisms that are asked one number after the other, and remember: one generator, played live or on a whole list."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Generator, Sequence
from inspect import GEN_CLOSED, getgeneratorstate
from typing import Any, Generic, NoReturn, TypeVar, final

from sfumato.core.errors import BadInput, Bug, NotSupported
from sfumato.core.private import Private
from sfumato.mechanisms.base import Mechanism, opened_into
from sfumato.noise import Source, system_source

Reply = TypeVar("Reply")

Play = Generator[Any, Any, Any]
"""First yields nothing; every number sent in yields its reply; the last reply of all is returned.

A reply that is a `BadInput` is raised by whoever plays: nothing was drawn, and the play goes on.
"""


class Interactive(Mechanism[Sequence[Any], tuple[Reply, ...]], Generic[Reply]):
    """A mechanism whose inputs may be chosen after earlier replies were seen.

    `play` is all there is to it: `start` plays it live, `sample` plays it on a list and returns the transcript, which is
    what `loss` and the proof speak about. The loss is that of the whole session, however early it ends.
    """

    @abstractmethod
    def play(self, source: Source) -> Play:
        """The session, on numbers that `steps` has read."""

    @abstractmethod
    def steps(self, value: Any) -> Any:
        """A number as the lattice holds it; refused when it is none."""

    @final
    def sample(self, value: Sequence[Any], source: Source) -> tuple[Reply, ...]:
        """The transcript for inputs fixed in advance: it ends with the session, or with the inputs."""
        play, replies = self.play(source), []
        next(play)
        for each in value:
            try:
                replies.append(_accepted(play.send(self.steps(each))))
            except StopIteration as end:
                replies.append(end.value)
                break
        return tuple(replies)

    @final
    def start(self, source: Source | None = None) -> Running[Reply]:
        """A session. Charge `loss` before it starts: whoever asks is owed nothing back when it ends early."""
        return Running(self, source or system_source())


@final
class Running(Generic[Reply]):
    """A session under way. It lives in one process, answers one question at a time, and is closed by its last reply.

    Its noise is state: a forked child would share it and could answer the same question twice with the same noise, so
    it is refused there, and it cannot be copied or pickled. A crash closes it for good.
    """

    def __init__(self, mechanism: Interactive[Reply], source: Source) -> None:
        self.mechanism = mechanism
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._source = source
        self._play: Play | None = mechanism.play(source)
        next(self._play)

    @property
    def closed(self) -> bool:
        """Whether nothing more can be asked here."""
        return self._play is None or self._process != os.getpid()

    def ask(self, value: Any | Private[Any]) -> Reply:
        """The reply to one number, exact or still sealed."""
        if self._process != os.getpid():
            raise NotSupported(
                "this session was started in another process, and its noise must not be used twice",
                hint="ask in the process that started it, or start (and pay for) another",
            )
        with self._lock:
            if self._play is None:
                raise BadInput(
                    "this session is closed: it has given its last reply",
                    hint="start another one, which is charged anew",
                )
            try:
                reply: Reply = _accepted(opened_into(self._play, self.mechanism.steps, value, self._source))
            except StopIteration as end:
                self._play, reply = None, end.value
            except BaseException:
                # A number that could not be read never reached the play. Anything else has ended it.
                if getgeneratorstate(self._play) == GEN_CLOSED:
                    self._play = None
                raise
            return reply

    def close(self) -> None:
        """End it now."""
        with self._lock:
            self._play = None

    def __reduce__(self) -> NoReturn:
        raise Bug("a session was about to be copied, noise and all", hint="ask it where it was started")

    __copy__ = __reduce__

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


def _accepted(reply: Any) -> Any:
    if isinstance(reply, BadInput):
        raise reply
    return reply
