"""A run from its first row to its verdict: check, the start's val pass, search, sealed pass."""

from __future__ import annotations

import os
import threading
from collections import Counter
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
from skynet.evaluation.project import Project
from skynet.evaluation.ration import Ration
from skynet.evaluation.stages import CheckResult, OnStage
from skynet.evaluation.standings import Standings
from skynet.runs.books import RunBooks
from skynet.runs.engine_models import EngineModels
from skynet.runs.first_version import write_first_version
from skynet.runs.model_journal import JournaledModels
from skynet.runs.money import History
from skynet.runs.plan import BudgetTooSmall, left_to_pay, plan_passes, set_aside
from skynet.runs.progress import ProgressBoard
from skynet.runs.run_bench import RunBench
from skynet.runs.search import Search, SearchEnd
from skynet.runs.task import search_task
from skynet.runs.verdict import SealedPass, Verdict, VerdictFailed, affordable, judge, sealed_pass

FINISHED = ("engine_done", "perfect", "converged")
STOPPED = ("budget_metric_calls", "budget_usd", "budget_tokens", "budget_seconds")
_EPSILON = 1e-9
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
        self.standings = Standings([case.id for case in project.dataset.val], project.spec.metric.failure_score)
        self.versions: VersionBook | None = None
        self._scope = scope
        self._plan = plan
        self._history = history
        sealed = 2 * len(project.dataset.test) * project.spec.evaluation.repeats
        limit, planned = budget.limits.metric_calls, plan["metric_calls"]
        self._ration = Ration(
            planned, sealed, 0 if planned is None or limit is None else limit - planned, history.forked
        )
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
        outcome.finish_reason = reason
        outcome.message = message
        outcome.status = status_of(reason)
        if outcome.verdict is None and outcome.start is not None:  # no verdict: the best on val so far
            outcome.best = self.standings.best() or outcome.start.id
        self.books.state(reason or message)

    def _stages(self) -> tuple[str, str]:
        """Run all stages; return finish reason and message."""
        project = self.project
        passes = plan_passes(project, project.start)
        if self._history.resumed:
            passes = left_to_pay(passes, self._history, self.budget.limits.metric_calls != self._plan["metric_calls"])
        set_aside(self.budget, passes, resumed=self._history.resumed)
        self._check()
        start = self._start_version()
        records = self._start_pass(start)
        if self._is_perfect([record.score for record in records]):
            end = SearchEnd("perfect", "the start scores the maximum on every val case")
        else:
            end = self._search(start)
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
            repeats=spec.evaluation.repeats,
            broken=BrokenGuard(start, code_may_fail=spec.artifact.kind == "code"),
            ration=self._ration,
            on_done=self.models.forget,
            cancel=self.cancel,
        )

    def _check(self) -> None:
        """Run the contract check through the books. Raises Stop with `check_failed`."""
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
            result = check.run()
        except BaseException:
            self.cancel.set()  # the run ends here; closing shall not wait for a case that hangs
            raise
        finally:
            execution.close()
        self.outcome.check = result
        self.budget.drop("check")
        failed = next((stage for stage in result.stages if stage.status == "failed"), None)
        if failed is not None:
            raise Stop("check_failed", f"the contract check failed at {failed.name}: {failed.message}")
        if result.missing_model is not None:
            raise Stop("check_failed", f"the project needs a {result.missing_model} model; name one under [models]")

    def _start_version(self) -> Version:
        project = self.project
        artifact = project.start
        if artifact is None:
            artifact = write_first_version(project, EngineModels(self.models, "start", self.cancel))
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
        pairs = [(start.artifact, case) for case in self.project.dataset.val]
        records = self._execution.run(pairs, "val", self.budget.draw("start")).records
        self.budget.drop("start")
        self._look_at_clock()
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

    def _concurrency(self) -> int:
        """Return how many cases run at a time: fewer than the cores while speed counts and the target runs here."""
        spec = self.project.spec
        task = spec.models.task
        local = spec.target.kind not in ("chat", "http") or (task is not None and task.name.startswith("local/"))
        reward = self.outcome.check.reward_spec if self.outcome.check else None
        if local and reward is not None and reward["weights"]["speed"] > 0:
            return min(spec.evaluation.concurrency, max(1, (os.cpu_count() or 2) - 1))
        return spec.evaluation.concurrency

    @property
    def maximum(self) -> float:
        """The best score there can be: the spec's, else the declared range's, else 1 unless a higher one was seen."""
        for given in (self.project.spec.metric.maximum, self.standings.declared_maximum):
            if given is not None:
                return given
        highest = self.standings.highest
        return 1.0 if highest is None or highest <= 1.0 + _EPSILON else float("inf")

    def named_score_warnings(self) -> list[str]:
        """Warn, once for each name, of named scores that the metric gave on some cases only."""
        records = [
            record
            for version in self.standings.complete
            if (standing := self.standings.of(version)) is not None
            for record in standing.records()
            if record.status == "ok"
        ]
        counts = Counter(name for record in records for name in record.scores)
        return [
            f"The named score {name!r} stands on {count} of {len(records)} measured val evaluations; it is unmeasured "
            "on the others and drives no search."
            for name, count in sorted(counts.items())
            if count < len(records)
        ]

    def _is_perfect(self, scores: Sequence[float | None]) -> bool:
        return all(score is not None and score >= self.maximum - _EPSILON for score in scores)

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
            self.outcome.notes.extend(evaluator.notes)

    def _verdict(self, start: Version) -> None:
        """Score start and best on the sealed cases, and enter the verdict in the outcome."""
        if self._execution is None or self.versions is None:
            raise RuntimeError("the verdict comes after the search")
        best = self.standings.best() or start.id
        self.outcome.best = best
        test = self.project.dataset.test
        if not test:
            return
        self.board.update(stage="verdict")
        purse = self.budget.draw("sealed")
        challenger = None if best == start.id else self.versions[best].artifact
        repeats = self.project.spec.evaluation.repeats
        free = self.budget.remaining.metric_calls
        left = None if free is None else purse.left.metric_calls + free
        cases = affordable(test, self.project.seed, repeats * (1 if challenger is None else 2), left)
        failure = self.standings.failure_value()
        try:
            passes = sealed_pass(self._execution, start.artifact, challenger, cases, purse, failure)
        except VerdictFailed as failed:
            self.outcome.verdict = Verdict(*failed.passes, None, len(cases), len(test) - len(cases))
            raise
        count = len(passes[0].values)
        self.outcome.verdict = judge(
            *passes, span=self._span(passes), seed=self.project.seed, cases=count, left_out=len(test) - count
        )
        if self.outcome.verdict.rejected is not None:
            self.outcome.best = start.id

    def _span(self, passes: tuple[SealedPass, SealedPass | None]) -> float:
        """Return the score's range: from the failure value to the maximum, or what was seen where that is unknown."""
        lowest = self.standings.failure_value()
        if self.maximum != float("inf"):
            return max(self.maximum - lowest, _EPSILON)
        seen = [value for one in passes if one is not None for value in one.values.values() if value is not None]
        highest = max([*seen, self.standings.highest or lowest])
        return max(highest - lowest, _EPSILON)


def status_of(reason: str | None) -> str:
    """Return the status that goes with a finish reason; None is an interruption."""
    if reason is None:
        return "interrupted"
    if reason in FINISHED:
        return "finished"
    if reason in STOPPED:
        return "stopped"
    return "cancelled" if reason == "cancelled" else "failed"
