from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import skynet

SPEC = """
name = "answers <b>"
[data]
path = "rows.jsonl"
inputs = ["text"]
outputs = ["label"]
[eval]
output = "answer"
[eval.metrics.exact]
type = "exact_match"
[eval.metrics.overlap]
type = "f1"
"""
ROWS: list[dict[str, Any]] = [
    {"text": "a", "label": "one", "answer": "one"},
    {"text": "b", "label": "two words", "answer": "two"},
    {"text": "c", "label": "<script>", "answer": None},
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "skynet.toml").write_text(SPEC)
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return tmp_path


def output_file(folder: Path, name: str) -> Any:
    return json.loads((folder / f"{name}_eval_output.json").read_text())


def test_each_metric_has_its_file_beside_summary_and_page(project: Path) -> None:
    done = skynet("eval", project, "-o", project / "out")
    assert done.status == 0
    assert done.out.splitlines()[1].split()[:6] == ["exact", "0.5", "2", "0", "1", "3"]
    out = project / "out"
    names = sorted(path.name for path in out.iterdir())
    assert names == ["exact_eval_output.json", "overlap_eval_output.json", "report.html", "summary.json"]
    told = output_file(out, "exact")
    assert list(told) == ["average_score", "eval_output_items"]
    assert told["average_score"] == 0.5
    assert all(list(item) == ["id", "score", "reasoning", "error"] for item in told["eval_output_items"])
    assert told["eval_output_items"][2]["error"] == "no output is stored in the column 'answer'"
    assert output_file(out, "overlap")["average_score"] == 0.8333333333333333
    coverage = json.loads((out / "summary.json").read_text())["metrics"]["exact"]["coverage"]
    assert coverage == {"total": 3, "scored": 2, "missing": 0, "failed": 1, "share": 2 / 3}
    page = (out / "report.html").read_text()
    assert "answers &lt;b&gt;" in page
    assert "two words" in page


def test_with_json_one_object_is_printed_and_files_go_under_the_store(project: Path) -> None:
    told = skynet("eval", project, "--json", "--limit", 1).json
    assert (told["rows"], told["ok"], told["metrics"]["exact"]["average_score"]) == (1, True, 1.0)
    assert Path(told["folder"]).parent == project / ".skynet" / "evals"
    again = skynet("eval", project, "--json", "--limit", 1).json
    assert again["folder"] != told["folder"]


def test_a_metric_under_its_least_exits_with_one(project: Path) -> None:
    assert skynet("eval", project, "--fail-under", "exact=0.5", "--fail-under", "overlap=0").status == 0
    done = skynet("eval", project, "--fail-under", "exact=0.6")
    assert done.status == 1
    assert "exact: 0.5 is under 0.6" in done.out


@pytest.mark.parametrize("name", ["", "exact_eval_output.json"])
def test_an_earlier_job_is_the_baseline(project: Path, name: str) -> None:
    assert skynet("eval", project, "-o", project / "before").status == 0
    (project / "rows.jsonl").write_text("\n".join(map(json.dumps, [{**row, "answer": row["label"]} for row in ROWS])))
    told = skynet("eval", project, "--json", "--baseline", project / "before" / name).json["metrics"]
    found = told["exact"]["comparison"]
    assert (found["cases"], found["wins"], found["unpaired"], found["mean"]) == (2, 1, 1, 0.5)
    assert found["low"] < 0.5 < found["high"]
    assert (told["overlap"]["comparison"] is None) == bool(name)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--fail-under", "exact"], "takes NAME=NUMBER"),
        (["--fail-under", "exact=nan"], "takes NAME=NUMBER"),
        (["--fail-under", "exat=1"], "Did you mean 'exact'"),
        (["--baseline", "nowhere_eval_output.json"], "there is no nowhere_eval_output.json"),
        (["--baseline", "rows.jsonl"], "is not called NAME_eval_output.json"),
        (["--baseline", "empty"], "holds no NAME_eval_output.json"),
        (["--resume", "empty"], "holds no job that was cut"),
        (["--resume", "empty", "-o", "out"], "leave the output folder out"),
        (["-o", "cut"], "holds a job that was cut; go on with --resume cut"),
        (["--baseline", "bad_eval_output.json"], "is no evaluation output"),
    ],
)
def test_wrong_usage_is_refused_before_anything_is_scored(
    project: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], says: str
) -> None:
    (project / "bad_eval_output.json").write_text('{"eval_output_items": [{"id": 1, "score": true}]}')
    (project / "empty").mkdir()
    (project / "cut").mkdir()
    (project / "cut/unfinished.jsonl").touch()
    monkeypatch.chdir(project)
    done = skynet("eval", *more)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert not (project / ".skynet").exists()


def test_no_row_scored_is_a_failure(project: Path) -> None:
    rows = [{**ROWS[0], "answer": None}, ROWS[0] | {"answer": "x", "label": None}, ROWS[1]]
    (project / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = skynet("eval", project, "--limit", 2)
    assert done.status == 1
    assert "exact: no row was scored. Row 1: no output is stored" in done.out


def test_bad_rows_may_be_left_out(project: Path) -> None:
    with (project / "rows.jsonl").open("a") as file:
        file.write("\n{bad")
    assert skynet("eval", project).status == 2
    done = skynet("eval", project, "--skip-bad-rows", 1)
    assert done.status == 0
    assert "1 bad row left out" in done.err


def test_a_spec_without_the_section_says_what_to_add(project: Path) -> None:
    (project / "skynet.toml").write_text(SPEC.partition("[eval]")[0])
    done = skynet("eval", project)
    assert done.status == 2
    assert "has no [eval]" in done.err


def test_check_leaves_bad_rows_out_too(project: Path) -> None:
    (project / "skynet.toml").write_text(
        SPEC.partition("[eval]")[0] + '[target]\nkind = "python"\npath = "run.py"\n[artifact]\npath = "start.txt"\n'
    )
    (project / "start.txt").write_text("")
    (project / "run.py").write_text("def run(artifact, input):\n    return 'one'\n")
    (project / "metric.py").write_text("from skynet.scorers import exact_match as score\n")
    with (project / "rows.jsonl").open("a") as file:
        file.write("\n{bad\n" + "\n".join(map(json.dumps, ROWS * 3)))
    assert skynet("check", project).status == 2
    done = skynet("check", project, "--skip-bad-rows", 1, "--json").json
    assert "1 bad row left out" in next(one for one in done["stages"] if one["name"] == "Sample cases")["message"]
