"""Driving one stored run in this process: the runner under a watch, then the end in the row, then the report."""

from __future__ import annotations

import json
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.engine import Engine
from skynet.evaluation.budget import Budget
from skynet.evaluation.project import Project
from skynet.evaluation.stages import OnStage, Stage
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.runs.billed_target import bill
from skynet.runs.books import RunBooks
from skynet.runs.fault import StoreError
from skynet.runs.fingerprint import evaluation_scope
from skynet.runs.fork import forked_sentence
from skynet.runs.history import paid_again
from skynet.runs.model_journal import JournaledModels
from skynet.runs.money import History
from skynet.runs.report import write_report
from skynet.runs.report_data import ReportSource, report_of
from skynet.runs.result import RunResult, result_of
from skynet.runs.run_log import RunLog
from skynet.runs.runner import Runner
from skynet.runs.store import RunRow, Store

_LOOK_SECONDS = 0.2  # how often another process's wish to cancel is looked for
_SAVE_SECONDS = 5.0  # how often the active time is stored
_ENDINGS = ("json", "md", "html")


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
        """Drive to the end and write row, log and report."""
        books = RunBooks(self.store, self.row, self.gateway.redact)
        models = JournaledModels(self.gateway, books.journal)
        self.project.use_models(models)
        bill(self.project, self.budget, books.journal, self.ledger)
        log = RunLog(self.store.folder, self.row.id, self.gateway.redact)

        def staged(stage: Stage) -> None:
            log.stage(stage)
            on_stage(stage)

        runner = Runner(
            self.project, models, books, self.budget, self.engine, self.options, scope=evaluation_scope(self.marks),
            plan=self.plan, history=self.history, on_stage=staged,
        )  # fmt: skip
        with log.opened(books.events):
            log.say(self._beginning())
            on_runner(runner, self.row)
            self._search(runner, log)
            return self._reported(runner, books, log)

    def _beginning(self) -> str:
        how = "resumed" if self.history.resumed else "started"
        own = f"run {self.row.id} of {self.row.name} {how} by process {os.getpid()}, engine {self.engine.name}"
        return f"{own}; {forked}" if (forked := forked_sentence(self.row, self.history)) else own

    def _search(self, runner: Runner, log: RunLog) -> None:
        """Run to the end and store it. Whatever ends this process's work is in row and log, and raised."""
        try:
            with Watch(self, runner, log):
                outcome = runner.run()
        except KeyboardInterrupt:  # a second one, while the run was ending
            log.say("interrupted again, while the run was ending")
            self._store_end("interrupted", None, {})
            raise
        except BaseException as error:
            log.say(traceback.format_exc())
            told = self.gateway.redact(f"{type(error).__name__}: {error}")
            self._store_end("failed", "error", {"error": told})
            raise
        outcome.message = self.gateway.redact(outcome.message)
        # The end is stored before the report is made: nothing that a report runs into may lose it.
        self._store_end(outcome.status, outcome.finish_reason, {})
        told = f" ({outcome.finish_reason})" if outcome.finish_reason else ""
        log.say(f"ended: {outcome.status}{told}{f': {outcome.message}' if outcome.message else ''}")

    def _reported(self, runner: Runner, books: RunBooks, log: RunLog) -> RunResult:
        notes = (forked_sentence(self.row, self.history), paid_again(self.store, self.row))
        runner.outcome.notes.extend(filter(None, notes))
        data = report_of(ReportSource(self.row, self.store, self.options, self.ledger), runner, books)
        lost = None
        try:
            path: Path | None = self._write(data)
        except OSError as error:
            path, lost = None, f"{error.filename or self.store.folder}: {error.strerror}"
        result = self._result(data, path, books, lost)
        try:
            self.store.update_run(self.row.id, result=result.to_json())
        except StoreError as error:
            result = self._result(data, path, books, str(error))
        log.say(result.message if path is None else f"report: {path}")
        return result

    def _write(self, data: dict[str, Any]) -> Path:
        folder = self.store.folder / "runs" / self.row.id
        kept = keep_verdict(folder, data)
        if kept is not None:
            data["notes"].append(f"The verdict that stood before more budget was added is in {kept.name}.")
        return write_report(data, folder)

    def _result(self, data: dict[str, Any], path: Path | None, books: RunBooks, lost: str | None) -> RunResult:
        """Return the result; `lost` is why report or result could not be written."""
        if lost is not None:
            data["error"] = (
                f"The report could not be written: {lost}. How the run ended is stored, and all that it paid for. "
                f"When that is repaired, write it with `skynet runs resume {self.row.id}`: nothing is paid again"
            )
        return result_of(data, path, {item.id: item.artifact for item in books.versions.all()})

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
    try:
        before = json.loads(earlier.read_text(encoding="utf-8"))
    except ValueError:  # damaged: the new one takes its place
        return None
    if before["difference"] is None:
        return None
    for path in [path for ending in _ENDINGS if (path := folder / f"report.{ending}").is_file()]:
        path.replace(path.with_stem("before"))
    return folder / "before.html"


def cancel_path(folder: Path, run: str) -> Path:
    """Return the file by which another process asks a driver to cancel; `folder` is the `.skynet` folder."""
    return folder / "runs" / f"{run}.cancel"


class Watch:
    """Looks beside the run for a wish to cancel and for events to log, and stores the active time now and then."""

    def __init__(self, drive: Drive, runner: Runner, log: RunLog) -> None:
        self._drive = drive
        self._runner = runner
        self._log = log
        self._path = cancel_path(drive.store.folder, drive.row.id)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="skynet-watch", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._log.follow()
        self._path.unlink(missing_ok=True)

    def _look(self) -> None:
        saved, failed = time.monotonic(), False
        while not self._ended.wait(_LOOK_SECONDS):
            if self._path.exists():
                self._runner.cancel.set()
            self._log.follow()
            if time.monotonic() - saved > _SAVE_SECONDS and not self._ended.is_set():
                saved = time.monotonic()
                try:
                    self._drive.store.update_run(self._drive.row.id, state=self._drive.state())
                except StoreError as error:  # the run meets it too; a wish to cancel must be seen all the same
                    if not failed:
                        self._log.say(f"the active time could not be stored: {error}")
                    failed = True
