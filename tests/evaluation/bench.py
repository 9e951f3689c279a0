"""The doors of a search on real parts: workers, store and budget, with plans as artifacts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.engine import Evaluation, TaskCase, Version
from skynet.evaluation.budget import Budget, Limits
from skynet.evaluation.evaluator import Evaluator, Splits, VersionBook, task_cases
from skynet.evaluation.execution import Execution
from skynet.evaluation.guards import BrokenGuard, IdleGuard
from skynet.evaluation.project import Project
from skynet.evaluation.ration import Ration
from skynet.evaluation.standings import Standings
from skynet.runs.books import RunBooks
from skynet.runs.store import Store
from tests.runs.plans import plan, spec_of, write_plans

CONCURRENCY = 2


class Bench:
    """One opened project with its doors. `folder` holds what the target ran and the metric scored."""

    def __init__(
        self,
        stack: ExitStack,
        project: Project,
        store: Path,
        metric_calls: int,
        repeats: int,
        code_may_fail: bool = False,
    ) -> None:
        self.folder = project.spec.root
        self.project = project
        self.store = stack.enter_context(Store(store / "skynet.db"))
        self.row, lock = self.store.start_run("bench", {}, {})
        stack.enter_context(lock)
        self.books = RunBooks(self.store, self.row)
        self.budget = Budget(Limits(metric_calls=metric_calls))
        self.cancel = threading.Event()
        self.ration = Ration(metric_calls, 0)
        self.execution = Execution(
            self.project.runner,
            self.books,
            self.budget,
            self.project.case_names,
            scope="scope",
            concurrency=CONCURRENCY,
            repeats=repeats,
            broken=BrokenGuard("", code_may_fail),
            ration=self.ration,
            cancel=self.cancel,
        )
        stack.callback(self.execution.close)
        stack.callback(self.cancel.set)
        data = self.project.dataset
        self.splits = Splits({case.id: case for case in data.train}, {case.id: case for case in data.val})
        self.standings = Standings([case.id for case in data.val], None, repeats)
        self.versions = VersionBook("text", self.books, lambda content: None, lambda: self.budget.spent)
        self.start = self.versions.start(Artifact("text", plan("start", 0.5)))
        self.evaluator = Evaluator(
            self.execution,
            self.versions,
            self.standings,
            self.splits,
            self.ration,
            self.books,
            IdleGuard(),
            feedback_limit=4096,
        )

    @property
    def val(self) -> tuple[TaskCase, ...]:
        return task_cases(self.splits.val)

    @property
    def train(self) -> tuple[TaskCase, ...]:
        return task_cases(self.splits.train)

    def case(self, text: str) -> Case:
        """Return the case with this input."""
        cases = (*self.splits.val.values(), *self.splits.train.values())
        return next(case for case in cases if case.input["text"] == text)

    def put(self, text: str) -> Version:
        return self.evaluator.propose(text, self.start, "put forward by a test")

    def evaluate(self, text: str, cases: tuple[TaskCase, ...] | None = None) -> list[Evaluation]:
        return self.evaluator.evaluate(self.put(text), self.val if cases is None else cases)


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = write_plans(tmp_path_factory.mktemp("shared"))
    with Project(spec_of(folder), workers=CONCURRENCY) as project:
        yield project


@pytest.fixture
def make_bench(tmp_path: Path, shared_project: Project) -> Iterator[Any]:
    """Make a bench on the module's workers, or on workers of its own where `data` are given."""
    for left in (*shared_project.spec.root.glob("*.txt"), *shared_project.spec.root.glob("*.seen")):
        left.unlink()
    with ExitStack() as stack:

        def make(
            metric_calls: int = 100,
            repeats: int = 1,
            data: list[dict[str, Any]] | None = None,
            code_may_fail: bool = False,
            run: str | None = None,
        ) -> Bench:
            project = shared_project
            if data is not None:
                folder = write_plans(tmp_path / "project", data=data)
                if run is not None:
                    (folder / "run.py").write_text(run, encoding="utf-8")
                project = stack.enter_context(Project(spec_of(folder), workers=CONCURRENCY))
            return Bench(stack, project, tmp_path / "store", metric_calls, repeats, code_may_fail)

        yield make


@pytest.fixture
def bench(make_bench: Any) -> Bench:
    made: Bench = make_bench()
    return made
