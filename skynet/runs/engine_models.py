"""The models as an engine sees them: metered, journaled under the engine's name, faults told as ModelFailed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from skynet.engine import Message, ModelFailed, ModelReply
from skynet.errors import SkynetError
from skynet.evaluation.guards import Stop
from skynet.evaluation.rollout import Meter, current_meter
from skynet.models.calls import Reply, current_place
from skynet.models.door import ModelDoor
from skynet.models.faults import ProviderError
from skynet.models.ledger import Role
from skynet.models.retry import Cancelled
from skynet.workers.fault import Fault


class EngineModels:
    """The run's models for one engine. Closed, every call raises the stop again.

    `cut` counts the replies of the reflection model that were cut at their limit, by the reason told.
    """

    def __init__(self, door: ModelDoor, lane: str, cancel: threading.Event) -> None:
        self._door = door
        self._place = f"engine:{lane}"
        self._cancel = cancel
        self._closed: Stop | None = None
        self._lock = threading.Lock()
        self.cut: Counter[str] = Counter()

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
            reply = self._complete(cast(Role, role), request, meter)
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
        told = ModelReply(
            reply.text, reply.tool_calls, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens,
            self._limit(request, role),
        )  # fmt: skip
        if role == "reflection" and told.cut:
            with self._lock:
                self.cut[told.cut] += 1
        return told

    def _complete(self, role: Role, request: Mapping[str, Any], meter: Meter | None) -> Reply:
        if meter is None:
            return self._door.complete(role, cancel=self._cancel, **request)
        with meter.open.call():
            reply = self._door.complete(role, cancel=self._cancel, given_up=meter.open.over, **request)
            meter.add(reply)
        return reply

    def _limit(self, request: Mapping[str, Any], role: str) -> int:
        params = self._door.describe(cast(Role, role))["params"]
        limit: int = request.get("max_tokens") or params.get("max_completion_tokens") or params["max_tokens"]
        return limit

    @property
    def notes(self) -> list[str]:
        """What the user should know of the replies."""
        return [f"Of the reflection model's replies {count} did not end: {why}." for why, count in self.cut.items()]

    def close(self, stop: Stop) -> None:
        """Close the door for good."""
        self._closed = self._closed or stop
