"""The models as an engine sees them: metered, journaled under the engine's name, faults told as ModelFailed."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, cast

from skynet.engine import Message, ModelFailed, ModelReply
from skynet.errors import SkynetError
from skynet.evaluation.guards import Stop
from skynet.evaluation.rollout import current_meter
from skynet.models.calls import current_place
from skynet.models.door import ModelDoor
from skynet.models.faults import ProviderError
from skynet.models.ledger import Role
from skynet.models.retry import Cancelled
from skynet.workers.fault import Fault


class EngineModels:
    """The run's models for one engine. Closed, every call raises the stop again."""

    def __init__(self, door: ModelDoor, lane: str, cancel: threading.Event) -> None:
        self._door = door
        self._place = f"engine:{lane}"
        self._cancel = cancel
        self._closed: Stop | None = None

    def has(self, role: str) -> bool:
        """Whether a model stands behind the role."""
        return self._door.has(cast(Role, role))

    def complete(
        self,
        messages: Sequence[Message],
        *,
        role: str = "reflection",
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """Return the reply. Raises ModelFailed when the provider fails, or the stop of the run."""
        request = {"messages": list(messages), "temperature": temperature, "max_tokens": max_tokens}
        return self.ask(request, role).text

    def ask(self, request: Mapping[str, Any], role: str = "reflection") -> ModelReply:
        """Return the whole reply. Raises ModelFailed when the provider fails, or the stop of the run."""
        if self._closed is not None:
            raise self._closed
        meter = current_meter.get()
        token = None if meter is not None else current_place.set(self._place)  # a rollout is a place of its own
        try:
            reply = self._door.complete(cast(Role, role), cancel=self._cancel, **request)
            if meter is not None:
                meter.add(reply)
        except Cancelled:
            raise Stop("cancelled") from None
        except ProviderError as error:
            if error.hopeless:
                raise Stop("provider", str(error)) from None
            if meter is not None:
                meter.provider_fault = Fault("provider", str(error), type="ModelError", data={"permanent": False})
            raise ModelFailed(str(error)) from None
        except SkynetError as error:
            raise Stop("provider", str(error)) from None
        finally:
            if token is not None:
                current_place.reset(token)
        return ModelReply(
            reply.text, reply.tool_calls, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens
        )

    def close(self, stop: Stop) -> None:
        """Close the door for good."""
        self._closed = self._closed or stop
