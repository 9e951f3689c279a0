"""What can be said before a run starts: what its budget buys, and what speaks against starting it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from skynet.engine import Engine, SearchTask, Version
from skynet.evaluation.project import Project
from skynet.models.ledger import Role
from skynet.runs.engine_models import EngineModels
from skynet.runs.engines import EngineError
from skynet.runs.plan import plan_passes
from skynet.runs.task import search_task

ROLES: tuple[Role, ...] = ("task", "reflection", "metric")
_UNTRUSTED = (
    "the artifact is code, and a model writes its versions: they run in processes of their own without your keys, but "
    "as your user, with your files and your network. Say that you trust them with --trust-artifacts"
)


@dataclass(frozen=True, slots=True)
class Outlook:
    """`limit` and `proposals` are None where the budget does not count metric calls.

    Refusals hold unless the user says yes; `untrusted`, empty where no version is code, unless versions are trusted.
    """

    limit: int | None
    proposals: int | None
    passes: int
    refusals: list[str] = field(default_factory=list)
    untrusted: str = ""

    def held_against(self, accept: bool, accept_code: bool) -> list[str]:
        """Return what is left to refuse the run for, after what the user accepts."""
        untrusted = [self.untrusted] if self.untrusted and not accept_code else []
        return untrusted + ([] if accept else self.refusals)

    def sentence(self) -> str:
        """Return what the budget buys, in one sentence."""
        if self.limit is None or self.proposals is None:
            return f"Check, start and sealed pass take up to {self.passes} metric calls; the search takes what is left."
        return (
            f"Of {self.limit} metric calls, check, start and sealed pass take up to {self.passes}; "
            f"the rest buys about {self.proposals} proposal{'' if self.proposals == 1 else 's'}."
        )


def look_ahead(project: Project, engine: Engine, options: Any) -> Outlook:
    """Return the outlook of a run. Raises EngineError when the engine cannot work on the project."""
    passes = plan_passes(project, project.start).total.metric_calls
    limit = project.spec.budget.metric_calls
    proposals = None
    refusals = _unpriced(project)
    task = None if project.start is None else search_task(project, Version(project.start), options)
    if task is not None:
        _refuse_engine(engine, task, project, options)
    if limit is not None and task is not None and limit >= passes:
        proposals = engine.estimate(task, limit - passes, options)
        if proposals < 1:
            refusals.append(
                f"the budget buys no proposal: of {limit} metric calls, check, start and sealed pass take up to "
                f"{passes}. Raise [budget] metric_calls, or go on all the same with --yes"
            )
    return Outlook(limit, proposals, passes, refusals, _UNTRUSTED if project.spec.artifact.kind == "code" else "")


def _refuse_engine(engine: Engine, task: SearchTask, project: Project, options: Any) -> None:
    models = EngineModels(project.gateway, engine.name, threading.Event())
    refusal = engine.applies(task, models, options)
    if refusal is not None:
        raise EngineError(f"the engine {engine.name!r} cannot work on this project: {refusal}")


def _unpriced(project: Project) -> list[str]:
    """Return why dollars cannot be kept, where a dollar budget is set and a price is unknown."""
    spec = project.spec
    if spec.budget.usd is None and not spec.budget.usd_by_role:
        return []
    refusals = [
        f"[budget] usd is set, but the {role} model {project.gateway.describe(role)['name']!r} has no price. Give it "
        f"one, such as price = {{ input = 0.1, output = 0.4 }}, or go on with --yes: dollars are a lower bound then"
        for role in ROLES
        if project.gateway.has(role) and project.gateway.price(role) is None
    ]
    if spec.target.kind in ("http", "command") or project.unmetered:
        refusals.append(
            "[budget] usd is set, but what the target spends itself cannot be metered. Go on with --yes: dollars are "
            "a lower bound then"
        )
    return list(dict.fromkeys(refusals))
