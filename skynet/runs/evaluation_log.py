"""The rows that a job has finished, appended as they end, so that a cut job can go on."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from skynet.data.case import content_hash
from skynet.errors import SkynetError
from skynet.evaluation.project import Project
from skynet.evaluation.record import Record
from skynet.runs.evaluation_metrics import metric_source
from skynet.runs.evaluation_rows import JobCase
from skynet.runs.fingerprint import DISTRIBUTION, code_fingerprint, model_mark, target_fingerprint
from skynet.spec import EvalSpec
from skynet.spec.jobs import METRIC

LOG_NAME = "unfinished.jsonl"
_AGAIN = ("metric", "provider")  # failures that a second try may mend


def job_mark(project: Project, job: EvalSpec) -> str:
    """Return the hash of everything that a row's results depend on beside the row."""
    sources = {name: metric_source(project, name, settings) for name, settings in job.metrics.items()}
    code = [name for name, one in sources.items() if isinstance(one, Path) or job.metrics[name].type == METRIC]
    runs_target = job.output is None and job.prompt is None
    return content_hash(
        [
            version(DISTRIBUTION),
            job.model_dump(mode="json", exclude={"rows", "split"}),
            {name: code_fingerprint(sources[name]) for name in code},
            [target_fingerprint(project), project.start.id] if runs_target and project.start else None,
            {role: model_mark(project, role) for role in ("task", "metric")},
            project.seed,
        ]
    )


class JobLog:
    """The log of one job in its folder. `mark` stands for everything that results depend on beside the rows."""

    def __init__(self, folder: Path, mark: str, *, resume: bool) -> None:
        self._path = folder / LOG_NAME
        self._mark = mark
        self._lock = threading.Lock()
        self._file: IO[str] | None = None
        self._known = _read(self._path, mark) if resume else {}
        if not resume and self._path.exists():
            raise SkynetError(
                f"{folder} holds a job that was cut; go on with --resume {folder}, or delete {LOG_NAME} there"
            )

    def _opened(self) -> IO[str]:
        """Return the file, made with the first row, so that a job that is refused leaves nothing behind."""
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a", encoding="ascii")
            self._file.write("\n" if self._path.stat().st_size else json.dumps({"mark": self._mark}) + "\n")
        return self._file

    def known(self, row: JobCase) -> Mapping[str, Record] | None:
        """Return what is known of a row, None where it has to be worked on."""
        return self._known.get(_key(row))

    def add(self, row: JobCase, records: Mapping[str, Record]) -> None:
        """Append a row that has ended."""
        line = {"row": _key(row), "records": {name: record.to_json() for name, record in records.items()}}
        with self._lock:
            file = self._opened()
            file.write(json.dumps(line) + "\n")
            file.flush()

    def close(self) -> None:
        """Close the file; what it holds stays."""
        if self._file is not None:
            self._file.close()


def _key(row: JobCase) -> str:
    return content_hash([row.case.id, row.case.input, row.case.expected, row.output, row.stored])


def _read(path: Path, mark: str) -> dict[str, dict[str, Record]]:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        raise SkynetError(f"{path.parent} holds no job that was cut: there is no {LOG_NAME}") from None
    parsed = [found for line in lines if (found := _parsed(line)) is not None]
    if not parsed or parsed[0].get("mark") != mark:
        raise SkynetError(
            f"the job in {path.parent} was another one: its metrics, prompt, target or models have changed since. Put "
            "them back, or start anew"
        )
    known = {}
    for entry in parsed[1:]:
        records = {name: Record.from_json(body) for name, body in entry["records"].items()}
        if not any(record.failure in _AGAIN for record in records.values()):
            known[entry["row"]] = records
    return known


def _parsed(line: str) -> dict[str, Any] | None:
    """Return a line's object; None for the one that a kill cut short."""
    try:
        value: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return value
