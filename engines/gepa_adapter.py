"""gepa's view of a task: candidates are versions, scores come through the evaluator, texts from the reflection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from gepa.core.adapter import EvaluationBatch, ProposalFn
from gepa.core.callbacks import CandidateRejectedEvent, IterationStartEvent

from skynet.engine import Evaluation, Rejected, SearchEvaluator, SearchTask, TaskCase, Version

from .gepa_merge import Merger
from .reflection import Record, Reflection, to_content, to_parts, to_record

Candidate = dict[str, str]
Trajectory = tuple[TaskCase, Evaluation]
Batch = EvaluationBatch[Trajectory, Any]
Params = ParamSpec("Params")
Result = TypeVar("Result")


class Carried(BaseException):
    """An Exception on its way out: gepa logs and forgets the ones that a proposer raises, but no BaseException."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _carry(method: Callable[Params, Result]) -> Callable[Params, Result]:
    @wraps(method)
    def carrying(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return method(*args, **kwargs)
        except Exception as error:
            raise Carried(error) from error

    return carrying


class Adapter:
    """A `GEPAAdapter`. `objectives` are the named scores that drive fronts; `asked` counts the proposals asked for."""

    def __init__(
        self, task: SearchTask, evaluator: SearchEvaluator, reflection: Reflection, max_merges: int = 0
    ) -> None:
        self._task = task
        self._evaluator = evaluator
        self._reflection = reflection
        self._versions: dict[tuple[str, ...], Version] = {_key(to_parts(task.start.content)): task.start}
        self._child: tuple[Candidate, Candidate] = ({}, {})  # the candidate under trial, and the texts new in it
        self.propose_new_texts: ProposalFn | None = self._propose_new_texts  # gepa's protocol has it as an attribute
        self.objectives = _objective_floors(evaluator.evaluate(task.start, task.val))
        self.asked = 0
        self.watcher = Watcher(self, Merger(self, task.val, max_merges))

    def evaluate(self, batch: list[TaskCase], candidate: Candidate, capture_traces: bool = False) -> Batch:
        """Evaluate a candidate; gepa pads minibatches with cases that they already hold, which are asked for once."""
        cases = list({case.id: case for case in batch}.values())
        known = {e.case: e for e in self._evaluator.evaluate(self._versions[_key(candidate)], cases)}
        evaluations = [known[case.id] for case in batch]
        return EvaluationBatch(
            outputs=[None] * len(batch),  # gepa makes nothing of them; the trajectories hold what reflection reads
            scores=[_finite(evaluation) for evaluation in evaluations],
            trajectories=list(zip(batch, evaluations, strict=True)),
            objective_scores=_objective_scores(evaluations, self.objectives) if self.objectives else None,
        )

    def batch_evaluate(
        self, items: list[tuple[Candidate, list[TaskCase]]], *, capture_traces: bool = True
    ) -> list[Batch]:
        """Evaluate several candidates, one after another; the evaluator runs the cases of each side by side."""
        return [self.evaluate(batch, candidate, capture_traces) for candidate, batch in items]

    @_carry
    def make_reflective_dataset(
        self, candidate: Candidate, eval_batch: Batch, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return one record for each case of the minibatch, the same for every part."""
        distinct = {case.id: (case, evaluation) for case, evaluation in eval_batch.trajectories or []}
        records = [to_record(case, evaluation) for case, evaluation in distinct.values()]
        return dict.fromkeys(components_to_update, records)

    @_carry
    def _propose_new_texts(
        self,
        candidate: Candidate,
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> Candidate:
        """Return the new texts of the parts, put forward with the evaluator; none when it took no proposal."""
        self.asked += 1
        texts: Candidate = {}
        for part in components_to_update:
            records: list[Record] = [dict(record) for record in reflective_dataset[part]]
            beside = {name: text for name, text in candidate.items() if name != part}
            if (text := self._reflection.rewrite(part, candidate[part], records, beside)) is not None:
                texts[part] = text
        if not texts:
            return {}
        child = {**candidate, **texts}
        parent, note = self._versions[_key(candidate)], f"rewritten from {len(records)} cases: {', '.join(texts)}"
        try:
            version = self._evaluator.propose(to_content(child, self._task), parent, note)
        except Rejected as rejected:
            self._reject(texts, str(rejected))
            return {}
        self._versions[_key(child)] = version
        self._child = (child, texts)
        return texts

    def put_forward_merge(self, child: Candidate, first: Candidate, second: Candidate) -> bool:
        """Put the parts of two versions forward as one; return whether the evaluator took it."""
        one, other = self._versions[_key(first)], self._versions[_key(second)]
        taken = ", ".join(name for name in sorted(child) if child[name] != first[name])
        try:
            version = self._evaluator.propose(to_content(child, self._task), one, f"merged: {taken} of {other.id}")
        except Rejected:
            return False
        self._versions[_key(child)] = version
        return True

    def forget(self, candidate: Candidate) -> None:
        """Forget a candidate that is not in the population."""
        del self._versions[_key(candidate)]

    def drop_child(self, reason: str) -> None:
        """Forget the candidate under trial, which gepa did not take up, and remember its texts for the proposer."""
        child, texts = self._child
        self.forget(child)
        self._reject(texts, reason)

    def _reject(self, texts: Candidate, reason: str) -> None:
        for part, text in texts.items():
            self._reflection.reject(part, text, reason)


class Watcher:
    """Callbacks of gepa that keep a step as cheap as the first, since nothing of a finished one is held, and merge."""

    def __init__(self, adapter: Adapter, merger: Merger) -> None:
        self._adapter = adapter
        self._merger = merger

    @_carry
    def on_iteration_start(self, event: IterationStartEvent) -> None:
        """Drop gepa's trace of the steps before this one, and try a merge."""
        del event["state"].full_program_trace[:-1]
        self._merger.look(event)

    def on_candidate_rejected(self, event: CandidateRejectedEvent) -> None:
        """Take note of a candidate that did no better on its minibatch."""
        self._adapter.drop_child(
            f"it scored {event['new_score']:g} in total on a few cases, "
            f"where the text that it came from scored {event['old_score']:g}"
        )


def _key(candidate: Candidate) -> tuple[str, ...]:
    return tuple(part for item in sorted(candidate.items()) for part in item)


def _finite(evaluation: Evaluation) -> float:
    value = float(evaluation.value)
    if not math.isfinite(value):
        raise ValueError(f"version {evaluation.version}, case {evaluation.case}: the evaluator's value is {value}")
    return value


def _objective_floors(evaluations: Sequence[Evaluation]) -> dict[str, float]:
    """Return the named scores that every measured case has, each with what a failed case counts as in its front."""
    measured = [evaluation.scores for evaluation in evaluations if evaluation.status == "ok"]
    shared = set.intersection(*(set(scores) for scores in measured)) if measured else set()
    return {name: min(0.0, *(scores[name] for scores in measured)) for name in sorted(shared)}


def _objective_scores(evaluations: Sequence[Evaluation], floors: Mapping[str, float]) -> list[dict[str, float]]:
    columns = {name: _objective_column(evaluations, name, floor) for name, floor in floors.items()}
    return [{name: column[index] for name, column in columns.items()} for index in range(len(evaluations))]


def _objective_column(evaluations: Sequence[Evaluation], name: str, floor: float) -> list[float]:
    """A failed case counts as the floor, an unmeasured one as the mean; a score left out leads no front at all."""
    known = [evaluation.scores[name] for evaluation in evaluations if name in evaluation.scores]
    if not known or any(e.status == "ok" and name not in e.scores for e in evaluations):
        return [floor] * len(evaluations)
    mean = sum(known) / len(known)
    return [e.scores.get(name, floor if e.status == "failed" else mean) for e in evaluations]
