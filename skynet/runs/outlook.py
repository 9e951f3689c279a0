"""What can be said before a run starts: what its budget buys, and what speaks against starting it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from skynet.artifact import Artifact
from skynet.engine import Engine, SearchTask, Version
from skynet.evaluation.project import Project
from skynet.runs.engine_check import refuse_engine
from skynet.runs.engines import EngineError
from skynet.runs.money import Refused, plan_of
from skynet.runs.needed_models import missing_models, unpriced_models, unusable_models
from skynet.runs.plan import Passes, known_beforehand, plan_passes
from skynet.runs.task import search_task

_MOST_CALLS = 1_000_000  # no budget is looked for above it
_UNTRUSTED = (
    "the artifact is code, and a model writes its versions: they run in processes of their own without your keys, but "
    "as your user, with your files and your network. Say that you trust them with --trust-artifacts"
)


@dataclass(frozen=True, slots=True)
class Outlook:
    """`limit` and `proposals` are None where the budget does not count metric calls.

    `by_bound` is about how many proposals dollars or tokens buy when every target call costs the most that it can, None
    where they are less than the passes; `bounding` says which of them, empty where neither is known beforehand.
    Refusals hold unless the user says yes; `untrusted`, empty where no version is code, unless versions are trusted.
    """

    limit: int | None
    proposals: int | None
    passes: int
    refusals: list[str] = field(default_factory=list)
    untrusted: str = ""
    by_bound: int | None = None
    bounding: str = ""

    def held_against(self, accept: bool, accept_code: bool) -> list[str]:
        """Return what is left to refuse the run for, after what the user accepts."""
        untrusted = [self.untrusted] if self.untrusted and not accept_code else []
        return untrusted + ([] if accept else self.refusals)

    def sentence(self) -> str:
        """Return what the budget buys, in one sentence or two."""
        if self.limit is None or self.proposals is None:
            told = f"Check, start and sealed pass take up to {self.passes} metric calls; the search takes what is left."
        else:
            told = (
                f"Of {self.limit} metric calls, check, start and sealed pass take up to {self.passes}; "
                f"the rest buys about {_count(self.proposals)}."
            )
        if self.limit is None and not self.bounding:
            return f"{told} How many proposals that buys cannot be told before the first calls are measured."
        if self.by_bound is None or (self.proposals is not None and self.proposals <= self.by_bound):
            return told
        return (
            f"{told} Were every target call to cost the most that it can, {self.bounding} would buy about "
            f"{_count(self.by_bound)}, less what the reflection model takes; most calls cost far less."
        )


def _count(proposals: int) -> str:
    return f"{proposals} proposal{'' if proposals == 1 else 's'}"


def look_ahead(project: Project, engine: Engine, options: Any) -> Outlook:
    """Return the outlook of a run.

    Raises EngineError when the engine cannot work on the project, Refused when a model that the run calls is not named
    or cannot be used.
    """
    if missing := missing_models(project):
        raise Refused("\n".join(missing))
    task = _task(project, options)
    asked = refuse_engine(engine, task, project.gateway, options)
    unusable, unsure = unusable_models(project, asked)
    if unusable:
        raise Refused("\n".join(unusable))
    passes, limit = plan_passes(project, project.start), project.spec.budget.metric_calls
    needed = passes.total.metric_calls
    proposals = None if limit is None or limit < needed else engine.estimate(task, limit - needed, options)
    refusals = [*unsure, *_unmetered(project, asked)]
    if limit is not None and proposals is not None and proposals < 1:
        refusals.append(
            f"the budget buys no proposal: of {limit} metric calls, check, start and sealed pass take up to "
            f"{needed}. {_least(engine, task, options, needed, limit)}, or go on all the same with --yes"
        )
    bounding, calls = _bound(project, passes)
    return Outlook(
        limit,
        proposals,
        needed,
        refusals,
        _UNTRUSTED if project.spec.artifact.kind == "code" else "",
        None if calls is None else engine.estimate(task, calls, options),
        bounding,
    )


def _least(engine: Engine, task: SearchTask, options: Any, needed: int, limit: int) -> str:
    """Return to what the budget would have to be raised: found by doubling, then by halves."""
    low, high = limit, 2 * max(limit, needed)
    while engine.estimate(task, high - needed, options) < 1:
        if high > _MOST_CALLS:
            return "Raise [budget] metric_calls"
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        bought = middle > needed and engine.estimate(task, middle - needed, options) >= 1
        low, high = (low, middle) if bought else (middle, high)
    return f"Raise [budget] metric_calls to {high} or more"


def would_refuse(project: Project, engine: Engine, options: Any) -> str:
    """Return why a run of the project would be refused as it stands; empty when it would not be."""
    try:
        plan_of(project.spec)
        return "\n".join(look_ahead(project, engine, options).refusals)
    except (Refused, EngineError) as refused:
        return str(refused)


def unmetered(project: Project, engine: Engine, options: Any) -> list[str]:
    """Return why the dollars of a run that goes on cannot be kept, where a dollar budget is set."""
    if project.spec.budget.usd is None and not project.spec.budget.usd_by_role:
        return []
    asked = refuse_engine(engine, _task(project, options), project.gateway, options)
    return _unmetered(project, asked)


def _task(project: Project, options: Any) -> SearchTask:
    """Return the engine's task; an empty text stands for a start version that is not written yet."""
    start = project.start or Artifact(project.spec.artifact.kind, "")
    return search_task(project, Version(start), options)


def _bound(project: Project, passes: Passes) -> tuple[str, int | None]:
    """Return which of dollars and tokens buys fewer of chat's calls at their most beside the passes, and how many."""
    budget, each = project.spec.budget, passes.start.amounts
    if project.start is None or not known_beforehand(project) or not each.metric_calls:
        return "", None
    found: dict[str, int] = {}
    if budget.usd is not None and each.usd:
        left = budget.usd - passes.total.amounts.usd
        found[f"usd = {budget.usd:g}"] = int(left * each.metric_calls / each.usd)
    if budget.tokens is not None and each.tokens:
        left = budget.tokens - passes.total.amounts.tokens
        found[f"tokens = {budget.tokens}"] = int(left * each.metric_calls / each.tokens)
    if not found:
        return "", None
    fewest = min(found, key=lambda name: found[name])
    return fewest, None if found[fewest] < 0 else found[fewest]


def _unmetered(project: Project, asked: frozenset[str]) -> list[str]:
    """Return why dollars cannot be kept, where a dollar budget is set."""
    spec = project.spec
    if spec.budget.usd is None and not spec.budget.usd_by_role:
        return []
    refusals = [unpriced_models(project, asked)]
    if spec.target.kind == "http" and spec.target.cost is None:
        refusals.append(
            "[budget] usd is set, but nothing tells what the target spends itself. Name the place in its reply that "
            'holds the dollars, such as cost = "usage.usd" under [target], or go on with --yes: dollars are a lower '
            "bound then"
        )
    elif spec.target.kind == "command" or project.unmetered:
        refusals.append(
            "[budget] usd is set, but what the target spends itself cannot be metered. Go on with --yes: dollars are "
            "a lower bound then"
        )
    return [text for text in refusals if text]
