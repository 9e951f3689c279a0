"""Scores an agent by component: its answer, its use of a tool, and both in one view.

Run it with `python examples/components/components.py`. The agent and the metrics run here, in this process.
"""

import asyncio

from skynet.typed import (
    EVIDENCE_FORMAT_ATIF,
    EVIDENCE_TRACE,
    AgentEvalRunConfig,
    AgentEvalTask,
    AgentEvaluator,
    AgentOutput,
    CallableAgentTaskRunner,
    CandidateEvidence,
    EvidenceDescriptor,
    MetricInput,
    MetricOutput,
    MetricOutputSpec,
    MetricResult,
    SemanticReducer,
    SemanticView,
    Step,
    ToolCall,
    Trajectory,
    TrialDraft,
    ViewSignal,
)


class KeywordMatchMetric:
    """1.0 when the answer holds the expected word."""

    @property
    def type(self) -> str:
        return "keyword_match"

    def output_spec(self) -> list[MetricOutputSpec]:
        return [MetricOutputSpec.continuous_score("score")]

    async def compute_scores(self, input: MetricInput) -> MetricResult:
        expected = str(input.row.data.get("reference", {}).get("expected", "")).lower()
        answer = (input.candidate.output_text or "").lower()
        return MetricResult(outputs=[MetricOutput(name="score", value=1.0 if expected and expected in answer else 0.0)])


class UsedExpectedToolMetric:
    """1.0 when the recorded trace holds a call of the tool."""

    def __init__(self, expected_tool: str) -> None:
        self._expected = expected_tool

    @property
    def type(self) -> str:
        return "used_expected_tool"

    def output_spec(self) -> list[MetricOutputSpec]:
        return [MetricOutputSpec.continuous_score("tool_use")]

    async def compute_scores(self, input: MetricInput) -> MetricResult:
        evidence = input.candidate.evidence
        if evidence is None:
            return MetricResult(outputs=[MetricOutput(name="tool_use", value=0.0)])
        try:
            handle = await evidence.trace(EVIDENCE_TRACE, format="atif")
        except KeyError:
            return MetricResult(outputs=[MetricOutput(name="tool_use", value=0.0)])
        calls = await handle.tool_calls()
        used = any(call.function_name == self._expected for call in calls)
        return MetricResult(outputs=[MetricOutput(name="tool_use", value=1.0 if used else 0.0)])


def recorded(tool: str, query: str) -> CandidateEvidence:
    """A trace with one call of a tool."""
    call = ToolCall(function_name=tool, arguments={"query": query})
    trajectory = Trajectory(schema_version="ATIF-v1.7", steps=[Step(source="agent", tool_calls=[call])])
    trace = EvidenceDescriptor(kind="trace", format=EVIDENCE_FORMAT_ATIF, data=trajectory.model_dump(mode="json"))
    return CandidateEvidence(descriptors={EVIDENCE_TRACE: trace})


def make_tasks() -> list[AgentEvalTask]:
    metrics = [KeywordMatchMetric(), UsedExpectedToolMetric("search")]
    quality = SemanticView(
        reducer=SemanticReducer.MEAN,
        signals=[
            ViewSignal(metric="keyword_match", output="score"),
            ViewSignal(metric="used_expected_tool", output="tool_use"),
        ],
    )
    return [
        AgentEvalTask(
            id=f"capital-{country.lower()}",
            intent="Answer the geography question.",
            inputs={"instruction": f"What is the capital of {country}?"},
            reference={"expected": capital},
            metrics=metrics,
            views={"quality": quality},
        )
        for country, capital in [("France", "Paris"), ("Japan", "Tokyo")]
    ]


async def my_agent(task: AgentEvalTask) -> TrialDraft:
    """Stands in for an agent: it looks one answer up, and knows the other by heart."""
    answers = {
        "capital-france": ("The capital of France is Paris.", "search"),
        "capital-japan": ("The capital of Japan is Tokyo.", None),
    }
    text, tool = answers[task.id]
    evidence = recorded(tool, task.inputs["instruction"]) if tool else None
    return TrialDraft(output=AgentOutput(output_text=text), evidence=evidence)


async def main() -> None:
    result = await AgentEvaluator().run(
        tasks=make_tasks(),
        target=CallableAgentTaskRunner(my_agent),
        config=AgentEvalRunConfig(parallelism=2),
    )
    for aggregate in result.summary.scores.scores:
        print(f"{aggregate.name}: {aggregate.mean}")


if __name__ == "__main__":
    asyncio.run(main())
