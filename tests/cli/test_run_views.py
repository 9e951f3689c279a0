from __future__ import annotations

from pathlib import Path

from tests.cli.command import skynet
from tests.runs.plans import drive, plan, write_plans
from tests.runs.scripted import scripted

__all__ = ["scripted"]


def test_show_has_the_cause_of_a_failed_run_as_run_has(tmp_path: Path, scripted: object) -> None:
    result = drive(write_plans(tmp_path, plan("start", "raise")))
    shown = skynet("runs", "show", result.run, tmp_path, "--json").json
    assert shown["error"] == result.to_json()["error"]
    assert shown["error"].startswith("the contract check failed at Run output")


def test_show_tells_what_failed_how_it_ended_and_what_was_turned_down(tmp_path: Path, scripted: object) -> None:
    start = plan("start", 0.25)
    run = drive(write_plans(tmp_path, start, plan("better", "metric raises"), start)).run
    out = skynet("runs", "show", run, tmp_path).out
    assert "Warning: The metric failed on 3 of " in out
    assert "The engine came to the end of its search." in out
    assert "1 proposal turned down without an evaluation: it is identical to the version it came from (1)." in out


def test_versions_say_why_they_are_not_the_best(tmp_path: Path, scripted: object) -> None:
    lucky = plan("lucky", 1.0, val1="unmeasured", val2="unmeasured")
    run = drive(write_plans(tmp_path, plan("start", 0.25), lucky)).run
    out = skynet("versions", run, tmp_path).out
    assert "1 of 3" in out
    assert "scripted; measured on 1 of 3 val cases, cannot win against v0, measured on 3" in out
