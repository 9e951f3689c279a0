"""The template process: it imports what the user's file imports, then forks a supervised worker whenever asked.

Started as `main` in a fresh interpreter with two arguments after the import path: the descriptor of its control socket
and a JSON object `{"entry", "preload", "open_files", "solo"}`. With `solo` it is not a template: it becomes the
supervisor of one worker at once, because threads that an import started do not survive a fork.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from typing import Any

from skynet.workers import runtime, supervisor

FRAMES, STDOUT, STDERR, CONTROL = range(4)  # the order in which a worker's four descriptors are sent


def main() -> None:
    """Run the template until its control socket closes."""
    control = socket.socket(fileno=int(sys.argv[2]))
    options = json.loads(sys.argv[3])
    if options["solo"]:
        _solo(control, options)
    _preload(options)
    alone = threading.active_count() == 1 and sys.platform == "linux" and _kernel_threads() == 1
    control.sendall(b"f" if alone else b"x")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are reaped by the kernel
    supervisor.become_subreaper()
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not order:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            _supervise(descriptors, options)
        for descriptor in descriptors:
            os.close(descriptor)


def _solo(control: socket.socket, options: dict[str, Any]) -> None:
    _, descriptors, _, _ = socket.recv_fds(control, 1, 4)
    control.close()
    _supervise(descriptors, options)


def _kernel_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _preload(options: dict[str, Any]) -> None:
    for name in [options["entry"].partition(":")[0], *options["preload"]]:
        # A failing import is told, with its traceback, when the worker imports the same name for the user's file.
        with contextlib.suppress(Exception, SystemExit):
            importlib.import_module(name)


def _supervise(descriptors: Sequence[int], options: dict[str, Any]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control = socket.socket(fileno=descriptors[CONTROL])

    def worker() -> None:
        if options["solo"]:
            _preload(options)
        runtime.serve(
            descriptors[FRAMES], descriptors[STDOUT], descriptors[STDERR], options["entry"], options["open_files"]
        )

    # The supervisor's own copies must close, so that the host sees the worker's end as the end of its streams.
    supervisor.supervise(control, worker, close=descriptors[:CONTROL])
