from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import skynet
from skynet.errors import SkynetError
from skynet.runs.result import RunResult
from tests.cli.command import skynet as command
from tests.loopback import ModelServer
from tests.made_runs import BEST, ROWS, START, proposing, write_searchable

CASES = [{"input": {"text": row["text"]}, "expected": {"label": row["label"]}} for row in ROWS]
SPEC: dict[str, Any] = {"name": "upper", "objective": "Say it loud.", "artifact": {"path": "start.txt"}}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with proposing() as server:
        yield server


@pytest.fixture(scope="module")
def from_functions(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A run without any file but the start version: functions, rows and tables."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "start.txt").write_text(START)
    right = "Correct."

    def score(input: dict[str, Any], output: Any, expected: dict[str, Any]) -> tuple[float, dict[str, str]]:
        hit = output == expected["label"]
        return float(hit), {"feedback": right if hit else f"{output} is not loud."}

    def run(artifact: str, input: dict[str, Any]) -> str:
        return str(input["text"].upper() if "UPPER" in artifact else input["text"])

    return skynet.optimize(
        folder,
        spec=SPEC,
        metric=score,
        target=run,
        cases={"train": CASES[:8], "val": CASES[8:12], "test": CASES[12:]},
        engine={"name": "best_of_n", "n": 1},
        budget=100,
        models=reflecting(server),
    )


def reflecting(server: ModelServer) -> dict[str, Any]:
    price = {"input": 1.0, "output": 2.0}
    return {"reflection": {"name": "openai/loopback", "base_url": server.url, "price": price}}


def test_functions_rows_and_tables_make_a_run_with_a_verdict(from_functions: RunResult) -> None:
    assert (from_functions.status, from_functions.engine, from_functions.name) == ("finished", "best_of_n", "upper")
    assert (from_functions.baseline.test, from_functions.best.test) == (0.0, 1.0)
    assert from_functions.data["split_sizes"] == {"train": 8, "val": 4, "test": 12}
    assert from_functions.data["budget"]["metric_calls"]["limit"] == 100


def test_the_result_holds_best_diff_and_report(from_functions: RunResult) -> None:
    assert from_functions.best.text.strip() == BEST
    assert f"+{BEST}" in from_functions.diff.splitlines()
    assert from_functions.report is not None
    data = json.loads(Path(from_functions.report).with_name("report.json").read_text())
    assert data["run"] == from_functions.run


def test_save_writes_the_best_version(from_functions: RunResult, tmp_path: Path) -> None:
    assert from_functions.save(tmp_path / "best.txt") == tmp_path / "best.txt"
    assert (tmp_path / "best.txt").read_text() == from_functions.best.text


def test_the_result_shows_itself_in_a_notebook(from_functions: RunResult) -> None:
    page = from_functions._repr_html_()
    assert "A gain of +1 on test" in page
    assert f"+{BEST}" in page


def test_a_notebook_shows_what_the_model_wrote_as_text_only(from_functions: RunResult) -> None:
    hostile = replace(from_functions, data={**from_functions.data, "diff": "+<script>alert(1)</script>\ud800"})
    page = hostile._repr_html_()
    assert "<script>" not in page
    page.encode("utf-8")


def test_a_prompt_rows_and_a_metric_are_enough_without_any_file(tmp_path: Path) -> None:
    def score(input: dict[str, Any], output: Any, expected: dict[str, Any]) -> tuple[float, dict[str, str]]:
        hit = output == expected["label"]
        return float(hit), {"feedback": "Correct." if hit else f"Expected {expected['label']!r}, got {output!r}."}

    def answer(body: dict[str, Any]) -> str:
        first, last = body["messages"][0]["content"], body["messages"][-1]["content"]
        if "feedback" in last.lower():
            return f"```\n{BEST}\n```"
        return str(last.upper() if first == BEST else last)

    server = ModelServer(answer)
    try:
        model = {"name": "openai/loopback", "base_url": server.url, "price": {"input": 1.0, "output": 2.0}}
        result = skynet.optimize(
            tmp_path,
            artifact=START,
            objective="Say it loud.",
            cases=ROWS,
            data={"inputs": ["text"], "outputs": ["label"]},
            metric=score,
            models={"task": model, "reflection": model},
            engine={"name": "gepa", "max_proposals": 2},
            budget=200,
        )
    finally:
        server.close()
    assert (result.status, result.baseline.test, result.best.test) == ("finished", 0.0, 1.0)
    assert result.best.text.strip() == BEST
    assert [path.name for path in tmp_path.iterdir()] == [".skynet"]


def test_a_refusal_names_arguments_and_not_options(server: ModelServer, tmp_path: Path) -> None:
    folder = write_searchable(tmp_path / "project", server.url)
    with pytest.raises(SkynetError, match="or go on all the same with accept=True"):
        skynet.optimize(folder, budget=36)
    code = skynet.Artifact("code", "def run(input):\n    return input['text']\n")
    with pytest.raises(SkynetError, match="Say that you trust them with trust_artifacts=True"):
        skynet.optimize(
            tmp_path, artifact=code, metric=len, cases=ROWS, data={"inputs": ["text"]}, engine="best_of_n", budget=90,
            models=reflecting(server),
        )  # fmt: skip
    assert not (tmp_path / ".skynet").exists()


def test_a_fork_of_an_unknown_run_starts_none(server: ModelServer, tmp_path: Path) -> None:
    folder = write_searchable(tmp_path / "project", server.url)
    with pytest.raises(SkynetError, match="has no run 'nothing'"):
        skynet.optimize(folder, fork="nothing")
    assert command("runs", "list", folder, "--json").json == []


def test_the_options_win_over_the_projects_file(server: ModelServer, tmp_path: Path) -> None:
    folder = write_searchable(tmp_path / "project", server.url)
    result = skynet.optimize(folder, budget={"metric_calls": 60}, engine={"name": "best_of_n", "n": 1})
    assert result.data["budget"]["metric_calls"]["limit"] == 60
    assert result.data["engine"]["options"]["n"] == 1


def test_what_is_missing_without_a_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SkynetError) as caught:
        skynet.optimize(tmp_path, cases=CASES)
    told = str(caught.value)
    assert f"there is no skynet.toml in {tmp_path}" in told
    lacking = [line.split("=")[0].strip() for line in told.splitlines()[1:-1]]
    assert lacking == ["artifact", "metric", "models", "budget"]
    assert list(tmp_path.iterdir()) == []


def test_a_projects_run_goes_on_from_python_with_the_options_that_it_was_started_with(
    server: ModelServer, tmp_path: Path
) -> None:
    folder = write_searchable(tmp_path / "project", server.url)
    first = skynet.optimize(folder, budget=60, engine={"name": "best_of_n", "n": 1})
    more = skynet.optimize(folder / "skynet.toml", resume=first.run, add_budget={"metric_calls": 20})
    assert (more.run, more.data["budget"]["metric_calls"]["limit"]) == (first.run, 80)
    assert more.data["engine"]["options"]["n"] == 1
    with pytest.raises(SkynetError, match="engine changed since it started"):
        skynet.optimize(folder, engine={"n": 2}, resume=first.run, add_budget={"metric_calls": 9})


def test_an_unknown_engine_is_refused_before_a_store_is_made(server: ModelServer, tmp_path: Path) -> None:
    folder = write_searchable(tmp_path / "project", server.url)
    with pytest.raises(SkynetError, match="there is no engine 'gepaa'"):
        skynet.optimize(folder, engine="gepaa")
    assert not (folder / ".skynet").exists()
