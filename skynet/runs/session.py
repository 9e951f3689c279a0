"""One run as a whole: the parts opened, the row stored, the runner driven, the report written, all closed again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skynet.data.dataset import Dataset
from skynet.evaluation.project import Functions, Project
from skynet.evaluation.stages import OnStage
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.runs.books import RunBooks
from skynet.runs.drive import Drive, cancel_path
from skynet.runs.engines import engine_options, load_engine
from skynet.runs.fingerprint import changed_parts, fingerprint
from skynet.runs.fork import copy_valid, forked_keys
from skynet.runs.history import history_of
from skynet.runs.lock import RunLock
from skynet.runs.money import COUNTED, History, Refused, budget_of, plan_of, reserver
from skynet.runs.outlook import Outlook, look_ahead
from skynet.runs.result import RunResult, result_of
from skynet.runs.runner import Runner
from skynet.runs.store import RunRow, Store
from skynet.spec import Spec, load_spec

STORE_FOLDER = ".skynet"
STORE_FILE = "skynet.db"
ENDED = ("finished", "stopped")


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a surface wants to hear: stages of the check, what the budget buys, what a resume found, and the runner."""

    on_stage: OnStage = lambda stage: None
    on_outlook: Callable[[Outlook], None] = lambda outlook: None
    on_resumed: Callable[[History, int | None], None] = lambda history, limit: None
    on_runner: Callable[[Runner, RunRow], None] = lambda runner, row: None


@dataclass(frozen=True, slots=True)
class Given:
    """What a caller gives besides the spec: functions, rows, the environment, and a yes to what would be refused.

    `accept` is for budgets that buy no proposal and unknown prices, `accept_code` for code that a model wrote;
    `fork` names a run of the same store whose valid results are taken over.
    """

    functions: Functions | None = None
    dataset: Dataset | None = None
    environ: Mapping[str, str] | None = None
    accept: bool = False
    accept_code: bool = False
    tables: Mapping[str, Any] = field(default_factory=dict)
    fork: str | None = None


def open_store(root: Path, *, create: bool = True) -> Store:
    """Open the store of a project's folder."""
    return Store(root / STORE_FOLDER / STORE_FILE, create=create)


def run_project(spec: Spec, given: Given | None = None, hooks: Hooks | None = None) -> RunResult:
    """Run a project to its report.

    Raises Refused, SpecError, DataError or EngineError before anything is spent, StoreError when the store fails.
    """
    given, hooks = given or Given(), hooks or Hooks()
    plan = plan_of(spec)
    with ExitStack() as stack:
        parts = _open(stack, spec, given, plan, History())
        outlook = look_ahead(parts.project, parts.engine, parts.options)
        hooks.on_outlook(outlook)
        if refusals := outlook.held_against(given.accept, given.accept_code):
            raise Refused("\n".join(refusals))
        marks = fingerprint(parts.project)
        store = stack.enter_context(open_store(spec.root))
        stored = spec.model_dump(mode="json", exclude={"root"})
        row, lock = store.start_run(spec.name, stored, marks, {"plan": plan, "given": dict(given.tables)})
        stack.callback(lock.release)
        history = History()
        if given.fork is not None:
            copy_valid(store, store.run(given.fork), row)
            history = History(forked=forked_keys(store, row))
        return _drive(parts, store, row, marks, plan, plan, history, hooks)


def resume_run(
    root: Path,
    run: str,
    *,
    add_budget: Mapping[str, float] | None = None,
    given: Given | None = None,
    hooks: Hooks | None = None,
) -> RunResult:
    """Go on with a run exactly where it was, or return the result of one that has ended.

    `add_budget` is granted on top of the plan, once that is used up. Raises Refused when what the run depends on has
    changed, naming what; RunDriven when another process drives it.
    """
    given, hooks = given or Given(), hooks or Hooks()
    with ExitStack() as stack:
        store = stack.enter_context(open_store(root, create=False))
        row = store.run(run)
        if row.status in ENDED and row.result is not None and not add_budget:
            return stored_result(store, row)
        lock = RunLock(store.folder, row.id)
        stack.callback(lock.release)
        cancel_path(store.folder, row.id).unlink(missing_ok=True)  # an old wish, for an attempt that ended by itself
        spec = load_spec(root, row.state.get("given"))
        plan = row.state["plan"]
        limits = _limits(spec, plan, row.state.get("added", {}), add_budget or {})
        books = RunBooks(store, row)
        history = history_of(store, row, books)
        parts = _open(stack, spec, given, limits, history)
        marks = fingerprint(parts.project)
        _refuse_changes(row, marks)
        added = {name: limits[name] - plan[name] for name in COUNTED if plan[name] is not None}
        store.update_run(
            row.id, status="running", finish_reason=None, ended_at=None,
            state={**row.state, "added": added},
        )  # fmt: skip
        hooks.on_resumed(history, limits["metric_calls"])
        return _drive(parts, store, store.run(row.id), marks, plan, limits, history, hooks)


@dataclass(frozen=True, slots=True)
class Parts:
    """The opened parts of a run, before it has a row."""

    project: Project
    gateway: Gateway
    ledger: Ledger
    budget: Any
    engine: Any
    options: Any


def _open(stack: ExitStack, spec: Spec, given: Given, limits: Mapping[str, Any], history: History) -> Parts:
    engine = load_engine(spec.engine.name)
    options = engine_options(engine, spec.engine)
    environ = os.environ if given.environ is None else given.environ
    budget = budget_of(spec, limits, history)
    ledger = Ledger()
    for entry in history.entries:
        ledger.append(entry)
    gateway = Gateway(spec.models, spec.root, ledger=ledger, environ=environ, reserve=reserver(budget))
    gateway.prepare()
    project = Project(
        spec,
        functions=given.functions,
        dataset=given.dataset,
        models=gateway,
        environ=environ,
        workers=spec.evaluation.concurrency,
    )
    return Parts(stack.enter_context(project), gateway, ledger, budget, engine, options)


def _drive(
    parts: Parts,
    store: Store,
    row: RunRow,
    marks: dict[str, Any],
    plan: Mapping[str, Any],
    limits: Mapping[str, Any],
    history: History,
    hooks: Hooks,
) -> RunResult:
    drive = Drive(
        store, row, parts.project, parts.gateway, parts.ledger, parts.budget, parts.engine, parts.options, marks,
        plan, limits, history,
    )  # fmt: skip
    return drive.run(hooks.on_stage, hooks.on_runner)


def _limits(
    spec: Spec, plan: Mapping[str, Any], added: Mapping[str, float], more: Mapping[str, float]
) -> dict[str, Any]:
    """Return what the run may spend in all: its plan, what was added before and now; a larger spec budget adds too."""
    limits = dict(plan)
    for name in COUNTED:
        if limits[name] is None:
            if name in more:
                raise Refused(f"[budget] {name} has no limit in this run, so nothing can be added to it")
            continue
        granted = plan[name] + added.get(name, 0)
        in_spec = getattr(spec.budget, name)
        limits[name] = max(granted, in_spec or 0) + more.get(name, 0)
    return limits


def _refuse_changes(row: RunRow, marks: Mapping[str, Any]) -> None:
    changed = changed_parts(row.fingerprint, marks)
    if changed:
        raise Refused(
            f"run {row.id} cannot go on as it was: {', '.join(changed)} changed since it started. Put it back, or "
            f"start a new run that takes over what is still valid: skynet run --fork {row.id}"
        )


def stored_result(store: Store, row: RunRow) -> RunResult:
    """Return the result of a run that has ended, from its report."""
    path = store.folder / "runs" / row.id / "report.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refused(f"run {row.id} has {row.status}, but its report {path} is gone") from None
    return result_of(data, path.with_name("report.html"))
