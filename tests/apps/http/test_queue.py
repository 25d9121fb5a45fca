"""Turns: a bounded queue, half of the threads for one caller, nothing lost when callers hang up."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from sfumato.apps.http.queue import Busy, Queue


def test_one_caller_takes_half_of_the_turns() -> None:
    """Six questions of one caller that never end leave room for another's."""
    ends = threading.Event()

    async def act() -> None:
        queue = Queue(threads=4, waiting=10, patience=5)
        slow = [asyncio.create_task(queue.run("ana", ends.wait)) for _ in range(6)]
        await asyncio.sleep(0.05)
        assert await asyncio.wait_for(queue.run("bob", lambda: "there"), 2) == "there"
        ends.set()
        assert await asyncio.gather(*slow) == [True] * 6
        queue.close()

    asyncio.run(act())


def test_what_finds_no_room_or_no_turn_is_sent_away() -> None:
    ends = threading.Event()

    async def act() -> None:
        queue = Queue(threads=1, waiting=1, patience=0.1)
        first = asyncio.create_task(queue.run("ana", ends.wait))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(queue.run("bob", ends.wait))
        await asyncio.sleep(0.02)
        with pytest.raises(Busy):
            await queue.run("carl", ends.wait)
        with pytest.raises(Busy):
            await second
        ends.set()
        assert await first
        assert await queue.run("bob", lambda: 1) == 1
        queue.close()

    asyncio.run(act())


def test_who_hangs_up_keeps_the_turn_until_the_work_ends() -> None:
    done: list[Any] = []

    def work() -> None:
        time.sleep(0.2)
        done.append(1)

    async def act() -> None:
        queue = Queue(threads=1, waiting=4, patience=5)
        begun = asyncio.create_task(queue.run("ana", work))
        await asyncio.sleep(0.05)
        begun.cancel()
        assert await queue.run("bob", lambda: len(done)) == 1
        queue.close()

    asyncio.run(act())
