"""The code target: the artifact is a Python file, whose entry is called with the input in a worker of its version."""

from __future__ import annotations

import threading

from skynet.artifact import Artifact
from skynet.target.base import TargetResult, Ticket
from skynet.target.folder import PrivateFolder
from skynet.target.worker_calls import WorkerCalls
from skynet.workers.pool import Load

NOT_ISOLATED = (
    "the code of every version ran as this user: in processes of its own that are handed no keys, but able to read "
    "and write this user's files (the project, the metric, the expected values of the data, .env), to start programs "
    "and to reach the network"
)
_NOTHING = "def {entry}(input):\n    pass\n"


class CodeTarget:
    """Calls the function `entry` of a version in workers that serve this version only.

    A version that did not load is not loaded again for the next case: it fails every case the same way.
    """

    def __init__(self, calls: WorkerCalls, folder: PrivateFolder, entry: str) -> None:
        self._calls = calls
        self._folder = folder
        self._entry = entry
        self._lock = threading.Lock()
        self._broken: dict[str, TargetResult] = {}

    def load(self) -> TargetResult | None:
        """None: there is no code but the versions', and one that does not load fails its cases."""
        return None

    def run(self, artifact: Artifact, ticket: Ticket) -> TargetResult:
        """Call the entry once."""
        with self._lock:
            if artifact.id in self._broken:
                return self._broken[artifact.id]
        result = self._calls.run({"input": ticket.case.input}, ticket, Load(artifact.id, {"source": artifact.text}))
        if result.fault is not None and result.elapsed_ms is None and result.fault.kind != "cancelled":
            with self._lock:
                self._broken[artifact.id] = result
        return result

    def clock_floor_ms(self) -> float | None:
        """Return what a run that does nothing is clocked at."""
        return self._calls.pool.clock_floor_ms(load=Load("", {"source": _NOTHING.format(entry=self._entry)}))

    def close(self) -> None:
        """End the workers and remove their folders."""
        self._calls.pool.close()
        self._folder.close()
