"""What a call must not leave behind in its worker: the state of the process as it was before, and nothing running."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import gc
import os
import random
import signal
import sys
from typing import Any

_SIGNALS = sorted(
    number
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    if number < getattr(signal, "SIGRTMIN", 32)
)


class CleanState:
    """The state after loading, put back after each call."""

    def __init__(self, kept_streams: tuple[int, int]) -> None:
        self._kept_streams = kept_streams
        self._streams = (sys.stdin, sys.stdout, sys.stderr)
        self._folder = os.getcwd()
        self._environment = dict(_environment())
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._handlers = [(number, _signal.getsignal(number)) for number in _SIGNALS]
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._path = list(sys.path)
        self._recursion = sys.getrecursionlimit()
        self._threads = _thread._count()
        self._folder_lost = False

    def seed(self, seed: int) -> None:
        """Give this call its own random numbers: the same for the same seed, whatever ran in this worker before."""
        random.seed(seed)
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None and hasattr(numpy, "random"):
            numpy.random.seed(seed & 0xFFFFFFFF)

    def restore(self) -> None:
        """Put back the descriptors, streams, folder, environment, umask, signals, import path and limits."""
        sys.stdin, sys.stdout, sys.stderr = self._streams
        for descriptor, kept in enumerate(self._kept_streams, 1):
            os.dup2(kept, descriptor)
        os.umask(self._umask)
        try:
            os.chdir(self._folder)
        except OSError:
            self._folder_lost = True
        if _environment() != self._environment:
            os.environb.clear()
            os.environb.update(self._environment)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        for number, handler in self._handlers:
            if _signal.getsignal(number) is not handler and handler is not None:
                signal.signal(number, handler)
        if sys.path != self._path:
            sys.path[:] = self._path
        if sys.getrecursionlimit() != self._recursion:
            sys.setrecursionlimit(self._recursion)
        gc.enable()

    def left_behind(self) -> str:
        """Return what the call left that cannot be put back: `threads`, a lost `folder`, or nothing.

        For processes that it left the host looks itself.
        """
        if self._folder_lost:
            return "folder"
        return "threads" if _thread._count() > self._threads else ""


def _environment() -> dict[bytes, bytes]:
    # The mapping underneath: comparing os.environ itself decodes every variable, 30 microseconds a call.
    return os.environ._data  # type: ignore[attr-defined,no-any-return]
