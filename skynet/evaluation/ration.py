"""The metric calls that an engine plans with: the first attempt's budget, read the same when a run is replayed."""

from __future__ import annotations

import threading
from collections.abc import Collection

UNLIMITED = 10**9  # what an engine reads where the budget counts no metric calls


class Ration:
    """Counts what this attempt paid or was served from an earlier one, so that a replay reads the same numbers.

    `plan` is the first attempt's limit, None without one; `held` is what is set aside for the sealed pass; `added` was
    granted later and is handed out only when the plan is used up; `free` are keys that another run paid.
    """

    def __init__(self, plan: int | None, held: int, added: int = 0, free: Collection[str] = ()) -> None:
        self._plan = plan
        self._held = held
        self._added = added
        self._free = free
        self._lock = threading.Lock()
        self._spent = 0
        self._seen: set[str] = set()

    def count(self, key: str, metric_called: bool) -> bool:
        """Count an evaluation's metric call, if it made one; return whether this attempt sees the key first now."""
        with self._lock:
            if key in self._seen or key in self._free:
                return False
            self._seen.add(key)
            self._spent += metric_called
            return True

    @property
    def remaining(self) -> int:
        """The metric calls that are left to plan with."""
        if self._plan is None:
            return UNLIMITED
        left = self._plan - self._held - self._spent
        return left if left > 0 else max(0, left + self._added)
