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
    """At most `threads` questions at a time, at most `waiting` behind them. What has begun is finished."""

    def __init__(self, *, threads: int, waiting: int, patience: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sfumato")
        self._turns = asyncio.Semaphore(threads)
        self._room, self._patience = threads + waiting, patience
        self._inside = 0

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        if self._inside >= self._room:
            raise Busy
        self._inside += 1
        try:
            try:
                await asyncio.wait_for(self._turns.acquire(), self._patience)
            except TimeoutError:
                raise Busy from None
            # A caller who hangs up does not free the turn that their question still takes.
            begun = asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
            begun.add_done_callback(lambda _: self._turns.release())
            return await asyncio.shield(begun)
        finally:
            self._inside -= 1

    def close(self) -> None:
        """Wait for what has begun."""
        self._pool.shutdown(wait=True)


async def _queue(request: Request) -> Queue:
    queue: Queue = request.app.state.queue
    return queue


Turns = Annotated[Queue, Depends(_queue)]
"""The parameter of a route that has work to do."""
