from __future__ import annotations

import json
from decimal import Decimal

import pytest

from skynet.evaluation.stages import STAGES, CheckResult, Sample, Stage, StageList, plural, sentence, told
from skynet.workers.fault import Fault

EVIL = "<script>alert('&')</script>"


def test_ok_means_that_no_stage_failed() -> None:
    stages = tuple(Stage(name, "pending") for name in STAGES)
    assert CheckResult(stages).ok
    assert not CheckResult((*stages[1:], Stage("Metric file", "failed"))).ok


def test_the_json_is_strict_whatever_was_returned() -> None:
    sample = Sample("1", output=(float("nan"), Decimal("1.5"), {1: b"x"}), score=0.5, feedback="\ud800")
    told = CheckResult((Stage("Signal", "passed"),), (sample,)).to_json()
    assert json.loads(json.dumps(told, allow_nan=False))["samples"][0] == {
        "case": "1", "output": [None, "1.5", {"1": "b'x'"}], "score": 0.5, "feedback": "\ud800", "scores": {},
        "elapsed_ms": None, "cost_usd": None,
    }  # fmt: skip


def test_a_notebook_shows_stages_and_samples_with_everything_escaped() -> None:
    shown = CheckResult(
        (Stage("Signal", "failed", EVIL, case=EVIL, file="metric.py", line=3),),
        (
            Sample(
                EVIL, output={"x": EVIL}, score=0.123456, feedback=EVIL + "\ud800", scores={EVIL: 0.5}, elapsed_ms=1.25
            ),
        ),
    )._repr_html_()
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 6
    assert "The contract check failed at Signal." in shown
    assert "line 3" in shown
    assert "0.1235" in shown
    assert shown.encode("utf-8")


def test_printing_it_tells_the_outcome_stages_and_samples() -> None:
    sample = Sample("1", output={"team": "x"}, score=0.5, feedback="Wrong\x1b.", scores={"form": 1.0})
    stages = (Stage("Metric file", "passed"), Stage("Signal", "failed", "No signal", case="1", line=3))
    assert str(CheckResult(stages, (sample,), metric_calls=4)).splitlines() == [
        "The contract check failed at Signal.",
        "passed   Metric file",
        "failed   Signal: No signal (case 1, line 3)",
        "case 1: score 0.5; form 1; output {'team': 'x'}; Wrong\\x1b.",
        "Metric calls: 4",
    ]


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (CheckResult((Stage("Signal", "passed"),)), "The contract check passed."),
        (CheckResult((Stage("Signal", "warning"),)), "The contract check passed with 1 warning."),
        (CheckResult((Stage("Signal", "pending"),), missing_model="task"), "the check waits for a task model"),
    ],
)
def test_its_repr_is_the_outcome(result: CheckResult, outcome: str) -> None:
    assert outcome in repr(result)
    assert "\n" not in repr(result)


def test_long_values_are_cut_in_a_notebook() -> None:
    assert len(CheckResult((), (Sample("1", output="x" * 100_000),))._repr_html_()) < 2000


def test_stages_come_back_in_the_documented_order_with_the_rest_filled_in() -> None:
    announced: list[str] = []
    stages = StageList(lambda item: announced.append(item.name))
    stages.add("Signal", "passed")
    stages.add("Metric file", "warning", "careful")
    all_of_them = stages.rest("skipped", "not reached")
    assert [item.name for item in all_of_them] == list(STAGES)
    assert announced[:2] == ["Signal", "Metric file"]
    assert sorted(announced) == sorted(STAGES)
    assert [item.status for item in all_of_them].count("skipped") == 9


@pytest.mark.parametrize(
    ("fault", "stderr", "message"),
    [
        (Fault("raised", "boo", "ValueError"), "noise", "ValueError: boo"),
        (Fault("raised", "boo", "ValueError", "Traceback:\n  boo\n"), "noise", "Traceback:\n  boo"),
        (Fault("timeout", "too slow", file="metric.py", line=3), "", "too slow"),
        (
            Fault("died", "ended by SIGSEGV"),
            'last words\n  File "<string>", line 1 in <module>\n',
            "ended by SIGSEGV\nlast words",
        ),
        (Fault("died", "ended by SIGSEGV"), "", "ended by SIGSEGV"),
    ],
)
def test_a_fault_is_told_with_what_helps(fault: Fault, stderr: str, message: str) -> None:
    assert told(fault, stderr) == message


def test_a_value_that_cannot_leave_is_told_with_what_can() -> None:
    assert "a value of type set at ['x']. What may cross: None" in told(
        Fault("bad_output", "a value of type set at ['x']")
    )


def test_small_words() -> None:
    assert [plural(count, "case") for count in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]
    assert [sentence(text) for text in ("", "it is", "It is.")] == ["", "It is.", "It is."]
