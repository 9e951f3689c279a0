"""The search: the engine in a thread of its own, until it returns, is stopped, or hangs past its time."""

from __future__ import annotations

import contextvars
import threading
import traceback
from dataclasses import dataclass
from typing import Any

from skynet.engine import Engine, LaneConverged, LaneStop, RunStop, SearchBroken, SearchTask
from skynet.errors import SkynetError
from skynet.evaluation.budget import Budget, BudgetSpent
from skynet.evaluation.evaluator import Evaluator
from skynet.evaluation.guards import Stop
from skynet.runs.engine_models import EngineModels

GRACE_SECONDS = 2.0  # how long a stopped engine may take to return before the host goes on without it
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """Why the search ended; `message` is the cause where there is one to tell."""

    reason: str
    message: str = ""


class Search:
    """One search by one engine."""

    def __init__(
        self, engine: Engine, task: SearchTask, evaluator: Evaluator, models: EngineModels, options: Any
    ) -> None:
        self._engine = engine
        self._task = task
        self._evaluator = evaluator
        self._models = models
        self._options = options
        self._end: SearchEnd | None = None
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._work,), name="skynet-engine", daemon=True
        )

    def run(self, cancel: threading.Event, budget: Budget) -> SearchEnd:
        """Run until the end; when `cancel` is set or the time is over, the doors close, and two seconds later the host
        goes on alone."""
        self._thread.start()
        try:
            while self._thread.is_alive():
                self._thread.join(_LOOK_SECONDS)
                stop = Stop("cancelled") if cancel.is_set() else _out_of_time(budget)
                if stop is not None:
                    self._close(stop)
                    self._thread.join(GRACE_SECONDS)
                    return self._end or SearchEnd(stop.reason, str(stop))
            return self._end or SearchEnd("error", "the engine ended without a word")
        finally:
            self._close(Stop("cancelled"))  # for threads that an engine left behind, too

    def _close(self, stop: Stop) -> None:
        self._evaluator.close(stop)
        self._models.close(stop)

    def _work(self) -> None:
        try:
            self._engine.search(self._task, self._evaluator, self._models, self._options)
            end = SearchEnd("engine_done")
        except Stop as stop:
            end = SearchEnd(stop.reason, str(stop))
        except SearchBroken as broken:
            end = SearchEnd(broken.reason, str(broken))
        except LaneConverged as stop:
            end = SearchEnd("converged", str(stop))
        except (RunStop, LaneStop) as stop:
            end = SearchEnd("engine_done", str(stop))
        except SkynetError as error:  # not the engine's own: the store's, for example
            end = SearchEnd("error", str(error))
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises ends the run with its cause
            end = SearchEnd("error", f"the engine failed: {error}\n{traceback.format_exc(limit=-8)}")
        self._end = end


def _out_of_time(budget: Budget) -> Stop | None:
    """Return the stop when the active seconds are over, for an engine that computes without asking for anything."""
    try:
        budget.check()
    except BudgetSpent as spent:
        return Stop(spent.reason, str(spent))
    return None
