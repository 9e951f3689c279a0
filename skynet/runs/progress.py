"""What a run shows while it works: one snapshot, renewed by the runner and read by the live view."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Progress:
    """A snapshot. `stage` is check, start, search, verdict or report; scores are val means; None is not known yet."""

    stage: str = "check"
    lane: str = ""
    start_val: float | None = None
    best_val: float | None = None
    best_version: str | None = None
    versions: int = 0
    rejections: int = 0
    last_feedback: str = ""


class ProgressBoard:
    """The current snapshot; written by the runner's threads, read by the screen's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = Progress()

    def update(self, **changes: Any) -> None:
        """Change fields of the snapshot."""
        with self._lock:
            self._now = replace(self._now, **changes)

    def now(self) -> Progress:
        """Return the snapshot."""
        with self._lock:
            return self._now
