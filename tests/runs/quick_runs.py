"""Runs of the loud project without processes or sockets: worker pools and a model in this process, all else real."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skynet.evaluation import project
from skynet.evaluation.child_dspy import dspy_target
from skynet.evaluation.ration import UNLIMITED, Ration
from skynet.evaluation.targets import program_path
from skynet.models.backend import ModelRequest, RawReply
from skynet.models.gateway import Gateway
from skynet.runs.result import RunResult
from skynet.runs.session import Given, resume_run, run_project
from skynet.spec import Spec, load_spec
from skynet.workers.fault import fault_of
from skynet.workers.frames import pack, unpack
from skynet.workers.runtime import Loaded
from skynet.workers.worker import Outcome
from tests.runs.cut_runs import PRICES, answer
from tests.runs.loud_programs import program_answer


class QuickPool:
    """The metric's worker pool: scores in this process, and counts itself in a file as the project's metric does."""

    def __init__(self, log: Path, judge: bool = False) -> None:
        self._log = log
        self._judge = judge

    def load(self, cancel: threading.Event | None = None) -> Outcome:
        found = {"warnings": [], "calls_llm": self._judge, "reward_spec": None, "file": "metric.py", "line": 1}
        return Outcome("ok", found)

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


class QuickPrograms:
    """The worker pool of a DSPy program: its real entry, loaded and called in this process."""

    def __init__(self, spec: Spec) -> None:
        outputs = list(spec.data.outputs) if spec.data else []
        self._config = {"folder": str(spec.root), "path": str(program_path(spec)), "outputs": outputs}
        self._loaded: Loaded | None = None

    def load(self, cancel: threading.Event | None = None) -> Outcome:
        self._loaded = dspy_target(self._config)
        return Outcome("ok", self._loaded.info)

    def call(self, payload: Mapping[str, Any], *, ask: Callable[..., Any], **_: Any) -> Outcome:
        assert self._loaded is not None
        host = contextvars.copy_context()

        def asked(request: dict[str, Any]) -> Any:
            return host.copy().run(ask, request, None)

        try:  # a worker knows nothing of the host's context
            value = contextvars.Context().run(self._loaded.handler, unpack(pack(dict(payload))), asked)
        except BaseException as error:  # noqa: BLE001 - every way to fail is told to the host, as a worker does
            fault = fault_of(error, self._loaded.folder, self._loaded.files)
            return Outcome(fault.kind, None, fault)
        return Outcome("ok", unpack(pack(value)))

    def clock_floor_ms(self, timeout: float = 10.0) -> float:
        return 0.0

    def close(self) -> None: ...


class QuickModel:
    """The provider: answers as the scripted server does, and adds up what it would bill, by role."""

    def __init__(self, script: Callable[[Mapping[str, Any]], str]) -> None:
        self._script = script
        self._lock = threading.Lock()
        self.usd: dict[str, float] = {}
        self.requests = 0

    def complete(self, request: ModelRequest) -> RawReply:
        text = self._script({"model": request.model, "messages": list(request.messages)})
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
        self.model = QuickModel(answer)
        self.judge = False
        self._patch = patch
        patch.setattr(project, "metric_pool", self._pool)
        patch.setattr(project, "program_pool", lambda spec, *_: QuickPrograms(spec))
        patch.chdir(Path.cwd())  # a program's entry enters its folder
        patch.setattr(Gateway, "_backend", lambda gateway, spec: self.model)

    def _pool(self, source: Path, *_: Any) -> QuickPool:
        return QuickPool(source.with_name("calls.log"), self.judge)

    def blindfold(self) -> None:
        """Have engines read that the budget counts no metric calls: they plan for more than there is."""
        self._patch.setattr(Ration, "remaining", UNLIMITED)

    def run(self, folder: Path, fork: str | None = None, **budget: Any) -> RunResult:
        """Run the project in `folder` with this budget instead of its own."""
        self.clear(folder)
        return run_project(load_spec(folder, {"budget": budget}), Given(accept=True, fork=fork))

    def run_as_written(self, folder: Path) -> RunResult:
        """Run the project in `folder` with the budget of its file."""
        self.clear(folder)
        return run_project(load_spec(folder), Given(accept=True))

    def resume(self, folder: Path, run: str, **add_budget: float) -> RunResult:
        """Go on with a run; `model` and the metric's count begin anew."""
        self.clear(folder)
        return resume_run(folder, run, add_budget=add_budget)

    def clear(self, folder: Path) -> None:
        self.model = QuickModel(program_answer if (folder / "program.py").exists() else answer)
        (folder / "calls.log").unlink(missing_ok=True)


def scored(folder: Path) -> int:
    """Return how often the metric says that it was called."""
    log = folder / "calls.log"
    return len(log.read_text("utf-8").split()) if log.exists() else 0
