from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skynet.cli.check import run_check_command
from tests.cli.command import on_a_terminal
from tests.loopback import ModelServer
from tests.projects import METRIC, RUN, model, write_project

HEAVY = {"httpx", "jinja2", "sqlalchemy", "numpy", "dspy", "litellm", "openai", "gepa"}
METRIC_ALONE = """
def score(input, output, expected=None):
    return 0.5, {"feedback": f"{input} {output!r} {expected}", "scores": {"length": 1 / 3}}
"""
REFLECTION = model("http://127.0.0.1:1/v1")  # never called: a check only asks whether there is one
ROWS = [
    ('(0.8, {"feedback": "Close. Missing the date."})', ""),
    ('[1.0, {"feedback": "OK", "scores": {"format": 1.0}}]', ""),
    ("0.8", "There is no side info"),
    ('(0.8, "Close.")', "The side info is not a dict"),
    ("(0.8, {})", "There is no feedback string"),
    ('("0.8", {"feedback": "OK"})', "The score is a string"),
    ('(0.8, {"feedback": "OK", "scores": {"a": "high"}})', "A named score is not a number"),
]
Command = Callable[..., int]


def skynet(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skynet.cli.main", "check", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, encoding="utf-8", env={**os.environ, **(env or {})}
    )


def check(
    folder: Path,
    as_json: bool = True,
    metric: Path | None = None,
    output: str | None = None,
    output_json: str | None = None,
    input_json: str | None = None,
    expected: str | None = None,
) -> int:
    """Run the command in this process."""
    return run_check_command(folder, as_json, metric, output, output_json, input_json, expected)


def by_name(report: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [stage for stage in report["stages"] if stage["name"] == name]
    return dict(found)


@pytest.mark.parametrize(("returned", "words"), ROWS, ids=[returned for returned, _ in ROWS])
def test_each_row_of_the_return_table_does_as_documented(tmp_path: Path, returned: str, words: str) -> None:
    metric = f"def score(input, output, expected=None):\n    return {returned}\n"
    done = skynet(str(write_project(tmp_path, metric)), "--json")
    report = json.loads(done.stdout)
    found = by_name(report, "Metric return value")
    assert (done.returncode, report["ok"], found["status"]) == ((1, False, "failed") if words else (0, True, "passed"))
    assert words in found["message"]
    assert len(report["samples"]) == 3
    assert {sample["output"] for sample in report["samples"]} <= {"other", "label 1"}
    if words:
        assert (found["line"], Path(found["file"]).name) == (1, "metric.py")
        assert found["case"] == report["samples"][0]["case"]
        assert {sample["score"] for sample in report["samples"]} == {None}


def test_json_is_one_strict_object_with_all_that_is_documented(tmp_path: Path) -> None:
    metric = METRIC.replace("if output", "print('noise')\n    if output")
    run = RUN.replace("return", "print('noise')\n    return")
    done = skynet(str(write_project(tmp_path, metric, run, more=REFLECTION)), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout, parse_constant=pytest.fail)
    assert list(report) == ["ok", "stages", "samples"]
    assert {tuple(stage) for stage in report["stages"]} == {("name", "status", "message", "case", "file", "line")}
    assert len(report["stages"]) == 11
    keys = ("case", "output", "score", "feedback", "scores", "elapsed_ms", "cost_usd")
    assert [tuple(sample) for sample in report["samples"]] == [keys] * 3
    assert all(sample["elapsed_ms"] > 0 and sample["cost_usd"] == 0.0 for sample in report["samples"])


ODD = "def run(artifact, input):\n    return [chr(0xD800) + chr(27) + 'ü', float('nan'), 10**5000, b'x']\n"
ODD_METRIC = "def score(input, output, expected=None):\n    return 0.5, {'feedback': 'bad ' + output[0]}\n"


def test_odd_values_are_printed_as_strict_json(tmp_path: Path) -> None:
    done = skynet(str(write_project(tmp_path, ODD_METRIC, ODD, more=REFLECTION)), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    sample = json.loads(done.stdout, parse_constant=pytest.fail)["samples"][0]
    assert sample["output"][:2] == ["\ud800\x1bü", None]
    assert sample["feedback"] == "bad \ud800\x1bü"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_odd_values_are_printed_on_any_terminal(tmp_path: Path, encoding: str) -> None:
    folder = write_project(tmp_path / "ü", ODD_METRIC, ODD, more=REFLECTION)
    done = skynet(str(folder), env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "bad \\ud800\\x1b" in done.stdout
    assert "\x1b" not in done.stdout


def test_stages_samples_and_the_end_are_printed_for_people(tmp_path: Path) -> None:
    done = skynet(str(write_project(tmp_path, more=REFLECTION)))
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0] == "ok   Metric file"
    assert lines[5] == "ok   Run output          3 outputs"
    assert lines[-1] == "The contract check passed. Metric calls: 7."
    case = next(index for index, line in enumerate(lines) if line.startswith("Case "))
    assert lines[case].split(": score ")[1].startswith("0, ")
    assert lines[case].endswith(" ms, $0")
    assert lines[case + 1] == "  output    other"
    assert lines[case + 2].startswith("  feedback  text ")
    assert [line for line in lines if line != line.rstrip()] == []


def test_on_a_terminal_of_80_columns_nothing_is_cut_and_lines_hang(tmp_path: Path) -> None:
    metric = METRIC.replace("is no {output}.", "is wrong" + " and has to be put right" * 10)
    shown = on_a_terminal("check", write_project(tmp_path, metric, more=REFLECTION), NO_COLOR="1")
    lines = re.sub(r"\x1b\[[012]m", "", shown).splitlines()
    assert max(map(len, lines)) <= 80
    start = next(index for index, line in enumerate(lines) if line.startswith("  feedback  text "))
    assert lines[start + 1].startswith(" " * 12)
    assert " ".join(lines).count("put right") >= 20


def test_a_failure_is_shown_with_case_file_and_line_and_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metric = "def score(input, output, expected=None):\n    raise ValueError('boo')\n"
    assert check(write_project(tmp_path, metric), as_json=False) == 1
    shown = capsys.readouterr().out
    assert ", metric.py, line 2: Traceback (most recent call last):" in shown
    assert "                         ValueError: boo" in shown
    assert "no score" in shown
    assert "The contract check failed at Metric call. Metric calls: 3." in shown


def test_warnings_are_counted_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metric = METRIC.replace("def score", "def score(a, b): ...\ndef score")
    assert check(write_project(tmp_path, metric), as_json=False) == 0
    assert "The contract check passed with a warning. Metric calls" in capsys.readouterr().out


def test_a_pending_stage_exits_0_and_names_the_missing_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metric = "from skynet import llm\ndef score(input, output):\n    return 1, {'feedback': llm('x')}\n"
    assert check(write_project(tmp_path, metric), as_json=False) == 0
    shown = capsys.readouterr().out
    assert "wait Metric return value" in shown
    assert "waits for a metric model; name one under [models]" in shown


def test_what_the_check_may_cost_is_said_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = ModelServer("label 1")
    folder = write_project(tmp_path, target='[target]\nkind = "chat"\n', more=model(server.url, "task"))
    assert check(folder) == 0
    server.close()
    shown = capsys.readouterr()
    assert "The target makes 3 calls to openai/loopback" in shown.err
    assert json.loads(shown.out)["samples"][0]["cost_usd"] > 0


@pytest.mark.parametrize("as_json", [True, False])
def test_a_project_that_cannot_be_read_is_refused_with_2(tmp_path: Path, as_json: bool) -> None:
    folder = write_project(tmp_path, more="[metrics]\n")
    done = skynet(str(folder), *(["--json"] if as_json else []))
    assert done.returncode == 2
    assert "metrics" in done.stderr
    if as_json:
        assert json.loads(done.stdout) == {"ok": False, "stages": [], "samples": [], "error": done.stderr[7:].strip()}
    else:
        assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_row_that_cannot_be_read_is_refused_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_project(tmp_path)
    (folder / "rows.jsonl").write_text('{"text": "a", "label": "b"}\n{"text"\n')
    assert check(folder) == 2
    assert re.search(r"rows\.jsonl.*line 2", capsys.readouterr().err)


# The engine


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ('engine = "gepaa"\n', "there is no engine 'gepaa'. Did you mean 'gepa'?"),
        ('engine = { name = "gepa", acceptence = "x" }\n', "has no such option. Did you mean 'acceptance'?"),
        ('engine = { name = "gepa", max_merges = "many" }\n', "[engine] max_merges: Input should be a valid integer"),
    ],
)
def test_a_wrong_engine_or_option_is_refused_before_anything_is_run(
    tmp_path: Path, engine: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_project(tmp_path)
    (folder / "skynet.toml").write_text(engine + (folder / "skynet.toml").read_text())
    assert check(folder) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert json.loads(shown.out)["stages"] == []


@pytest.mark.parametrize("as_json", [True, False])
def test_what_a_run_would_refuse_the_engine_for_is_a_warning_and_the_metric_is_checked(
    tmp_path: Path, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_project(tmp_path, more=REFLECTION)
    (folder / "skynet.toml").write_text('engine = "dspy"\n' + (folder / "skynet.toml").read_text())
    assert check(folder, as_json) == 0
    shown = capsys.readouterr()
    assert "Warning: `skynet run` would refuse: the engine 'dspy' cannot work on this project: " in shown.err
    assert json.loads(shown.out)["ok"] if as_json else "The contract check passed." in shown.out


# A metric alone


@pytest.fixture
def metric(tmp_path: Path) -> Path:
    path = tmp_path / "my metric.py"
    path.write_text(METRIC_ALONE)
    return path


def test_a_metric_alone_scores_one_output(metric: Path) -> None:
    done = skynet("--metric", str(metric), "--output", "x", "--input", '{"a": 1}', "--expected", '{"b": 2}', "--json")
    (sample,) = json.loads(done.stdout)["samples"]
    assert (done.returncode, done.stderr) == (0, "")
    assert sample == {
        "case": "given", "output": "x", "score": 0.5, "feedback": "{'a': 1} 'x' {'b': 2}", "scores": {"length": 1 / 3},
        "elapsed_ms": None, "cost_usd": None,
    }  # fmt: skip


def test_a_metric_alone_is_shown_for_people(metric: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(tmp_path, False, metric, output="x") == 0
    assert (
        "Case given: score 0.5\n  output    x\n  feedback  {} 'x' None\n  scores    length 0.3333\n"
        in capsys.readouterr().out
    )


def test_an_output_may_be_json(metric: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(tmp_path, True, metric, output_json='{"date": [1, null]}') == 0
    assert json.loads(capsys.readouterr().out)["samples"][0]["feedback"] == "{} {'date': [1, None]} None"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs one of --output TEXT and --output-json"),
        ({"output": "x", "output_json": "1"}, "needs one of --output TEXT and --output-json"),
        ({"output_json": "{"}, "--output-json is not JSON"),
        ({"output": "x", "input_json": "[1]"}, "--input takes a JSON object"),
        ({"output": "x", "expected": "billing"}, "--expected is not JSON"),
        ({"output": "x", "expected": '"billing"'}, "--expected takes a JSON object keyed by column"),
    ],
)
def test_wrong_options_are_refused(
    metric: Path, tmp_path: Path, options: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, True, metric, **options) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert words in json.loads(shown.out)["error"]


def test_options_of_a_metric_alone_need_the_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(write_project(tmp_path), output="x") == 2
    assert "go with --metric FILE" in capsys.readouterr().err


def test_a_metric_that_fails_alone_is_told_which_options_give_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_project(tmp_path)
    assert check(folder, False, folder / "metric.py", output="x") == 1
    shown = capsys.readouterr().out
    assert "TypeError: 'NoneType' object is not subscriptable" in shown
    assert """the metric got expected=None; give one with --expected '{"label": "..."}'""" in shown
    assert """the metric got input={}; give one with --input '{"text": "..."}'""" in shown


def test_a_refused_option_exits_2(metric: Path) -> None:
    done = skynet("--metric", str(metric))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: --metric FILE needs")


def test_a_missing_metric_is_a_failed_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(tmp_path, True, tmp_path / "nothing.py", output="x") == 1
    assert by_name(json.loads(capsys.readouterr().out), "Metric file")["status"] == "failed"


# What the command loads


def test_checking_a_python_target_without_a_model_loads_nothing_heavy(tmp_path: Path) -> None:
    write_project(tmp_path, more=REFLECTION)
    code = f"""
import sys
sys.argv = ["skynet", "check", {str(tmp_path)!r}, "--json"]
from skynet.cli.main import app
try:
    app()
except SystemExit as end:
    print(end.code, file=sys.stderr)
print(*sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, modules = done.stderr.splitlines()
    assert status == "0"
    assert HEAVY & set(modules.split()) == set()
