"""Threads that questions are worked on in, and a bounded queue before them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar, final

from fastapi import Depends
from starlette.requests import Request

Result = TypeVar("Result")


class Busy(Exception):
    """The queue is full, or the turn did not come in time: nothing was begun, and nothing charged."""


@final
class Queue:
    """At most `threads` questions at a time, half of them one caller's, `waiting` behind. What has begun is finished."""

    def __init__(self, *, threads: int, waiting: int, patience: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sfumato")
        self._all, self._each = asyncio.Semaphore(threads), max(1, threads // 2)
        self._callers: dict[str, asyncio.Semaphore] = {}
        self._room, self._patience = threads + waiting, patience
        self._inside = 0

    async def run(self, caller: str, work: Callable[..., Result], *arguments: Any) -> Result:
        if self._inside >= self._room:
            raise Busy
        self._inside += 1
        turns = (self._callers.setdefault(caller, asyncio.Semaphore(self._each)), self._all)
        try:
            await self._wait(turns)
            # A caller who hangs up does not free the turn that their question still takes.
            begun = asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
            for turn in turns:
                begun.add_done_callback(lambda _, turn=turn: turn.release())  # type: ignore[misc]
            return await asyncio.shield(begun)
        finally:
            self._inside -= 1

    async def _wait(self, turns: tuple[asyncio.Semaphore, ...]) -> None:
        taken = list[asyncio.Semaphore]()
        try:
            async with asyncio.timeout(self._patience):
                for turn in turns:
                    await turn.acquire()
                    taken.append(turn)
        except BaseException as error:
            for turn in taken:
                turn.release()
            if isinstance(error, TimeoutError):
                raise Busy from None
            raise

    def close(self) -> None:
        """Wait for what has begun."""
        self._pool.shutdown(wait=True)


@final
class Turn:
    """The queue, as one caller stands in it."""

    def __init__(self, queue: Queue, caller: str) -> None:
        self._queue, self._caller = queue, caller

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        return await self._queue.run(self._caller, work, *arguments)


async def _turn(request: Request) -> Turn:
    return Turn(request.app.state.queue, request.scope["sfumato"]["token"])


Turns = Annotated[Turn, Depends(_turn)]
"""The parameter of a route that has work to do; it stands after that of who asks."""
