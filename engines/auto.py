"""The engine `auto`: several engines one after another, each with its share, and GEPA on the winner with the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from skynet.engine import LaneConverged, LaneStop, Models, SearchBroken, SearchEvaluator, SearchTask

from .entrants import AnyModels, Entrant, LaneSpec, default_lanes, make_entrant
from .findings import Findings
from .lane import Lane

FEW = 5  # proposals: a share that buys fewer cannot show what an engine can do, and does more good in another lane


class AutoOptions(BaseModel):
    """Options of `auto`.

    `labels`: engines that can use expected values of train may. `lanes`: engines in the order in which they run, each
    a name or a table with the engine's own options; None for demos, best_of_n and gepa, or for a DSPy program demos
    and optimizers of dspy. `patience`: passes over val without a gain after which a lane ends.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: bool = False
    lanes: tuple[LaneSpec, ...] | None = Field(default=None, min_length=1)
    patience: int = Field(default=3, ge=1)

    @model_validator(mode="after")
    def _sound(self) -> AutoOptions:
        for lane in self.lanes or ():
            make_entrant(lane, self.labels)
        return self


class Auto:
    """Runs demos, best_of_n and gepa one after another, and gives the rest of the budget to gepa on the winner.

    Each lane has an equal share of the metric calls that are left when it begins. A lane that stands still gives the
    rest of its share back; one that does not apply, or whose share buys too few proposals, is left out. A lane that
    breaks ends alone. Each of these is told in the run's events and in the report. The rest goes to gepa, from the best
    version of all lanes; where gepa's own lane leads, it goes on instead.
    """

    name: ClassVar[str] = "auto"
    Options: ClassVar[type] = AutoOptions

    def applies(self, task: SearchTask, models: Models, options: AutoOptions) -> str | None:
        """Return why none of the lanes can work on the task, or None."""
        reasons = [entrant.refusal(task, models) for entrant in _entrants(task, options)]
        told = [reason for reason in reasons if reason is not None]
        return f"none of its lanes can: {'; '.join(told)}" if len(told) == len(reasons) else None

    def estimate(self, task: SearchTask, budget: int, options: AutoOptions) -> int:
        """Return how many proposals the shares buy, were every lane to use its own up."""
        runners = [one for one in _entrants(task, options) if one.refusal(task, AnyModels()) is None]
        return sum(_planned(runners, task, budget))

    def search(self, task: SearchTask, evaluator: SearchEvaluator, models: Models, options: AutoOptions) -> None:
        """Run the lanes, then gepa on the winner.

        Raises SearchBroken when no lane applies or every lane broke, LaneConverged when the last one stands still.
        """
        runners: list[Entrant] = []
        reasons: list[str] = []
        for entrant in _entrants(task, options):
            if (reason := entrant.refusal(task, models)) is None:
                runners.append(entrant)
            else:
                reasons.append(reason)
                evaluator.note(f"The lane {entrant.title} was left out: {reason}.")
        if not runners:
            raise SearchBroken(f"none of the lanes can work on this project: {'; '.join(reasons)}", reason="error")
        Relay(task, evaluator, models, options.patience).run(runners)


class Relay:
    """The lanes of one search, one after another."""

    def __init__(self, task: SearchTask, evaluator: SearchEvaluator, models: Models, patience: int) -> None:
        self._task = task
        self._evaluator = evaluator
        self._models = models
        self._patience = patience
        self._findings = Findings(task, evaluator.evaluate(task.start, task.val))
        self._broken: list[SearchBroken] = []
        self._still: LaneConverged | None = None  # how the last lane ended
        self._ran = 0

    def run(self, runners: Sequence[Entrant]) -> None:
        """Run each in its lane and the rest on the winner.

        Raises SearchBroken when all broke, LaneConverged when the last one stands still.
        """
        follower = next((one for one in runners if one.continues), None)
        for number, entrant in enumerate(runners):
            if self._findings.perfect:
                break
            shares = len(runners) - number + (follower is not None)
            share = self._evaluator.remaining // shares
            if (bought := entrant.buys(self._task, share)) < _enough(shares):
                self._evaluator.note(
                    f"The lane {entrant.title} was left out: its share of {share} metric calls buys about {bought} "
                    f"proposals{', so it takes the rest as well' if entrant is follower else ''}."
                )
            elif not self._run_lane(entrant, share, last=number == len(runners) - 1) and entrant is follower:
                follower = None
        if follower is not None and not self._findings.perfect:
            self._continue(follower)
        if self._broken and len(self._broken) == self._ran:
            raise _all_broken(self._broken)
        if self._still is not None:
            raise self._still

    def _run_lane(self, entrant: Entrant, share: int, last: bool) -> bool:
        lane = Lane(
            self._task, self._evaluator, self._findings, share, patience=self._patience,
            may_grow=last and entrant.continues,
        )  # fmt: skip
        return self._drive(entrant, entrant.title, self._task, lane)

    def _continue(self, follower: Entrant) -> None:
        best = self._findings.best
        first = best.id == self._task.start.id and not self._ran
        task = self._task if first else replace(self._task, start=best, seed=self._task.seed + 1)
        self._evaluator.note(f"{follower.title} goes on from version {best.id} with what is left.")
        lane = Lane(task, self._evaluator, self._findings, None)
        self._drive(follower, f"{follower.title} on the winner", task, lane)

    def _drive(self, entrant: Entrant, title: str, task: SearchTask, lane: Lane) -> bool:
        """Run an engine in its lane and tell how that ended; return whether it did not break."""
        self._still = None
        try:
            with self._evaluator.lane(title):
                entrant.engine.search(entrant.view(task), lane, self._models, entrant.options)
            ended, sound = "it was done", True
        except LaneStop as stop:
            self._still = stop if isinstance(stop, LaneConverged) else None
            ended, sound = str(stop), True
        except SearchBroken as broken:
            ended, sound = self._break(broken), False
        except Exception as error:  # whatever an engine raises ends its lane; the run's notes have it
            if error is lane.host_fault:
                raise
            ended, sound = self._break(_as_broken(error)), False
        finally:
            lane.close("the lane has ended")
        self._ran += 1
        self._evaluator.note(
            f"The lane {title} ended after {lane.charged} metric calls, the best by then at "
            f"{self._findings.value:.4g} on val: {ended}."
        )
        return sound

    def _break(self, broken: SearchBroken) -> str:
        self._broken.append(broken)
        return str(broken)


def _as_broken(error: Exception) -> SearchBroken:
    broken = SearchBroken(f"the engine failed: {type(error).__name__}: {error}", reason="error")
    broken.__cause__ = error
    return broken


def _all_broken(broken: Sequence[SearchBroken]) -> SearchBroken:
    """Return the one that tells of all; a lane that found nothing to work with, or too small a budget for it, must not
    hide a broken model."""
    reason = min((one.reason for one in broken), key=lambda reason: (reason == "error", reason.startswith("budget_")))
    told = SearchBroken("; ".join(dict.fromkeys(map(str, broken))), reason)
    told.__cause__ = broken[0].__cause__
    return told


def _entrants(task: SearchTask, options: AutoOptions) -> list[Entrant]:
    lanes = default_lanes(task.kind) if options.lanes is None else options.lanes
    return [make_entrant(lane, options.labels) for lane in lanes]


def _enough(shares: int) -> int:
    """Return how many proposals a share must buy; the last one is of no use to anyone else."""
    return FEW if shares > 1 else 1


def _planned(runners: Sequence[Entrant], task: SearchTask, budget: int) -> list[int]:
    bought: list[int] = []
    follower = next((one for one in runners if one.continues), None)
    for number, entrant in enumerate(runners):
        shares = len(runners) - number + (follower is not None)
        share = budget // shares
        if (proposals := entrant.buys(task, share)) >= _enough(shares):
            bought.append(proposals)
            budget -= share
    if follower is not None:
        bought.append(follower.buys(task, budget))
    return bought
