"""A metric's worker that also echoes frames, so that both ways are measured in the same process."""

from __future__ import annotations

import json
import socket
import struct
import threading
from typing import Any

from skynet.evaluation.child import metric
from skynet.workers.runtime import Loaded

SIZE = struct.Struct(">I")


def metric_with_echo(config: dict[str, Any]) -> Loaded:
    """Load the metric; a thread of the worker answers on the socket at `echo` with the frames that it gets."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(config["echo"])
    threading.Thread(target=_echo, args=(connection,), daemon=True).start()
    return metric(config)


def read_frame(connection: socket.socket) -> bytes:
    """Return the next frame's body, or nothing at the end."""
    head = connection.recv(SIZE.size, socket.MSG_WAITALL)
    return connection.recv(SIZE.unpack(head)[0], socket.MSG_WAITALL) if head else b""


def send_json(connection: socket.socket, message: Any) -> None:
    """Send a message as a frame of JSON."""
    body = json.dumps(message).encode("ascii")
    connection.sendall(SIZE.pack(len(body)) + body)


def _echo(connection: socket.socket) -> None:
    while body := read_frame(connection):
        send_json(connection, json.loads(body))
