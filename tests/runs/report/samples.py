"""Made-up reports, as the runner writes them."""

from __future__ import annotations

from typing import Any

START, BEST = "a1b2c3d4e5f6", "0f9e8d7c6b5a"


_START_TEXT = "Decide whether the review is positive or negative.\nReply with the label."
_BEST_TEXT = (
    "Decide whether the review is positive or negative.\n"
    "Weigh the whole review: an ironic compliment is negative, a small complaint in a happy review is not.\n"
    "Reply with the label only: positive or negative."
)
_DIFF = "--- start\n+++ best\n@@ -1,2 +1,3 @@\n {}\n-{}\n+{}\n+{}".format(
    _START_TEXT.split("\n")[0], _START_TEXT.split("\n")[1], *_BEST_TEXT.split("\n")[1:]
)
_REVIEWS = (
    "The coffee was cold, the waiter colder. Somehow I still want to come back for that cake.",
    "Oh wonderful, another update that deletes my settings. Exactly what I was hoping for on a Monday morning.",
    "Arrived a day early and works out of the box.",
    "I wanted to love this tent. It held up in the wind, it kept the rain out, and then on the third night the main "
    "pole split along its whole length while we slept. The shop exchanged it without a question, and the new one has "
    "been through two winters since. Would I buy it again? Yes, but I would carry a spare pole and tape, and would "
    "not pitch it anywhere near the sea. For the price there is nothing better, and I have looked.",
    "Five stars for the packaging, none for what was in it.",
)


def side(score: float | None, output: Any, feedback: str, **more: Any) -> dict[str, Any]:
    return {
        "status": "ok",
        "score": score,
        "output": output,
        "feedback": feedback,
        "scores": {"label": score, "brevity": 0.8} if score is not None else {},
        "failure": None,
        "error": None,
        "elapsed_ms": 142.4,
        "cost_usd": 0.00012,
        **more,
    }


def case(number: int, before: float, after: float, split: str = "test") -> dict[str, Any]:
    label = ("positive", "negative")[number % 2]
    chat = f"Sure! I'd say this one reads as {label}, mostly because of its tone."
    said = {1.0: label, 0.0: chat}
    told = {
        1.0: "Correct.",
        0.0: f"Expected exactly {label!r}; the reply chats around the label instead of giving it alone.",
    }
    return {
        "split": split,
        "case": str(number),
        "input": {"review": _REVIEWS[number % len(_REVIEWS)]},
        "expected": {"label": label},
        "repetition": 0,
        "start": side(before, said[before], told[before]),
        "best": side(after, said[after], told[after]),
    }


def cases(wins: int = 11, losses: int = 1, same: int = 12) -> list[dict[str, Any]]:
    outcomes = [(1.0, 1.0)] * (same - 1) + [(0.0, 1.0)] * wins + [(0.0, 0.0)] + [(1.0, 0.0)] * losses
    return [case(100 + number, *outcome) for number, outcome in enumerate(outcomes)]


def coverage(measured: int, total: int, tried: int | None = None, **counts: int) -> dict[str, Any]:
    kinds = ("unmeasured", "target_failures", "metric_failures", "provider_failures")
    told = {"total": total, "tried": total if tried is None else tried, "measured": measured}
    return {**told, **dict.fromkeys(kinds, 0), **counts}


def measured(version: str, val: float | None, test: float | None, on_test: int = 24) -> dict[str, Any]:
    """One side of the verdict; `on_test` of 24 cases were measured, a provider failed on the others."""
    covered = coverage(on_test, 24, provider_failures=24 - on_test) if test is not None else None
    return {"version": version, "val": val, "test": test, "coverage": {"val": coverage(20, 20), "test": covered}}


def version(id_: str, parent: str | None, at_call: int, val: float | None, status: str, note: str) -> dict[str, Any]:
    return {
        "id": id_,
        "parent": parent,
        "note": note,
        "kind": "text",
        "text": _START_TEXT if parent is None else _BEST_TEXT,
        "at_call": at_call,
        "val_at_call": None if val is None else at_call + 20,
        "val": val,
        "coverage": coverage(20, 20) if val is not None else coverage(0, 20, tried=0),
        "status": status,
        "reason": None
        if val is not None
        else "evaluated on 3 train cases only, not better than v2 there (0.333, 0.667)",
        "scores": {} if val is None else {"label": val, "brevity": 0.8},
    }


def versions() -> list[dict[str, Any]]:
    return [
        version(START, None, 7, 0.55, "start", ""),
        version("111111111111", START, 31, 0.5, "candidate", "Asked for a reason before the label."),
        version("222222222222", START, 54, 0.7, "candidate", "Named the two labels and forbade any other word."),
        version("333333333333", "222222222222", 80, 0.65, "candidate", "Added an example of irony."),
        version("444444444444", "222222222222", 88, None, "candidate", "Longer persona."),
        version(BEST, "222222222222", 117, 0.85, "best", "Irony counts against; the label must stand alone."),
        version("666666666666", BEST, 150, 0.8, "candidate", "Shortened the rule on irony."),
    ]


def success(**changes: Any) -> dict[str, Any]:
    """A finished run with a clear gain; `changes` replace its keys."""
    return {**_head(), **_search(), **_spent(), **changes}


def _head() -> dict[str, Any]:
    return {
        "schema": 1,
        "run": "20261103-101500-7f3a",
        "name": "reviews",
        "objective": "Label each review positive or negative, with the exact label and nothing else.",
        "status": "stopped",
        "finish_reason": "budget_metric_calls",
        "engine": {"name": "gepa", "package": "skynet-optimizer", "version": "0.1.0", "options": {"minibatch": 3}},
        "started_at": 1793700900.0,
        "ended_at": 1793701104.3,
        "seconds": 204.3,
        "skynet_version": "0.1.0",
        "repeats": 1,
        "changed": True,
        "rejected": None,
        "baseline": measured(START, 0.55, 0.5),
        "best": measured(BEST, 0.85, 0.917),
        "challenger": measured(BEST, 0.85, 0.917),
        "difference": {
            "mean": 0.417,
            "low": 0.154,
            "high": 0.615,
            "p": 0.0063,
            "wins": 11,
            "ties": 12,
            "losses": 1,
            "cases": 24,
            "unpaired": 0,
            "span": 1.0,
            "start_mean": 0.5,
            "best_mean": 0.917,
            "smallest_difference": 0.263,
        },
        "warnings": ["Train rows stand in the artifact: 1 row (14) share 8 or more words in a row with it, at most 9."],
        "notes": [],
    }


def _search() -> dict[str, Any]:
    return {
        "versions": versions(),
        "rejections": [
            {"reason": "identical to its parent", "count": 3},
            {"reason": "two code fences; send one", "count": 1},
        ],
        "last_rejections": [
            {"version": "777777777777", "reason": "identical to its parent", "at_call": 54},
            {"version": "888888888888", "reason": "two code fences; send one", "at_call": 150},
        ],
        "failures": {"evaluations": 218, "groups": []},
        "failure_score": 0.0,
        "curve": [
            {"version": START, "metric_calls": 27, "usd": 0.002, "usd_lower_bound": False, "best_val": 0.55},
            {"version": "222222222222", "metric_calls": 74, "usd": 0.011, "usd_lower_bound": True, "best_val": 0.7},
            {"version": BEST, "metric_calls": 137, "usd": 0.024, "usd_lower_bound": True, "best_val": 0.85},
        ],
        "diff": _DIFF,
        "cases": cases(),
    }


def _spent() -> dict[str, Any]:
    return {
        "named_scores": [
            {"name": "label", "start": 0.5, "best": 0.917},
            {"name": "brevity", "start": 0.31, "best": 0.8},
        ],
        "time": {"start_ms": 412.0, "best_ms": 148.2, "clock_floor_ms": 1.2},
        "cost": {"start_usd": 0.00021, "best_usd": 0.00012},
        "ledger": _ledger(),
        "budget": {
            "metric_calls": {"limit": 220, "used": 218},
            "usd": {"limit": 5.0, "used": 0.0624, "lower_bound": True},
            "tokens": {"limit": None, "used": 39942},
            "seconds": {"limit": 3600, "used": 204.3},
        },
        "split_sizes": {"train": 60, "val": 20, "test": 24},
        "test_seen": 1,
        "data_warnings": [],
        "demonstrations": [],
        "labels": False,
        "not_isolated": None,
        "not_evaluated": None,
        "error": None,
        "check": {"stages": stages()},
    }


def _ledger() -> list[dict[str, Any]]:
    return [
        {
            "role": "task",
            "model": "openai/my-model",
            "calls": 218,
            "prompt_tokens": 20412,
            "completion_tokens": 1893,
            "usd": 0.0213,
        },
        {
            "role": "reflection",
            "model": "openai/my-large-model",
            "calls": 9,
            "prompt_tokens": 14009,
            "completion_tokens": 2704,
            "usd": 0.0411,
        },
        {
            "role": "metric",
            "model": "openai/my-judge",
            "calls": 12,
            "prompt_tokens": 900,
            "completion_tokens": 24,
            "usd": None,
        },
    ]


def stages(failed: str | None = None) -> list[dict[str, Any]]:
    names = (
        "Metric file",
        "Metric load",
        "Metric function",
        "Reward spec",
        "Sample cases",
        "Run output",
        "Metric call",
        "Metric return value",
        "Perfect answer",
        "Signal",
        "Repeatability",
    )
    at = names.index(failed) if failed else len(names)
    found: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        status = "failed" if number == at else "skipped" if number > at or name == "Reward spec" else "passed"
        found.append({"name": name, "status": status, "message": "", "case": None, "file": None, "line": None})
    if failed:
        found[at] |= {
            "message": 'score() returned 0.5; return a pair: a number and a dict with a string under "feedback"',
            "case": "17",
            "file": "project/metric.py",
            "line": 12,
        }
    else:
        found[9] |= {
            "status": "warning",
            "message": "All three samples scored 0; the engine may find nothing to go by.",
        }
    return found


def no_gain() -> dict[str, Any]:
    """The interval includes 0."""
    return success(
        status="finished",
        finish_reason="converged",
        best=measured(BEST, 0.6, 0.542),
        challenger=measured(BEST, 0.6, 0.542),
        difference={
            "mean": 0.042,
            "low": -0.115,
            "high": 0.192,
            "p": 1.0,
            "wins": 2,
            "ties": 21,
            "losses": 1,
            "cases": 24,
            "unpaired": 0,
            "smallest_difference": 0.25,
        },
        warnings=[
            "No difference is shown: the 95 % interval of the difference on test, −0.115 to +0.192, includes 0.",
            "Too few cases to tell: 24 test cases could only show a difference of about 0.25 or more.",
            "Test seen 4 times: these test rows were scored before in this store, so they are no longer unseen.",
        ],
        data_warnings=["Equal inputs in train and test: rows 14 and 88."],
        test_seen=4,
        cases=cases(2, 1, 21),
        labels=True,
        demonstrations=["user: Arrived a day early.\nassistant: positive", f"user: {_REVIEWS[3]}\nassistant: positive"],
    )


def rejected() -> dict[str, Any]:
    """The version that won on val lost on test."""
    return success(
        changed=False,
        rejected=BEST,
        best=measured(START, 0.55, 0.5),
        challenger=measured(BEST, 0.85, 0.417),
        difference={
            "mean": -0.083,
            "low": -0.27,
            "high": 0.115,
            "p": 0.625,
            "wins": 1,
            "ties": 20,
            "losses": 3,
            "cases": 24,
            "unpaired": 0,
            "smallest_difference": 0.25,
        },
        versions=[one | {"status": "rejected"} if one["id"] == BEST else one for one in versions()],
        cases=cases(1, 3, 20),
    )


def no_test() -> dict[str, Any]:
    """Nothing is held out."""
    return success(
        status="finished",
        finish_reason="engine_done",
        baseline=measured(START, 0.55, None),
        best=measured(BEST, 0.85, None),
        challenger=measured(BEST, 0.85, None),
        difference=None,
        cases=[],
        named_scores=[],
        split_sizes={"train": 60, "val": 20, "test": 0},
        test_seen=0,
        warnings=[],
        data_warnings=["No test split: nothing is held out, so there is no verdict on unseen cases."],
    )


def failed() -> dict[str, Any]:
    """The contract check failed: nearly nothing exists."""
    empty: dict[str, Any] = dict.fromkeys(success())
    kept = {
        key: success()[key] for key in ("schema", "run", "name", "objective", "engine", "skynet_version", "split_sizes")
    }
    return {
        **empty,
        **kept,
        "status": "failed",
        "finish_reason": "check_failed",
        "changed": False,
        "error": "Metric return value: case 17, metric.py line 12: score() returned 0.5, not a pair.",
        "check": {"stages": stages("Metric return value")},
    }
