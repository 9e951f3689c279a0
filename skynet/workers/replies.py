"""How an order ended, as the host takes it: of a worker's reply nothing is believed that only the host can know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skynet.workers.fault import Fault, FaultKind, cut, told_fault

_WHY_CHARS = 300


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """A value or a fault; `clean` where the worker says that the call left nothing behind."""

    value: Any
    fault: Fault | None
    clean: bool


def checked(message: dict[str, Any], number: int, loading: bool) -> WorkerReply:
    """Return the reply to the order with this number. Raises ValueError for what our own runtime never sends.

    Nobody can guess the number: a reply that was sent before its order came is refused.
    """
    kind, answered, left = message.get("kind"), message.get("number"), message.get("left")
    if type(answered) is not int or answered != number:
        raise ValueError("it replies to another order")
    if not isinstance(left, str):
        raise ValueError("it does not say what the call left behind")
    if kind == "done" and "value" in message:
        return WorkerReply(message["value"], None, not left)
    if kind != "fault":
        raise ValueError("it is neither a value nor a fault")
    return WorkerReply(None, told_fault(message.get("fault"), loading), not left)


def lost(kind: FaultKind, message: str, data: dict[str, Any] | None = None) -> WorkerReply:
    """Return what stands for the reply of a worker that is given up."""
    return WorkerReply(None, Fault(kind, message, data=data or {}), False)


def garbled(error: ValueError) -> WorkerReply:
    """Return what stands for a reply that is none."""
    return lost("bad_output", f"the process sent what is no reply: {cut(str(error), _WHY_CHARS)}")


def timed_out(seconds: float, in_request: bool, what: str, place: tuple[str, int] | None, source: str) -> WorkerReply:
    """Return what stands for a reply that did not come in time; `source` is the line at `place`."""
    if in_request:
        return lost("provider", f"{what} took more than {seconds:g} s, waiting for a model's reply")
    message = f"{what} took more than {seconds:g} s and was stopped{f' at: {source}' if source else ''}"
    file, line = place or (None, None)
    return WorkerReply(None, Fault("timeout", message, file=file, line=line), False)
