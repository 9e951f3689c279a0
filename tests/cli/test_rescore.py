from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import skynet
from tests.cli.conftest import Made

LENGTH = """
import skynet
def score(input, output, expected=None):
    made = skynet.observation()
    assert made.elapsed_ms is not None
    if input["text"].endswith("7"):
        return skynet.unmeasured("an odd one")
    return float(output.isupper()), {"feedback": "By its letters.", "scores": {"length": len(output)}}
"""


@pytest.fixture
def metric(tmp_path: Path) -> Path:
    path = tmp_path / "new.py"
    path.write_text(LENGTH)
    return path


def test_stored_outputs_are_scored_again_and_no_target_runs(copied: Made, metric: Path) -> None:
    (copied.folder / "run.py").write_text("raise RuntimeError('the target must not run')")
    told = skynet("rescore", copied.result.run, copied.folder, "--metric", metric, "--json").json
    assert list(told["metrics"]) == ["start-val", "best-val", "start-test", "best-test"]
    assert told["metrics"]["start-test"]["average_score"] == 0.0
    assert told["metrics"]["best-test"]["average_score"] == 1.0
    assert told["stored"]["start-test"] == copied.result.baseline["test"]
    assert told["stored"]["best-test"] == copied.result.best["test"]
    coverage = told["metrics"]["best-test"]["coverage"]
    assert coverage["total"] == 12
    assert coverage["scored"] + coverage["missing"] == 12
    assert told["metrics"]["best-test"]["comparison"]["mean"] == 1.0
    assert told["metrics"]["start-test"]["comparison"] is None
    items = json.loads((Path(told["folder"]) / "best-test_eval_output.json").read_text())["eval_output_items"]
    assert len(items) == 12


def test_without_a_file_the_projects_metric_as_it_is_now_scores(copied: Made) -> None:
    (copied.folder / "metric.py").write_text('def score(input, output):\n    return 7, {"feedback": "Edited."}\n')
    told = skynet("rescore", copied.result.run, copied.folder, "--json").json
    assert {one["average_score"] for one in told["metrics"].values()} == {7.0}


def test_versions_and_splits_may_be_chosen(copied: Made, metric: Path) -> None:
    wanted = ["--version", str(copied.result.best["version"])[:8], "--split", "val", "-o", copied.folder / "out"]
    done = skynet("rescore", copied.result.run, copied.folder, "--metric", metric, *wanted)
    assert done.status == 0
    assert done.out.splitlines()[0].split()[:3] == ["version", "stored", "new"]
    assert done.out.splitlines()[1].startswith(f"{str(copied.result.best['version'])[:8]}-val")
    assert (copied.folder / "out" / "report.html").is_file()


def test_outputs_of_rows_that_are_gone_are_counted(copied: Made, metric: Path) -> None:
    rows = [json.loads(line) for line in (copied.folder / "rows.jsonl").read_text().splitlines()]
    changed = [{**row, "label": "other"} if number % 2 else row for number, row in enumerate(rows)]
    (copied.folder / "rows.jsonl").write_text("\n".join(map(json.dumps, changed)))
    done = skynet("rescore", copied.result.run, copied.folder, "--metric", metric)
    assert "stored outputs are of rows that the data no longer holds" in done.err


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def score(:", "the metric does not load"),
        (None, "there is no file"),
    ],
)
def test_a_metric_that_does_not_load_is_refused(copied: Made, tmp_path: Path, source: str | None, says: str) -> None:
    path = tmp_path / "bad.py"
    if source is not None:
        path.write_text(source)
    done = skynet("rescore", copied.result.run, copied.folder, "--metric", path)
    assert done.status == 2
    assert says in done.err


def test_an_unknown_version_is_named(copied: Made, metric: Path) -> None:
    done = skynet("rescore", copied.result.run, copied.folder, "--metric", metric, "--version", "zz")
    assert done.status == 2
    assert "has no version 'zz'" in done.err
