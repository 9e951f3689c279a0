"""The stream of events: what the screen shows is what the store holds, and the best is one and the same everywhere."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.runs import schema
from skynet.runs.events import Event, Events
from skynet.runs.progress import Followed
from skynet.runs.result import RunResult
from skynet.runs.runner import Runner
from skynet.runs.session import Hooks, open_store, run_project
from skynet.runs.stored import StoredRun
from skynet.runs.versions import Versions
from skynet.spec import load_spec
from tests.cli.command import skynet
from tests.runs.cut_runs import ENGINES, write_loud_project
from tests.runs.quick_runs import QuickRuns

NOWHERE = "http://127.0.0.1:1/v1"


class Screen:
    """Looks at what a live view shows, again and again, and then at what the store holds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.looks = 0
        self.wrong: list[str] = []

    def on_runner(self, runner: Runner, row: Any) -> None:
        self._followed, self._row = Followed(runner.books.events), row
        self._thread.start()

    def _look(self) -> None:
        with open_store(self._folder, create=False) as store:
            stream = Events(store, self._row)
            while not self._done.wait(0.002):
                shown = self._followed.look()
                events = stream.read()
                accepted = {event.version: event.details["val"] for event in events if event.kind == "accepted"}
                proposed = {event.version for event in events if event.kind == "proposed"}
                self.looks += 1
                if shown.best_version is not None and accepted.get(shown.best_version) != shown.best_val:
                    self.wrong.append(f"the best shown is {shown.best_version} at {shown.best_val}, not {accepted}")
                if shown.versions > len(proposed):
                    self.wrong.append(f"{shown.versions} versions are shown, {len(proposed)} stored")

    def close(self) -> None:
        self._done.set()
        self._thread.join()


@pytest.fixture(scope="module", params=["gepa", "demos", "best_of_n"])
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run under a screen: its folder, its result, the screen."""
    with pytest.MonkeyPatch.context() as patch:
        QuickRuns(patch)
        folder = write_loud_project(tmp_path_factory.mktemp(request.param), NOWHERE, ENGINES[request.param])
        screen = Screen(folder)
        try:
            result = run_project(load_spec(folder), hooks=Hooks(on_runner=screen.on_runner))
        finally:
            screen.close()
    return folder, result, screen


def events_of(folder: Path, run: str) -> list[Event]:
    with open_store(folder, create=False) as store:
        return Events(store, store.run(run)).read()


def test_a_screen_never_shows_what_the_store_does_not_hold(ended: tuple[Path, RunResult, Screen]) -> None:
    _, _, screen = ended
    assert screen.looks > 5
    assert screen.wrong == []


def test_the_report_is_read_from_the_stream(ended: tuple[Path, RunResult, Screen]) -> None:
    folder, result, _ = ended
    events = events_of(folder, result.run)
    accepted = [event for event in events if event.kind == "accepted"]
    assert [(point["metric_calls"], point["best_val"]) for point in result.data["curve"]] == [
        (event.details["metric_calls"], event.details["val"]) for event in accepted
    ]
    proposed = {event.version: event.details["metric_calls"] for event in events if event.kind == "proposed"}
    assert {item["id"]: item["at_call"] for item in result.data["versions"]} == proposed
    rejected = [event.reason for event in events if event.kind == "rejected"]
    assert sum(item["count"] for item in result.data["rejections"]) == len(rejected)
    assert {item["reason"] for item in result.data["rejections"]} == set(rejected)
    made = sum(event.kind == "evaluated" for event in events)
    with open_store(folder, create=False) as store:
        assert made == sum(1 for _ in store.rows(result.run, schema.evaluations))
    assert [event.reason for event in events if event.kind == "state"] == ["running", "engine_done"]


def test_the_best_that_is_shown_stored_and_exported_is_one(
    ended: tuple[Path, RunResult, Screen], tmp_path: Path
) -> None:
    folder, result, _ = ended
    best = result.best["version"]
    assert result.changed
    last = [event for event in events_of(folder, result.run) if event.kind == "accepted"][-1]
    assert (last.version, last.details["val"]) == (best, result.best["val"])
    with open_store(folder, create=False) as store:
        row = store.run(result.run)
        stored = next(item for item in Versions(store, row).all() if item.id == best)
        scores = [
            item["score"]
            for item in store.rows(row.id, schema.evaluations)
            if item["version"] == best and item["split"] == "val"
        ]
        assert StoredRun(store, row).to_json() == result.to_json()
    assert sum(scores) / len(scores) == pytest.approx(result.best["val"], abs=1e-12)
    exported = tmp_path / "best.txt"
    assert skynet("runs", "export", result.run, folder, "-o", exported).status == 0
    content = exported.read_text("utf-8")
    assert Artifact("text", content).id == best == stored.artifact.id
    assert content == stored.artifact.text == result.best.text


def test_every_attempt_tells_its_beginning_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    QuickRuns(monkeypatch)
    folder = write_loud_project(tmp_path, NOWHERE, ENGINES["gepa"], budget="metric_calls = 40")
    first = run_project(load_spec(folder))
    assert first.finish_reason == "budget_metric_calls"
    assert skynet("runs", "resume", first.run, folder, "--add-budget", "metric_calls=100").status == 0
    told = [event.reason for event in events_of(folder, first.run) if event.kind == "state"]
    assert told == ["running", "budget_metric_calls", "running", "engine_done"]
