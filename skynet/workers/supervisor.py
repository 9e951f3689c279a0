"""The parent of one worker: it adopts whatever the worker leaves behind, and kills the whole tree when told to.

On Linux it is a child subreaper, so a process that left the worker's group or session still ends up here. Elsewhere
only the worker's process group can be found. User code can stop or kill it, as it can every process of its user: a
stopped one goes on when its parent dies, and what a killed one leaves falls to the template.
"""

from __future__ import annotations

import functools
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from skynet.workers import process_table

STARTED = struct.Struct(">qq")  # process ids of supervisor and worker
STATUS = struct.Struct(">i")  # how the worker ended, as waitpid tells it
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_SECONDS = 5.0


def prctl(option: int, value: int) -> None:
    """Set a Linux process attribute; does nothing elsewhere. Raises OSError when the kernel refuses."""
    if sys.platform != "linux":
        return
    import ctypes

    if _libc().prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl refused")


@functools.cache
def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Adopt the orphans among this process's descendants, and go on, if stopped, when the parent dies."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)


class ChildWatch:
    """Makes the end of any child readable. One for a process."""

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        self._write.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._read.fileno()

    def clear(self) -> None:
        """Wait for the next end from now on."""
        self._read.recv(4096)

    def close(self) -> None:
        """Watch no more; for the child after a fork."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._read.close()
        self._write.close()


def supervise(control: socket.socket, worker: Callable[[], None], close: Sequence[int]) -> None:
    """Fork `worker`, close our copies of its descriptors, wait for its end or for the order to kill. Never returns."""
    become_subreaper()
    wake = ChildWatch()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        wake.close()
        control.close()
        _run_worker(worker, supervisor)
    for descriptor in close:
        os.close(descriptor)
    _guard(control, wake, pid)


def _run_worker(worker: Callable[[], None], supervisor: int) -> None:
    os.setsid()
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)  # the supervisor died before the death signal was set
    try:
        worker()
    finally:
        os._exit(0)


def _guard(control: socket.socket, wake: ChildWatch, pid: int) -> None:
    try:
        control.sendall(STARTED.pack(os.getpid(), pid))
        poller = select.poll()
        poller.register(control, select.POLLIN)
        poller.register(wake, select.POLLIN)
        status: int | None = None
        while status is None:
            ready = {descriptor for descriptor, _ in poller.poll()}
            if wake.fileno() in ready:
                wake.clear()
                status = reap().get(pid)
            if control.fileno() in ready:
                break  # an order to kill, or the host is gone
        status = _kill_tree(pid, status)
        control.sendall(STATUS.pack(status))
    finally:
        _kill_tree(pid, None)
        os._exit(0)


def reap() -> dict[int, int]:
    """Collect every child that has ended; return how, as waitpid tells it, by process id."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def _kill_tree(worker: int, status: int | None) -> int:
    """Kill the worker, its group, and what this process adopted, until nothing is left; return the worker's status."""
    deadline = time.monotonic() + _KILL_SECONDS
    if status is None:
        _kill(os.killpg, worker)
        _kill(os.kill, worker)
    while time.monotonic() < deadline:
        status = reap().get(worker, status)
        left = process_table.own_children()
        if not left:
            break
        kill(left)
        time.sleep(0.0005)
    return signal.SIGKILL if status is None else status


def kill(processes: Iterable[int]) -> None:
    """Kill processes, if they are still there."""
    for pid in processes:
        _kill(os.kill, pid)


def _kill(how: Callable[[int, int], None], pid: int) -> None:
    try:
        how(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # it is gone, or (a group on macOS) only zombies are left in it
