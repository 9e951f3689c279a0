"""What the evaluation needs of a run's store: results by key, versions and events. `runs` implements it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.record import Record

Then = Callable[[BaseException | None], None]


class Books(Protocol):
    """The durable books of one run, used from many threads. A call that writes returns after the commit; one that is
    told what to do `then` returns at once."""

    def known(self, key: str) -> Record | None:
        """Return what an evaluation ended with, or None. Touches no disk."""
        ...

    def begin(self, key: str, record: Mapping[str, Any]) -> None:
        """Store that an evaluation starts: version, case_id, case_hash, repetition, split."""
        ...

    def begin_all(self, records: Mapping[str, Mapping[str, Any]], then: Then) -> None:
        """Store that several evaluations start, all or none; `then` is called after the commit, or with the error."""
        ...

    def end(self, key: str, record: Record, metric_calls: int, then: Then | None = None) -> None:
        """Store what an evaluation ended with; `metric_calls` are the run's so far.

        With `then` it does not wait: that is called after the commit, or with the error.
        """
        ...

    def cancel(self, key: str) -> None:
        """Forget an evaluation that was begun and not finished."""
        ...

    def leave(self, key: str) -> None:
        """Leave an evaluation without an end: what it reserved stays charged, and it may be begun anew."""
        ...

    def add_version(
        self,
        artifact: Artifact,
        parent: str | None,
        note: str,
        spent: Amounts,
        then: Then | None = None,
    ) -> None:
        """Store a version that was put forward, and its event with what was spent by then.

        With `then` it does not wait: that is called after the commit, or with the error of the store.
        """
        ...

    def accepted(self, version: str, val: float | None, spent: Amounts) -> None:
        """Append the event that a version is the best on val now."""
        ...

    def event(self, kind: str, key: str, *, version: str | None = None, reason: str | None = None, **more: Any) -> None:
        """Append an event, once for each key."""
        ...


class CaseNames:
    """The names of cases in evaluation keys: their content, and a number among cases of equal content."""

    def __init__(self, cases: Iterable[Case]) -> None:
        seen: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        for case in cases:
            if case.id in self._names:
                continue
            content = case.content_hash
            self._names[case.id] = f"{content}.{seen[content]}"
            seen[content] += 1

    def __getitem__(self, case: str) -> str:
        return self._names[case]


def evaluation_key(scope: str, version: str, case: str, repetition: int, occurrence: int, attempt: int) -> str:
    """Return the key of one evaluation. `scope` stands for target, metric and models with their parameters;
    `attempt` counts the requests after one that a provider failed."""
    text = f"{scope}|{version}|{case}|{repetition}|{occurrence}|{attempt}"
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]
