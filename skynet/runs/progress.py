"""What a run shows while it works: where it is, from the runner, and how it stands, from its stored events."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skynet.runs.events import Event, Events


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is. `stage` is check, start, search, verdict or report."""

    stage: str = "check"
    lane: str = ""
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


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands by its events: means on val, None before there is one."""

    start_version: str | None = None
    start_val: float | None = None
    best_val: float | None = None
    best_version: str | None = None
    versions: int = 0


class Followed:
    """A run's events, added up: the same stream that `runs watch` and the report read."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._seen = 0
        self._standing = Standing()

    def look(self) -> Standing:
        """Read what was stored since the last look, and return how the run stands."""
        for event in self._events.read(after=self._seen):
            self._seen = event.seq
            self._standing = _after(self._standing, event)
        return self._standing


def _after(standing: Standing, event: Event) -> Standing:
    if event.kind == "proposed":
        return replace(standing, versions=standing.versions + 1)
    if event.kind != "accepted":
        return standing
    val = event.details["val"]
    start = standing.start_version or event.version
    return replace(
        standing,
        start_version=start,
        start_val=val if event.version == start else standing.start_val,
        best_val=val,
        best_version=event.version,
    )
