"""The target of an evaluation job with a prompt: the template, filled in with the row, asked of the task model."""

from __future__ import annotations

from skynet.artifact import Artifact
from skynet.models.door import ModelDoor
from skynet.scorers.result import ScorerError
from skynet.scorers.template import render
from skynet.target.base import TargetResult, Ticket
from skynet.target.chat import ask_task_model, needs_task_model
from skynet.workers.fault import Fault


class PromptedTarget:
    """One call of the task model a case; the artifact's text is a Jinja template over the input columns."""

    def __init__(self, gateway: ModelDoor, timeout: float) -> None:
        self._gateway = gateway
        self._timeout = timeout

    def load(self) -> TargetResult | None:
        """Say that a task model is needed where none is set."""
        return needs_task_model(self._gateway, "an evaluation with eval.prompt")

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Fill the template in and ask the task model. A name that the row lacks is a fault."""
        try:
            text = render(artifact.text, ticket.case.input, {})
        except ScorerError as error:
            return TargetResult(fault=Fault("raised", str(error), type="TemplateError"))
        messages = [{"role": "user", "content": text}]
        return ask_task_model(self._gateway, messages, ticket, choices=None, timeout=self._timeout)

    def clock_floor_ms(self) -> float | None:
        """None: the time is the provider's."""
        return None

    def close(self) -> None:
        """Nothing of its own runs."""
