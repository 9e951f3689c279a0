"""The chat target: the artifact becomes the messages of one call to the task model."""

from __future__ import annotations

from collections.abc import Sequence

from skynet.artifact import Artifact
from skynet.errors import SkynetError
from skynet.models.backend import Message
from skynet.models.calls import Scope
from skynet.models.door import ModelDoor
from skynet.models.faults import ProviderError
from skynet.models.retry import Cancelled
from skynet.target.base import TargetResult, Ticket
from skynet.target.prompt import render
from skynet.workers.fault import Fault


class ChatTarget:
    """One call of the task model a case; the output is its text, or the choice when `choices` are set."""

    def __init__(self, gateway: ModelDoor, choices: Sequence[str] | None, timeout: float) -> None:
        self._gateway = gateway
        self._choices = choices
        self._timeout = timeout

    def load(self) -> TargetResult | None:
        """Say that a task model is needed where none is set."""
        return needs_task_model(self._gateway, "a chat target")

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Render the text with the case's input and ask the task model."""
        messages = render(artifact.content, ticket.case.input)
        return ask_task_model(self._gateway, messages, ticket, choices=self._choices, timeout=self._timeout)

    def clock_floor_ms(self) -> float | None:
        """None: the time is the provider's."""
        return None

    def close(self) -> None:
        """Nothing of its own runs."""


def needs_task_model(gateway: ModelDoor, who: str) -> TargetResult | None:
    """Return the failure of a target that needs a task model where none is set, None where one is."""
    if gateway.has("task"):
        return None
    message = f"{who} needs a task model; name one under [models] as task in skynet.toml"
    return TargetResult(fault=Fault("provider", message, data={"no_model": "task", "permanent": True}))


def ask_task_model(
    gateway: ModelDoor,
    messages: Sequence[Message],
    ticket: Ticket,
    *,
    choices: Sequence[str] | None,
    timeout: float,
) -> TargetResult:
    """Ask the task model once for the ticket's case; the output is the reply's text."""
    try:
        reply = gateway.complete(
            "task",
            messages,
            choices=choices,
            scope=Scope(case=ticket.case.id, version=ticket.version),
            cancel=ticket.cancel,
            timeout=timeout,
        )
    except Cancelled as error:
        return TargetResult(fault=Fault("cancelled", str(error)))
    except ProviderError as error:
        return TargetResult(fault=Fault("provider", str(error), data={"permanent": error.hopeless}))
    except SkynetError as error:
        return TargetResult(fault=Fault("provider", str(error), data={"permanent": True}))
    return TargetResult(
        output=reply.text,
        elapsed_ms=reply.latency_ms,
        cost_usd=reply.cost_usd,
        model_calls=1,
        prompt_tokens=reply.prompt_tokens or 0,
        completion_tokens=reply.completion_tokens or 0,
    )
