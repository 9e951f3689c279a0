"""inspect's scorers: `async score(state, target)` returns a Score with value, explanation and metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, overload

from skynet.metric.show import show
from skynet.scorers.text import text_of
from skynet.typed.adapters.columns import Columns, of_library
from skynet.typed.adapters.outcome import Said
from skynet.typed.adapters.waiting import wait_for
from skynet.typed.validation import MetricError

_MODEL = "skynet/target"


class Target(Sequence[str]):
    """Stands in for inspect's Target in a process without it: one or more right texts."""

    def __init__(self, target: Sequence[str]) -> None:
        self.target = list(target)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self.target[index]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def text(self) -> str:
        """All of them as one text."""
        return "".join(self.target)


def ask_inspect(scorer: Any, case: Columns, arguments: Mapping[str, Any]) -> Said:
    """Score one case. A dict of values is several scores; NaN is inspect's "unscored"."""
    question, answer = text_of(case.question("input")), text_of(case.answer("output"))
    wanted = case.reference("target")
    targets = [text_of(item) for item in wanted] if isinstance(wanted, list | tuple) else [text_of(wanted or "")]
    make_target = of_library("inspect_ai.scorer", "Target") or Target
    target = make_target(targets)
    returned: Any = wait_for(scorer(_state(question, answer, target, case), target, **arguments))
    if returned is None:
        return Said(value=None, reason="The scorer returned nothing.")
    value = getattr(returned, "value", returned)
    if isinstance(value, Sequence) and not isinstance(value, str):
        raise MetricError(f"The scorer's value is {show(value)}. As a score it must be one value, or a dict of them.")
    return Said(value=value, reason=_reason(returned), facts={"answer_found": getattr(returned, "answer", None)})


def _reason(returned: Any) -> Any:
    parts = [getattr(returned, "explanation", None), getattr(returned, "reason", None)]
    return "\n".join(str(part) for part in parts if part) or None


def _state(question: str, answer: str, target: Any, case: Columns) -> Any:
    metadata = {**case.input} if isinstance(case.input, Mapping) else {}
    make = of_library("inspect_ai.solver", "TaskState")
    if make is None:
        messages = [
            SimpleNamespace(role="user", content=question, text=question),
            SimpleNamespace(role="assistant", content=answer, text=answer),
        ]
        return SimpleNamespace(
            input=question, input_text=question, user_prompt=messages[0], messages=messages, target=target,
            output=SimpleNamespace(completion=answer, message=messages[1], model=_MODEL), metadata=metadata,
            model=_MODEL, sample_id="case", epoch=1, choices=[], completed=True, tools=[],
        )  # fmt: skip
    output = of_library("inspect_ai.model", "ModelOutput").from_content(_MODEL, answer)
    user = of_library("inspect_ai.model", "ChatMessageUser")(content=question)
    model = of_library("inspect_ai.model", "ModelName")(_MODEL)
    return make(
        model=model, sample_id="case", epoch=1, input=question, messages=[user, output.message], target=target,
        output=output, metadata=metadata, completed=True,
    )  # fmt: skip
