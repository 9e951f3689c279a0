"""Runs of the loud project without processes or sockets: a worker pool and a model in this process, all else real."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation import project
from skynet.models.backend import ModelRequest, RawReply
from skynet.models.gateway import Gateway
from skynet.runs.result import RunResult
from skynet.runs.session import Given, resume_run, run_project
from skynet.spec import load_spec
from skynet.workers.worker import Outcome
from tests.runs.cut_runs import PRICES, answer


class QuickPool:
    """The metric's worker pool: scores in this process, and counts itself in a file as the project's metric does."""

    def __init__(self, log: Path, judge: bool = False) -> None:
        self._log = log
        self._judge = judge

    def load(self, cancel: threading.Event | None = None) -> Outcome:
        return Outcome("ok", {"warnings": [], "calls_llm": self._judge, "reward_spec": None})

    def call(self, payload: Mapping[str, Any], *, ask: Callable[..., Any], **_: Any) -> Outcome:
        word, output, loud = payload["input"]["word"], payload["output"], payload["expected"]["loud"]
        with self._log.open("a", encoding="utf-8") as file:
            file.write(f"{word}\n")
        if self._judge:
            ask({"messages": [{"role": "user", "content": f"{word} {output} {loud}"}]}, None)
        right = output == loud
        feedback = "Right." if right else f"Add the word {word}."
        return Outcome(
            "ok", {"score": float(right), "feedback": feedback, "scores": {}, "side_info": {}, "warnings": []}
        )

    def clock_floor_ms(self, timeout: float = 10.0) -> float:
        return 0.0

    def close(self) -> None: ...


class QuickModel:
    """The provider: answers as the scripted server does, and adds up what it would bill, by role."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.usd: dict[str, float] = {}
        self.requests = 0

    def complete(self, request: ModelRequest) -> RawReply:
        text = answer({"model": request.model, "messages": list(request.messages)})
        read = sum(len(str(turn["content"]).split()) for turn in request.messages)
        written = len(text.split())
        price_in, price_out = PRICES[request.model]
        with self._lock:
            self.requests += 1
            cost = (read * price_in + written * price_out) / 1e6
            self.usd[request.model] = self.usd.get(request.model, 0.0) + cost
        return RawReply(text, read, written)

    @property
    def total(self) -> float:
        return sum(self.usd.values())

    def close(self) -> None: ...


class QuickRuns:
    """Runs projects; `model` is the provider of the run that was started last."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.model = QuickModel()
        self.judge = False
        patch.setattr(project, "metric_pool", self._pool)
        patch.setattr(Gateway, "_backend", lambda gateway, spec: self.model)

    def _pool(self, source: Path, *_: Any) -> QuickPool:
        return QuickPool(source.with_name("calls.log"), self.judge)

    def run(self, folder: Path, fork: str | None = None, **budget: Any) -> RunResult:
        """Run the project in `folder` with this budget instead of its own."""
        self.clear(folder)
        return run_project(load_spec(folder, {"budget": budget}), Given(accept=True, fork=fork))

    def resume(self, folder: Path, run: str, **add_budget: float) -> RunResult:
        """Go on with a run; `model` and the metric's count begin anew."""
        self.clear(folder)
        return resume_run(folder, run, add_budget=add_budget)

    def clear(self, folder: Path) -> None:
        self.model = QuickModel()
        (folder / "calls.log").unlink(missing_ok=True)


def scored(folder: Path) -> int:
    """Return how often the metric says that it was called."""
    log = folder / "calls.log"
    return len(log.read_text("utf-8").split()) if log.exists() else 0
