from __future__ import annotations

from datetime import datetime
from typing import Any, cast

import pytest

from skynet.artifact import Artifact
from skynet.runs.events import Events
from skynet.runs.store import RunRow, Store
from skynet.runs.versions import Versions


def test_events_are_numbered_from_one_within_their_run(store: Store, run: RunRow) -> None:
    other, _lock = store.start_run("b", {}, {})
    for each in (run, other, run):
        Events(store, each).append("state", reason="started")
    assert [event.seq for event in Events(store, run).read()] == [1, 2]
    assert [event.seq for event in Events(store, other).read()] == [1]


def test_an_event_is_printed_with_the_five_keys_and_its_details(store: Store, run: RunRow) -> None:
    events = Events(store, run)
    events.append("rejected", version="abc", reason="\ud83d seen \x00 before", score=0.5)
    [event] = events.read()
    printed = event.as_json()
    at = printed.pop("at")
    reason = "\ud83d seen \x00 before"
    assert printed == {"seq": 1, "kind": "rejected", "version": "abc", "reason": reason, "score": 0.5}
    assert datetime.fromisoformat(at).timestamp() == pytest.approx(event.at, abs=0.001)


def test_an_event_with_a_key_that_the_run_has_is_not_stored_again(store: Store, run: RunRow) -> None:
    for _replay in range(2):
        events = Events(store, run)
        events.append("proposed", version="a", key="proposal 1")
        events.append("proposed", version="b", key="proposal 2")
        events.append("state", reason="started")
    assert [event.version for event in Events(store, run).read()] == ["a", "b", None, None]
    assert [event.seq for event in Events(store, run).read()] == [1, 2, 3, 4]


def test_reading_goes_on_after_the_last_event_seen(store: Store, run: RunRow) -> None:
    events = Events(store, run)
    for number in range(5):
        events.append("lane", reason=str(number))
    assert [event.reason for event in events.read(after=3)] == ["3", "4"]


def test_an_unknown_kind_is_refused(store: Store, run: RunRow) -> None:
    with pytest.raises(ValueError, match=r"no event kind 'propose'. Did you mean 'proposed'"):
        Events(store, run).append(cast(Any, "propose"))


def test_versions_are_numbered_in_the_order_they_came(store: Store, run: RunRow) -> None:
    versions = Versions(store, run)
    start, child = Artifact("text", "start \ud83d"), Artifact("parts", {"b": "2", "a": "1"})
    versions.add(start, None, "")
    versions.add(child, start.id, "shorter \ud83d")
    found = versions.all()
    assert [(v.number, v.id, v.artifact, v.parent, v.note) for v in found] == [
        (0, start.id, start, None, ""),
        (1, child.id, child, start.id, "shorter \ud83d"),
    ]


def test_a_version_that_the_run_has_stays_as_it_is(store: Store, run: RunRow) -> None:
    for note in ("first", "again"):
        Versions(store, run).add(Artifact("text", "same"), None, note)
    Versions(store, run).add(Artifact("text", "other"), None, "")
    assert [(version.number, version.note) for version in Versions(store, run).all()] == [(0, "first"), (1, "")]


def test_a_version_and_its_event_are_stored_together(store: Store, run: RunRow) -> None:
    events = Events(store, run)
    artifact = Artifact("text", "new")
    Versions(store, run).add(artifact, None, "", also=[events.write("proposed", version=artifact.id)])
    assert [event.version for event in events.read()] == [artifact.id]


def test_no_key_comes_into_the_store(store: Store, run: RunRow) -> None:
    events = Events(store, run, lambda text: text.replace("my-key", "[key]"))
    events.append("rejected", reason="refused: my-key", reply="take my-key", count=3)
    (event,) = Events(store, run).read()
    assert (event.reason, event.details) == ("refused: [key]", {"reply": "take [key]", "count": 3})
