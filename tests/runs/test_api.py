from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import skynet
from skynet.errors import SkynetError
from skynet.runs.api import split_cases
from skynet.runs.result import RunResult
from skynet.spec import parse_spec
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
    assert (from_functions.baseline["test"], from_functions.best["test"]) == (0.0, 1.0)
    assert from_functions.data["split_sizes"] == {"train": 8, "val": 4, "test": 12}
    assert from_functions.data["budget"]["metric_calls"]["limit"] == 100


def test_the_result_holds_best_diff_and_report(from_functions: RunResult) -> None:
    assert from_functions.best_text.strip() == BEST
    assert f"+{BEST}" in from_functions.diff.splitlines()
    assert from_functions.report is not None
    data = json.loads(Path(from_functions.report).with_name("report.json").read_text())
    assert data["run"] == from_functions.run


def test_save_writes_the_best_version(from_functions: RunResult, tmp_path: Path) -> None:
    assert from_functions.save(tmp_path / "best.txt") == tmp_path / "best.txt"
    assert (tmp_path / "best.txt").read_text() == from_functions.best_text


def test_the_result_shows_itself_in_a_notebook(from_functions: RunResult) -> None:
    page = from_functions._repr_html_()
    assert "A gain of +1 on test" in page
    assert f"+{BEST}" in page


def test_a_notebook_shows_what_the_model_wrote_as_text_only(from_functions: RunResult) -> None:
    hostile = replace(from_functions, data={**from_functions.data, "diff": "+<script>alert(1)</script>\ud800"})
    page = hostile._repr_html_()
    assert "<script>" not in page
    page.encode("utf-8")


def test_the_options_win_over_the_projects_file(server: ModelServer, tmp_path: Path) -> None:
    folder = write_searchable(tmp_path / "project", server.url)
    result = skynet.optimize(folder, budget={"metric_calls": 60}, engine={"name": "best_of_n", "n": 1})
    assert result.data["budget"]["metric_calls"]["limit"] == 60
    assert result.data["engine"]["options"]["n"] == 1


def test_a_folder_without_a_spec_is_refused_with_what_would_do(tmp_path: Path) -> None:
    with pytest.raises(SkynetError, match="give spec="):
        skynet.optimize(tmp_path, cases=CASES)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_engine_is_refused_before_a_store_is_made(server: ModelServer, tmp_path: Path) -> None:
    folder = write_searchable(tmp_path / "project", server.url)
    with pytest.raises(SkynetError, match="there is no engine 'gepaa'"):
        skynet.optimize(folder, engine="gepaa")
    assert not (folder / ".skynet").exists()


def spec_with(tmp_path: Path, **data: Any) -> Any:
    tables: dict[str, Any] = {"objective": "x", "target": {"kind": "chat"}}
    if data:
        tables["data"] = {"path": "rows.csv", "inputs": ["text"], "outputs": ["label"], **data}
    return parse_spec(tables, tmp_path, code=["metric.path", "data.path"])


def test_rows_are_divided_60_20_20_without_a_data_table(tmp_path: Path) -> None:
    dataset = split_cases(CASES, spec_with(tmp_path))
    assert [len(part) for part in (dataset.train, dataset.val, dataset.test)] == [14, 4, 6]
    assert {case.id for case in (*dataset.train, *dataset.val, *dataset.test)} == {str(n) for n in range(1, 25)}


def test_rows_are_divided_as_the_data_table_says_the_same_way_each_time(tmp_path: Path) -> None:
    spec = spec_with(tmp_path, split={"train": 10, "val": 5, "test": 5}, seed=3)
    dataset = split_cases(CASES, spec)
    assert [len(part) for part in (dataset.train, dataset.val, dataset.test)] == [10, 5, 5]
    assert split_cases(CASES, spec) == dataset
    assert split_cases(CASES, spec_with(tmp_path, split={"train": 10, "val": 5, "test": 5}, seed=4)) != dataset


def test_given_splits_keep_their_rows_and_warn_of_leaks(tmp_path: Path) -> None:
    dataset = split_cases({"train": CASES[:2], "test": CASES[1:3]}, spec_with(tmp_path))
    assert [case.input["text"] for case in dataset.train] == ["text 0", "text 1"]
    assert dataset.val is dataset.train
    assert any("leak: 1 inputs" in warning for warning in dataset.warnings)


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        ({"train": CASES[:1], "tset": CASES[1:]}, "Did you mean 'test'?"),
        ({"test": CASES}, "no row in train"),
        ({"train": [{"id": "a", "input": {}}], "test": [{"id": "a", "input": {}}]}, "same id 'a'"),
    ],
)
def test_wrong_splits_are_refused(cases: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(SkynetError) as caught:
        split_cases(cases, spec_with(tmp_path))
    assert told in str(caught.value)


@pytest.mark.parametrize("data", [{"split": {"column": "part"}}, {"stratify": "label"}])
def test_a_split_that_needs_a_file_is_refused_for_rows(data: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SkynetError, match=r'cases=\{"train"'):
        split_cases(CASES, spec_with(tmp_path, **data))
