"""One run as a whole: the parts opened, the row stored, the runner driven, the report written, all closed again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from skynet.artifact import Artifact
from skynet.data.dataset import Dataset
from skynet.errors import SkynetError
from skynet.evaluation.places import calls_at_once
from skynet.evaluation.project import Functions, Project
from skynet.evaluation.stages import OnStage
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.runs.asked_anew import ask_failures_anew
from skynet.runs.books import RunBooks
from skynet.runs.drive import Drive, cancel_path
from skynet.runs.engines import engine_options, load_engine
from skynet.runs.fingerprint import changed_parts, fingerprint
from skynet.runs.fork import fork_of, forked_keys, forked_sentence
from skynet.runs.granted import Granted, granted_by, require_amounts
from skynet.runs.history import history_of
from skynet.runs.lock import RunLock
from skynet.runs.money import History, Refused, budget_of, plan_of, reserver
from skynet.runs.origin import Origin, as_written
from skynet.runs.outlook import Outlook, look_ahead, unmetered
from skynet.runs.result import RunResult, result_of
from skynet.runs.runner import Runner
from skynet.runs.store import RunRow, Store
from skynet.runs.versions import Versions
from skynet.spec import Spec

STORE_FOLDER = ".skynet"
STORE_FILE = "skynet.db"
ENDED = ("finished", "stopped")


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a surface wants to hear: stages of the check, what the budget buys, what a resume found, the runner, and
    a sentence about what a fork took over or what a resume could not look at."""

    on_stage: OnStage = lambda stage: None
    on_outlook: Callable[[Outlook], None] = lambda outlook: None
    on_resumed: Callable[[History, int | None], None] = lambda history, limit: None
    on_runner: Callable[[Runner, RunRow], None] = lambda runner, row: None
    on_notice: Callable[[str], None] = lambda sentence: None


@dataclass(frozen=True, slots=True)
class Given:
    """What a caller gives besides the spec: functions, rows, a start version, the environment, and a yes to what would
    be refused.

    `accept` is for budgets that buy no proposal and unknown prices, `accept_code` for code that a model wrote.
    `tables` win over the spec's file; `own_spec` says that the spec is of no file at all. `fork` names a run of the
    same store whose valid results are taken over.
    """

    functions: Functions | None = None
    dataset: Dataset | None = None
    start: Artifact | None = None
    environ: Mapping[str, str] | None = None
    accept: bool = False
    accept_code: bool = False
    tables: Mapping[str, Any] = field(default_factory=dict)
    own_spec: bool = False
    fork: str | None = None

    @property
    def only_python(self) -> tuple[str, ...]:
        """The names of what is given and cannot be stored: functions and rows."""
        functions = self.functions or Functions()
        parts = {"metric": functions.metric, "target": functions.target, "cases": self.dataset}
        return tuple(name for name, part in parts.items() if part is not None)


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
        source = None if given.fork is None else store.run(given.fork)
        stored = spec.model_dump(mode="json", exclude={"root"})
        own = as_written(spec) if given.own_spec else None
        origin = Origin({} if given.own_spec else given.tables, own, given.start, given.only_python)
        state = {
            "plan": plan, **Granted(granted_by(spec), {}).to_json(), "accepted": outlook.refusals,
            "forked": None if source is None else source.id, **origin.to_json(),
        }  # fmt: skip
        fork = None if source is None else fork_of(source, marks, parts.project.dataset)
        row, lock = store.start_run(spec.name, stored, marks, state, None if fork is None else fork.copy)
        stack.callback(lock.release)
        history = History(forked=forked_keys(store, row))
        if source is not None:
            hooks.on_notice(forked_sentence(row, history))
        return _drive(parts, store, row, marks, plan, history, hooks)


def resume_run(
    root: Path,
    run: str,
    *,
    add_budget: Mapping[str, float] | None = None,
    accept: bool = False,
    renew: Callable[[Origin], tuple[Spec, Given]] | None = None,
    hooks: Hooks | None = None,
) -> RunResult:
    """Go on with a run exactly where it was, or return the result of one that has ended.

    A run that a budget stopped goes on when `add_budget` or its spec grants more. `accept` is a yes to what would be
    refused. `renew` returns what the run is to go on with, where its row and the spec's file do not say everything.
    Raises Refused when what the run depends on has changed, naming what, or is not there; RunDriven when another
    process drives it.
    """
    hooks, more = hooks or Hooks(), add_budget or {}
    require_amounts(more)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(root, create=False))
        row = store.run(run)
        origin = Origin.from_json(row.state)
        renewed = partial(_as_started, root, row, origin) if renew is None else partial(renew, origin)
        if not more and (ended := _ended(store, row, renewed, hooks)) is not None:
            return ended
        lock = RunLock(store.folder, row.id)
        stack.callback(lock.release)
        cancel_path(store.folder, row.id).unlink(missing_ok=True)  # an old wish, for an attempt that ended by itself
        spec, given = renewed()
        granted = Granted.from_json(row.state).now(spec, more)
        limits = granted.limits()
        books = RunBooks(store, row)
        history = history_of(store, row, books)
        parts = _open(stack, spec, given, limits, history)
        marks = fingerprint(parts.project)
        _refuse_changes(row, marks, report_path(store, row) if row.status == "finished" and not more else None)
        accepted = _refuse_unmetered(parts, row, accept or given.accept)
        ask_failures_anew(store, row)  # a resume that is refused leaves the journal as it was
        store.update_run(
            row.id, status="running", finish_reason=None, ended_at=None,
            state={**row.state, **granted.to_json(), "accepted": accepted, "error": None},
        )  # fmt: skip
        if raised := granted.raised_from(Granted.from_json(row.state)):
            books.events.append("budget", reason=raised)
        hooks.on_resumed(history, parts.budget.limits.metric_calls)
        return _drive(parts, store, store.run(row.id), marks, limits, history, hooks)


def _ended(store: Store, row: RunRow, renewed: Callable[[], tuple[Spec, Given]], hooks: Hooks) -> RunResult | None:
    """Return the result of a run that has ended; None where it is to go on: its spec grants more than the budget that
    stopped it, or its report is lost, which the journal writes anew without paying for anything."""
    if row.status not in ENDED or row.result is None:
        return None
    if row.status == "stopped":
        try:
            if Granted.from_json(row.state).raised_in(renewed()[0]):
                return None
        except SkynetError as error:  # it has ended, whatever has become of its files
            hooks.on_notice(f"Whether its budget was raised since it stopped cannot be told: {error}")
    return stored_result(store, row)


def _refuse_unmetered(parts: Parts, row: RunRow, accept: bool) -> list[str]:
    """Refuse a dollar budget that cannot be kept any more, unless this was accepted; return what is accepted."""
    accepted: list[str] = row.state["accepted"]
    new = [text for text in unmetered(parts.project, parts.engine, parts.options) if text not in accepted]
    if new and not accept:
        raise Refused("\n".join(new))
    return [*accepted, *new]


def _as_started(root: Path, row: RunRow, origin: Origin) -> tuple[Spec, Given]:
    if origin.only_python:
        raise Refused(origin.only_from_python(row.id, origin.only_python))
    return origin.spec_in(root), Given(start=origin.start)


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
    gateway = Gateway(
        spec.models, spec.root, ledger=ledger, environ=environ, reserve=reserver(budget),
        concurrency=calls_at_once(spec),
    )  # fmt: skip
    gateway.prepare()
    project = Project(
        spec,
        functions=given.functions,
        dataset=given.dataset,
        start=given.start,
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
    limits: Mapping[str, Any],
    history: History,
    hooks: Hooks,
) -> RunResult:
    plan = {**row.state["plan"], "usd_by_role": row.spec["budget"]["usd_by_role"]}
    drive = Drive(
        store, row, parts.project, parts.gateway, parts.ledger, parts.budget, parts.engine, parts.options, marks,
        plan, limits, history,
    )  # fmt: skip
    return drive.run(hooks.on_stage, hooks.on_runner)


def _refuse_changes(row: RunRow, marks: Mapping[str, Any], lost: Path | None) -> None:
    """Refuse what changed since the run started; `lost` is the report that would be written anew, if it is that."""
    changed = changed_parts(row.fingerprint, marks)
    if changed:
        to = "go on as it was" if lost is None else f"write its report anew, and {lost} is lost or damaged"
        raise Refused(
            f"run {row.id} cannot {to}: {', '.join(changed)} changed since it started. Put it back, or "
            f"start a new run that takes over what is still valid: skynet run --fork {row.id}"
        )


def stored_result(store: Store, row: RunRow) -> RunResult | None:
    """Return the result of a run that has ended, from its report; None where that is lost or damaged."""
    path = report_path(store, row)
    artifacts = {version.id: version.artifact for version in Versions(store, row).all()}
    try:
        return result_of(json.loads(path.read_text(encoding="utf-8")), path.with_name("report.html"), artifacts)
    except (FileNotFoundError, ValueError, LookupError, TypeError):
        return None


def report_path(store: Store, row: RunRow) -> Path:
    """Return where a run's report is kept for programs."""
    return store.folder / "runs" / row.id / "report.json"
