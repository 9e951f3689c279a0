"""Against stand-ins of deepeval's shape: results are left in the object, and `measure` may return None."""

from __future__ import annotations

from typing import Any

import pytest

from skynet.metric.contract import Scored, Unmeasured, validate
from skynet.typed import adapt

ATIF = {"steps": [{"tool_calls": [{"function_name": "search", "arguments": {"q": "x"}}]}]}


class BaseMetric:
    threshold = 0.5

    def __init__(self) -> None:
        self.score: float | None = None
        self.reason: str | None = None
        self.error: str | None = None
        self.claims: list[str] = []


class Same(BaseMetric):
    def measure(self, test_case: Any, _show_indicator: bool = True) -> None:
        assert _show_indicator is False
        self.claims.append(test_case.actual_output)
        if test_case.actual_output == "break":
            self.error = "The judge sent no JSON."
            self.score = 0.0
            return
        self.score = float(test_case.actual_output == test_case.expected_output)
        self.reason = f"{len(self.claims)} claim; expected {test_case.expected_output}"


class Asynchronous(BaseMetric):
    async def a_measure(self, test_case: Any) -> float:
        return 0.75


class Keeps(BaseMetric):
    def __init__(self, seen: list[Any]) -> None:
        super().__init__()
        self.keep = seen.append  # a bound method is copied with its list, so it is shared only by copy=False

    def measure(self, test_case: Any) -> float:
        self.keep(test_case)
        return 1.0


def run(metric: Any, output: Any, **options: Any) -> Any:
    return validate(adapt(metric, **options)({"q": "Capital?"}, output, {"city": "Paris"}))


def test_score_and_reason_are_read_from_the_object_even_when_measure_returns_none() -> None:
    found = run(Same(), "Paris")
    assert isinstance(found, Scored)
    assert (found.score, found.side_info["threshold"]) == (1.0, 0.5)
    assert found.feedback == "1 claim; expected [expected value removed]"


def test_the_error_of_one_case_does_not_stick_to_the_next() -> None:
    score = adapt(Same)
    broken = validate(score({}, "break", {"city": "Paris"}))
    assert broken == Unmeasured("Same reported an error: The judge sent no JSON.")
    found = validate(score({}, "Rome", {"city": "Paris"}))
    assert isinstance(found, Scored)
    assert (found.score, found.feedback.partition(" claim")[0]) == (0.0, "1")


def test_a_metric_with_only_a_measure_is_awaited() -> None:
    assert run(Asynchronous(), "Paris").score == 0.75


def test_a_skipped_case_is_unmeasured() -> None:
    metric = Asynchronous()
    metric.skipped = True  # type: ignore[attr-defined]
    assert run(metric, "Paris") == Unmeasured("Asynchronous reported an error: it skipped the case")


def test_the_test_case_has_deepevals_fields() -> None:
    seen: list[Any] = []
    fields = {"retrieval_context": "docs", "expected_tools": "tools"}
    score = adapt(Keeps(seen), fields=fields, copy=False)
    score({"input": "Capital?", "docs": ["a", "b"], "tools": ["search"]}, "out", {"city": "Paris"}, trace=ATIF)
    [case] = seen
    assert (case.input, case.actual_output, case.expected_output) == ("Capital?", "out", "Paris")
    assert (case.context, case.retrieval_context) == (None, ["a", "b"])
    [called] = case.tools_called
    assert (called.name, called.input_parameters) == ("search", {"q": "x"})
    assert [tool.name for tool in case.expected_tools] == ["search"]


def test_a_breakdown_stands_in_the_scores() -> None:
    metric = Asynchronous()
    metric.score_breakdown = {"alignment": 0.25, "coverage": 1}  # type: ignore[attr-defined]
    assert run(metric, "Paris").scores == {"alignment": 0.25, "coverage": 1.0}
    assert run(metric, "Paris", primary="alignment").score == 0.25


def test_what_measure_raises_is_the_metrics_failure() -> None:
    class Raises(BaseMetric):
        def measure(self, test_case: Any) -> float:
            raise ValueError("no judge")

    with pytest.raises(ValueError, match="no judge"):
        run(Raises(), "Paris")
