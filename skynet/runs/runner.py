"""A run from its first row to its verdict: check, the start's val pass, search, sealed pass."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skynet.data.dataset import sample_cases
from skynet.engine import Engine, Version
from skynet.evaluation.budget import Budget
from skynet.evaluation.check import ContractCheck
from skynet.evaluation.check_project import SAMPLES, sentence_of
from skynet.evaluation.content_check import content_check
from skynet.evaluation.evaluator import Evaluator, Splits, VersionBook
from skynet.evaluation.execution import Execution
from skynet.evaluation.guards import BrokenGuard, IdleGuard, Stop
from skynet.evaluation.places import cases_ahead
from skynet.evaluation.project import Project
from skynet.evaluation.ration import Ration
from skynet.evaluation.stages import CheckResult, OnStage
from skynet.evaluation.standings import Standings
from skynet.runs.books import RunBooks
from skynet.runs.engine_models import EngineModels
from skynet.runs.first_version import write_first_version
from skynet.runs.holds import PassHolds
from skynet.runs.model_journal import JournaledModels
from skynet.runs.money import History
from skynet.runs.plan import BudgetTooSmall
from skynet.runs.progress import ProgressBoard
from skynet.runs.room import Room
from skynet.runs.run_bench import RunBench
from skynet.runs.search import Search, SearchEnd
from skynet.runs.task import search_task
from skynet.runs.verdict import EPSILON, Verdict, VerdictFailed, judge, sealed_order, sealed_pass, span_of

FINISHED = ("engine_done", "perfect", "converged")
STOPPED = ("budget_metric_calls", "budget_usd", "budget_tokens", "budget_seconds")
_FLOORS = 20  # a speed reference of fewer clock floors measures the clock


@dataclass(slots=True)
class Outcome:
    """What came of a run; fields stay None where it did not come so far. `message` is the cause of a failure."""

    status: str = "running"
    finish_reason: str | None = None
    message: str = ""
    check: CheckResult | None = None
    start: Version | None = None
    best: str | None = None
    verdict: Verdict | None = None
    notes: list[str] = field(default_factory=list)


class Runner:
    """Drives one run, once. `run` belongs to the thread that gets Ctrl-C; `cancel` may be set from anywhere."""

    def __init__(
        self,
        project: Project,
        models: JournaledModels,
        books: RunBooks,
        budget: Budget,
        engine: Engine,
        options: Any,
        *,
        scope: str,
        plan: Mapping[str, Any],
        history: History,
        on_stage: OnStage,
    ) -> None:
        self.project = project
        self.models = models
        self.books = books
        self.budget = budget
        self.engine = engine
        self.options = options
        self.cancel = threading.Event()
        self.board = ProgressBoard()
        self.outcome = Outcome()
        val, spec = [case.id for case in project.dataset.val], project.spec
        self.standings = Standings(val, spec.metric.failure_score, spec.evaluation.repeats)
        self.versions: VersionBook | None = None
        self._scope = scope
        sealed = 2 * len(project.dataset.test) * project.spec.evaluation.repeats
        limit, planned = budget.limits.metric_calls, plan["metric_calls"]
        self._ration = Ration(
            planned, sealed, 0 if planned is None or limit is None else limit - planned, history.forked
        )
        raised = any(getattr(budget.limits, name) != planned for name, planned in plan.items())
        self._holds = PassHolds(project, books, budget, history, scope=scope, added=raised)
        self._on_stage = on_stage
        self._execution: Execution | None = None
        self.clock_floor_ms: float | None = None

    def run(self) -> Outcome:
        """Run to the end. Every way to end sets status and finish reason; Ctrl-C makes it `interrupted`."""
        self.books.state("running")
        try:
            self._end(*self._stages())
        except Stop as stop:
            self._end(stop.reason, str(stop))
        except BudgetTooSmall as refused:
            self._end("budget_too_small", str(refused))
        except VerdictFailed as failed:
            self._end("metric_broken", str(failed))
        except KeyboardInterrupt:
            self.cancel.set()
            self._end(None, "interrupted")
        finally:
            self.cancel.set()
            if self._execution is not None:
                self._execution.close()
        return self.outcome

    def _end(self, reason: str | None, message: str) -> None:
        outcome = self.outcome
        outcome.notes.extend(self.models.settle(self.cancel))
        outcome.finish_reason = reason
        outcome.message = message
        outcome.status = status_of(reason)
        if outcome.verdict is None and outcome.start is not None:  # no verdict: the best on val so far
            outcome.best = self.standings.best() or outcome.start.id
            self._tell_best()
        self.books.state(reason or message)

    def _tell_best(self) -> None:
        """Have the event stream end with the best on val as it is now: failures may have come to count less."""
        best = self.standings.of(self.standings.best() or "")
        if best is not None:
            self.books.settled(best.version, best.mean(), self.budget.spent)

    def _stages(self) -> tuple[str, str]:
        """Run all stages; return finish reason and message."""
        self._holds.before_check()
        self._check()
        start = self._start_version()
        records = self._start_pass(start)
        if self._is_perfect([record.score for record in records]):
            end = SearchEnd("perfect", "the start scores the maximum on every val case")
        else:
            end = self._search(start)
            if end.reason in STOPPED:
                self.books.event("budget", f"spent:{self.budget.limits}", reason=end.message)
        if end.reason in FINISHED or end.reason in STOPPED:
            self._verdict(start)
        return end.reason, end.message

    def _execute_with(self, concurrency: int, start: str) -> Execution:
        project, spec = self.project, self.project.spec
        return Execution(
            project.runner,
            self.books,
            self.budget,
            project.case_names,
            scope=self._scope,
            concurrency=concurrency,
            ahead=cases_ahead(spec, concurrency),
            repeats=spec.evaluation.repeats,
            broken=BrokenGuard(start, code_may_fail=spec.artifact.kind == "code"),
            ration=self._ration,
            on_done=self.models.forget,
            cancel=self.cancel,
        )

    def _check(self) -> None:
        """Run the contract check through the books. Raises Stop with `check_failed`, or `provider`."""
        project = self.project
        self.board.update(stage="check")
        cases = sample_cases(project.dataset, SAMPLES, project.seed)
        val = {case.id for case in project.dataset.val}
        splits = {case.id: "val" if case.id in val else "train" for case in cases}
        execution = self._execute_with(1, "")
        bench = RunBench(project, execution, self.books, self.budget.draw("check"), self._ration, splits, self.cancel)
        warnings = [sentence_of(text) for text in project.dataset.warnings]
        check = ContractCheck(bench, cases, project.start, on_stage=self._on_stage, warnings=warnings)
        try:
            with self._holds.checking(cases, bench.scored):
                result = check.run()
        except BaseException:
            self.cancel.set()  # the run ends here; closing shall not wait for a case that hangs
            raise
        finally:
            execution.close()
        self.outcome.check = result
        failed = next((stage for stage in result.stages if stage.status == "failed"), None)
        if failed is not None:
            reason = "provider" if result.by_provider else "check_failed"
            raise Stop(reason, f"the contract check failed at {failed.name}: {failed.message}")
        if result.missing_model is not None:
            raise Stop("check_failed", f"the project needs a {result.missing_model} model; name one under [models]")
        self._holds.after_check(self._under_way())

    def _start_version(self) -> Version:
        project = self.project
        artifact = project.start
        if artifact is None:
            with self._holds.paying("the first version"):
                artifact = write_first_version(project, EngineModels(self.models, "start", self.cancel))
            self._holds.written(artifact)
        columns = list(project.spec.data.inputs) if project.spec.data else []
        template = project.spec.target.kind == "chat" or artifact.kind == "parts"
        check = content_check(artifact, columns, template, project.spec.artifact.entry)
        self.versions = VersionBook(project.spec.artifact.kind, self.books, check, lambda: self.budget.spent)
        self.outcome.start = self.versions.start(artifact)
        self.outcome.best = artifact.id
        self._content_check = check
        return self.outcome.start

    def _start_pass(self, start: Version) -> Sequence[Any]:
        """Evaluate the start on val, fix the failure score, return the records."""
        self.board.update(stage="start")
        self._execution = self._execute_with(self._concurrency(), start.id)
        val = self.project.dataset.val
        pairs, purse = [(start.artifact, case) for case in val], self.budget.draw("start")
        with self._holds.paying("the start's val pass"):
            if self._holds.unmeasured:
                self._execution.run(pairs[:SAMPLES], "val", purse)
                self._holds.after_first_cases(val[:SAMPLES])
            records = self._execution.run(pairs, "val", purse).records
        self.budget.drop("start")
        self._look_at_clock()
        self._look_at_failures(records)
        self.standings.saw(records)
        self.standings.fix_failure_score(records)
        self.standings.add(start.id, records)
        standing = self.standings.of(start.id)
        mean = None if standing is None else standing.mean()
        self.books.accepted(start.id, mean, self.budget.spent)
        return records

    def _look_at_clock(self) -> None:
        """Measure the clock's floor where speed counts, and warn when the reference is too close to it."""
        reward = self.outcome.check.reward_spec if self.outcome.check else None
        if reward is None or not reward["weights"]["speed"]:
            return
        self.clock_floor_ms = self.project.target.clock_floor_ms()
        reference = reward["references"]["speed"]
        if self.clock_floor_ms is not None and reference < _FLOORS * self.clock_floor_ms:
            self.outcome.notes.append(
                f"The speed reference of {reference:g} ms is under {_FLOORS} times the clock's floor of "
                f"{self.clock_floor_ms:.3g} ms: much of the measured time is the measuring itself."
            )

    def _look_at_failures(self, records: Sequence[Any]) -> None:
        """Warn of a start that came to no output: the search has nothing to go by but its faults."""
        if records and all(record.failure == "target" for record in records):
            self.outcome.notes.append(f"The start failed on every val case: {records[0].fault}")

    def _concurrency(self) -> int:
        """Return how many cases run at a time: fewer than the cores while speed counts and the target runs here."""
        spec = self.project.spec
        task = spec.models.task
        local = spec.target.kind not in ("chat", "http") or (task is not None and task.name.startswith("local/"))
        reward = self.outcome.check.reward_spec if self.outcome.check else None
        if local and reward is not None and reward["weights"]["speed"] > 0:
            return min(spec.evaluation.concurrency, max(1, (os.cpu_count() or 2) - 1))
        return spec.evaluation.concurrency

    def _under_way(self) -> int:
        """Return how many evaluations may be begun and not ended."""
        concurrency = self._concurrency()
        return concurrency + cases_ahead(self.project.spec, concurrency)

    @property
    def maximum(self) -> float:
        """The best score there can be: the spec's, else the declared range's, else 1 unless a higher one was seen."""
        for given in (self.project.spec.metric.maximum, self.standings.declared_maximum):
            if given is not None:
                return given
        highest = self.standings.highest
        return 1.0 if highest is None or highest <= 1.0 + EPSILON else float("inf")

    def _is_perfect(self, scores: Sequence[float | None]) -> bool:
        return all(score is not None and score >= self.maximum - EPSILON for score in scores)

    def _search(self, start: Version) -> SearchEnd:
        if self._execution is None or self.versions is None:
            raise RuntimeError("the search begins after the start's val pass")
        self.board.update(stage="search", lane=self.engine.name)
        self.books.event("lane", f"lane:{self.engine.name}", reason=self.engine.name)
        models = EngineModels(self.models, self.engine.name, self.cancel)
        task = search_task(
            self.project, start, self.options, maximum=self.maximum, check=self._content_check,
            program=self.project.programs, concurrency=self._concurrency(),
        )  # fmt: skip
        refusal = self.engine.applies(task, models, self.options)
        if refusal is not None:
            raise Stop("error", f"the engine {self.engine.name!r} cannot work on this project: {refusal}")
        evaluator = Evaluator(
            self._execution,
            self.versions,
            self.standings,
            Splits({case.id: case for case in self.project.dataset.train},
                   {case.id: case for case in self.project.dataset.val}),
            self._ration,
            self.books,
            IdleGuard(),
            feedback_limit=self.project.spec.limits.proposer_feedback,
            watch=lambda change: self.board.update(**change),
        )  # fmt: skip
        try:
            return Search(self.engine, task, evaluator, models, self.options).run(self.cancel, self.budget)
        finally:
            self.outcome.notes.extend([*evaluator.notes, *models.notes])

    def _verdict(self, start: Version) -> None:
        """Score start and best on the sealed cases, and enter the verdict in the outcome."""
        if self._execution is None or self.versions is None:
            raise RuntimeError("the verdict comes after the search")
        best = self.standings.best() or start.id
        self.outcome.best = best
        self._tell_best()
        test = self.project.dataset.test
        if not test:
            return
        self.board.update(stage="verdict")
        purse, repeats = self.budget.draw("sealed"), self.project.spec.evaluation.repeats
        challenger = None if best == start.id else self.versions[best].artifact
        costs = [self.books.costs.of_version(version) for version in dict.fromkeys((start.id, best))]
        room = Room(purse, costs, repeats, self._under_way())
        cases, failure = sealed_order(test, self.project.seed), self.standings.failure_value()
        try:
            passes = sealed_pass(self._execution, start.artifact, challenger, cases, purse, failure, room)
        except VerdictFailed as failed:
            count = len(failed.passes[0].values)
            self.outcome.verdict = Verdict(*failed.passes, None, count, len(test) - count)
            raise
        count = len(passes[0].values)
        span = span_of(passes, self.standings.failure_value(), self.maximum, self.standings.highest)
        left_out = len(test) - count
        self.outcome.verdict = judge(*passes, span=span, seed=self.project.seed, cases=count, left_out=left_out)
        if self.outcome.verdict.rejected is not None:
            self.outcome.best = start.id


def status_of(reason: str | None) -> str:
    """Return the status that goes with a finish reason; None is an interruption."""
    if reason is None:
        return "interrupted"
    if reason in FINISHED:
        return "finished"
    if reason in STOPPED:
        return "stopped"
    return "cancelled" if reason == "cancelled" else "failed"
