"""Skynet improves a prompt or a program against your own metric, and proves first that the metric works.

Metric files and notebooks import from here. Every name is loaded when it is first used, so `import skynet` costs
next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skynet import scorers as scorers
    from skynet.artifact import Artifact as Artifact
    from skynet.errors import SkynetError as SkynetError
    from skynet.evaluation.api import check as check
    from skynet.metric.context import ModelError as ModelError
    from skynet.metric.helpers import llm as llm
    from skynet.metric.helpers import observation as observation
    from skynet.metric.helpers import service_cost as service_cost
    from skynet.metric.helpers import unmeasured as unmeasured
    from skynet.metric.reward import reward as reward
    from skynet.metric.verdict import verdict as verdict
    from skynet.runs.api import optimize as optimize
    from skynet.runs.evaluation_api import evaluate as evaluate
    from skynet.scorers.composing import compose as compose
    from skynet.typed.adapting import adapt as adapt

_HOMES = {
    "Artifact": "skynet.artifact",
    "adapt": "skynet.typed.adapting",
    "check": "skynet.evaluation.api",
    "compose": "skynet.scorers.composing",
    "evaluate": "skynet.runs.evaluation_api",
    "llm": "skynet.metric.helpers",
    "observation": "skynet.metric.helpers",
    "optimize": "skynet.runs.api",
    "service_cost": "skynet.metric.helpers",
    "unmeasured": "skynet.metric.helpers",
    "reward": "skynet.metric.reward",
    "verdict": "skynet.metric.verdict",
    "ModelError": "skynet.metric.context",
    "SkynetError": "skynet.errors",
}
_ROOMS = ("scorers",)
__all__ = [
    "Artifact",
    "ModelError",
    "SkynetError",
    "adapt",
    "check",
    "compose",
    "evaluate",
    "llm",
    "observation",
    "optimize",
    "reward",
    "scorers",
    "service_cost",
    "unmeasured",
    "verdict",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES and name not in _ROOMS:
        from skynet.errors import nearest

        raise AttributeError(f"skynet has no {name!r}.{nearest(name, __all__)}")
    from importlib import import_module

    value = import_module(f"{__name__}.{name}") if name in _ROOMS else getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
