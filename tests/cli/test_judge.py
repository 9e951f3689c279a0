from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import skynet
from tests.loopback import ModelServer
from tests.projects import model, write_project

JUDGE = 'from skynet import scorers\nscore = scorers.judge("Polite?")\n'
ROWS = "q,output,label\n1,thanks,pass\n2,go away,fail\n3,please,fail\n"


def answer(body: dict[str, Any]) -> str:
    failed = "go away" in body["messages"][1]["content"]
    return json.dumps({"reason": "Told by its words.", "choice": "fail" if failed else "pass"})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    server = ModelServer(answer)
    folder = write_project(tmp_path_factory.mktemp("judge"), JUDGE, more=model(server.url, "metric"))
    (folder / "rows.csv").write_text(ROWS)
    yield folder
    server.close()


def calibrate(project: Path, *more: object) -> Any:
    return skynet("judge", "calibrate", project / "rows.csv", project, *more)


def test_figures_confusion_and_disagreements_are_printed(project: Path) -> None:
    done = calibrate(project)
    assert done.status == 0
    assert "Judged 3 of 3 rows." in done.out
    assert "67 %" in done.out
    assert "the judge contradicts itself on 0 of 3 rows" in done.out
    assert "Where label and the judge disagree:\nrow" in done.out
    assert "pass: Told by its words." in done.out
    assert "Model calls: 6, $" in done.out
    assert "3 rows, each judged 2 times." in done.err


def test_with_json_one_object_is_printed(project: Path) -> None:
    told = calibrate(project, "--json", "--limit", 2).json
    assert (told["rows"], told["judged"], told["model_calls"], told["contradiction_rate"]) == (2, 2, 4, 0)
    assert told["columns"][0]["agreement"]["agreed"] == 2
    assert told["cost_usd"] > 0


def test_another_metric_may_be_calibrated(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.py"
    path.write_text('def score(input, output):\n    return 1.0, {"feedback": "Fine."}\n')
    told = calibrate(project, "--json", "--metric", path).json
    assert (told["model_calls"], told["columns"][0]["agreement"]["agreed"]) == (0, 1)


def test_no_row_judged_is_a_failure(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.py"
    path.write_text('import skynet\n\ndef score(input, output):\n    return skynet.unmeasured("not today")\n')
    done = calibrate(project, "--metric", path)
    assert done.status == 1
    assert "row 1: not today" in done.out


@pytest.mark.parametrize(
    ("more", "says"),
    [(["--label", "lable"], "Did you mean 'label'"), (["--output", "text"], "there is no column 'text'")],
)
def test_wrong_columns_are_refused_before_anything_is_asked(project: Path, more: list[str], says: str) -> None:
    done = calibrate(project, *more)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
