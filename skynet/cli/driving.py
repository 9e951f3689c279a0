"""`skynet submit`, `runs watch` and `runs cancel`: a run in a process of its own, followed and stopped from another."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skynet.errors import SkynetError

if TYPE_CHECKING:
    from skynet.runs.events import Event
    from skynet.runs.store import RunRow, Store

_START_SECONDS = 120.0
_LOOK_SECONDS = 0.2
_CANCEL_SECONDS = 10.0


def run_submit_command(directory: Path, arguments: Sequence[str]) -> int:
    """Start the project's run in a process of its own, wait until its check has passed, and print its id.

    The check is the run's own, so that nothing is paid twice. Returns 1 where the run ended in it.
    """
    from skynet.runs.session import STORE_FOLDER

    folder = directory.absolute() / STORE_FOLDER / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    known = _known_runs(directory)
    log = folder / f"submit-{time.time_ns()}.log"
    # -P: the project's folder is no place to import Skynet's own modules from.
    command = [sys.executable, "-P", "-m", "skynet.cli.main", "run", str(directory.absolute()), *arguments]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, cwd=directory
        )
    run = _await_run(directory, process, log, known)
    log = log.rename(folder / f"{run}.log")
    if not _await_check(directory, run):
        print(log.read_text(encoding="utf-8", errors="replace").rstrip(), file=sys.stderr)
        return 1
    print(run)
    print(f"Follow it with `skynet runs watch {run}`; its log is {log}.", file=sys.stderr)
    return 0


def _known_runs(directory: Path) -> frozenset[str]:
    from skynet.runs.session import STORE_FILE, STORE_FOLDER, open_store

    if not (directory / STORE_FOLDER / STORE_FILE).exists():
        return frozenset()
    with open_store(directory, create=False) as store:
        return frozenset(row.id for row in store.runs())


def _await_run(directory: Path, process: subprocess.Popen[bytes], log: Path, known: Collection[str]) -> str:
    """Return the id of the run that `process` drives, or drove, once it has a row; `known` are earlier runs."""
    from skynet.runs.lock import last_pid
    from skynet.runs.session import STORE_FOLDER

    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        for run in _known_runs(directory).difference(known):
            if last_pid(directory / STORE_FOLDER, run) == process.pid:
                return run
        if ended:
            break
        time.sleep(_LOOK_SECONDS)
    told = log.read_text(encoding="utf-8", errors="replace").strip()
    raise SkynetError(f"the run did not start; its log {log} says:\n{told[-2000:] or '(nothing)'}")


def _await_check(directory: Path, run: str) -> bool:
    """Wait until the run's check has passed, which its first version shows; return False where the run ended in it."""
    from skynet.runs.events import Events
    from skynet.runs.session import open_store

    with open_store(directory, create=False) as store:
        while True:
            row = store.run(run)
            if any(event.kind == "proposed" for event in Events(store, row).read()):
                return True
            if row.status != "running":
                return False
            time.sleep(_LOOK_SECONDS)


def run_watch_command(directory: Path, run: str) -> int:
    """Follow a run's events until it ends; return the exit status that goes with its end."""
    from skynet.cli.run import EXIT
    from skynet.runs.events import Events
    from skynet.runs.lock import is_driven
    from skynet.runs.session import open_store

    with open_store(directory, create=False) as store:
        row = store.run(run)
        events = Events(store, row)
        seen = 0
        while True:
            driven = is_driven(store.folder, row.id)  # until its report is written, too
            for event in events.read(after=seen):
                seen = event.seq
                print(event_line(event), flush=True)
            if not driven:
                break
            time.sleep(_LOOK_SECONDS)
        row = store.run(row.id)
    print(f"{row.id}: {row.status}{f' ({row.finish_reason})' if row.finish_reason else ''}")
    return EXIT.get(row.status, 1)


def event_line(event: Event) -> str:
    """Return one event as a line."""
    from skynet.evaluation.display import printable

    at = time.strftime("%H:%M:%S", time.localtime(event.at))
    parts = [at, f"{event.kind:<9}", event.version or ""]
    if event.kind == "evaluated":
        parts += [f"case {event.details.get('case')}", f"score {event.details.get('score')}"]
    if event.details.get("val") is not None:
        parts.append(f"val {event.details['val']:.4g}")
    parts.append(" ".join((event.reason or "").split())[:200])
    return printable("  ".join(part for part in parts if part))


def run_cancel_command(directory: Path, run: str) -> int:
    """Ask the driver of a run to cancel it, and wait until it has; return the exit status."""
    from skynet.runs.drive import cancel_path
    from skynet.runs.lock import is_driven
    from skynet.runs.session import open_store

    with open_store(directory, create=False) as store:
        row = store.run(run)
        if row.status != "running":
            return _cancel_idle(store, row)
        cancel_path(store.folder, row.id).touch()
        deadline = time.monotonic() + _CANCEL_SECONDS
        while time.monotonic() < deadline:
            if not is_driven(store.folder, row.id):
                print(f"{row.id}: {store.run(row.id).status}; what it paid is kept")
                return 0
            time.sleep(_LOOK_SECONDS)
    raise SkynetError(f"run {row.id} was asked to cancel and has not answered within {_CANCEL_SECONDS:.0f} s")


def _cancel_idle(store: Store, row: RunRow) -> int:
    """Mark an interrupted run as cancelled; refuse for one that has ended."""
    if row.status != "interrupted":
        raise SkynetError(f"run {row.id} has ended already: it is {row.status}")
    store.update_run(row.id, status="cancelled", finish_reason="cancelled", ended_at=time.time())
    print(f"{row.id}: cancelled; what it paid is kept")
    return 0
