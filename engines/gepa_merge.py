"""Merges inside a gepa search: tried between two of its iterations, taken into its population when they pay off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gepa.core.callbacks import IterationStartEvent
from gepa.core.state import GEPAState, ValsetEvaluation

from skynet.engine import TaskCase

from .merge import Member, Merge, find_merge


class Candidates(Protocol):
    """What a merge needs of the adapter."""

    def put_forward_merge(self, child: dict[str, str], first: dict[str, str], second: dict[str, str]) -> bool:
        """Put a merged version forward; return whether the evaluator took it."""
        ...

    def evaluate(self, batch: list[TaskCase], candidate: dict[str, str]) -> Any:
        """Evaluate a candidate on cases."""
        ...

    def forget(self, candidate: dict[str, str]) -> None:
        """Drop a merged version that did not pay off."""
        ...


class Merger:
    """Tries one merge after each version that gepa took in, at most `most` in all.

    gepa's own merge follows the hash seed, so that a run with it could not be replayed.
    """

    def __init__(self, adapter: Candidates, val: Sequence[TaskCase], most: int) -> None:
        self._adapter = adapter
        self._val = val
        self._left = most
        self._seen = 1
        self._tried: set[tuple[int, int]] = set()

    def look(self, event: IterationStartEvent) -> None:
        """Try a merge when the population grew since the last look."""
        state = event["state"]
        if not self._left or len(state.program_candidates) == self._seen:
            return
        merge = find_merge(_members(state), self._tried)
        if merge is not None:
            self._left -= 1
            first, second = sorted(merge.pair)
            self._tried.add((first, second))
            self._try(state, merge)
        self._seen = len(state.program_candidates)

    def _try(self, state: GEPAState[Any, Any], merge: Merge) -> None:
        """Put the merge forward; it earns a val pass by beating both versions where they differ."""
        first, second = (dict(state.program_candidates[number]) for number in merge.pair)
        if not self._adapter.put_forward_merge(merge.parts, first, second):
            return
        contested = self._adapter.evaluate([self._val[case] for case in merge.contested], merge.parts)
        scores = state.prog_candidate_val_subscores
        before = max(sum(scores[number][case] for case in merge.contested) for number in merge.pair)
        if sum(contested.scores) <= before:
            self._adapter.forget(merge.parts)
            return
        whole = self._adapter.evaluate(list(self._val), merge.parts)
        objectives = None if whole.objective_scores is None else dict(enumerate(whole.objective_scores))
        evaluation: ValsetEvaluation[Any, Any] = ValsetEvaluation(
            dict(enumerate(whole.outputs)), dict(enumerate(whole.scores)), objectives
        )
        state.update_state_with_new_program(
            list(merge.pair), merge.parts, evaluation, None, state.total_num_evals
        )


def _members(state: GEPAState[Any, Any]) -> list[Member]:
    populations = zip(
        state.program_candidates, state.prog_candidate_val_subscores, state.parent_program_for_candidate, strict=True
    )
    return [
        Member(parts, scores, [parent for parent in parents if parent is not None])
        for parts, scores, parents in populations
    ]
