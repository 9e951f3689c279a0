"""Made-up reports at the edges: every string hostile, or very much of everything."""

from __future__ import annotations

import random
from typing import Any

from tests.runs.report.samples import cases, measured, side, success, version

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'` & ${x} {{ y }} | [a](http://evil) "
    "\x00\x1b[31m \ud83d \u202egnp.exe " + "W" * 3000
)
RTL = "الخدمة ممتازة والطعام لذيذ، لكن الانتظار كان طويلا (30 دقيقة)."


def hostile() -> dict[str, Any]:
    """Every string of the report is hostile, keys of free mappings included."""
    known = {"status", "finish_reason", "split", "failure"}

    def poison(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            free = key in ("scores", "input", "expected", "options")
            return {HOSTILE + name if free else name: poison(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [poison(item, key) for item in value]
        return HOSTILE + value if isinstance(value, str) and key not in known else value

    poisoned: dict[str, Any] = poison(success(cases=cases(2, 1, 5)))
    poisoned["demonstrations"] = [RTL, HOSTILE]
    poisoned["error"] = HOSTILE
    poisoned["cases"][0]["start"] |= {"output": RTL, "feedback": RTL}
    poisoned["cases"][1]["best"] = side(
        None, {"answer": [1, None, HOSTILE]}, "", status="failed", failure="target", error=f"ValueError: {HOSTILE}"
    )
    return poisoned


def large(case_count: int = 200, version_count: int = 100) -> dict[str, Any]:
    """Many cases, versions and long texts."""
    random_ = random.Random(3)
    found = [version("v0", None, 0, 0.4, "start", "")]
    for number in range(1, version_count):
        parent = f"v{max(0, number - random_.choice((1, 1, 1, 2, 3, 8)))}"
        val = round(min(0.95, 0.4 + 0.005 * number + random_.uniform(-0.15, 0.08)), 3)
        note = "Shortened the rule on irony and moved the labels to the end of the prompt, where they are read last."
        found.append(version(f"v{number}", parent, 20 * number, val, "candidate", note))
    best = max(found, key=lambda one: one["val"])
    best["status"] = "best"
    curve, top = [], 0.0
    for one in found:
        if one["val"] > top:
            top = one["val"]
            calls = one["val_at_call"]
            curve.append({"metric_calls": calls, "usd": calls * 0.0004, "usd_lower_bound": False, "best_val": top})
    many = cases(case_count // 4, case_count // 20, case_count - case_count // 4 - case_count // 20)
    for number, one in enumerate(many):
        if number % 7 == 0:
            one["best"]["feedback"] = "A long remark on this answer. " * 60
    return success(
        versions=found,
        curve=curve,
        best=measured(best["id"], best["val"], 0.7),
        challenger=measured(best["id"], best["val"], 0.7),
        cases=many,
        baseline=measured("v0", 0.4, 0.5),
    )
