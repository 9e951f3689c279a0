"""A run's real parts around a fake of the worker pool: what is measured is everything but the user's own code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.engine import Version
from skynet.evaluation.amounts import Amounts
from skynet.evaluation.books import CaseNames
from skynet.evaluation.budget import Budget, Limits
from skynet.evaluation.case_run import CaseRunner
from skynet.evaluation.evaluator import Evaluator, Splits, VersionBook
from skynet.evaluation.execution import Execution
from skynet.evaluation.guards import BrokenGuard, IdleGuard
from skynet.evaluation.places import SHARE_AHEAD
from skynet.evaluation.ration import Ration
from skynet.evaluation.scoring import Metric
from skynet.evaluation.standings import Standings
from skynet.models.gateway import Gateway
from skynet.models.ledger import Ledger
from skynet.runs.books import RunBooks
from skynet.runs.history import history_of
from skynet.runs.model_journal import JournaledModels
from skynet.runs.money import reserver
from skynet.runs.store import Store
from skynet.spec import ModelsSpec
from skynet.target.base import Target
from skynet.target.chat import ChatTarget
from skynet.target.python import PythonTarget
from skynet.workers.worker import Outcome

Answer = Callable[[dict[str, Any]], Any]
THREADS = 32


class FakePool:
    """The worker pool's interface; `answer` gives at once what a worker would return for a payload."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def load(self, cancel: threading.Event | None = None) -> Outcome:
        return Outcome("ok", {"warnings": [], "calls_llm": False, "reward_spec": None})

    def call(self, payload: dict[str, Any], **_: Any) -> Outcome:
        return Outcome("ok", self._answer(payload), elapsed_ms=0.1)

    def clock_floor_ms(self, timeout: float = 10.0) -> float:
        return 0.0

    def close(self) -> None: ...


def ran(payload: dict[str, Any]) -> str:
    """What the fake target returns: an answer of an everyday length."""
    return f"{payload['artifact']} {payload['input']['message']}" * 2


def scored(payload: dict[str, Any]) -> dict[str, Any]:
    """What the fake metric's worker sends: the contract's checked form."""
    feedback = f"Expected {payload['expected']['team']}, the answer was about something else."
    return {"score": 0.5, "feedback": feedback, "scores": {"format": 1.0}, "side_info": {}, "warnings": []}


def cases(count: int, first: int = 0) -> list[Case]:
    """Return support messages as cases."""
    return [
        Case(str(number), {"message": f"Where is my parcel number {number}?"}, {"team": "shipping"}, "rows.csv", number)
        for number in range(first, first + count)
    ]


@dataclass(frozen=True)
class Doors:
    """An evaluator on a store, its start, and the parts that a test looks into."""

    evaluator: Evaluator
    start: Version
    books: RunBooks
    run: str


@contextmanager
def doors(
    path: Path,
    train: Sequence[Case],
    val: Sequence[Case],
    *,
    run: str | None = None,
    metric_calls: int | None = None,
    models: ModelsSpec | None = None,
) -> Iterator[Doors]:
    """Open a new run's doors, or those of an earlier run again, as a resume does; with models for a chat target."""
    with Store(path) as store:
        if run is None:
            row, lock = store.start_run("bench", {}, {})
            lock.release()
        else:
            row = store.run(run)
        books, ration = RunBooks(store, row), Ration(metric_calls, 0)
        budget = Budget(Limits(metric_calls), spent=Amounts() if run is None else history_of(store, row, books).charged)
        own = Gateway(
            models or ModelsSpec(), path.parent, ledger=Ledger(), environ={}, reserve=reserver(budget),
            concurrency=THREADS,
        )  # fmt: skip
        gateway = JournaledModels(own, books.journal)
        target: Target = PythonTarget(FakePool(ran), gateway, 5.0)  # type: ignore[arg-type]
        if models is not None:
            target = ChatTarget(gateway, None, 60.0)
        metric = Metric(FakePool(scored), gateway, 5.0)  # type: ignore[arg-type]
        start = Artifact("text", "start")
        execution = Execution(
            CaseRunner(target, metric, 0), books, budget, CaseNames([*train, *val]), scope="bench",
            concurrency=THREADS, ahead=0 if models is None else THREADS // SHARE_AHEAD, repeats=1,
            broken=BrokenGuard(start.id, code_may_fail=False), ration=ration, cancel=threading.Event(),
            on_done=gateway.forget,
        )  # fmt: skip
        versions = VersionBook("text", books, lambda content: None, lambda: budget.spent)
        splits = Splits({case.id: case for case in train}, {case.id: case for case in val})
        standings = Standings([case.id for case in val], None)
        evaluator = Evaluator(
            execution, versions, standings, splits, ration, books, IdleGuard(10**9), feedback_limit=4096
        )
        try:
            yield Doors(evaluator, versions.start(start), books, row.id)
        finally:
            execution.close()
            gateway.close()
