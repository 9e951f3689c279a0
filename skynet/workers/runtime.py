"""The worker's loop: load the user's file once, then run one call after another, each from a clean state."""

from __future__ import annotations

import faulthandler
import fcntl
import importlib
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from skynet.workers import hang
from skynet.workers.channel import Channel, HostGone
from skynet.workers.clean import CleanState
from skynet.workers.fault import Fault, fault_of
from skynet.workers.frames import REPLY_LEVELS, Unsupported, encode, pack

_KEPT_FROM = 200  # our own descriptors sit high, out of the way of what the user's code opens

Ask = Callable[[dict[str, Any]], dict[str, Any]]
Handler = Callable[[dict[str, Any], Ask], Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a worker's entry returns: the handler of its calls, and what it has to say about the user's file.

    `folder` and `files` name the user's code, by which tracebacks are cut.
    """

    handler: Handler
    folder: str
    files: tuple[str, ...] = ()
    info: dict[str, Any] = field(default_factory=dict)


class Worker:
    """One worker's state: its channel, the loaded entry, and the clean state to go back to."""

    def __init__(self, channel: Channel, kept_streams: tuple[int, int], entry: str) -> None:
        self._channel = channel
        self._kept_streams = kept_streams
        self._entry = entry
        self._folder = ""
        self._files: tuple[str, ...] = ()
        self._loaded: Loaded | None = None
        self._clean: CleanState | None = None

    def run(self) -> None:
        """Answer orders until the host is gone."""
        while True:
            order = self._channel.receive()
            reply = self._answer(order)
            sys.stdout.flush()
            sys.stderr.flush()
            self._channel.send(reply)

    def _answer(self, order: dict[str, Any]) -> bytes:
        number = order["number"]
        if order["kind"] == "ping":
            return encode({"kind": "done", "number": number, "value": None, "left": ""})
        return self._load(order, number) if order["kind"] == "load" else self._call(order, number)

    def _load(self, order: dict[str, Any], number: int) -> bytes:
        self._folder = order["config"].get("folder", "")
        os.environ.update(order["environment"])
        try:
            module, _, name = self._entry.partition(":")
            self._loaded = getattr(importlib.import_module(module), name)(order["config"])
            self._folder, self._files = self._loaded.folder, self._loaded.files
            body = {"kind": "done", "value": pack(self._loaded.info, REPLY_LEVELS)}
        except BaseException as error:  # noqa: BLE001 - every way to fail is told to the host
            body = {"kind": "fault", "fault": pack(fault_of(error, self._folder, self._files).to_frame())}
        self._clean = CleanState(self._kept_streams)
        return encode(body | {"number": number, "left": ""})

    def _call(self, order: dict[str, Any], number: int) -> bytes:
        if self._loaded is None or self._clean is None:
            raise RuntimeError("a call before a successful load")
        self._clean.seed(order["seed"])
        self._channel.open_call = number
        try:
            value = self._loaded.handler(order["payload"], self._channel.ask)
            body = {"kind": "done", "value": pack(value, REPLY_LEVELS)}
        except Unsupported as error:
            fault = Fault(kind="bad_output", type="Unsupported", message=str(error))
            body = {"kind": "fault", "fault": pack(fault.to_frame())}
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of user code fail its case only
            body = {"kind": "fault", "fault": pack(fault_of(error, self._folder, self._files).to_frame())}
        self._channel.open_call = 0
        _flush()
        self._clean.restore()
        return self._sized(body | {"number": number, "left": self._clean.left_behind()}, order["most"])

    def _sized(self, body: dict[str, Any], most: int) -> bytes:
        frame = encode(body)
        if len(frame) <= most:
            return frame
        message = f"the value takes {len(frame):,} bytes as JSON; at most {most:,} may cross"
        fault = Fault(kind="bad_output", type="TooLarge", message=message)
        told = {"number": body["number"], "left": body["left"]}
        return encode({"kind": "fault", "fault": pack(fault.to_frame())} | told)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # the call closed or replaced it; the clean state brings ours back


def serve(frames: int, stdout: int, stderr: int, entry: str, open_files: int) -> None:
    """Become a worker on these descriptors; returns when the host is gone."""
    kept_frames = _keep(frames)
    channel = Channel(kept_frames)
    kept = (_keep(stdout), _keep(stderr))
    for descriptor, source in enumerate(kept, 1):
        os.dup2(source, descriptor)
    # The numbers 1 and 2 as they are, not copies: what a user's subprocess inherits is the same stream.
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    faulthandler.enable(2)  # a crash in native code tells its Python line among the prints
    hang.arm(kept_frames)  # whoever asks for a dump expects no frame any more
    _limit(resource.RLIMIT_NOFILE, open_files)
    _limit(resource.RLIMIT_CORE, 0)
    try:
        Worker(channel, kept, entry).run()
    except (HostGone, ConnectionError):
        return


def _keep(descriptor: int) -> int:
    kept = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _KEPT_FROM)
    os.close(descriptor)
    return kept


def _limit(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (soft, soft))
