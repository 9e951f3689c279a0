from __future__ import annotations

from typing import Any

import pytest

from skynet.runs.report.words import (
    FINISH_REASONS,
    finish_sentence,
    headline,
    notices,
    rejections_told,
    stage_place,
    times_seen,
)
from tests.runs.report import samples

# The reasons that the machine interface promises.
REASONS = (
    "engine_done", "perfect", "converged", "budget_metric_calls", "budget_usd", "budget_tokens", "budget_seconds",
    "cancelled", "budget_too_small", "check_failed", "target_broken", "metric_broken", "reflection_broken", "provider",
    "error",
)  # fmt: skip


def test_a_gain_names_both_means_interval_p_and_cases() -> None:
    found = headline(samples.success())
    assert (found.tone, found.title) == ("gain", "A gain of +0.417 on test")
    for figure in ("0.917", "0.5", "24 test cases", "+0.154 to +0.615", "p = 0.0063", "11 won, 12 tied, 1 lost"):
        assert figure in found.sentence


def test_cases_that_were_not_measured_for_both_stand_beside_the_gain() -> None:
    difference = samples.success()["difference"] | {"cases": 20, "unpaired": 4}
    assert "+0.417 on 20 of 24 test cases" in headline(samples.success(difference=difference)).sentence


@pytest.mark.parametrize(
    ("kind", "count", "told"),
    [("metric", 100, "The metric failed on 100 of 196"), ("provider", 10, "A model's provider failed on 10 of 196"),
     ("metric", 9, ""), ("target", 100, "")],
)  # fmt: skip
def test_no_gain_is_told_with_the_evaluations_that_may_have_hidden_one(kind: str, count: int, told: str) -> None:
    failures = {"evaluations": 196, "groups": [{"failure": kind, "count": count}]}
    unchanged = headline(samples.success(changed=False, difference=None, failures=failures))
    rejected = headline(samples.rejected() | {"failures": failures})
    assert ("a gain may have been missed" in unchanged.sentence) is bool(told)
    assert told in unchanged.sentence
    assert told in rejected.sentence
    assert "missed" not in headline(samples.success(failures=failures)).sentence


def test_an_interval_above_zero_with_a_large_p_is_to_be_taken_with_care() -> None:
    difference = samples.success()["difference"]
    assert "care" in headline(samples.success(difference=difference | {"p": 0.0654})).sentence
    assert "care" not in headline(samples.success(difference=difference | {"p": 0.05})).sentence


def test_an_interval_with_zero_shows_no_gain() -> None:
    found = headline(samples.no_gain())
    assert (found.tone, found.title) == ("none", "No gain is shown")
    assert "the interval includes 0" in found.sentence


@pytest.mark.parametrize("low", [0.0, -0.1])
def test_an_interval_that_touches_zero_is_no_gain(low: float) -> None:
    difference = samples.success()["difference"] | {"low": low}
    assert headline(samples.success(difference=difference)).tone == "none"


def test_too_few_cases_are_said_to_be_too_few() -> None:
    difference = samples.no_gain()["difference"] | {"smallest_difference": None, "cases": 4}
    assert "so few cases" in headline(samples.success(difference=difference)).sentence


def test_a_winner_on_val_that_lost_on_test_is_no_gain_and_the_start_is_kept() -> None:
    found = headline(samples.rejected())
    assert (found.tone, found.title) == ("none", "Nothing was gained")
    assert "below the start" in found.sentence
    assert "−0.083" in found.sentence


def test_an_unchanged_artifact_is_no_gain_whatever_was_measured() -> None:
    assert headline(samples.success(changed=False)).title == "Nothing was gained"
    assert headline(samples.success(changed=False, difference=None)).title == "Nothing was gained"


def test_without_a_test_split_nothing_can_be_told() -> None:
    found = headline(samples.no_test())
    assert (found.tone, found.title) == ("unknown", "Nothing is held out")
    assert "0.85" in found.sentence


def test_an_unmeasured_test_is_no_verdict() -> None:
    difference = dict.fromkeys(samples.success()["difference"]) | {"cases": 0}
    assert headline(samples.success(difference=difference)).title == "There is no verdict"


@pytest.mark.parametrize("status", ["failed", "interrupted", "cancelled", "running", "refused"])
def test_a_run_without_an_end_has_no_verdict_even_if_something_was_measured(status: str) -> None:
    found = headline(samples.success(status=status, finish_reason=None))
    assert found.tone in ("failed", "unknown")
    assert found.sentence.endswith("There is no verdict.")
    assert "gain" not in found.title


def test_an_interrupted_run_says_how_to_go_on() -> None:
    found = headline(samples.success(status="interrupted", finish_reason=None, run="r7"))
    assert "skynet runs resume r7." in found.sentence


@pytest.mark.parametrize("untold", ["retries", "five times", "used up"])
def test_no_ending_claims_what_may_not_have_happened(untold: str) -> None:
    """A wrong key is not tried again, a run may have no reflection model, and a rest may be too small for a step."""
    told = [sentence for reason, sentence in FINISH_REASONS.items() if reason != "budget_seconds"]
    assert not any(untold in sentence for sentence in told)


def test_the_commonest_reasons_of_rejections_are_named_and_the_rest_counted() -> None:
    rejections = [{"reason": f"reason {number}", "count": 5 - number} for number in range(5)]
    assert rejections_told({"rejections": rejections}) == (
        "15 proposals turned down without an evaluation: reason 0 (5); reason 1 (4); reason 2 (3); and 2 more reasons."
    )
    assert rejections_told({"rejections": []}) == ""


@pytest.mark.parametrize("reason", REASONS)
def test_every_finish_reason_has_words_of_its_own(reason: str) -> None:
    assert finish_sentence({"finish_reason": reason}) == FINISH_REASONS[reason]


def test_an_unknown_finish_reason_is_named() -> None:
    assert "'odd'" in finish_sentence({"finish_reason": "odd"})


@pytest.mark.parametrize(
    ("stage", "place"),
    [
        ({}, ""),
        ({"case": "0", "file": None, "line": None}, "case 0"),
        ({"case": None, "file": "project/metric.py", "line": 12}, "metric.py, line 12"),
        ({"case": "4", "file": "metric.py", "line": None}, "case 4, metric.py"),
    ],
)
def test_a_stage_names_its_place(stage: dict[str, Any], place: str) -> None:
    assert stage_place(stage) == place


def test_labels_and_what_was_not_isolated_are_told() -> None:
    told = notices({"notes": ["a note"], "labels": True, "not_isolated": "it shares a process", "not_evaluated": None})
    assert told[0] == "a note"
    assert "labels = true" in told[1]
    assert told[2] == "Not isolated: it shares a process"
    assert len(told) == 3


@pytest.mark.parametrize(("times", "word"), [(1, "once"), (4, "4 times")])
def test_how_often_the_test_was_seen_is_told(times: int, word: str) -> None:
    told = times_seen({"test_seen": times})
    assert word in told
    assert ("no longer unseen" in told) == (times > 1)
    assert times_seen({"test_seen": None}) == ""
