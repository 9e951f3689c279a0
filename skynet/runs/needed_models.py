"""The models that a run will call, as target, engine and metric tell before it, and what speaks against them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from skynet.errors import SkynetError
from skynet.evaluation.project import Project
from skynet.models.ledger import Role

ROLES: tuple[Role, ...] = ("task", "reflection", "metric")
Use = Literal["yes", "perhaps", "no"]


def use_of(project: Project, role: Role, asked: Collection[str]) -> Use:
    """Return whether the run calls the role's model; `asked` are the roles that its engine asked for.

    Whether the metric calls one is told by loading it.
    """
    if not project.gateway.has(role):
        return "no"
    if role == "metric":
        loaded = project.metric.load()  # a metric that does not load is the check's to tell
        return "yes" if loaded.fault is None and loaded.value["calls_llm"] else "no"
    if role in asked or (role == "reflection" and project.start is None):
        return "yes"
    if role == "reflection" or project.spec.target.kind == "http":
        return "no"
    return "yes" if project.spec.target.kind in ("chat", "dspy") else "perhaps"  # user code may call llm, or not


def unusable_models(project: Project, asked: Collection[str]) -> tuple[list[str], list[str]]:
    """Return why models cannot be used that the run calls, and the same of those that it may never call."""
    told: dict[Use, dict[str, str]] = {"yes": {}, "perhaps": {}, "no": {}}
    for role in ROLES:
        problem = _problem(project, role)
        if problem:
            name = str(project.gateway.describe(role)["name"])  # the metric's is mostly the reflection model: once
            told[use_of(project, role, asked)].setdefault(name, problem)
    unsure = [f"{text} Where the target does not call it, go on with --yes" for text in told["perhaps"].values()]
    return list(told["yes"].values()), unsure


def _problem(project: Project, role: Role) -> str:
    if not project.gateway.has(role):
        return ""
    try:
        project.gateway.check(role)
    except SkynetError as error:
        return str(error)
    return ""


def missing_models(project: Project) -> list[str]:
    """Return which models are not named that every run of the project calls."""
    missing = []
    if project.spec.target.kind == "chat" and not project.gateway.has("task"):
        missing.append("a chat target needs a task model; name one under [models] as task")
    if project.start is None and not project.gateway.has("reflection"):
        missing.append(
            "there is no start version, and no reflection model to write one; name a file under [artifact] path, or a "
            "model under [models] as reflection"
        )
    return missing


def unpriced_models(project: Project, asked: Collection[str]) -> str:
    """Return the refusal of a dollar budget for the models without a price, in one sentence; empty without any."""
    names: dict[str, list[Role]] = {}
    for role in ROLES:
        if project.gateway.has(role) and project.gateway.price(role) is None and use_of(project, role, asked) != "no":
            names.setdefault(str(project.gateway.describe(role)["name"]), []).append(role)
    if not names:
        return ""
    has, it = ("has", "it") if len(names) == 1 else ("have", "each")
    return (
        f"[budget] usd is set, but {_listed(names)} {has} no price. Give {it} one, such as "
        "price = { input = 0.1, output = 0.4 }, or go on with --yes: dollars are a lower bound then"
    )


def _listed(names: Mapping[str, Sequence[Role]]) -> str:
    return " and ".join(f"the {' and '.join(roles)} model {name!r}" for name, roles in names.items())
