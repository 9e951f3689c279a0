from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import skynet
from skynet.data.case import Case
from skynet.errors import SkynetError
from skynet.spec import SpecError, load_spec, parse_spec
from tests.projects import CHAT, METRIC, stage, write_project

CASES: list[dict[str, Any]] = [
    {"input": {"text": "text 1"}, "expected": {"label": "label 1"}},
    {"id": "second", "input": {"text": "text 2"}, "expected": {"label": "label 2"}},
]
BONUS = 0.25


def score(input: Any, output: Any, expected: Any = None) -> Any:
    return float(output == expected["label"]) + BONUS, {"feedback": f"It is {input['text']}."}


def run(artifact: str, input: dict[str, str]) -> str:
    return input["text"].replace("text", "label") + artifact


def test_functions_and_cases_need_no_project(tmp_path: Path) -> None:
    result = skynet.check(tmp_path, metric=score, target=run, cases=CASES)
    assert result.ok
    assert {(sample.case, sample.output, sample.score) for sample in result.samples} == {
        ("1", "label 1", 1.25), ("second", "label 2", 1.25)
    }  # fmt: skip
    assert stage(result, "Run output").status == "passed"


def test_a_lambda_and_a_closure_work(tmp_path: Path) -> None:
    bonus = {"value": 0.5}

    def judge(input: Any, output: Any) -> Any:
        return bonus["value"], {"feedback": output}

    result = skynet.check(tmp_path, metric=judge, target=lambda artifact, input: input["text"], cases=CASES)
    assert {(sample.score, sample.feedback) for sample in result.samples} == {(0.5, "text 1"), (0.5, "text 2")}


def test_an_error_in_a_function_names_its_file_and_line(tmp_path: Path) -> None:
    def judge(input: Any, output: Any) -> Any:
        raise ValueError("boo")

    result = skynet.check(tmp_path, metric=judge, target=run, cases=CASES)
    failed = stage(result, "Metric call")
    assert (failed.status, failed.file, failed.line) == ("failed", __file__, judge.__code__.co_firstlineno + 1)
    assert "ValueError: boo" in failed.message


def test_a_function_that_cannot_be_sent_is_refused_with_advice(tmp_path: Path) -> None:
    lock = threading.Lock()

    def judge(input: Any, output: Any) -> Any:
        with lock:
            return 1, {"feedback": "OK"}

    with pytest.raises(SkynetError, match=r"judge cannot be sent to a worker: .*lock.* Build what it needs inside it"):
        skynet.check(tmp_path, metric=judge, target=run, cases=CASES)


def test_files_win_over_the_spec_and_keep_its_other_settings(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "project")
    other = tmp_path / "other.py"
    other.write_text("def score(input, output):\n    return 7, {'feedback': input['text']}\n")
    for given in (other, str(other)):
        assert {sample.score for sample in skynet.check(folder, metric=given).samples} == {7.0}


def test_a_function_wins_over_the_target_of_the_spec_whatever_its_kind(tmp_path: Path) -> None:
    folder = write_project(tmp_path, start="!", target=f'{CHAT}choices = ["a", "b"]\n')
    result = skynet.check(folder, target=run)
    assert result.ok
    assert str(result.samples[0].output).startswith("label ")
    assert str(result.samples[0].output).endswith("!")


def test_cases_win_over_the_data_even_where_its_file_is_gone(tmp_path: Path) -> None:
    folder = write_project(tmp_path)
    (folder / "rows.jsonl").unlink()
    assert {sample.case for sample in skynet.check(folder, cases=CASES).samples} == {"1", "second"}
    with pytest.raises(SpecError, match=r"data\.path"):
        skynet.check(folder)


def test_a_spec_as_a_dict_stands_in_for_the_file(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "skynet.toml").unlink()
    spec = {"artifact": {"path": "start.txt"}, "target": {"kind": "python", "path": "run.py"}}
    assert skynet.check(tmp_path, spec=spec, cases=CASES).ok
    assert skynet.check(str(tmp_path), spec=parse_spec(spec, tmp_path), cases=CASES).ok


def test_a_parsed_spec_takes_no_other_metric(tmp_path: Path) -> None:
    with pytest.raises(SkynetError, match="give the spec as a dict"):
        skynet.check(spec=load_spec(write_project(tmp_path)), metric=score)


def test_the_spec_file_itself_may_be_named(tmp_path: Path) -> None:
    assert skynet.check(write_project(tmp_path) / "skynet.toml").ok


def test_without_a_project_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SkynetError, match=r"no skynet\.toml in .*\n  models=.* or target=run.*\n  cases=rows"):
        skynet.check(tmp_path, metric=score)


def test_cases_may_be_case_objects_and_have_no_expected_value(tmp_path: Path) -> None:
    rows: list[Any] = [{"input": {"text": "y"}}, {"input": {"text": "z"}, "expected": {}}]
    cases = [Case("a", {"text": "x"}, None, "", 1), *rows]

    def judge(input: Any, output: Any) -> Any:
        return len(output), {"feedback": output}

    result = skynet.check(tmp_path, metric=judge, target=run, cases=cases)
    assert {sample.case for sample in result.samples} == {"a", "2", "3"}
    assert stage(result, "Perfect answer").status == "skipped"


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([], "cases is empty"),
        ([{"text": "x"}], 'case 1: write it as {"input": '),
        ([CASES[0], {"input": "x"}], "case 2: write it as"),
        ([{"input": {}, "expectd": {}}], "case 1: unknown key 'expectd'; a case has id, input, expected. Did you mean"),
        ([{"input": {}, "expected": "x"}], "case 1: expected is a dict keyed by output column, or None; got 'x'"),
        ([CASES[1], CASES[1]], "cases 1 and 2 have the same id 'second'"),
        (["x"], "case 1: write it as"),
    ],
)
def test_a_wrong_case_is_named(tmp_path: Path, cases: Any, words: str) -> None:
    with pytest.raises(SkynetError) as refused:
        skynet.check(tmp_path, metric=score, target=run, cases=cases)
    assert words in str(refused.value)


def test_the_result_is_what_the_command_prints(tmp_path: Path) -> None:
    told = skynet.check(write_project(tmp_path, METRIC)).to_json()
    assert list(told) == ["ok", "stages", "samples"]
    assert {tuple(item) for item in told["stages"]} == {("name", "status", "message", "case", "file", "line")}
    assert {tuple(item) for item in told["samples"]} == {
        ("case", "output", "score", "feedback", "scores", "elapsed_ms", "cost_usd")
    }
