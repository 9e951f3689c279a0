"""Closing a process that holds keys or expected values to the other processes of its user."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PR_GET_DUMPABLE = 3
_PR_SET_DUMPABLE = 4

_lock = threading.Lock()
_blocks = 0
_before = 1


def close_process() -> None:
    """Keep this process's environment, memory, descriptors and working folder in /proc from others of its user.

    Linux only, and root reads them all the same. No core is dumped any more, and no debugger or profiler can attach.
    Processes that it starts are open again. Raises OSError where the kernel refuses.
    """
    _prctl(_PR_SET_DUMPABLE, 0)


@contextmanager
def closed_process() -> Iterator[None]:
    """Have this process closed in the block, and as it was again after the last of several blocks at a time."""
    global _blocks, _before
    with _lock:
        if _blocks == 0:
            _before = _prctl(_PR_GET_DUMPABLE, 0)
            close_process()
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0:
                _prctl(_PR_SET_DUMPABLE, _before)


def _prctl(option: int, value: int) -> int:
    if sys.platform != "linux":
        return 0
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    told: int = libc.prctl(option, value, 0, 0, 0)
    if told < 0:
        raise OSError(ctypes.get_errno(), "prctl refused")
    return told
