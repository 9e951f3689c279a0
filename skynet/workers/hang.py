"""Where a worker that answers no more stands: it dumps its stacks at a signal, even from a loop in native code.

A dump is the word of a process that runs user code: it is read in one pass, and no file is opened because it names it.
"""

from __future__ import annotations

import faulthandler
import linecache
import os
import re
import signal
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from skynet.workers.fault import is_users

SIGNAL = signal.SIGUSR2
MOST_BYTES = 1 << 20  # of a dump
_LONGEST_LINE = 8_192
_MOST_SOURCE = 4 << 20  # bytes read of a file to quote a line of it
_THREAD = "most recent call first):"
_FRAME = re.compile(r'  File "(.*)", line (\d{1,7}) in ')
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U(00(?:0[0-9a-f]|10)[0-9a-f]{4})")


def arm(descriptor: int) -> None:
    """Have this process write the stacks of its threads to the descriptor when SIGNAL comes."""
    faulthandler.register(SIGNAL, file=descriptor, all_threads=True)


def is_whole(dump: bytes | bytearray) -> bool:
    """Whether the main thread's outermost frame, the last that is written, is there."""
    return dump.endswith(b"<module>\n") and b"hread 0x" in dump


def place_of(dump: bytes, config: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return file and line of the innermost frame in the user's files, None where there is none.

    `config` is what the worker was told to load. The main thread, in which user code is called, is the last in a dump.
    """
    files = tuple(str(config[name]) for name in ("path", "file") if config.get(name))
    folder = str(config.get("folder") or "/dev/null")
    for frames in reversed(list(_threads(dump.decode("ascii", "replace")))):
        for file, line in frames:
            if file in files or (is_users(file, folder, ()) and os.path.normpath(file) == file and file.isprintable()):
                return file, line
    return None


def _threads(dump: str) -> Iterator[list[tuple[str, int]]]:
    """Yield the frames of each thread, the innermost first."""
    frames: list[tuple[str, int]] | None = None
    for line in dump.split("\n"):
        found = _FRAME.match(line) if len(line) <= _LONGEST_LINE else None
        if frames is not None and found is not None:
            frames.append((_unescaped(found[1]), int(found[2])))
        elif frames is None or not line.startswith("  "):
            if frames is not None:
                yield frames
            frames = [] if line.endswith(_THREAD) else None
    if frames is not None:
        yield frames


def source_line(config: Mapping[str, Any], file: str, line: int) -> str:
    """Return the line's text, stripped, of the file that the worker was told to load; of any other one nothing."""
    if file == config.get("file") and isinstance(config.get("source"), str):
        text = config["source"]
    elif file in (config.get("path"), config.get("file")) and (os.path.isabs(file) or file.startswith("<")):
        text = _text_of(file)
    else:
        return ""
    lines = text.split("\n")
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _text_of(file: str) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # a notebook's cell is no file; Python may hold its text
        cached = linecache.cache.get(file, ())
        return "".join(cached[2]) if len(cached) == 4 else ""
    with open(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""  # a FIFO, say, that user code put there: reading would wait for ever
        return opened.read(_MOST_SOURCE).decode("utf-8", "replace")


def _unescaped(file: str) -> str:
    """Return a file's name as it is: a dump is ASCII, other characters are escaped in it."""
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), file)
