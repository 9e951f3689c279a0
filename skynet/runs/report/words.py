"""The report's sentences: the headline verdict, and what statuses and finish reasons mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skynet.runs.report.show import chance, counted, one_line, score, signed

Tone = Literal["gain", "none", "unknown", "failed"]

FINISH_REASONS = {
    "engine_done": "The engine came to the end of its search.",
    "perfect": "The start version is at the maximum on every val case, so no proposal was bought.",
    "converged": "The search stood still: it asked for no new evaluation any more.",
    "budget_metric_calls": "The budget of metric calls had no room for the next step of the search.",
    "budget_usd": "The budget in dollars had no room for the next call of the search.",
    "budget_tokens": "The budget in tokens had no room for the next call of the search.",
    "budget_seconds": "The budget of time was used up.",
    "cancelled": "It was cancelled.",
    "budget_too_small": "The budget cannot pay for the check, the start version and the sealed test.",
    "check_failed": "The contract check did not pass, so nothing was spent on a search.",
    "target_broken": "The target failed with the same error on one case after another.",
    "metric_broken": "The metric failed, so scores could not be had.",
    "reflection_broken": "No usable reply of a reflection model was to be had.",
    "provider": "A model that the run needs gave no reply.",
    "error": "An error ended the run.",
}
_P_LIMIT = 0.05
_LOST_SHARE = 0.05  # of the evaluations; where more have no score, better versions may have been missed
_LOST_BY = {"metric": "The metric", "provider": "A model's provider"}
_NAMED_REASONS = 3
_UNFINISHED = {
    "interrupted": ("The run was interrupted", "What was paid for is kept, and it can go on:"),
    "cancelled": ("The run was cancelled", "It was ended before the verdict."),
    "running": ("The run is not over", "This is how it stands so far."),
    "refused": ("The run was refused", "It was refused before anything was spent."),
}


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict: a title of a few words and one or two plain sentences. `tone` chooses mark and colour."""

    tone: Tone
    title: str
    sentence: str


def finish_sentence(report: Mapping[str, Any]) -> str:
    """Say why the run ended; empty when it has no finish reason."""
    reason = report.get("finish_reason")
    if reason is None:
        return ""
    return FINISH_REASONS.get(str(reason), f"It ended with the reason {reason!r}.")


def headline(report: Mapping[str, Any]) -> Headline:
    """Return the verdict on a finished or stopped run, or why there is none."""
    status = str(report.get("status"))
    if status == "failed":
        return Headline("failed", "The run failed", f"{finish_sentence(report)} There is no verdict.".strip())
    if status in _UNFINISHED:
        title, sentence = _UNFINISHED[status]
        more = f" skynet runs resume {report.get('run')}" if sentence.endswith(":") else ""
        return Headline("unknown", title, f"{sentence}{more}. There is no verdict.".replace("..", "."))
    difference = report.get("difference")
    if difference is not None and difference.get("mean") is not None:
        return _measured(report, difference)
    return _not_measured(report)


def case_counts(difference: Mapping[str, Any]) -> str:
    """Say how many cases were won, tied and lost."""
    return f"{difference.get('wins')} won, {difference.get('ties')} tied, {difference.get('losses')} lost"


def rejections_told(report: Mapping[str, Any]) -> str:
    """Say how many proposals were turned down, and for which reasons, the most frequent first; empty without any."""
    rejections = report.get("rejections") or []
    if not rejections:
        return ""
    total = sum(one.get("count") or 0 for one in rejections)
    named = [f"{one_line(str(one.get('reason')), 200)} ({one.get('count')})" for one in rejections[:_NAMED_REASONS]]
    left = len(rejections) - len(named)
    more = f"; and {counted(left, 'more reason')}" if left else ""
    return f"{counted(total, 'proposal')} turned down without an evaluation: {'; '.join(named)}{more}."


def stage_place(stage: Mapping[str, Any]) -> str:
    """Name the case, file and line that a check stage speaks of; empty when it names none."""
    parts = [f"case {stage['case']}" if stage.get("case") is not None else ""]
    if stage.get("file"):
        name = str(stage["file"]).rpartition("/")[2]
        parts.append(f"{name}, line {stage['line']}" if stage.get("line") else name)
    return ", ".join(part for part in parts if part)


def notices(report: Mapping[str, Any]) -> list[str]:
    """Return what a reader has to know beside the warnings, as sentences."""
    found = [str(note) for note in report.get("notes") or []]
    if report.get("labels"):
        found.append("The engine saw the expected values of the train rows (labels = true).")
    if report.get("not_isolated"):
        found.append(f"Not isolated: {report['not_isolated']}")
    if report.get("not_evaluated"):
        found.append(f"{report['not_evaluated']}.")
    return found


def times_seen(report: Mapping[str, Any]) -> str:
    """Say how often the test rows were scored in this store; empty when never."""
    times = report.get("test_seen") or 0
    if not times:
        return ""
    again = "" if times == 1 else " They are no longer unseen, so its figures flatter whoever chose by them."
    return f"The test rows were scored {'once' if times == 1 else f'{times} times'} in this store.{again}"


def _measured(report: Mapping[str, Any], difference: Mapping[str, Any]) -> Headline:
    mean, low, high = difference["mean"], difference.get("low"), difference.get("high")
    cases, unpaired = difference.get("cases") or 0, difference.get("unpaired") or 0
    figures = (
        f"{signed(mean)} on {f'{cases:,} of ' if unpaired else ''}{counted(cases + unpaired, 'test case')} "
        f"(95 % interval {signed(low)} to {signed(high)}, {chance(difference.get('p'))}; {case_counts(difference)})"
    )
    unseen = "cases that the search never saw"
    if report.get("rejected"):
        return Headline(
            "none",
            "Nothing was gained",
            f"The version that was best on val scored below the start on {unseen}: {figures}. The start is kept."
            + _lost(report),
        )
    if not report.get("changed"):
        return Headline("none", "Nothing was gained", f"No version beat the start, so nothing changed: {figures}.")
    if low is None or high is None or low <= 0:
        few = "so few cases cannot tell it from" if difference.get("smallest_difference") is None else "it may be"
        return Headline(
            "none",
            "No gain is shown",
            f"The best version differs from the start by {figures}; {few} chance, because the interval includes 0.",
        )
    start, best = _figure(report, "baseline", "test"), _figure(report, "best", "test")
    doubt = ""
    if difference.get("p") is not None and difference["p"] > _P_LIMIT:
        doubt = " Take it with care: the permutation test alone would not rule out chance."
    return Headline(
        "gain",
        f"A gain of {signed(mean)} on test",
        f"The best version scored {score(best)} and the start {score(start)} on {unseen}: {figures}.{doubt}",
    )


def _not_measured(report: Mapping[str, Any]) -> Headline:
    start, best = _figure(report, "baseline", "val"), _figure(report, "best", "val")
    held_out = (report.get("split_sizes") or {}).get("test")
    if not report.get("changed"):
        on_test = _figure(report, "baseline", "test")
        seen = f" It scores {score(on_test)} on test." if on_test is not None else ""
        why = "" if held_out else " Nothing is held out, so there is no verdict on unseen cases."
        return Headline(
            "none",
            "Nothing was gained",
            f"No version beat the start ({score(start)} on val), so it stays.{seen}{why}{_lost(report)}",
        )
    on_val = f"On val the best version scored {score(best)} and the start {score(start)}"
    if not held_out:
        return Headline(
            "unknown",
            "Nothing is held out",
            f"{on_val}, but no case was kept from the search, so it cannot be told whether anything was gained.",
        )
    return Headline("unknown", "There is no verdict", f"{on_val}, but no test case was measured for both.")


def _figure(report: Mapping[str, Any], version: str, split: str) -> float | None:
    value: float | None = (report.get(version) or {}).get(split)
    return value


def _lost(report: Mapping[str, Any]) -> str:
    """Say that evaluations without a score may have hidden a gain; empty where there are few of them."""
    failures = report.get("failures") or {}
    total = failures.get("evaluations") or 0
    lost = dict.fromkeys(_LOST_BY, 0)
    for group in failures.get("groups") or []:
        if group.get("failure") in lost:
            lost[group["failure"]] += group.get("count") or 0
    kind = max(lost, key=lambda name: lost[name])
    if not total or lost[kind] < _LOST_SHARE * total:
        return ""
    return f" {_LOST_BY[kind]} failed on {lost[kind]:,} of {total:,} evaluations: a gain may have been missed by it."
