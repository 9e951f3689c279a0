"""deepeval's metrics: `measure(test_case)` leaves score, reason and error in the object."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from skynet.scorers.text import text_of
from skynet.scorers.tools import calls_of
from skynet.typed.adapters.columns import Columns, of_library, text_or_none, texts_or_none
from skynet.typed.adapters.outcome import Said
from skynet.typed.adapters.shapes import parameters_of
from skynet.typed.adapters.waiting import wait_for

_FIELDS = (
    "input", "actual_output", "expected_output", "context", "retrieval_context", "tools_called", "expected_tools",
    "metadata", "name", "tags", "comments",
)  # fmt: skip


def ask_deepeval(metric: Any, case: Columns, arguments: Mapping[str, Any]) -> Said:
    """Measure one case with an object that nothing else uses meanwhile."""
    measure = getattr(metric, "measure", None) or metric.a_measure
    names = parameters_of(measure)
    quiet = {"_show_indicator": False} if "_show_indicator" in names else {}
    returned: Any = measure(_test_case(case), **quiet, **arguments)
    if inspect.iscoroutine(returned):
        returned = wait_for(returned)
    score = getattr(metric, "score", None)
    breakdown = getattr(metric, "score_breakdown", None)
    return Said(
        value=returned if score is None else score,  # under async mode `measure` itself may return None
        reason=getattr(metric, "reason", None),
        scores=breakdown if isinstance(breakdown, Mapping) else {},
        error=getattr(metric, "error", None) or ("it skipped the case" if getattr(metric, "skipped", False) else None),
        facts={"threshold": getattr(metric, "threshold", None)},
    )


def _test_case(case: Columns) -> Any:
    values = {
        "input": text_of(case.question("input")),
        "actual_output": text_or_none(case.answer("actual_output")),
        "expected_output": text_or_none(case.reference("expected_output")),
        "context": texts_or_none(case.field("context")),
        "retrieval_context": texts_or_none(case.field("retrieval_context")),
        "tools_called": _tools(case.trace if case.field("tools_called") is None else case.field("tools_called")),
        "expected_tools": _tools(case.field("expected_tools")),
    }
    known = {name: value for name, value in values.items() if value is not None}
    real = of_library("deepeval.test_case", "LLMTestCase")
    if real is not None:
        return real(**known)
    return SimpleNamespace(**{**dict.fromkeys(_FIELDS), "multimodal": False, **known})


def _tools(trace: Any) -> list[Any] | None:
    """Return the tool calls of a trace, or of a list of names or calls, as deepeval's; None without any source."""
    if trace is None:
        return None
    make = of_library("deepeval.test_case", "ToolCall") or SimpleNamespace
    if isinstance(trace, list | tuple) and all(isinstance(item, str) for item in trace):
        return [make(name=name, input_parameters=None) for name in trace]
    return [make(name=call.name, input_parameters=dict(call.arguments)) for call in calls_of(trace)]
