"""Silence: dspy's optimizers print, log and draw progress bars, while stdout belongs to the host's one JSON object."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

_POOL = "ThreadPoolExecutor-"  # how Python names the threads of pools without a name, as dspy's are
_LOGGERS = ("dspy", "optuna")


class _Filtered(io.TextIOBase):
    """A stream that drops what the threads of a search write, and passes on what anybody else does.

    Retired, it drops everything: a progress bar that nobody closed draws itself once more when it is collected.
    """

    def __init__(self, stream: TextIO, engine: threading.Thread) -> None:
        self._stream = stream
        self._engine = engine
        self.retired = False

    def write(self, text: str) -> int:
        current = threading.current_thread()
        if not self.retired and current is not self._engine and not current.name.startswith(_POOL):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Drop what this thread and dspy's threads print, and what dspy and optuna log."""
    engine = threading.current_thread()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    streams = _Filtered(sys.stdout, engine), _Filtered(sys.stderr, engine)
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
            for stream in streams:
                stream.retired = True
