"""A run that is killed at any moment goes on exactly: the same end, and nothing that was paid is asked again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.runs.session import open_store
from tests.loopback import ModelServer
from tests.runs.project_files import add_missing_word, write_words_project

ROOT = Path(__file__).parents[2]
COMPARED = ("status", "finish_reason", "changed", "rejected", "baseline", "best", "difference")


def skynet(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "skynet.cli.main", *arguments]


def run_whole(folder: Path) -> dict[str, Any]:
    told = subprocess.run(skynet("run", str(folder), "--json"), capture_output=True, text=True, cwd=ROOT, check=False)
    assert told.returncode == 0, told.stderr
    result: dict[str, Any] = json.loads(told.stdout)
    return result


def run_killed(folder: Path, seconds: float) -> str:
    """Start a run, kill it after `seconds` at the earliest moment at which it has a row, return its id."""
    with subprocess.Popen(skynet("run", str(folder)), cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        while not (folder / ".skynet" / "skynet.db").exists() and process.poll() is None:
            time.sleep(0.01)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    with open_store(folder, create=False) as store:
        rows = store.runs()
    return rows[0].id if rows else ""


def resume(folder: Path, run: str, *more: str) -> tuple[dict[str, Any], str]:
    command = skynet("runs", "resume", run, str(folder), "--json", *more)
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout), told.stderr


def report(folder: Path, run: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / ".skynet" / "runs" / run / "report.json").read_text())
    return data


def asked(server: ModelServer) -> Counter[str]:
    return Counter(json.dumps(request.body["messages"]) for request in server.requests)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    model = ModelServer(add_missing_word)
    yield model
    model.close()


@pytest.fixture(scope="module")
def whole(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """An uninterrupted run: its result, its report, and what it asked the model."""
    folder = write_words_project(tmp_path_factory.mktemp("whole"), server.url)
    result = run_whole(folder)
    return result, report(folder, result["run"]), asked(server)


@pytest.mark.parametrize("seconds", [0.05, 0.6, 1.2])
def test_a_killed_run_ends_as_an_uninterrupted_one(
    whole: tuple[dict[str, Any], dict[str, Any], Any], server: ModelServer, tmp_path: Path, seconds: float
) -> None:
    expected, expected_report, expected_asked = whole
    server.requests.clear()
    folder = write_words_project(tmp_path / "killed", server.url)
    run = run_killed(folder, seconds)
    if not run:
        pytest.skip("the process was killed before it stored its row")
    result, _ = resume(folder, run)

    assert {key: result[key] for key in COMPARED} == {key: expected[key] for key in COMPARED}
    data = report(folder, run)
    assert [item["id"] for item in data["versions"]] == [item["id"] for item in expected_report["versions"]]
    assert [item["val"] for item in data["versions"]] == [item["val"] for item in expected_report["versions"]]
    assert data["cases"] == without_times(expected_report["cases"], data["cases"])
    twice = asked(server) - expected_asked
    assert sum(twice.values()) <= 1, "a request that was not in flight at the kill was sent again"


def without_times(rows: list[dict[str, Any]], like: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with the measured times of the other ones."""
    for row, other in zip(rows, like, strict=True):
        for side in ("start", "best"):
            if row[side] is not None:
                row[side]["elapsed_ms"] = other[side]["elapsed_ms"]
    return rows


def test_a_second_kill_during_a_resume_changes_nothing(
    whole: tuple[dict[str, Any], dict[str, Any], Any], server: ModelServer, tmp_path: Path
) -> None:
    folder = write_words_project(tmp_path / "killed", server.url)
    run = run_killed(folder, 0.4)
    with subprocess.Popen(skynet("runs", "resume", run, str(folder)), cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(1.5)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    result, _ = resume(folder, run)
    assert {key: result[key] for key in COMPARED} == {key: whole[0][key] for key in COMPARED}


def test_a_finished_run_resumes_to_its_result_without_a_call(server: ModelServer, tmp_path: Path) -> None:
    folder = write_words_project(tmp_path / "done", server.url)
    first = run_whole(folder)
    calls = (folder / "calls.log").read_text()
    server.requests.clear()
    again, _ = resume(folder, first["run"])
    assert again == first
    assert (folder / "calls.log").read_text() == calls
    assert not server.requests


def test_the_metric_calls_of_all_attempts_together_stay_within_the_budget(server: ModelServer, tmp_path: Path) -> None:
    folder = write_words_project(tmp_path / "tight", server.url, engine='"gepa"', budget=60)
    run = run_killed(folder, 0.5)
    result, _ = resume(folder, run)
    made = len((folder / "calls.log").read_text().splitlines())
    assert made <= 60
    assert result["metric_calls"] <= 60


def test_added_budget_goes_on_after_the_plan(server: ModelServer, tmp_path: Path) -> None:
    folder = write_words_project(tmp_path / "more", server.url, engine='"gepa"', budget=45)
    first = run_whole(folder)
    assert first["finish_reason"] == "budget_metric_calls"
    result, _ = resume(folder, first["run"], "--add-budget", "metric_calls=60")
    assert result["metric_calls"] > first["metric_calls"]
    assert result["metric_calls"] <= 105
    versions = report(folder, first["run"])["versions"]
    assert len(versions) > 1


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("metric.py", "def score(input, output): return 1.0, {'feedback': 'x'}\n", "metric"),
        ("run.py", "def run(artifact, input): return artifact.upper()\n", "target"),
        ("words.csv", "word,word_again,split\na,a,train\nb,b,val\nc,c,test\n", "data"),
        ("start.txt", "Another start.", "start"),
    ],
)
def test_a_changed_part_is_named_and_a_fork_offered(
    server: ModelServer, tmp_path: Path, file: str, text: str, named: str
) -> None:
    folder = write_words_project(tmp_path / "changed", server.url)
    run = run_killed(folder, 0.3)
    (folder / file).write_text(text)
    told = subprocess.run(
        skynet("runs", "resume", run, str(folder)), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert told.returncode == 2
    assert named in told.stderr
    assert f"--fork {run}" in told.stderr


def test_concurrency_and_a_larger_budget_may_change(server: ModelServer, tmp_path: Path) -> None:
    folder = write_words_project(tmp_path / "changed", server.url)
    run = run_killed(folder, 0.3)
    spec = folder / "skynet.toml"
    spec.write_text(spec.read_text().replace("concurrency = 4", "concurrency = 2").replace("= 400", "= 500"))
    result, _ = resume(folder, run)
    assert result["status"] == "finished"
