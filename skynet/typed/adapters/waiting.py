"""Running another tool's coroutine to its end, on one event loop for all cases of a process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Value = TypeVar("Value")

# Kept: the tools' HTTP clients hold connections of the loop that opened them, and fail on the next one.
_runner: asyncio.Runner | None = None


def wait_for(pending: Coroutine[Any, Any, Value]) -> Value:
    """Return what the coroutine returns. Inside a running event loop it runs in a thread with a loop of its own."""
    global _runner
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _runner = _runner or asyncio.Runner()
        return _runner.run(pending)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, pending).result()
