"""The run's models as language models of dspy: journaled, priced and within the budget, with no cache of dspy's."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import dspy

from skynet.engine import ModelFailed, ModelReply, Models, Programs, SearchBroken

from .dspy_door import ROLLOUT, Carried

FAILURES_IN_A_ROW = 5


class LanguageModels:
    """The task model that programs run with, and the reflection model that proposes; None where none is set."""

    def __init__(self, programs: Programs, models: Models) -> None:
        self._models = models
        self._lock = threading.Lock()
        self._failed = 0
        self.task = programs.language_model("skynet/task", self._ask_task)
        has = models.has("reflection")
        self.reflection = programs.language_model("skynet/reflection", self._ask_reflection) if has else None

    def _ask_task(self, request: dict[str, Any]) -> ModelReply:
        carried: contextvars.Context | None = dspy.settings.get(ROLLOUT)
        if carried is None:
            return self._models.ask(request, role="task")
        return carried.copy().run(self._models.ask, request, role="task")  # several threads may be in it at a time

    def _ask_reflection(self, request: dict[str, Any]) -> ModelReply:
        try:
            reply = self._models.ask(request, role="reflection")
        except ModelFailed as failure:
            self._count(failure)
            raise
        with self._lock:
            self._failed = 0
        return reply

    def _count(self, failure: ModelFailed) -> None:
        """Optimizers shrug at a failed proposal; after five in a row there is no proposer."""
        with self._lock:
            self._failed += 1
            if self._failed >= FAILURES_IN_A_ROW:
                text = f"{self._failed} requests in a row to the reflection model failed: {failure}"
                raise Carried(SearchBroken(text)) from failure
