"""Every run has a log that all its attempts append to."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

import pytest

from skynet.runs import run_log
from skynet.runs.events import Events
from skynet.runs.run_log import RunLog, log_path
from skynet.runs.runner import Runner
from skynet.runs.session import open_store
from skynet.runs.store import RunRow, Store
from tests.runs.cut_runs import HUNGRY, MANY, write_loud_project
from tests.runs.quick_runs import QuickRuns
from tests.runs.test_fork import NOWHERE


def lines_of(folder: Path, run: str) -> list[str]:
    return log_path(folder / ".skynet", run).read_text("utf-8").splitlines()


def test_start_check_events_end_and_resume_are_in_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quick = QuickRuns(monkeypatch)
    folder = write_loud_project(tmp_path, NOWHERE, HUNGRY["gepa"], words=MANY)
    first = quick.run(folder, metric_calls=50)
    before = lines_of(folder, first.run)
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", line) for line in before)
    text = "\n".join(before)
    for part in (
        f"run {first.run} of words started by process", "check: Metric load: passed", "evaluated", "accepted",
        f"ended: stopped (budget_metric_calls): {first.message}", "report: ",
    ):  # fmt: skip
        assert part in text
    with open_store(folder, create=False) as store:
        stored = len(Events(store, store.run(first.run)).read())
    assert sum(" evaluated " in line for line in before) < stored
    quick.resume(folder, first.run, metric_calls=40)
    after = lines_of(folder, first.run)
    assert after[: len(before)] == before
    assert f"run {first.run} of words resumed" in after[len(before)]
    with open_store(folder, create=False) as store:
        evaluated = [event for event in Events(store, store.run(first.run)).read() if event.kind == "evaluated"]
    assert sum("  evaluated" in line for line in after) == len(evaluated), "each event once, of all attempts"


def test_what_breaks_a_run_is_in_it_with_its_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quick = QuickRuns(monkeypatch)
    folder = write_loud_project(tmp_path, NOWHERE)

    def broken(runner: Runner) -> None:
        raise IndexError("a bug of ours")

    monkeypatch.setattr(Runner, "run", broken)
    with pytest.raises(IndexError):
        quick.run(folder, metric_calls=50)
    with open_store(folder, create=False) as store:
        (row,) = store.runs()
    text = "\n".join(lines_of(folder, row.id))
    assert "Traceback" in text
    assert "IndexError: a bug of ours" in text


def test_no_key_and_no_control_character_comes_into_it(store: Store, run: RunRow) -> None:
    log = RunLog(store.folder, run.id, lambda text: text.replace("sk-secret", "[key]"))
    with log.opened(Events(store, run)):
        log.say("asked with sk-secret\x1b[31m")
    text = log_path(store.folder, run.id).read_text("utf-8")
    assert text.endswith("asked with [key]\\x1b[31m\n")


def test_a_log_that_cannot_be_written_ends_nothing(store: Store, run: RunRow) -> None:
    log_path(store.folder, run.id).mkdir()
    log = RunLog(store.folder, run.id, str)
    with log.opened(Events(store, run)):
        log.say("x")
        log.follow()


def test_a_process_that_prints_into_the_log_writes_nothing_twice(
    store: Store, run: RunRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store.folder / "runs" / "submit-1.log"
    with place.open("w") as printed:
        monkeypatch.setattr(sys, "stderr", printed)
        for path in (place, place.rename(log_path(store.folder, run.id))):
            assert run_log._prints_into(log_path(store.folder, run.id), printed), path
        log = RunLog(store.folder, run.id, str)
        with log.opened(Events(store, run)):
            log.say("x")
    assert log_path(store.folder, run.id).read_text("utf-8") == ""


def hide(text: str) -> str:
    return text.replace("own-secret-of-20-chars", "[key]")


def test_a_key_that_the_cut_of_a_reason_would_halve_is_taken_out_first(store: Store, run: RunRow) -> None:
    events = Events(store, run)
    log = RunLog(store.folder, run.id, hide)
    with log.opened(events):
        events.append("evaluated", reason="x" * (run_log._REASON_CHARS - 10) + "own-secret-of-20-chars")
        log.follow()
    text = log_path(store.folder, run.id).read_text("utf-8")
    assert "own-sec" not in text
    assert text.endswith("x[key]\n")


def test_a_process_that_prints_into_the_log_prints_no_key(
    store: Store, run: RunRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    with log_path(store.folder, run.id).open("w") as printed:
        monkeypatch.setattr(sys, "stderr", printed)
        monkeypatch.setattr(sys, "stdout", sys.stdout)
        before = sys.stdout
        for _ in range(2):
            with RunLog(store.folder, run.id, hide).opened(Events(store, run)):
                assert sys.stdout is before, "it goes elsewhere"
        try:
            raise ValueError("asked with own-secret-of-20-chars")
        except ValueError:
            traceback.print_exc()
        print("open line own-secret", end="", file=sys.stderr)
        print("-of-20-chars", end="", flush=True, file=sys.stderr)
    lines = log_path(store.folder, run.id).read_text("utf-8").splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-2:] == ["ValueError: asked with [key]", "open line [key]"]
