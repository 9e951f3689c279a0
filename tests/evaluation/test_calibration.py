from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.errors import SkynetError
from skynet.evaluation.calibration import Calibration, calibrate
from skynet.evaluation.labelled_rows import Columns, read_labelled
from skynet.evaluation.project import Project
from skynet.spec import load_spec
from tests.loopback import ModelServer, status
from tests.projects import model, write_project

JUDGE = 'from skynet import scorers\nscore = scorers.judge("Polite?")\n'
LENGTH = 'def score(input, output):\n    return len(output) / 10, {"feedback": "Its length."}\n'
ROWS = (
    "q,output,ann,bob\n1,thanks,pass,pass\n2,go away,fail,fail\n3,maybe,pass,fail\n4,mumble,fail,\n5,please,fail,pass\n"
)


def answer(body: dict[str, Any]) -> str:
    """Say fail to "go away", fail to "maybe" when the seed is 2, nothing that can be read to "mumble", else pass."""
    text = body["messages"][1]["content"]
    if "mumble" in text:
        return "Hm."
    failed = "go away" in text or ("maybe" in text and body["seed"] == 2)
    return json.dumps({"reason": "Told by its words.", "choice": "fail" if failed else "pass"})


def calibrated(
    folder: Path, server: ModelServer, metric: str = JUDGE, threshold: float | None = None, rows: str = ROWS, **use: Any
) -> Calibration:
    write_project(folder, metric, more=model(server.url, "metric"))
    (folder / "labelled.csv").write_text(rows)
    columns = Columns(**{"labels": ["ann", "bob"], "inputs": ["q"], **use})
    with Project(load_spec(folder), workers=2) as project:
        return calibrate(project, read_labelled(folder / "labelled.csv", columns, None, threshold), threshold)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    server = ModelServer(answer)
    yield server
    server.close()


@pytest.fixture(scope="module")
def result(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    return calibrated(tmp_path_factory.mktemp("judge"), server)


def test_each_row_is_judged_against_each_persons_labels(result: Calibration) -> None:
    ann, bob = result.columns
    assert (ann.column, ann.agreement.rows, ann.agreement.agreed) == ("ann", 4, 3)
    assert (bob.column, bob.agreement.rows, bob.agreement.agreed) == ("bob", 4, 3)
    assert ann.agreement.confusion == {"fail": {"fail": 1, "pass": 1}, "pass": {"fail": 0, "pass": 2}}
    assert ann.agreement.kappa == pytest.approx(0.5)


def test_the_rows_they_disagree_on_hold_both_labels_and_the_reason(result: Calibration) -> None:
    [found] = result.columns[0].disagreements
    assert (found.row, found.line, found.output, found.human, found.judge) == ("5", 6, "please", "fail", "pass")
    assert found.reason == "pass: Told by its words."


def test_a_judge_that_answers_differently_when_asked_again_contradicts_itself(result: Calibration) -> None:
    [found] = result.contradictions
    assert (found.row, found.first, found.second) == ("3", "pass", "fail")
    assert (result.repeated, result.contradiction_rate) == (4, 0.25)


def test_a_row_without_a_verdict_is_left_out_and_told(result: Calibration) -> None:
    assert (result.rows, result.judged) == (5, 4)
    assert list(result.failures) == ["4"]
    assert "Hm." in result.failures["4"]


def test_people_are_compared_with_each_other_too(result: Calibration) -> None:
    [found] = result.people
    assert (found.first, found.second, found.agreement.rows, found.agreement.agreed) == ("ann", "bob", 4, 2)


def test_the_result_is_plain_json(result: Calibration) -> None:
    told = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert (told["contradiction_rate"], told["columns"][0]["agreement"]["rate"]) == (0.25, 0.75)


def test_the_labels_are_never_shown_to_the_judge(result: Calibration, server: ModelServer) -> None:
    asked = [request.body["messages"][1]["content"] for request in server.requests]
    assert asked
    assert not any("ann" in text or "bob" in text for text in asked)


def test_a_metric_without_choices_passes_by_its_score(tmp_path: Path, server: ModelServer) -> None:
    found = calibrated(tmp_path, server, LENGTH, labels=["ann"])  # 0.5 and more is a pass: five letters
    assert found.columns[0].agreement.confusion["fail"] == {"fail": 0, "pass": 3}


def test_with_a_threshold_scores_and_labels_are_numbers(tmp_path: Path, server: ModelServer) -> None:
    rows = "output,label\nabcdefgh,0.9\nabc,0.8\nab,0.1\n"
    found = calibrated(tmp_path, server, LENGTH, 0.7, rows, labels=["label"], inputs=[])
    assert found.columns[0].agreement.confusion == {"fail": {"fail": 1, "pass": 0}, "pass": {"fail": 1, "pass": 1}}


def test_labels_that_the_judge_never_gives_are_warned_of(tmp_path: Path, server: ModelServer) -> None:
    rows = "output,label\nthanks,good\ngo away,bad\n"
    [warning] = calibrated(tmp_path, server, rows=rows, labels=["label"], inputs=[]).warnings
    assert "'label' holds 'bad', 'good', and the judge says 'fail', 'pass'" in warning


def test_a_model_that_refuses_is_asked_once_only(tmp_path: Path) -> None:
    server = ModelServer(answer)
    server.fail_always(status(401, "wrong key"))
    with pytest.raises(SkynetError, match=r"the judge cannot be asked: .*wrong key"):
        calibrated(tmp_path, server)
    server.close()
    assert len(server.requests) == 1


def test_a_metric_that_does_not_load_is_told_before_anything_is_asked(tmp_path: Path, server: ModelServer) -> None:
    with pytest.raises(SkynetError, match=r"the metric does not load: .*no function `score`"):
        calibrated(tmp_path, server, "x = 1\n")
