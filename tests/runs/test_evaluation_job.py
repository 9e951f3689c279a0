"""Evaluation jobs: where outputs come from, what counts, what stays in the denominators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.data import DataError
from skynet.errors import SkynetError
from skynet.runs.evaluation_job import JobOptions, run_evaluation
from skynet.runs.evaluation_outcome import JobResult, MetricOutcome
from skynet.spec import SpecError, load_spec, parse_spec
from skynet.spec.jobs import NOT_NEEDED
from tests.loopback import ModelServer, status
from tests.projects import write_project

METRIC = """
import skynet
def score(input, output, expected=None):
    if output == "break":
        raise ValueError("cannot")
    if output == "skip":
        return skynet.unmeasured("not today")
    return float(len(output)), {"feedback": "Its length.", "scores": {"half": len(output) / 2}}
"""
ROWS = [
    {"text": "a", "task": "sum", "label": "four", "answer": "four"},
    {"text": "b", "task": "sum", "label": "five", "answer": "six"},
    {"text": "c", "task": "name", "label": "Ann", "answer": "break"},
    {"text": "d", "task": "name", "label": "Bo", "answer": "skip"},
    {"text": "e", "task": "name", "label": "Cy", "answer": None},
]
DATA = {"inputs": ["text", "task"], "outputs": ["label"]}
Run = Callable[..., JobResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a job over the inline rows; keys of [eval] are given, and other tables by `more`."""

    def run_job(options: JobOptions | None = None, more: dict[str, Any] | None = None, **job: Any) -> JobResult:
        (tmp_path / "metric.py").write_text(METRIC)
        job = {"rows": ROWS, "output": "answer", "metrics": {"exact": {"type": "exact_match"}}, **job}
        job = {key: value for key, value in job.items() if value is not None}
        spec = parse_spec({"data": DATA, "eval": job, **(more or {})}, tmp_path, code=NOT_NEEDED)
        return run_evaluation(spec, options or JobOptions())

    return run_job


def only(result: JobResult) -> MetricOutcome:
    (one,) = result.metrics
    return one


def test_stored_outputs_are_scored_and_a_missing_one_is_a_failure(run: Run) -> None:
    one = only(run())
    assert [item.score for item in one.items] == [1.0, 0.0, 0.0, 0.0, None]
    assert one.items[4].error == "no output is stored in the column 'answer'"
    assert (one.average_score, one.coverage.scored, one.coverage.failed, one.coverage.total) == (0.25, 4, 1, 5)


def test_failed_and_unmeasured_rows_leave_the_mean_and_stay_in_the_coverage(run: Run) -> None:
    one = only(run(metrics={"mine": {"type": "metric"}}))
    assert one.average_score == 3.5
    assert one.coverage.to_json() == {"total": 5, "scored": 2, "missing": 1, "failed": 2}
    assert "ValueError: cannot" in (one.items[2].error or "")
    assert (one.items[3].reasoning, one.items[3].error) == ("not today", None)
    assert one.named_scores() == {"half": 1.75}
    assert one.summary()["failures"] == {"target": 1, "metric": 1, "provider": 0}


def test_several_metrics_with_options_templates_and_rows_of_their_own(run: Run) -> None:
    result = run(
        metrics={
            "sums": {"type": "exact-match", "only": {"task": "sum"}},
            "starts": {"type": "string_check", "operation": "startswith", "reference": "{{ item.label[:1] }}"},
            "none": {"type": "f1", "only": {"task": "other"}},
        },
        options=JobOptions(limit=2),
    )
    sums, starts, none = result.metrics
    assert [item.id for item in sums.items] == ["1", "2"]
    assert [item.score for item in starts.items] == [1.0, 0.0]
    assert (none.average_score, result.ok) == (None, False)
    assert result.warnings == (
        "the first 2 of 5 rows were evaluated, as --limit asks",
        "eval.metrics.none is for no row: none has {'task': 'other'}",
    )


def test_a_baseline_is_compared_row_by_row_where_both_have_a_score(run: Run) -> None:
    found = only(run(JobOptions(baseline={"exact": {"1": 0.0, "2": 0.0, "3": None, "9": 1.0}}))).comparison
    assert found is not None
    assert (found.cases, found.wins, found.ties, found.losses, found.unpaired, found.mean) == (2, 1, 1, 0, 4, 0.5)


@pytest.mark.parametrize(("least", "passed"), [(0.25, True), (0.2500001, False), (0.0, True)])
def test_least_is_held_against_the_average(run: Run, least: float, passed: bool) -> None:
    result = run(JobOptions(least={"exact": least}))
    assert (only(result).passed, result.ok) == (passed, passed)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer(lambda body: body["messages"][-1]["content"].rpartition(" ")[2])
    yield server
    server.close()


def models(server: ModelServer) -> dict[str, Any]:
    price = {"input": 1.0, "output": 2.0}
    return {"task": {"name": "openai/loopback", "base_url": server.url, "price": price}}


def test_a_prompt_is_filled_in_with_the_row_and_asked_of_the_task_model(run: Run, server: ModelServer) -> None:
    rows = [{"text": "{{ 7 * 7 }}", "task": "t", "label": "x"}, {"text": "plain", "task": "t", "label": "plain"}]
    result = run(rows=rows, output=None, prompt="Say {{ item.text }}", more={"models": models(server)})
    assert [item.output for item in only(result).items] == ["}}", "plain"]  # data is no template
    assert [item.score for item in only(result).items] == [0.0, 1.0]
    (line,) = result.ledger
    assert (line["role"], line["calls"]) == ("task", 2)
    assert result.cost_usd is not None
    assert result.cost_usd > 0


def test_a_wrong_key_is_told_after_the_first_row(run: Run, server: ModelServer) -> None:
    server.fail_always(status(401, "no such key"))
    with pytest.raises(SkynetError, match=r"eval\.metrics\.exact, case 1: .*no such key"):
        run(output=None, prompt="Say {{ item.text }}", more={"models": models(server)})
    assert len(server.requests) == 1


def test_a_prompt_that_names_no_column_fails_each_row_with_the_columns(run: Run, server: ModelServer) -> None:
    one = only(run(output=None, prompt="{{ item.txt }}", more={"models": models(server)}))
    assert all("item has text, task" in (item.error or "") for item in one.items)
    assert one.average_score is None


def test_the_target_of_the_project_is_run_on_the_rows_of_a_split(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p", more='[eval]\nsplit = "val"\n[eval.metrics.mine]\ntype = "metric"\n')
    result = run_evaluation(load_spec(folder, code=NOT_NEEDED), JobOptions())
    assert (result.outputs, result.rows, result.cost_usd) == ("target", 2, 0.0)
    assert {item.output for item in only(result).items} <= {"label 1", "other"}


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ({"metrics": {"m": {"type": "exact_macth"}}}, "eval.metrics.m: There is no scorer 'exact_macth'"),
        ({"metrics": {"m": {"type": "exact_match", "colum": "label"}}}, "has no option 'colum'"),
        ({"metrics": {"m": {"type": "metric", "path": "no.py"}}}, "eval.metrics.m: path: there is no file"),
        ({"metrics": {"m": {"type": "metric", "pth": "no.py"}}}, "takes only path. Did you mean 'path'"),
        ({"metrics": {"m": {"type": "judge"}}}, "a judge needs criteria"),
        ({"metrics": {"m": {"type": "judge", "criterion": "x"}}}, "Did you mean 'criteria'"),
        ({"metrics": {"m": {"type": "judge", "criteria": "x"}}}, "asks a model; name one under"),
        ({"output": None}, "artifact.path names no version"),
        ({"output": None, "prompt": "x"}, "needs a task model"),
    ],
)
def test_what_cannot_begin_is_refused_with_what_would_be_right(run: Run, job: dict[str, Any], says: str) -> None:
    with pytest.raises(SkynetError, match=says):
        run(**job)


def test_an_unknown_output_column_names_those_that_are_there(run: Run) -> None:
    with pytest.raises(DataError, match=r"no column 'anser', which eval\.output names\. Columns here: 'text'"):
        run(output="anser")


def test_an_unknown_metric_of_fail_under_names_the_nearest(run: Run) -> None:
    with pytest.raises(SkynetError, match="Did you mean 'exact'"):
        run(JobOptions(least={"exat": 1.0}))


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ({"prompt": "x"}, "eval.prompt = .*keep one of the two"),
        ({"split": "val"}, "eval.rows are in no split"),
        ({"metrics": {}}, "eval.metrics"),
        ({"metrics": {"../up": {"type": "f1"}}}, "eval.metrics.*up"),
        ({"metric": {}}, "Did you mean 'metrics'"),
    ],
)
def test_a_section_that_makes_no_sense_is_a_fault_of_the_spec(run: Run, job: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        run(**job)


def cut_after(rows: int) -> Callable[[int, int], None]:
    def on_row(done: int, total: int) -> None:
        if done == rows:
            raise KeyboardInterrupt

    return on_row


def test_a_cut_job_goes_on_and_asks_nothing_twice(run: Run, server: ModelServer, tmp_path: Path) -> None:
    job: dict[str, Any] = {"output": None, "prompt": "Say {{ item.text }}", "more": {"models": models(server)}}
    options: dict[str, Any] = {"folder": tmp_path / "job", "concurrency": 1}
    whole = run(**job)
    asked = len(server.requests)
    with pytest.raises(KeyboardInterrupt):
        run(JobOptions(on_row=cut_after(3), **options), **job)
    logged = (tmp_path / "job" / "unfinished.jsonl").read_text().splitlines()[1:]
    result = run(JobOptions(resume=True, **options), **job)
    assert only(result).output_file() == only(whole).output_file()
    assert len(logged) >= 3
    assert sum(line["calls"] for line in result.ledger) == asked - len(logged)
    assert f"{len(logged)} rows were finished before the job was cut" in result.warnings[-1]


def test_rows_that_failed_in_the_metric_are_tried_again(run: Run, tmp_path: Path) -> None:
    options: dict[str, Any] = {"folder": tmp_path / "job", "concurrency": 1}
    mine = {"mine": {"type": "metric"}}
    with pytest.raises(KeyboardInterrupt):
        run(JobOptions(on_row=cut_after(5), **options), metrics=mine)
    result = run(JobOptions(resume=True, **options), metrics=mine)
    assert "4 rows were finished" in result.warnings[-1]
    assert only(result).coverage.total == 5


def test_a_line_that_a_kill_cut_short_is_worked_on_again(run: Run, tmp_path: Path) -> None:
    options: dict[str, Any] = {"folder": tmp_path / "job", "concurrency": 1}
    with pytest.raises(KeyboardInterrupt):
        run(JobOptions(on_row=cut_after(5), **options))
    log = tmp_path / "job" / "unfinished.jsonl"
    log.write_text(log.read_text()[:-40])
    result = run(JobOptions(resume=True, **options))
    assert "4 rows were finished" in result.warnings[-1]
    assert only(result).average_score == 0.25


def test_another_job_is_not_gone_on_with(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    with pytest.raises(KeyboardInterrupt):
        run(JobOptions(on_row=cut_after(1), folder=folder))
    with pytest.raises(SkynetError, match="its metrics, prompt, target or models have changed"):
        run(JobOptions(folder=folder, resume=True), metrics={"other": {"type": "f1"}})


def test_a_refused_job_leaves_no_folder(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SkynetError):
        run(JobOptions(folder=tmp_path / "job"), metrics={"m": {"type": "judge", "criteria": "x"}})
    assert not (tmp_path / "job").exists()
