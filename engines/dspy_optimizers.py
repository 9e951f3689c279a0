"""dspy's optimizers, each built and compiled with the metric that it wants and the size that the budget allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import dspy
from dspy.teleprompt import InferRules
from dspy.teleprompt.teleprompt import Teleprompter

from skynet.engine import SearchBroken, SearchTask

from . import dspy_plan
from .dspy_door import Door
from .dspy_metrics import Metric, feedback_metric, reflective_metric, scalar_metric
from .dspy_models import LanguageModels
from .dspy_options import LABELS_NEEDED, DspyOptions
from .dspy_plan import Plan, Sizes, TooSmall

MANY = 10**9  # no limit


@dataclass(frozen=True)
class Bench:
    """What every optimizer works with. `labelled` are the train examples with their expected values, if allowed.

    `budget` says how many cases can still be paid for, each with all of its repetitions.
    """

    task: SearchTask
    options: DspyOptions
    door: Door
    models: LanguageModels
    train: list[Any]
    val: list[Any]
    labelled: list[Any]
    budget: Callable[[], int]

    @property
    def metric(self) -> Metric:
        """The metric of the optimizers that want a number, and a bool for demonstrations."""
        return scalar_metric(self.threshold)

    @property
    def threshold(self) -> float:
        """The score from which a run may be shown."""
        if self.options.threshold is not None:
            return self.options.threshold
        return self.task.maximum if self.task.maximum != float("inf") else 1.0

    @property
    def shown(self) -> list[Any]:
        """The train examples of optimizers that may show expected values where that is allowed."""
        return self.labelled if self.options.labels else self.train

    @property
    def labeled_demos(self) -> int:
        """How many rows may be shown as they stand; without labels a row has no answer to show."""
        return self.options.max_labeled_demos if self.options.labels else 0


def compile_with(name: str, bench: Bench, student: Any) -> Any:
    """Run one optimizer on the program and return what it returns. Raises TooSmall before it spends anything."""
    return _COMPILE[name](bench, student, plan_of(name, bench, student))


def plan_of(name: str, bench: Bench, student: Any) -> Plan:
    """Return the size of an optimizer's run. Raises TooSmall."""
    return dspy_plan.plan_run(name, sizes_of(name, bench, student), bench.options)


def sizes_of(name: str, bench: Bench, student: Any) -> Sizes:
    """Return what an optimizer's run is sized by."""
    cases = len(bench.shown if name in LABELS_NEEDED else bench.train)
    return Sizes(bench.budget(), cases, len(bench.val), max(1, len(student.predictors())), bench.task.repeats)


def _gepa(bench: Bench, student: Any, plan: Plan) -> Any:
    metric, has_objectives = reflective_metric(bench.door)
    optimizer = dspy.GEPA(
        metric,
        max_metric_calls=MANY,  # gepa counts served runs too; the callback below looks at what is really left
        reflection_minibatch_size=plan.batch,
        reflection_lm=bench.models.reflection,
        use_merge=False,  # the order in which it visits components follows the hash seed, and could not be replayed
        num_threads=bench.task.concurrency,
        perfect_score=bench.task.maximum,
        add_format_failure_as_feedback=True,
        warn_on_score_mismatch=False,
        seed=bench.task.seed,
        gepa_kwargs={
            "stop_callbacks": lambda state: bench.budget() < 2 * plan.batch + len(bench.val),
            "callbacks": [Lineage(bench.door, student)],
            "frontier_type": "hybrid" if has_objectives else "instance",
        },
    )
    return optimizer.compile(student, trainset=bench.train, valset=bench.val)


class Lineage:
    """A callback of gepa: the candidate that it selects is the parent of what it puts forward next."""

    def __init__(self, door: Door, student: Any) -> None:
        self._door = door
        self._student = student

    def on_candidate_selected(self, event: Any) -> None:
        """Take note of the selected candidate's version."""
        program = self._student.deepcopy()
        for name, predictor in program.named_predictors():
            predictor.signature = predictor.signature.with_instructions(event["candidate"][name])
        self._door.parent = self._door.version_of(program) or self._door.parent


def _mipro(bench: Bench, student: Any, plan: Plan) -> Any:
    optimizer = dspy.MIPROv2(
        metric=bench.metric,
        prompt_model=bench.models.reflection,
        task_model=bench.models.task,
        max_bootstrapped_demos=bench.options.max_bootstrapped_demos,
        max_labeled_demos=bench.labeled_demos,
        auto=None,
        num_candidates=plan.candidates,
        num_threads=bench.task.concurrency,
        max_errors=MANY,
        seed=bench.task.seed,
        track_stats=False,
    )
    return optimizer.compile(
        student,
        trainset=bench.shown[: plan.train],
        valset=bench.val,
        num_trials=plan.rounds,
        minibatch=plan.batch < len(bench.val),
        minibatch_size=plan.batch,
        minibatch_full_eval_steps=dspy_plan.FULL_EVERY,
        data_aware_proposer=False,  # it would read whole rows of train to the proposer
    )


def _simba(bench: Bench, student: Any, plan: Plan) -> Any:
    optimizer = dspy.SIMBA(
        metric=feedback_metric(),
        bsize=plan.batch,
        num_candidates=plan.candidates,
        max_steps=plan.rounds,
        max_demos=bench.options.max_bootstrapped_demos,
        prompt_model=bench.models.reflection,
        num_threads=bench.task.concurrency,
    )
    return optimizer.compile(student, trainset=bench.train[: plan.train], seed=bench.task.seed)


def _copro(bench: Bench, student: Any, plan: Plan) -> Any:
    optimizer = dspy.COPRO(
        prompt_model=bench.models.reflection, metric=bench.metric, breadth=plan.candidates, depth=plan.rounds
    )
    threads = {"num_threads": bench.task.concurrency, "display_progress": False, "display_table": False}
    return optimizer.compile(student, trainset=bench.train[: plan.train], eval_kwargs=threads)


def _bootstrapping(bench: Bench) -> dict[str, Any]:
    return {
        "metric": bench.metric,
        "max_bootstrapped_demos": bench.options.max_bootstrapped_demos,
        "max_labeled_demos": bench.labeled_demos,
    }


def _bootstrap(bench: Bench, student: Any, plan: Plan) -> Any:
    optimizer = dspy.BootstrapFewShot(**_bootstrapping(bench), max_errors=MANY)
    return optimizer.compile(student, trainset=bench.shown[: plan.train])


def _random_search(bench: Bench, student: Any, plan: Plan) -> Any:
    optimizer = dspy.BootstrapFewShotWithRandomSearch(
        **_bootstrapping(bench),
        num_candidate_programs=plan.candidates,
        num_threads=bench.task.concurrency,
        max_errors=MANY,
    )
    return optimizer.compile(student, trainset=bench.shown[: plan.train], valset=bench.val)


def _optuna(bench: Bench, student: Any, plan: Plan) -> Any:
    from .dspy_seeded import SeededOptuna

    optimizer = SeededOptuna(
        **_bootstrapping(bench), num_candidate_programs=plan.rounds, num_threads=bench.task.concurrency
    )
    return optimizer.compile(
        student,
        max_demos=bench.options.max_bootstrapped_demos,
        trainset=bench.shown[: plan.train],
        valset=bench.val,
        seed=bench.task.seed,
    )


def _labeled(bench: Bench, student: Any, plan: Plan) -> Any:
    return dspy.LabeledFewShot(k=bench.options.max_labeled_demos).compile(student, trainset=bench.labelled)


def _infer_rules(bench: Bench, student: Any, plan: Plan) -> Any:
    optimizer = InferRules(
        num_candidates=plan.candidates,
        num_rules=bench.options.num_rules,
        num_threads=bench.task.concurrency,
        max_errors=MANY,
        **_bootstrapping(bench),
    )
    # Only the rules come from the reflection model: as teacher_settings of the optimizer it would run the program too.
    optimizer.rules_induction_program.teacher_settings = {"lm": bench.models.reflection}
    return optimizer.compile(student, trainset=bench.labelled[: plan.train], valset=bench.val)


class Step(Teleprompter):  # type: ignore[misc]
    """One optimizer of BetterTogether, sized when its turn comes."""

    def __init__(self, name: str, bench: Bench, left: int) -> None:
        super().__init__()
        self._name = name
        self._bench = bench
        self._left = left

    def compile(self, student: Any, *, trainset: list[Any], valset: list[Any]) -> Any:
        """Run the optimizer on the student with its share of what is left; one that it does not fit is left out."""
        bench = self._bench
        kept = bench.budget() - dspy_plan.share(bench.budget(), len(bench.val), self._left)
        own = replace(bench, budget=lambda: bench.budget() - kept)
        try:
            return bench.door.guarded(lambda: compile_with(self._name, own, student))
        except TooSmall as error:
            bench.door.note(f"BetterTogether left {self._name} out: {error}.")
            return student


def better_together(bench: Bench, student: Any) -> Any:
    """Run the strategy's optimizers one after another, each from what the one before returned.

    Raises TooSmall, with nothing spent, where one of them does not fit into its share.
    """
    strategy = bench.options.strategy
    each = max(dspy_plan.least(name, sizes_of(name, bench, student), bench.options) for name in strategy)
    needed = len(strategy) * (each + len(bench.val))
    if bench.budget() < needed:
        repeats = bench.task.repeats
        raise TooSmall(f"BetterTogether with {' and '.join(strategy)}", needed * repeats, bench.budget() * repeats)
    steps = {f"step{place}": Step(name, bench, len(strategy) - place) for place, name in enumerate(strategy)}
    student.set_lm(bench.models.task)  # it insists; a version's content has none all the same
    optimizer = dspy.BetterTogether(metric=bench.metric, **steps)
    return optimizer.compile(
        student,
        trainset=bench.train,
        valset=bench.val,
        num_threads=bench.task.concurrency,
        max_errors=MANY,
        seed=bench.task.seed,
        strategy=" -> ".join(steps),
    )


_COMPILE: dict[str, Callable[[Bench, Any, Plan], Any]] = {
    "GEPA": _gepa, "MIPROv2": _mipro, "SIMBA": _simba, "COPRO": _copro, "BootstrapFewShot": _bootstrap,
    "BootstrapFewShotWithRandomSearch": _random_search, "BootstrapFewShotWithOptuna": _optuna,
    "LabeledFewShot": _labeled, "InferRules": _infer_rules,
}  # fmt: skip


def run_optimizer(bench: Bench, student: Any) -> Any:
    """Run the optimizer that the options name. Raises SearchBroken where the budget cannot even begin with it: no
    error, since the start is measured and gets its verdict."""
    name = bench.options.optimizer
    try:
        return better_together(bench, student) if name == "BetterTogether" else compile_with(name, bench, student)
    except TooSmall as error:
        bench.door.note(f"Nothing was tried: {error}.")
        raise SearchBroken(f"the budget is too small: {error}", reason="budget_metric_calls") from error
