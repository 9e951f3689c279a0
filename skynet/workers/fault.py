"""How a failure in a worker is told: its kind, and the traceback cut to the frames of the user's files."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

FaultKind = Literal["raised", "timeout", "died", "memory", "bad_return", "bad_output", "provider", "cancelled"]
MESSAGE_CHARS = 4_000
TRACEBACK_CHARS = 16_000
_WORKERS_OWN = ("raised", "memory", "bad_return", "bad_output")  # the other kinds are seen by the host alone
_TYPE_CHARS = 200
_PATH_CHARS = 4_096
_STAGE_CHARS = 100
_MARK_CHARS = 100  # at most, of what `cut` puts where it left something out


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure. `file` and `line` name the last frame in the user's files; `type` is the exception's class name."""

    kind: FaultKind
    message: str
    type: str = ""
    traceback: str = ""
    file: str | None = None
    line: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        where = f" ({os.path.basename(self.file)}, line {self.line})" if self.file and self.line else ""
        return f"{self.type}: {self.message}{where}" if self.type else f"{self.message}{where}"

    def to_frame(self) -> dict[str, Any]:
        """Return the fault as a dict that crosses between processes."""
        return asdict(self)


def told_fault(told: Any, loading: bool) -> Fault:
    """Return the fault that a worker tells. Raises ValueError for what it has no say in, and for fields of wrong types.

    The worker runs the user's code, so this is that code's word. Of `data` only the stage is kept at which a file did
    not load.
    """
    if not isinstance(told, dict):
        raise ValueError("its fault is no object")
    kind, data = told.get("kind"), told.get("data")
    if kind not in _WORKERS_OWN:
        raise ValueError(f"its fault is of a kind that is none of {', '.join(_WORKERS_OWN)}")
    message, type_, trace = (_text_in(told, name) for name in ("message", "type", "traceback"))
    file, line = told.get("file"), told.get("line")
    if file is not None and not (isinstance(file, str) and len(file) <= _PATH_CHARS):
        raise ValueError("the file of its fault is no path")
    if line is not None and not (type(line) is int and 0 <= line < 2**31):
        raise ValueError("the line of its fault is no line number")
    stage = data.get("stage") if loading and isinstance(data, dict) else None
    return Fault(
        kind=kind,
        message=cut(message, MESSAGE_CHARS + _MARK_CHARS),
        type=type_[:_TYPE_CHARS],
        traceback=cut(trace, TRACEBACK_CHARS + _MARK_CHARS),
        file=file,
        line=line,
        data={"stage": stage} if isinstance(stage, str) and len(stage) <= _STAGE_CHARS else {},
    )


def _text_in(told: dict[Any, Any], name: str) -> str:
    text = told.get(name)
    if not isinstance(text, str):
        raise ValueError(f"the {name} of its fault is no text")
    return text


class Refused(Exception):  # the worker's own verdict on what the user's code did, not an error in it
    """Raised by a worker's entry to report a fault of its own making, such as a wrong return shape."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def fault_of(error: BaseException, folder: str, files: tuple[str, ...] = ()) -> Fault:
    """Return the fault for an exception that the user's code raised; frames outside `folder` and `files` are cut."""
    if isinstance(error, Refused):
        return error.fault
    told = traceback.TracebackException.from_exception(error, limit=-60)
    _keep_user_frames(told, folder, files, set())
    last = told.stack[-1] if told.stack else None
    file, line = (last.filename, last.lineno) if last else (None, None)
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    return Fault(
        kind="memory" if isinstance(error, MemoryError) else "raised",
        type=type(error).__name__,
        message=cut(_text_of(error), MESSAGE_CHARS),
        traceback=cut("".join(told.format()), TRACEBACK_CHARS),
        file=file,
        line=line,
    )


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as inner:  # noqa: BLE001 - a hostile __str__; said instead of shown
        return f"(its text could not be read: {type(inner).__name__})"


def _keep_user_frames(told: traceback.TracebackException, folder: str, files: tuple[str, ...], seen: set[int]) -> None:
    if id(told) in seen:
        return
    seen.add(id(told))
    kept = [frame for frame in told.stack if is_users(frame.filename, folder, files)]
    told.stack = traceback.StackSummary.from_list(kept or list(told.stack)[-1:])
    for linked in (told.__cause__, told.__context__):
        if linked is not None:
            _keep_user_frames(linked, folder, files, seen)


def is_users(filename: str, folder: str, files: tuple[str, ...]) -> bool:
    """Whether a file is the user's: one of `files`, or in `folder` and no installed library."""
    if filename in files:
        return True
    return filename.startswith(folder.rstrip(os.sep) + os.sep) and f"{os.sep}site-packages{os.sep}" not in filename


def cut(text: str, limit: int) -> str:
    """Return `text` in at most about `limit` characters: its head and its tail, and how much was left out between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters left out ...\n{text[-half:]}"
