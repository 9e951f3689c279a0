"""The engine `dspy`: DSPy programs under dspy's own optimizers, through the host's rollout door and models."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, ClassVar

from skynet.engine import Models, SearchBroken, SearchEvaluator, SearchTask

from .dspy_options import REFLECTIVE, REFUSED, WITH_OPTUNA, DspyOptions
from .dspy_plan import Sizes, proposals
from .dspy_state import predictor_states

if TYPE_CHECKING:
    from .dspy_optimizers import Bench

FINALISTS = 4  # of the programs that an optimizer ranked on train, so many more are tried on val


class Dspy:
    """Improves a DSPy program by one of dspy's optimizers (GEPA when none is named).

    Optimizers get inputs and case ids; expected values only where `labels = true` lets one show them. Every state that
    is scored on val becomes a version at that moment, and so does what the optimizer returns; the choice among them is
    the host's, by exact means. States that ran on train only are probes. Not here, each for its own reason: KNNFewShot,
    Ensemble, AvatarOptimizer, ReAnchor, weight training, and programs with dspy.Flex.
    """

    name: ClassVar[str] = "dspy"
    Options: ClassVar[type] = DspyOptions

    def applies(self, task: SearchTask, models: Models, options: DspyOptions) -> str | None:
        """Return why the engine cannot work on the task, or None."""
        if task.kind != "dspy":
            return f"dspy's optimizers work on DSPy programs, and the artifact's kind is {task.kind}"
        if not task.train:
            return "dspy's optimizers learn from train cases, and there are none"
        if not models.has("task"):
            return "the program runs on the task model; name one under [models] as task"
        return _missing(task, models, options)

    def estimate(self, task: SearchTask, budget: int, options: DspyOptions) -> int:
        """Return about how many states are put forward."""
        assert isinstance(task.start.content, dict)
        predictors = len(predictor_states(task.start.content))
        cases = task.cases_for(budget)
        return proposals(Sizes(cases, len(task.train), len(task.val), predictors, task.repeats), options)

    def search(self, task: SearchTask, evaluator: SearchEvaluator, models: Models, options: DspyOptions) -> None:
        """Run the optimizer, then its result and runners-up on val. Raises SearchBroken where it cannot go on."""
        if set(options.used) & set(WITH_OPTUNA):
            import optuna  # noqa: F401 - here, so that its log handler does not take hold of a stream that is silenced
        from .dspy_door import Carried
        from .dspy_quiet import silence

        try:
            with silence():
                _search(task, evaluator, models, options)
        except Carried as carried:
            raise carried.error from carried.error.__cause__


def _missing(task: SearchTask, models: Models, options: DspyOptions) -> str | None:
    """Return what the optimizers of the options need and do not have."""
    reflective = [name for name in options.used if name in REFLECTIVE]
    if reflective and not models.has("reflection"):
        return f"{reflective[0]} needs a model that proposes; name one under [models] as reflection"
    with_optuna = [name for name in options.used if name in WITH_OPTUNA]
    if with_optuna and not _optuna_is_there():
        return f"{with_optuna[0]} needs optuna, which is not installed: pip install 'skynet-optimizer[dspy]'"
    if options.labels and not task.labelled_train:
        return "labels = true, but no train case has an expected value; map [data] outputs"
    return None


def _optuna_is_there() -> bool:
    """Tell so without the import, which takes a second."""
    try:
        return importlib.util.find_spec("optuna") is not None
    except ValueError:  # an entry of sys.modules that is no module
        return False


def _search(task: SearchTask, evaluator: SearchEvaluator, models: Models, options: DspyOptions) -> None:
    import dspy

    from .dspy_optimizers import MANY, run_optimizer

    bench = _bench(task, evaluator, models, options)
    student = bench.door.program(task.start)
    if any(type(module).__name__ == "Flex" for _, module in student.named_sub_modules()):
        raise SearchBroken(f"the program uses dspy.Flex: {REFUSED['Flex']}", reason="error")
    settings = {
        "lm": bench.models.task, "trace": None, "max_errors": MANY, "num_threads": task.concurrency,
        "disable_history": True, "track_usage": False,
    }  # fmt: skip
    with dspy.context(**settings), bench.door:
        best = bench.door.guarded(lambda: run_optimizer(bench, student))
        _try_on_val(bench, best)
        for program in _ranked(best)[:FINALISTS]:
            if not bench.door.is_known(program) and bench.budget() >= len(task.val):
                _try_on_val(bench, program)


def _bench(task: SearchTask, evaluator: SearchEvaluator, models: Models, options: DspyOptions) -> Bench:
    from .dspy_door import TRAIN, VAL, Door
    from .dspy_examples import example, labelled_example
    from .dspy_models import LanguageModels
    from .dspy_optimizers import Bench

    programs = task.program
    if programs is None:
        raise ValueError("a task whose artifact is a DSPy program comes with the program")
    return Bench(
        task=task,
        options=options,
        door=Door(task, programs, evaluator, options.optimizer, _stride(task, options)),
        models=LanguageModels(programs, models),
        train=[example(case, TRAIN) for case in task.train],
        val=[example(case, VAL) for case in task.val],
        labelled=[labelled_example(case, TRAIN) for case in task.labelled_train],
        budget=lambda: task.cases_for(evaluator.remaining),
    )


def _stride(task: SearchTask, options: DspyOptions) -> int:
    """Return how many served runs make a step: a minibatch of GEPA's, else a pass over val."""
    return options.minibatch_size or 3 if options.used == ("GEPA",) else len(task.val)


def _try_on_val(bench: Bench, program: Any) -> None:
    """Run a program on all of val, which puts it forward; what is known of it is served."""
    import dspy

    dspy.Evaluate(devset=bench.val, metric=bench.metric, num_threads=bench.task.concurrency)(program)


def _ranked(program: Any) -> list[Any]:
    """Return the programs that an optimizer ranked beside the one it returned, the best first."""
    return [entry["program"] for entry in getattr(program, "candidate_programs", ())]
