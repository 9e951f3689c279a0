"""What failed in a run, grouped by its cause: for the report, and as sentences for whoever trusts its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skynet.runs.report.show import counted, one_line, score
from skynet.runs.stored_evaluations import StoredEvaluation
from skynet.summary.coverage import ALLOWED_POINTS_BEHIND, Failure
from skynet.workers.fault import Fault

_ERROR_CHARS = 300
_NAMED = 3  # causes, or versions, that one sentence names; the rest are counted
_WHO = {"metric": "The metric", "target": "The target", "provider": "A model's provider"}


def failures_of(evaluations: Sequence[StoredEvaluation]) -> dict[str, Any]:
    """Return how many evaluations this run executed, and its failures by kind and cause, the most frequent first.

    One cause is one place in the user's files, or one message where no line of them is known.
    """
    own = [one for one in evaluations if not one.forked]
    groups: dict[tuple[str, ...], list[StoredEvaluation]] = {}
    for one in own:
        if one.fault is not None:
            groups.setdefault((str(one.failure), *_cause(one.fault)), []).append(one)
    ordered = sorted(groups.values(), key=len, reverse=True)
    return {"evaluations": len(own), "groups": [_group(members) for members in ordered]}


def failure_warnings(failures: Mapping[str, Any], names: Mapping[str, str], failure_score: float | None) -> list[str]:
    """Return a warning for each kind of failure: every failure of the metric, others from 5 % of the evaluations on.

    `names` are the versions' short names.
    """
    total = failures["evaluations"]
    found = []
    for kind in _WHO:
        groups = [group for group in failures["groups"] if group["failure"] == kind]
        count = sum(group["count"] for group in groups)
        if count and (kind == "metric" or 100 * count >= ALLOWED_POINTS_BEHIND * total):
            share = f"{count:,} of {counted(total, 'evaluation')}"
            found.append(
                f"{_WHO[kind]} failed on {share}{_meaning(kind, failure_score)}: {_causes(groups)}. "
                f"It failed in {_versions(groups, names)}."
            )
    return found


def _cause(fault: Fault) -> tuple[str, ...]:
    place = (fault.file, str(fault.line)) if fault.file and fault.line else (fault.message,)
    return (fault.kind, fault.type, *place)


def _group(members: Sequence[StoredEvaluation]) -> dict[str, Any]:
    fault = members[0].fault
    return {
        "failure": members[0].failure,
        "count": len(members),
        "error": one_line(str(fault), _ERROR_CHARS),
        "file": None if fault is None else fault.file,
        "line": None if fault is None else fault.line,
        "versions": dict(Counter(one.version for one in members).most_common()),
    }


def _meaning(kind: Failure | str, failure_score: float | None) -> str:
    worth = "the failure score" if failure_score is None else f"the failure score, {score(failure_score)}"
    if kind == "target":
        return f", which count as {worth}"
    told = f" (an engine is told {worth})" if kind == "metric" else ""
    return f", which therefore have no score{told}"


def _causes(groups: Sequence[Mapping[str, Any]]) -> str:
    if len(groups) == 1:
        return str(groups[0]["error"])
    named = [f"{group['error']}, {counted(group['count'], 'time')}" for group in groups[:_NAMED]]
    left = sum(group["count"] for group in groups[_NAMED:])
    return "; ".join([*named, *([f"other errors, {counted(left, 'time')}"] if left else [])])


def _versions(groups: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """Name the versions in the order in which they came; an engine's probe has no name."""
    hit = {version for group in groups for version in group["versions"]}
    known = [name for version, name in names.items() if version in hit]
    parts, left = known[:_NAMED], len(known) - _NAMED
    if left > 0:
        parts.append(known[-1] if left == 1 else f"{left} more versions")
    if len(hit) > len(known):
        parts.append(f"{counted(len(hit) - len(known), 'state')} that the engine only tried out")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
