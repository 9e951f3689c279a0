from __future__ import annotations

import asyncio

from skynet.typed.adapters.waiting import wait_for


async def loop_of() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_all_cases_share_one_open_loop() -> None:
    first = wait_for(loop_of())
    assert wait_for(loop_of()) is first
    assert not first.is_closed()


def test_inside_a_running_loop_another_one_is_used() -> None:
    async def outer() -> bool:
        return wait_for(loop_of()) is asyncio.get_running_loop()

    assert asyncio.run(outer()) is False
