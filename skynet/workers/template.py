"""The template process: it imports what the user's file imports, then forks a supervised worker whenever asked.

Started as `main` in a fresh interpreter with two arguments after the import path: the descriptor of its control socket
and a JSON object `{"entry", "preload", "open_files", "late"}`. With `late` it imports nothing, but each worker does
after its fork: threads that an import starts do not survive a fork.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from skynet.workers import process_table, runtime, supervisor

FRAMES, STDOUT, STDERR, CONTROL = range(4)  # the order in which a worker's four descriptors are sent
_LAST_SECONDS = 0.2


def main() -> None:
    """Run the template until its control socket closes."""
    control = socket.socket(fileno=int(sys.argv[2]))
    options = json.loads(sys.argv[3])
    if not options["late"]:
        _preload(options)
    alone = threading.active_count() == 1 and sys.platform == "linux" and _kernel_threads() == 1
    control.sendall(b"f" if alone or options["late"] else b"x")
    supervisor.become_subreaper()
    _serve(control, options)


def _serve(control: socket.socket, options: dict[str, Any]) -> None:
    """Fork a supervisor for each order. Never returns."""
    watch = supervisor.ChildWatch()
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(watch, select.POLLIN)
    imported = set(process_table.own_children())  # what an import started
    supervisors: set[int] = set()
    while True:
        ready = {descriptor for descriptor, _ in poller.poll()}
        if watch.fileno() in ready:
            watch.clear()
            _sweep(supervisors, imported)
        if control.fileno() not in ready:
            continue
        order, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not order:
            _see_off(supervisors, imported)
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            watch.close()
            control.close()
            _supervise(descriptors, options)
        supervisors.add(pid)
        for descriptor in descriptors:
            os.close(descriptor)


def _sweep(supervisors: set[int], imported: set[int]) -> None:
    """Forget the children that have ended, and kill those that came here because user code killed their supervisor."""
    ended = supervisor.reap()
    supervisors.difference_update(ended)
    imported.difference_update(ended)
    supervisor.kill(set(process_table.own_children()) - supervisors - imported)


def _see_off(supervisors: set[int], imported: set[int]) -> None:
    """Wait a moment for supervisors that are ending: nobody may collect them when this process is gone."""
    deadline = time.monotonic() + _LAST_SECONDS
    while supervisors and time.monotonic() < deadline:
        _sweep(supervisors, imported)
        time.sleep(0.001)


def _kernel_threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _preload(options: dict[str, Any]) -> None:
    for name in [options["entry"].partition(":")[0], *options["preload"]]:
        # A failing import is told, with its traceback, when the worker imports the same name for the user's file.
        with contextlib.suppress(Exception, SystemExit):
            importlib.import_module(name)


def _supervise(descriptors: Sequence[int], options: dict[str, Any]) -> None:
    control = socket.socket(fileno=descriptors[CONTROL])

    def worker() -> None:
        if options["late"]:
            _preload(options)
        runtime.serve(
            descriptors[FRAMES], descriptors[STDOUT], descriptors[STDERR], options["entry"], options["open_files"]
        )

    # The supervisor's own copies must close, so that the host sees the worker's end as the end of its streams.
    supervisor.supervise(control, worker, close=descriptors[:CONTROL])
