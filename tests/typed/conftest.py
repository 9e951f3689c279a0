from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from skynet.typed import (
    AgentEvalResult,
    AgentEvalRunConfig,
    AgentEvalTask,
    AgentEvalTrial,
    AgentEvalTrialStatus,
    AgentEvaluator,
    AgentOutput,
    MetricDiagnostic,
    MetricInput,
    MetricOutput,
    MetricOutputSpec,
    MetricResult,
)

Result = TypeVar("Result")


def run(pending: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end."""
    return asyncio.run(pending)


class Returns:
    """A typed metric that returns given values, or what a function makes of its input."""

    def __init__(
        self,
        values: Mapping[str, Any] | Callable[[MetricInput], Mapping[str, Any]],
        specs: Sequence[MetricOutputSpec] = (MetricOutputSpec.continuous_score("score"),),
        type: str = "metric",
        diagnostics: Sequence[MetricDiagnostic] = (),
    ) -> None:
        self.type = type
        self._values = values
        self._specs = list(specs)
        self._diagnostics = list(diagnostics)

    def output_spec(self) -> list[MetricOutputSpec]:
        return self._specs

    async def compute_scores(self, input: MetricInput) -> MetricResult:
        values = self._values(input) if callable(self._values) else self._values
        outputs = [MetricOutput(name=name, value=value) for name, value in values.items()]
        return MetricResult(outputs=outputs, diagnostics=self._diagnostics)


def by_text(input: MetricInput) -> dict[str, Any]:
    """The output's text, read as a number, is the score."""
    return {"score": float(input.candidate.output_text or "nan")}


def trial(task: str, number: int, text: str | None = "", **fields: Any) -> AgentEvalTrial:
    """A completed trial with that output, or a failed one for None."""
    status = AgentEvalTrialStatus.FAILED if text is None else AgentEvalTrialStatus.COMPLETED
    output = None if text is None else AgentOutput(output_text=text)
    return AgentEvalTrial(id=f"{task}-{number}", task_id=task, status=status, output=output, **fields)


def score(tasks: Sequence[AgentEvalTask], trials: Sequence[AgentEvalTrial], **config: Any) -> AgentEvalResult:
    """Score trials that were made before."""
    return run(AgentEvaluator().run(tasks=tasks, trials=trials, config=AgentEvalRunConfig(**config)))
