"""Driving one stored run in this process: the runner under a watch, then the end in the row, then the report."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.engine import Engine
from skynet.evaluation.budget import Budget
from skynet.evaluation.project import Project
from skynet.evaluation.stages import OnStage
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.runs.books import RunBooks
from skynet.runs.fingerprint import evaluation_scope
from skynet.runs.model_journal import JournaledModels
from skynet.runs.money import History
from skynet.runs.report import write_report
from skynet.runs.report_data import ReportSource, report_of
from skynet.runs.result import RunResult, result_of
from skynet.runs.runner import Runner
from skynet.runs.store import RunRow, Store

_LOOK_SECONDS = 0.2  # how often another process's wish to cancel is looked for
_SAVE_SECONDS = 5.0  # how often the active time is stored


@dataclass(frozen=True, slots=True)
class Drive:
    """The driving of one run. `plan` are the first attempt's limits, `limits` what all attempts may spend together."""

    store: Store
    row: RunRow
    project: Project
    gateway: Gateway
    ledger: Ledger
    budget: Budget
    engine: Engine
    options: Any
    marks: dict[str, Any]
    plan: Mapping[str, Any]
    limits: Mapping[str, Any]
    history: History

    def run(self, on_stage: OnStage, on_runner: Callable[[Runner, RunRow], None]) -> RunResult:
        """Drive to the end and write row and report."""
        books = RunBooks(self.store, self.row)
        models = JournaledModels(self.gateway, books.journal)
        self.project.use_models(models)
        runner = Runner(
            self.project, models, books, self.budget, self.engine, self.options, scope=evaluation_scope(self.marks),
            plan=self.plan, history=self.history, on_stage=on_stage,
        )  # fmt: skip
        on_runner(runner, self.row)
        watch = Watch(self, runner)
        try:
            with watch:
                outcome = runner.run()
        except KeyboardInterrupt:  # a second one, while the run was ending
            self._store_end("interrupted", None, {})
            raise
        except BaseException as error:
            self._store_end("failed", "error", {"error": f"{type(error).__name__}: {error}"})
            raise
        # The end is stored before the report is made: nothing that a report runs into may lose it.
        self._store_end(outcome.status, outcome.finish_reason, {})
        data = report_of(ReportSource(self.row, self.store, self.options, self.ledger), runner, books)
        folder = self.store.folder / "runs" / self.row.id
        kept = keep_verdict(folder, data)
        if kept is not None:
            data["notes"].append(f"The verdict that stood before more budget was added is in {kept.name}.")
        path = write_report(data, folder)
        result = result_of(data, path)
        self.store.update_run(self.row.id, result=result.to_json())
        return result

    def _store_end(self, status: str, reason: str | None, more: dict[str, Any]) -> None:
        self.store.update_run(
            self.row.id, status=status, finish_reason=reason, ended_at=time.time(), state=self.state() | more
        )

    def state(self) -> dict[str, Any]:
        """Return the row's state with the active time by now."""
        return {**self.row.state, "active_seconds": self.budget.active_seconds}


def keep_verdict(folder: Path, data: Mapping[str, Any]) -> Path | None:
    """Move an earlier attempt's report aside when it has a verdict and the new one, cut short, has none; return it."""
    earlier = folder / "report.json"
    if data["difference"] is not None or not earlier.is_file():
        return None
    if json.loads(earlier.read_text(encoding="utf-8"))["difference"] is None:
        return None
    for ending in ("json", "md", "html"):
        (folder / f"report.{ending}").replace(folder / f"before.{ending}")
    return folder / "before.html"


def cancel_path(folder: Path, run: str) -> Path:
    """Return the file by which another process asks a driver to cancel; `folder` is the `.skynet` folder."""
    return folder / "runs" / f"{run}.cancel"


class Watch:
    """Looks beside the run for a wish to cancel, and stores the active time now and then."""

    def __init__(self, drive: Drive, runner: Runner) -> None:
        self._drive = drive
        self._runner = runner
        self._path = cancel_path(drive.store.folder, drive.row.id)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="skynet-watch", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._path.unlink(missing_ok=True)

    def _look(self) -> None:
        saved = time.monotonic()
        while not self._ended.wait(_LOOK_SECONDS):
            if self._path.exists():
                self._runner.cancel.set()
            if time.monotonic() - saved > _SAVE_SECONDS and not self._ended.is_set():
                saved = time.monotonic()
                self._drive.store.update_run(self._drive.row.id, state=self._drive.state())
