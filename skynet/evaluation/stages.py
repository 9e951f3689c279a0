"""The contract check's result: its stages, the samples, and how they show themselves."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from skynet.evaluation.display import json_ready, number, printable
from skynet.workers.fault import Fault

_CELL_CHARS = 500
_TAIL_CHARS = 500
_OWN_CODE = re.escape(os.path.dirname(os.path.dirname(__file__)) + os.sep)
_OWN_FRAME = re.compile(rf'  File "(?:{_OWN_CODE}|<string>)')
_CROSSING = (
    "What may cross: None, bool, int, float, str, bytes, list, tuple, dict with string or int keys, datetime, date, "
    "Decimal, dataclasses and pydantic models, within [limits] output."
)

StageStatus = Literal["passed", "warning", "failed", "skipped", "pending"]

METRIC_FILE = "Metric file"
METRIC_LOAD = "Metric load"
METRIC_FUNCTION = "Metric function"
REWARD_SPEC = "Reward spec"
SAMPLE_CASES = "Sample cases"
RUN_OUTPUT = "Run output"
METRIC_CALL = "Metric call"
RETURN_VALUE = "Metric return value"
PERFECT_ANSWER = "Perfect answer"
SIGNAL = "Signal"
REPEATABILITY = "Repeatability"
STAGES = (
    METRIC_FILE, METRIC_LOAD, METRIC_FUNCTION, REWARD_SPEC, SAMPLE_CASES, RUN_OUTPUT, METRIC_CALL, RETURN_VALUE,
    PERFECT_ANSWER, SIGNAL, REPEATABILITY,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage's outcome. `case`, `file` and `line` are None where they do not apply."""

    name: str
    status: StageStatus
    message: str = ""
    case: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample case: what the target returned and what the metric made of it; None where it did not come to that."""

    case: str
    output: Any = None
    score: float | None = None
    feedback: str | None = None
    scores: dict[str, float] = field(default_factory=dict)
    elapsed_ms: float | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult:
    """The whole check. `ok` means that no stage failed. `notices` say what was to be known before it began;
    `missing_model` names the role without a model that a stage waits for, such as `metric` or `task and a metric`;
    `reward_spec` is the metric's own, None without one; `by_provider`: what failed first was a model's provider."""

    stages: tuple[Stage, ...]
    samples: tuple[Sample, ...] = ()
    notices: tuple[str, ...] = ()
    metric_calls: int = 0
    missing_model: str | None = None
    reward_spec: Mapping[str, Any] | None = None
    by_provider: bool = False

    @property
    def ok(self) -> bool:
        """Whether no stage failed."""
        return all(stage.status != "failed" for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        """Return `{"ok", "stages", "samples"}` in strict JSON terms, as `skynet check --json` prints it."""
        stages, samples = map(asdict, self.stages), map(asdict, self.samples)
        return {"ok": self.ok, "stages": json_ready(list(stages)), "samples": json_ready(list(samples))}

    @property
    def outcome(self) -> str:
        """Whether it passed, where it failed, or which model it waits for, in one sentence."""
        failed = [stage.name for stage in self.stages if stage.status == "failed"]
        if failed:
            return f"The contract check failed at {failed[0]}."
        if self.missing_model:
            return f"Nothing failed, but the check waits for a {self.missing_model} model; name one under [models]."
        warned = sum(stage.status == "warning" for stage in self.stages)
        with_them = f" with {plural(warned, 'warning')}" if warned else ""
        return f"The contract check passed{with_them}."

    def __repr__(self) -> str:
        return f"<CheckResult: {self.outcome}>"

    def __str__(self) -> str:
        """Tell the outcome, each stage and each sample, a line or more of each."""
        stages = [f"{stage.status:<8} {stage.name}: {_told(stage)}".rstrip(": ") for stage in self.stages]
        samples = [f"case {item.case}: {_measured(item)}" for item in self.samples]
        return printable("\n".join([self.outcome, *stages, *samples, f"Metric calls: {self.metric_calls}"]))

    def _repr_html_(self) -> str:
        """Show itself in a notebook."""
        head = html.escape(self.outcome)
        stages = [(stage.status, stage.name, _told(stage)) for stage in self.stages]
        samples = [
            (item.case, item.output, item.score, item.feedback, _named(item.scores), item.elapsed_ms, item.cost_usd)
            for item in self.samples
        ]
        return (
            f"<p><b>{head}</b></p>{_table(('status', 'stage', 'message'), stages)}"
            f"{_table(('case', 'output', 'score', 'feedback', 'named scores', 'ms', 'dollars'), samples)}"
        )


OnStage = Callable[[Stage], None]


class StageList:
    """The stages in the making: each is announced when its outcome is known."""

    def __init__(self, on_stage: OnStage) -> None:
        self._on_stage = on_stage
        self._stages: list[Stage] = []

    def add(self, name: str, status: StageStatus, message: str = "", **where: Any) -> None:
        """Announce one stage's outcome."""
        stage = Stage(name, status, message, **where)
        self._stages.append(stage)
        self._on_stage(stage)

    def rest(self, status: StageStatus, message: str) -> tuple[Stage, ...]:
        """Give every stage that has no outcome yet this one, and return all in order."""
        known = {stage.name for stage in self._stages}
        for name in STAGES:
            if name not in known:
                self.add(name, status, message)
        return self.all()

    def all(self) -> tuple[Stage, ...]:
        """Return the stages in the contract's order."""
        return tuple(sorted(self._stages, key=lambda stage: STAGES.index(stage.name)))


def told(fault: Fault, stderr: str = "") -> str:
    """Return a fault as a stage's message: the error and the user's frames, or what a dead process printed last."""
    if fault.traceback:
        return fault.traceback.strip()
    if fault.kind == "bad_output":
        return f"what was returned cannot leave its process: {fault.message}. {_CROSSING}"
    error = f"{fault.type}: {fault.message}" if fault.type else fault.message
    tail = _last_prints(stderr) if fault.kind == "died" else ""
    return f"{error}\n{tail}" if tail else error


def _last_prints(stderr: str) -> str:
    """Return the end of what was printed, without our own frames, which a crash in native code lists too."""
    lines = [line for line in stderr.splitlines() if not _OWN_FRAME.match(line)]
    return "\n".join(lines).strip()[-_TAIL_CHARS:]


def plural(count: int, what: str) -> str:
    """Return `1 case`, `2 cases`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def sentence(text: str) -> str:
    """Return the text with a capital and a full stop; empty stays empty."""
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _told(stage: Stage) -> str:
    where = [f"case {stage.case}" if stage.case is not None else "", f"line {stage.line}" if stage.line else ""]
    place = ", ".join(part for part in where if part)
    return f"{stage.message} ({place})" if place else stage.message


def _measured(sample: Sample) -> str:
    """Return score, output and feedback of a sample, each cut."""
    parts = ["no score" if sample.score is None else f"score {number(sample.score)}", _named(sample.scores)]
    parts.append(f"output {_cut(repr(sample.output))}")
    return "; ".join(part for part in (*parts, _cut(sample.feedback or "")) if part)


def _cut(text: str) -> str:
    return text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}..."


def _named(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {number(value)}" for name, value in scores.items())


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    plain = json_ready(value)
    text = "" if plain is None else number(plain) if isinstance(plain, float) else str(plain)
    return html.escape(printable(_cut(text)))
