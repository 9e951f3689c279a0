"""What a result shows of itself: attributes, JSON fields, a line, a summary, a page; and what it saves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skynet.artifact import Artifact
from skynet.runs.export import ExportError
from skynet.runs.result import Difference, MeasuredVersion, RunResult
from tests.made_runs import BEST, START, finished_run


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return finished_run(tmp_path_factory.mktemp("run") / "upper")


def with_best(result: RunResult, artifact: Artifact | None) -> RunResult:
    return replace(result, best=replace(result.best, artifact=artifact))


def test_start_and_best_are_read_by_attribute(result: RunResult) -> None:
    assert (result.baseline.text, result.baseline.val, result.baseline.test) == (START, 0.0, 0.0)
    assert result.best.content == result.best.text == f"{BEST}\n"
    assert (result.best.version, result.best.val, result.best.test) == (Artifact("text", f"{BEST}\n").id, 1.0, 1.0)


def test_they_are_mappings_of_the_json_fields_too(result: RunResult) -> None:
    assert dict(result.best) == result.to_json()["best"]
    assert result.baseline.items() <= result.data["baseline"].items()
    with pytest.raises(KeyError):
        result.best["artifact"]


def test_the_difference_has_the_figures_of_the_report(result: RunResult) -> None:
    difference = result.difference
    assert isinstance(difference, Difference)
    assert (difference.mean, difference.wins, difference.cases) == (1.0, 12, 12)
    assert dict(difference) == result.data["difference"]


def test_its_repr_is_one_line_with_the_scores_on_test(result: RunResult) -> None:
    assert repr(result) == f"<RunResult {result.run}: finished (engine_done), test 0 -> 1, 44 metric calls>"
    assert repr(result.best).endswith(f"val=1.0, test=1.0, text={BEST!r})")


def test_printing_it_tells_verdict_interval_cost_and_report(result: RunResult) -> None:
    lines = str(result).splitlines()
    assert lines[0] == f"Run {result.run} of upper, engine best_of_n: finished (engine_done)"
    assert lines[1] == "A gain of +1 on test"
    assert "95 % interval +0.571 to +1, p < 0.001; 12 won, 0 tied, 0 lost" in lines[2]
    assert [line.split() for line in lines[3:6]] == [
        ["val", "test", "version"],
        ["start", "0", "0", result.baseline.version],
        ["best", "1", "1", result.best.version],
    ]
    assert lines[-2].startswith("Spent: 44 metric calls, $0.00")
    assert lines[-1] == f"Report: {result.report}"


def test_warnings_and_what_went_wrong_are_printed(result: RunResult) -> None:
    data = {**result.data, "warnings": ["too few cases"], "status": "failed", "finish_reason": "metric_broken"}
    told = str(replace(result, data=data, status="failed", message="score() raised ValueError", cost_usd=None))
    assert "Warning: too few cases" in told
    assert "score() raised ValueError" in told
    assert "There is no verdict" in told
    assert "cost unknown" in told


def test_an_interrupted_one_says_how_python_goes_on(result: RunResult) -> None:
    data = {**result.data, "status": "interrupted", "difference": None, "finish_reason": None}
    told = str(replace(result, data=data, status="interrupted", finish_reason=None))
    assert f'optimize(..., resume="{result.run}")' in told
    assert "skynet runs resume" not in told


def test_the_page_shows_both_sides(result: RunResult) -> None:
    assert f"<td>best</td><td>1</td><td>1</td><td>{result.best.version}</td>" in result._repr_html_()


def test_parts_are_saved_as_a_folder(result: RunResult, tmp_path: Path) -> None:
    parts = with_best(result, Artifact("parts", {"system": "Sort it.", "user": "{{ text }}"}))
    assert parts.save(tmp_path / "parts") == tmp_path / "parts"
    assert (tmp_path / "parts" / "user.md").read_text() == "{{ text }}"


def test_a_programs_state_is_saved_as_json_and_never_as_python(result: RunResult, tmp_path: Path) -> None:
    program = with_best(result, Artifact("dspy", {"signature": {}}))
    assert program.save(str(tmp_path / "best.json")).read_text().startswith("{")
    with pytest.raises(ExportError, match=rf"save it as .*best\.json.*skynet runs export {result.run} -o"):
        program.save(tmp_path / "best.py")


def test_a_run_without_a_version_has_nothing_to_save(result: RunResult, tmp_path: Path) -> None:
    empty = replace(result, best=MeasuredVersion(None, None, None))
    assert (empty.best.text, empty.best.content) == ("", None)
    with pytest.raises(ExportError, match="ended before it had a version"):
        empty.save(tmp_path / "best.txt")
