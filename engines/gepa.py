"""The engine `gepa`: reflective evolution of texts by the library gepa, on the evaluator's books and budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from skynet.engine import Models, SearchEvaluator, SearchTask

from .reflection import Reflection, refusal, to_parts

if TYPE_CHECKING:
    from .gepa_adapter import Adapter


class GepaOptions(BaseModel):
    """Options of `gepa`.

    `reflection_minibatch_size`: train cases that one proposal is reflected and judged on. `candidate_selection`: how
    the version to improve is chosen. `part_selection`: which parts of a parts artifact one proposal rewrites.
    `acceptance`: what a proposal must do on its minibatch to earn a val pass. `max_proposals`: None is no limit.
    `max_merges`: how often the parts of two versions that lead on different cases are put together.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    reflection_minibatch_size: int = Field(default=3, ge=1)
    candidate_selection: Literal["pareto", "current_best", "epsilon_greedy", "top_k_pareto"] = "pareto"
    part_selection: Literal["round_robin", "all"] = "round_robin"
    acceptance: Literal["strict_improvement", "improvement_or_equal"] = "strict_improvement"
    max_proposals: int | None = Field(default=None, ge=1)
    max_merges: int = Field(default=5, ge=0)


class Gepa:
    """Rewrites a version from its feedback on a minibatch, and spends a val pass on what got better there.

    gepa keeps no files and no cache here: the journal serves what is known. Versions of a parts artifact are merged by
    our own rule, since the order in which gepa's visits parts follows the hash seed, which no replay could repeat.
    """

    name: ClassVar[str] = "gepa"
    Options: ClassVar[type] = GepaOptions

    def applies(self, task: SearchTask, models: Models, options: GepaOptions) -> str | None:
        """Return why the engine cannot work on the task, or None."""
        return refusal(task, models, self.name)

    def estimate(self, task: SearchTask, budget: int, options: GepaOptions) -> int:
        """Return about how many proposals fit, the start's val pass apart, when every second one is accepted."""
        batch = min(options.reflection_minibatch_size, len(task.train))
        known = {case.id for case in task.train} <= {case.id for case in task.val}
        proposal = batch if known else 2 * batch
        cases = task.cases_for(budget)
        if cases < proposal + len(task.val):
            return 0
        fit = max(1, int(cases / (proposal + len(task.val) / 2)))
        return min(fit, options.max_proposals) if options.max_proposals else fit

    def search(self, task: SearchTask, evaluator: SearchEvaluator, models: Models, options: GepaOptions) -> None:
        """Run gepa until a stop of the host or `max_proposals`. Raises SearchBroken when reflection keeps failing."""
        from .gepa_adapter import Adapter, Carried

        adapter = Adapter(task, evaluator, Reflection(task, evaluator, models), options.max_merges)
        try:
            _optimize(task, adapter, options)
        except Carried as carried:
            raise carried.error from carried.error.__cause__


class _Silent:
    def log(self, message: str) -> None:
        """Drop gepa's progress lines: the host tells what happens."""


def _optimize(task: SearchTask, adapter: Adapter, options: GepaOptions) -> None:
    from gepa.api import optimize

    limit = options.max_proposals
    callbacks: list[Any] = [adapter.watcher]  # gepa asks a callback for the methods it has; its type demands them all
    optimize(
        seed_candidate=to_parts(task.start.content),
        trainset=list(task.train),
        valset=list(task.val),
        adapter=adapter,
        candidate_selection_strategy=options.candidate_selection,
        frontier_type="hybrid" if adapter.objectives else "instance",
        perfect_score=task.maximum,
        reflection_minibatch_size=min(options.reflection_minibatch_size, len(task.train)),
        module_selector=options.part_selection,
        acceptance_criterion=options.acceptance,
        stop_callbacks=lambda state: limit is not None and adapter.asked >= limit,
        logger=_Silent(),
        callbacks=callbacks,
        run_dir=None,
        cache_evaluation=False,
        track_best_outputs=False,
        seed=task.seed,
    )
