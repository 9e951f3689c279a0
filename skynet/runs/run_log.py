"""A run's log, `.skynet/runs/ID.log`: what happened in plain lines, appended by every attempt that drives it."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from skynet.errors import SkynetError
from skynet.evaluation.display import printable

if TYPE_CHECKING:
    from skynet.evaluation.stages import Stage
    from skynet.runs.events import Event, Events

SUBMITTED = "submit-*.log"  # what a driver in a process of its own prints, until its run has an id
_REASON_CHARS = 200


def log_path(folder: Path, run: str) -> Path:
    """Return the log of a run; `folder` is the `.skynet` folder."""
    return folder / "runs" / f"{run}.log"


class RunLog:
    """Appends lines with their time. `redact` takes keys out of each. A log that cannot be written ends no run.

    Nothing is written where all that this process prints goes to the log already, as `skynet submit` has it: there
    what is printed goes through `redact`, to the end of the process, since a traceback comes last.
    """

    def __init__(self, folder: Path, run: str, redact: Callable[[str], str]) -> None:
        self._path = log_path(folder, run)
        self._redact = redact
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        self._events: Events | None = None
        self._seen = 0

    @contextmanager
    def opened(self, events: Events) -> Iterator[None]:
        """Keep the log open, for the events from here on."""
        self._events, self._seen = events, max((event.seq for event in events.read()), default=0)
        if _prints_into(self._path, sys.stderr):
            self._redact_prints()
        else:
            with suppress(OSError):
                self._file = self._path.open("a", encoding="utf-8")
        try:
            yield
        finally:
            with self._lock:
                file, self._file = self._file, None
            if file is not None:
                with suppress(OSError):
                    file.close()

    def _redact_prints(self) -> None:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if not isinstance(stream, _Redacting) and _prints_into(self._path, stream):
                setattr(sys, name, _Redacting(stream, self._redact))

    def say(self, text: str) -> None:
        """Append a text; each of its lines has the time before it."""
        at = time.strftime("%Y-%m-%d %H:%M:%S")
        lines = "".join(f"{at}  {line}\n" for line in printable(self._redact(text)).splitlines())
        with self._lock:
            if self._file is None:
                return
            try:
                self._file.write(lines)
                self._file.flush()
            except OSError:  # a full disk: the run has its store to tell of that
                self._file = None

    def stage(self, stage: Stage) -> None:
        """Append a stage of the check."""
        self.say(f"check: {stage.name}: {stage.status}{f', {stage.message}' if stage.message else ''}")

    def follow(self) -> None:
        """Append the events that were stored since the last look."""
        if self._file is None or self._events is None:
            return
        try:
            new = self._events.read(after=self._seen)
        except SkynetError:  # the run meets the same fault, and tells it
            return
        for event in new:
            self._seen = event.seq
            self.say(event_words(event, self._redact))


class _Redacting(io.TextIOBase):
    """A stream that takes keys out of each line before it is written. An open line is held back until it is flushed."""

    def __init__(self, stream: TextIO, redact: Callable[[str], str]) -> None:
        self._stream, self._redact = stream, redact
        self._lock = threading.Lock()
        self._line = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def fileno(self) -> int:
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._lock:
            whole, end, self._line = (self._line + text).rpartition("\n")
            if end:
                self._stream.write(self._redact(whole) + end)
        return len(text)

    def flush(self) -> None:
        with self._lock:
            if self._line:
                self._stream.write(self._redact(self._line))
                self._line = ""
            self._stream.flush()


def event_words(event: Event, redact: Callable[[str], str]) -> str:
    """Return one event as a line without its time, keys taken out: before the cut, which would leave half of one."""
    parts = [f"{event.kind:<9}", event.version or ""]
    if event.kind == "evaluated":
        parts += [f"case {event.details.get('case')}", f"score {event.details.get('score')}"]
    if event.details.get("val") is not None:
        parts.append(f"val {event.details['val']:.4g}")
    parts.append(" ".join(redact(event.reason or "").split())[:_REASON_CHARS])
    return printable("  ".join(part for part in parts if part))


def _prints_into(path: Path, stream: TextIO) -> bool:
    """Whether the stream goes into this log, or into one that `submit` is about to give its name."""
    try:
        own = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):  # no stream, or one that is no file
        return False
    for place in (*path.parent.glob(SUBMITTED), path):  # in this order: a file that is renamed meanwhile is the last
        try:
            if os.path.samestat(own, place.stat()):
                return True
        except FileNotFoundError:
            continue
    return False
