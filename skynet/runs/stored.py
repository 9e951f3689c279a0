"""What the store tells of a run, ended or not: the command line's object, its versions, its report."""

from __future__ import annotations

import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from skynet.artifact import diff
from skynet.errors import SkynetError, nearest
from skynet.runs import schema
from skynet.runs.events import Event, Events
from skynet.runs.store import RunRow, Store
from skynet.runs.versions import StoredVersion, Versions


class VersionNotFound(SkynetError):
    """The run has no version of this name, or several begin with it."""


class StoredRun:
    """One run of a store. What needs a query is read when it is first asked for."""

    def __init__(self, store: Store, row: RunRow) -> None:
        self._store = store
        self.row = row

    @property
    def folder(self) -> Path:
        """The folder of the report's files."""
        return self._store.folder / "runs" / self.row.id

    @cached_property
    def events(self) -> list[Event]:
        """What happened, in order."""
        return Events(self._store, self.row).read()

    @cached_property
    def versions(self) -> list[StoredVersion]:
        """The versions in the order they came; the first is the start."""
        return Versions(self._store, self.row).all()

    @cached_property
    def report(self) -> dict[str, Any] | None:
        """The report's data; None where none was written, or its file is gone."""
        path = self.folder / "report.json"
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            again = f"skynet runs resume {self.row.id}"
            raise SkynetError(f"{path} is damaged ({error}); `{again}` writes it anew, without a call") from None
        return data

    def to_json(self) -> dict[str, Any]:
        """Return the object that `run` prints; of a run that did not come to its result, as far as it came."""
        row, page = self.row, self.folder / "report.html"
        own = {
            "status": row.status, "finish_reason": row.finish_reason, "report": str(page) if page.is_file() else None,
        }  # fmt: skip
        return {**(row.result or self._so_far()), **own}

    def _so_far(self) -> dict[str, Any]:
        accepted = [event for event in self.events if event.kind == "accepted"]
        first, last = (accepted[0], accepted[-1]) if accepted else (None, None)
        start = self.versions[0].id if self.versions else None
        best = last.version if last is not None else start
        return {
            "run": self.row.id,
            "name": self.row.name,
            "status": self.row.status,
            "finish_reason": self.row.finish_reason,
            "engine": self.row.spec["engine"]["name"],
            "changed": best != start,
            "rejected": None,
            "baseline": {"val": _val(first), "test": None},
            "best": {"version": best, "val": _val(last), "test": None},
            "difference": None,
            "metric_calls": self._metric_calls(),
            "cost_usd": self._cost(),
            "report": None,
            "error": self.row.state.get("error") if self.row.status == "failed" else None,
        }

    def _metric_calls(self) -> int:
        """Count what the events say was spent, and one for each evaluation that has no end."""
        table = schema.evaluations
        open_ones = sa.select(sa.func.count()).where(table.c.run == self.row.number, table.c.ended_at.is_(None))
        with self._store.read() as connection:
            in_flight = int(connection.scalar(open_ones) or 0)
        return max((int(event.details.get("metric_calls", 0)) for event in self.events), default=0) + in_flight

    def _cost(self) -> float | None:
        table = schema.model_calls
        ended = sa.select(table.c.cost_usd).where(table.c.run == self.row.number, table.c.ended_at.is_not(None))
        with self._store.read() as connection:
            costs = connection.scalars(ended).all()
        return None if None in costs else math.fsum(costs)

    def version(self, name: str) -> StoredVersion:
        """Return a version by id, by a beginning that only it has, as `start` or `best`, or as `v2`, the name that
        reports give it. Raises VersionNotFound."""
        if not self.versions:
            raise VersionNotFound(f"run {self.row.id} ended before it had a version")
        if name == "start":
            return self.versions[0]
        if name[:1] == "v" and name[1:].isdecimal() and int(name[1:]) < len(self.versions):
            return self.versions[int(name[1:])]
        wanted = (self.to_json()["best"]["version"] or self.versions[0].id) if name == "best" else name
        found = [item for item in self.versions if item.id.startswith(wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            raise VersionNotFound(f"{len(found)} versions begin with {name!r}: {', '.join(i.id for i in found[:5])}")
        known = nearest(name, [item.id for item in self.versions])
        raise VersionNotFound(
            f"run {self.row.id} has no version {name!r}.{known} `skynet versions {self.row.id}` lists them; `start`, "
            "`best` and `v1` are names too"
        )

    def diff(self, before: str, after: str) -> str:
        """Return the unified diff of two versions, named as for `version`; empty when they are the same."""
        one, two = self.version(before), self.version(after)
        return diff(one.artifact, two.artifact, (_label(before, one), _label(after, two)))

    def version_rows(self) -> list[dict[str, Any]]:
        """Return the versions with what is known of them; val is None where a version was not measured."""
        reported = {item["id"]: item for item in (self.report or {}).get("versions", ())}
        proposed = {event.version: event.details["metric_calls"] for event in self.events if event.kind == "proposed"}
        accepted = {event.version: _val(event) for event in self.events if event.kind == "accepted"}
        best = self.to_json()["best"]["version"]
        rows = []
        for item in self.versions:
            known = reported.get(item.id, {})
            status = "start" if item.number == 0 else "best" if item.id == best else "candidate"
            rows.append(
                {
                    "version": item.id,
                    "number": item.number,
                    "parent": item.parent,
                    "status": known.get("status", status),
                    "reason": known.get("reason"),
                    "val": known.get("val", accepted.get(item.id)),
                    "coverage": known.get("coverage"),
                    "at_call": proposed.get(item.id),
                    "note": item.note,
                    "kind": item.artifact.kind,
                    "text": item.artifact.text,
                }
            )
        return rows


def _val(event: Event | None) -> float | None:
    return None if event is None else event.details["val"]


def _label(name: str, version: StoredVersion) -> str:
    return f"{name} {version.id}" if name in ("start", "best") else version.id
