"""The durable books of one run, as the evaluation writes and reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from skynet.artifact import Artifact
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.record import Record
from skynet.runs.case_costs import CostBook
from skynet.runs.events import EventKind, Events
from skynet.runs.journal import Journal
from skynet.runs.store import RunRow, Store
from skynet.runs.versions import Versions
from skynet.runs.writer import Then


class RunBooks:
    """Journal, versions, events and costs of one run together."""

    def __init__(self, store: Store, run: RunRow, redact: Callable[[str], str] = str) -> None:
        self.journal = Journal(store, run)
        self.events = Events(store, run, redact)
        self.versions = Versions(store, run)
        self.costs = CostBook(store, run)

    def known(self, key: str) -> Record | None:
        """Return what an evaluation ended with, or None."""
        body = self.journal.get("evaluation", key)
        return None if body is None else Record.from_json(body)

    def begin(self, key: str, record: Mapping[str, Any]) -> None:
        """Store that an evaluation starts."""
        self.journal.begin("evaluation", key, {"metric_calls": 1}, **record)

    def begin_all(self, records: Mapping[str, Mapping[str, Any]], then: Then) -> None:
        """Store that several evaluations start, all or none; `then` is called after the commit, or with the error."""
        self.journal.begin_all("evaluation", records, {"metric_calls": 1}, then)

    def end(self, key: str, record: Record, metric_calls: int, then: Then | None = None) -> None:
        """Store what an evaluation ended with, and its event: it ends once, so that the event needs no key.

        With `then` it does not wait: that is called after the commit, or with the error.
        """
        event = self.events.write(
            "evaluated",
            version=record.version,
            reason=None if record.fault is None else f"{record.failure}: {record.fault}",
            case=record.case,
            score=record.score,
            metric_calls=metric_calls,
        )
        self.journal.end(
            "evaluation",
            key,
            record.to_json(),
            also=[event],
            then=then,
            status=record.status,
            cost_usd=record.cost_usd,
            failure=record.failure,
            score=record.score,
            elapsed_ms=record.elapsed_ms,
        )

    def cancel(self, key: str) -> None:
        """Forget an evaluation that was begun and not finished."""
        self.journal.cancel("evaluation", key)

    def leave(self, key: str) -> None:
        """Leave an evaluation without an end: what it reserved stays charged, and it may be begun anew."""
        self.journal.leave("evaluation", key)

    def add_version(
        self, artifact: Artifact, parent: str | None, note: str, spent: Amounts, then: Then | None = None
    ) -> None:
        """Store a version that was put forward, and its event with what was spent by then.

        With `then` it does not wait: that is called after the commit, or with the StoreError.
        """
        event = self.events.write(
            "proposed", version=artifact.id, reason=note, key=f"proposed:{artifact.id}",
            metric_calls=spent.metric_calls,
        )  # fmt: skip
        self.versions.add(artifact, parent, note, also=[event], then=then)

    def accepted(self, version: str, val: float | None, spent: Amounts) -> None:
        """Append the event that a version is the best on val now."""
        self.event(
            "accepted", f"accepted:{version}", version=version, reason="best on val", val=val,
            metric_calls=spent.metric_calls, usd=spent.usd,
        )  # fmt: skip

    def settled(self, version: str, val: float | None, spent: Amounts) -> None:
        """Append which version is the best on val after all, where the last `accepted` event says otherwise."""
        last = next((event for event in reversed(self.events.read()) if event.kind == "accepted"), None)
        if last is None or (last.version, last.details["val"]) == (version, val):
            return
        self.event(
            "accepted", f"accepted-after:{last.seq}", version=version,
            reason="best on val, every failure counted as at the end", val=val, metric_calls=spent.metric_calls,
            usd=spent.usd,
        )  # fmt: skip

    def state(self, reason: str) -> None:
        """Append that the run begins or ends; every attempt appends its own."""
        self.events.append("state", reason=reason)

    def event(self, kind: str, key: str, *, version: str | None = None, reason: str | None = None, **more: Any) -> None:
        """Append an event, once for each key."""
        self.events.append(cast(EventKind, kind), version=version, reason=reason, key=key, **more)
