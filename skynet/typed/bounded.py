"""A bounded number of coroutines at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


async def run_bounded(width: int, items: Sequence[Item], work: Callable[[Item], Awaitable[Done]]) -> list[Done]:
    """Return what `work` returned for each item, in order, at most `width` at a time.

    The first error cancels what is still running, waits for it to end, and is raised.
    """
    gate = asyncio.Semaphore(width)

    async def one(item: Item) -> Done:
        async with gate:
            return await work(item)

    running = [asyncio.ensure_future(one(item)) for item in items]
    try:
        return list(await asyncio.gather(*running))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
