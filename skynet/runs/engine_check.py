"""Whether the engine that a spec names can be used, asked before anything is run."""

from __future__ import annotations

import threading
from typing import Any

from skynet.engine import Engine, SearchTask
from skynet.models.door import ModelDoor
from skynet.runs.engine_models import EngineModels
from skynet.runs.engines import EngineError, engine_options, load_engine
from skynet.spec import Spec


def checked_engine(spec: Spec) -> tuple[Engine, Any]:
    """Return the spec's engine and its checked options. Raises EngineError naming what is wrong with name or option."""
    engine = load_engine(spec.engine.name)
    return engine, engine_options(engine, spec.engine)


def refuse_engine(engine: Engine, task: SearchTask, models: ModelDoor, options: Any) -> frozenset[str]:
    """Raise EngineError, with the engine's reason, when it cannot work on the task.

    Return the roles of the models that it asked for, which are those that it will call.
    """
    noted = _NotedModels(models, engine.name, threading.Event())
    refusal = engine.applies(task, noted, options)
    if refusal is not None:
        raise EngineError(f"the engine {engine.name!r} cannot work on this project: {refusal}")
    return frozenset(noted.roles)


class _NotedModels(EngineModels):
    """Notes the roles that an engine asks for."""

    def __init__(self, door: ModelDoor, lane: str, cancel: threading.Event) -> None:
        super().__init__(door, lane, cancel)
        self.roles: set[str] = set()

    def has(self, role: str) -> bool:
        """Whether a model stands behind the role."""
        self.roles.add(role)
        return super().has(role)
