"""`skynet.evaluate`: the options of `skynet eval`, and the same files and numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import skynet
from skynet.errors import SkynetError
from skynet.runs.evaluation_outcome import JobResult
from skynet.spec import SpecError
from tests.cli.command import skynet as command
from tests.loopback import ModelServer, model_server

__all__ = ["model_server"]

ROWS: list[dict[str, Any]] = [
    {"text": "a", "label": "the cat is on the mat", "answer": "the cat is on the mat now"},
    {"text": "b", "label": "a dog barks at the door", "answer": "a dog barks at a door"},
    {"text": "c", "label": "no", "answer": None},
]
JOB: dict[str, Any] = {"rows": ROWS, "output": "answer", "metrics": {"overlap": {"type": "bleu"}}}
SPEC: dict[str, Any] = {"name": "answers", "data": {"inputs": ["text"], "outputs": ["label"]}}
PAGE = (Path(__file__).parents[2] / "docs" / "eval.md").read_text(encoding="utf-8")
TOML = """
name = "answers"
[data]
path = "rows.jsonl"
inputs = ["text"]
outputs = ["label"]
[eval]
output = "answer"
[eval.metrics.overlap]
type = "bleu"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "skynet.toml").write_text(TOML)
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return tmp_path


def evaluate(folder: Path, metrics: dict[str, Any], **options: Any) -> JobResult:
    return skynet.evaluate(folder, spec=SPEC, job={**JOB, "metrics": metrics}, **options)


def test_python_and_the_command_line_tell_the_same(folder: Path) -> None:
    told = command("eval", folder, "--json", "-o", folder / "out").json
    found = skynet.evaluate(folder, output_dir=folder / "again")
    assert found.folder == folder / "again"
    drop = {"folder": "", "seconds": 0, "started_at": 0}
    assert {**found.to_json(), **drop} == {**told, **drop}
    written = [sorted(path.name for path in (folder / name).iterdir()) for name in ("out", "again")]
    assert written[0] == written[1]


def test_the_summary_and_the_page_hold_the_bleu_of_the_corpus(folder: Path) -> None:
    found = skynet.evaluate(folder)
    assert found.folder is not None
    corpus = json.loads((found.folder / "summary.json").read_text())["metrics"]["overlap"]["corpus"]
    answers = [row["answer"] for row in ROWS[:2]]
    score = skynet.scorers.corpus_bleu(answers, [row["label"] for row in ROWS[:2]])
    assert corpus == {"name": "corpus_bleu", "score": score, "rows": 2}
    assert corpus["score"] != found.metrics[0].average_score
    assert "corpus_bleu of all 2 scored rows together" in (found.folder / "report.html").read_text()


def test_a_job_without_a_file_is_scored_by_a_function(tmp_path: Path) -> None:
    def score(input: dict[str, Any], output: Any) -> tuple[float, dict[str, str]]:
        return float(len(output)), {"feedback": f"Of {input['text']}."}

    found = evaluate(tmp_path, {"mine": {"type": "metric"}}, metric=score, limit=2)
    assert [(item.score, item.reasoning) for item in found.metrics[0].items] == [(25.0, "Of a."), (21.0, "Of b.")]


def test_a_target_given_as_a_function_is_run(tmp_path: Path) -> None:
    (tmp_path / "start.txt").write_text("!")

    def run(artifact: str, input: dict[str, Any]) -> str:
        return str(input["text"] + artifact)

    spec = {**SPEC, "artifact": {"path": "start.txt"}}
    job = {"rows": ROWS, "metrics": {"loud": {"type": "regex", "pattern": "^[ab]!$"}}}
    found = skynet.evaluate(tmp_path, spec=spec, job=job, target=run)
    assert [item.score for item in found.metrics[0].items] == [1.0, 1.0, 0.0]


def test_a_metric_stored_in_the_project_is_named_by_its_type(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "brief.yaml").write_text('checks: {short: {type: regex, pattern: "^.{0,22}$"}}')
    found = evaluate(tmp_path, {"mine": {"type": "brief"}})
    assert [item.score for item in found.metrics[0].items] == [0.0, 1.0, None]


def test_a_baseline_and_thresholds_by_metric(folder: Path) -> None:
    first = skynet.evaluate(folder)
    again = skynet.evaluate(folder, baseline=first.folder, fail_under={"overlap": 100})
    (one,) = again.metrics
    assert one.comparison is not None
    assert (one.comparison.mean, one.passed, again.ok) == (0.0, False, False)


def test_it_tells_averages_and_coverage_when_it_is_printed(folder: Path) -> None:
    found = skynet.evaluate(folder, fail_under={"overlap": 100})
    average = found.metric("overlap").average_score
    assert repr(found) == f"<JobResult answers: 3 rows, overlap {average:.4g}>"
    assert str(found).splitlines()[:2] == [
        "answers: 3 rows, outputs: stored",
        f"overlap: {average:.4g}, under 100 (2 of 3 scored, 1 failed)",
    ]
    assert f"Files: {found.folder}" in found._repr_html_()
    with pytest.raises(SkynetError, match=r"it has overlap\. Did you mean 'overlap'"):
        found.metric("overlab")


def test_a_prompt_is_evaluated_as_a_chat_without_any_file(tmp_path: Path, model_server: ModelServer) -> None:
    model_server.reply = "shipping"
    found = skynet.evaluate(
        tmp_path,
        artifact="Sort: {{ text }}",
        data={"inputs": ["text"], "outputs": ["label"]},
        job={"rows": [{"text": "a", "label": "shipping"}], "metrics": {"exact": {"type": "exact_match"}}},
        models={"task": {"name": "openai/loopback", "base_url": model_server.url}},
    )
    assert found.metric("exact").average_score == 1.0
    assert [request.body["messages"][0]["content"] for request in model_server.requests] == ["Sort: a"]


def test_rows_may_be_a_table(tmp_path: Path) -> None:
    table = pytest.importorskip("pyarrow").Table.from_pylist(ROWS)
    found = skynet.evaluate(tmp_path, spec=SPEC, job={**JOB, "rows": table})
    assert found.metric("overlap").coverage.total == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"limit": 0}, "limit is 0; it is a number of rows, 1 or more"),
        ({"concurrency": -1}, "concurrency is -1"),
        ({"resume": "a", "output_dir": "b"}, "leave the output folder out"),
        ({"fail_under": {"overlab": 1}}, "Did you mean 'overlap'"),
        ({"baseline": "nowhere"}, "there is no nowhere"),
        ({"job": {"metrics": {"a": {"type": "blue"}}}}, "Did you mean 'bleu'"),
    ],
)
def test_wrong_options_are_refused(folder: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(SkynetError, match=says):
        skynet.evaluate(folder, **options)


def test_without_a_spec_it_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="there is no such file"):
        skynet.evaluate(tmp_path)


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
def test_a_block_of_the_page_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/eval.md", "exec"), {"__name__": "notebook"})
    assert list(tmp_path.glob(".skynet/evals/*/summary.json"))
