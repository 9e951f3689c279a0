"""When a search should end although it has budget left: it stands still, or everything fails the same way."""

from __future__ import annotations

import threading
from typing import Literal

from skynet.engine import RunStop
from skynet.evaluation.record import Record

IDLE_STEPS = 20
MOST_WAITING = 200  # versions put forward with no evaluation of any: more than an engine could have a use for
FIRST_FAILURES = 10
FAILURES_IN_A_ROW = 20

Step = Literal["taken", "rejected", "served", "failed"]


class Stop(RunStop):
    """The run ends; `reason` is its finish reason, the text the cause.

    `scoring`: it struck while `score()` was under way, so that this metric call counts.
    """

    def __init__(self, reason: str, message: str = "", *, scoring: bool = False) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.scoring = scoring


class IdleGuard:
    """Ends a search that made 20 steps without a new metric call.

    A step is a proposal that was not taken, one that ran without coming to a score on any case, which no budget of
    metric calls would ever end, or an evaluation that the journal served whole with no proposal since the one before.
    Versions may be put forward long before they are evaluated, but not without end.
    """

    def __init__(self, steps: int = IDLE_STEPS) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        self._idle = 0
        self._waiting = 0
        self._last = ""

    def paid(self) -> None:
        """A new evaluation was scored."""
        with self._lock:
            self._idle = self._waiting = 0

    def reset(self) -> None:
        """Begin to count anew, for another engine."""
        with self._lock:
            self._idle, self._waiting, self._last = 0, 0, ""

    def step(self, kind: Step) -> None:
        """Count a proposal that was taken or rejected, or an evaluation that was served or failed on every case.

        Raises Stop with `converged`.
        """
        with self._lock:
            if kind == "failed":
                kind = "rejected" if self._last == "taken" else "served"
            self._idle += kind == "rejected" or kind == self._last == "served"
            self._waiting += kind == "taken"
            self._last = kind
            if self._idle >= self._steps or self._waiting > MOST_WAITING:
                raise Stop("converged", f"{self._steps} steps in a row brought no new evaluation")


class BrokenGuard:
    """Ends a run in which the metric, a provider or the target fails again and again at the same place."""

    def __init__(self, start: str, code_may_fail: bool) -> None:
        self._start = start
        self._code_may_fail = code_may_fail
        self._lock = threading.Lock()
        self._row: tuple[str, ...] = ()
        self._length = 0
        self._start_seen = 0
        self._start_same = 0

    def look(self, record: Record) -> None:
        """Look at the next evaluation in commit order. Raises Stop with the cause."""
        fault = record.fault
        if fault is not None and record.refused_for_good:
            raise Stop("provider", fault.message)
        if fault is None or (record.failure == "target" and self._code_may_fail):
            place: tuple[str, ...] = ()
        else:
            place = (record.failure or "", fault.kind, fault.type, str(fault.file), str(fault.line))
        with self._lock:
            self._length = self._length + 1 if place and place == self._row else int(bool(place))
            self._row = place
            if record.version == self._start:
                self._start_seen += 1
                self._start_same = self._length if self._length == self._start_seen else 0
            broken = self._length >= FAILURES_IN_A_ROW or self._start_seen == self._start_same == FIRST_FAILURES
        if broken:
            reason = "provider" if record.failure == "provider" else f"{record.failure}_broken"
            raise Stop(reason, f"{self._length} evaluations in a row failed: {fault}")
