from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skynet.cli.demo import closing_words, run_demo_command
from skynet.runs.result import RunResult, result_of
from skynet.summary.comparison import Comparison
from tests.cli.command import skynet

SMALL = {
    "data": {"split": {"train": 20, "val": 4, "test": 6}},
    "engine": {"name": "demos", "labels": True, "candidates": 1},
    "budget": {"metric_calls": 28},
    "evaluation": {"concurrency": 1},
}


def result(*, low: float | None = 0.2, bare: int = 6, right: int = 4, changed: bool = True) -> RunResult:
    """A result as a demo run of six test reviews gives it, as far as the closing words read it."""
    cases: list[dict[str, Any]] = [
        {
            "split": "test", "expected": {"label": "good" if number < 3 else "bad"},
            "start": {"output": "It seems that the review is good.", "score": 0.0},
            "best": {"output": " good\n" if number < bare else "I think", "score": 1.0 if number < right else 0.0},
        }
        for number in range(6)
    ]  # fmt: skip
    sides = {"version": "a" * 12, "val": 0.0, "test": 0.0}
    difference = Comparison(6, 0, 1.0, 0.0, 0.5, 0.5, low, 0.8, 0.01, 3, 3, 0, None).to_json()
    return result_of(
        {
            "run": "r", "name": "reviews", "status": "finished", "finish_reason": "engine_done",
            "engine": {"name": "demos"}, "changed": changed, "rejected": None, "baseline": sides, "best": sides,
            "difference": None if low is None else difference, "ledger": [],
            "budget": {"metric_calls": {"used": 1}, "usd": {"used": 0.0, "lower_bound": False}},
            "error": None, "cases": cases,
        },
        None,
        {},
    )  # fmt: skip


def test_a_gain_above_0_is_told_with_its_interval_and_what_most_of_it_is(tmp_path: Path) -> None:
    words = closing_words(result(), tmp_path)
    assert "+0.20 to +0.80: more than chance" in words
    assert "Most of a gain here is form" in words
    assert "0 of 6 replies were a bare label at the start, 6 of 6 with the best version" in words
    assert "Of those 4 were right; giving every review the same label would be right on 3 of 6" in words


def test_an_interval_that_includes_0_is_no_gain(tmp_path: Path) -> None:
    words = closing_words(result(low=-0.1), tmp_path)
    assert "that includes 0, so this run shows no gain" in words
    assert "more than chance" not in words


def test_a_run_that_changed_nothing_claims_nothing(tmp_path: Path) -> None:
    words = closing_words(result(low=None, changed=False), tmp_path)
    assert "No gain was measured." in words
    assert "Most of a gain" not in words


def test_a_folder_that_holds_the_example_already_is_refused_in_json_too(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text("mine")
    done = skynet("demo", tmp_path, "--json")
    assert done.status == 2
    assert (done.json["run"], done.json["status"]) == (None, "failed")
    assert "already holds metric.py" in done.err
    assert (tmp_path / "metric.py").read_text() == "mine"


def test_without_llama_cpp_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skynet.models.local.library_problem", lambda name: f"{name} needs llama.cpp")
    monkeypatch.setenv("SKYNET_CACHE", str(tmp_path / "cache"))
    done = skynet("demo", tmp_path / "demo")
    assert done.status == 2
    assert "needs llama.cpp" in done.err
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("embedded_model")
@pytest.mark.timeout(300)
def test_the_demo_runs_the_example_and_prints_its_run_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run_demo_command(tmp_path / "demo", True, SMALL)
    shown = json.loads(capsys.readouterr().out)
    assert status == 0
    assert (shown["name"], shown["engine"], shown["cost_usd"]) == ("reviews", "demos", 0.0)
    assert shown["status"] in ("finished", "stopped")
    assert shown["baseline"]["test"] is not None
    assert shown["metric_calls"] <= 28
    assert Path(shown["report"]).is_file()
    assert Path(shown["report"]).is_relative_to(tmp_path / "demo")
