"""The host's own record of one evaluation, and what of it an engine may see."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from skynet.engine import Evaluation, Failure, Status
from skynet.workers.fault import Fault, cut
from skynet.workers.frames import pack, unpack


@dataclass(frozen=True, slots=True)
class Record:
    """One execution of one version on one case and repetition, with everything that came of it.

    `score` is None unless `status` is `ok`. `fault` is set exactly when `failure` is. Times are milliseconds; the
    target's `elapsed_ms` and `cost_usd` are None where nothing was measured. `metric_called` says whether `score()`
    was executed, which is what a metric call counts.
    """

    version: str
    case: str
    repetition: int
    status: Status
    failure: Failure | None = None
    score: float | None = None
    output: Any = None
    feedback: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    side_info: dict[str, Any] = field(default_factory=dict)
    fault: Fault | None = None
    warnings: tuple[str, ...] = ()
    elapsed_ms: float | None = None
    cost_usd: float | None = None
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    metric_ms: float | None = None
    metric_called: bool = False
    stdout: str = ""
    stderr: str = ""
    trace: Any = None
    steps: Any = None  # an engine's own, of a rollout

    def to_json(self) -> dict[str, Any]:
        """Return the record as a dict that JSON carries exactly; what is as by default is left out."""
        body = {name: getattr(self, name) for name in _REQUIRED}
        body |= {name: value for name, usual in _USUAL.items() if (value := getattr(self, name)) != usual}
        if self.fault is not None:
            body["fault"] = self.fault.to_frame()
        packed: dict[str, Any] = pack(body)
        return packed

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Record:
        """Return the record that `to_json` made."""
        values: dict[str, Any] = unpack(body)
        if "fault" in values:
            values["fault"] = Fault(**values["fault"])
        return cls(**values)

    @property
    def refused_for_good(self) -> bool:
        """Whether a provider refused in a way that no retry mends, such as a wrong key."""
        return self.failure == "provider" and self.fault is not None and bool(self.fault.data.get("permanent"))

    def error_text(self) -> str | None:
        """Return the failure as the next proposer should read it: the error, its traceback, and what was printed."""
        if self.fault is None:
            return None
        parts = [self.fault.traceback or str(self.fault)]
        if self.failure == "target":
            parts += [f"{name}:\n{text}" for name, text in (("stdout", self.stdout), ("stderr", self.stderr)) if text]
        return "\n".join(part.strip() for part in parts)

    def seen(self, split: str, value: float, feedback_limit: int) -> Evaluation:
        """Return what an engine sees of it: no `expected` key, feedback cut to `feedback_limit` characters."""
        error = self.error_text()
        hidden = self.failure in ("metric", "provider")
        return Evaluation(
            version=self.version,
            case=self.case,
            repetition=self.repetition,
            split=split,
            status=self.status,
            value=value,
            score=self.score,
            failure=self.failure,
            output=self.output,
            feedback=cut(self.feedback if error is None or hidden else error, feedback_limit),
            scores=dict(self.scores),
            side_info={name: item for name, item in self.side_info.items() if name != "expected"},
            error=None if error is None else cut(_public(self, error), feedback_limit),
            elapsed_ms=self.elapsed_ms,
            cost_usd=self.cost_usd,
            trace=self.trace,
            steps=self.steps,
        )


_REQUIRED = ("version", "case", "repetition", "status")
_BLANK = Record("", "", 0, "ok")
_USUAL = {item.name: getattr(_BLANK, item.name) for item in fields(Record) if item.name not in _REQUIRED}


def _public(record: Record, error: str) -> str:
    """A failing metric's traceback shows the metric's source and perhaps labels: an engine is told the kind only."""
    if record.failure == "metric" and record.fault is not None:
        return f"the metric failed on this output ({record.fault.type or record.fault.kind}); no score"
    if record.failure == "provider":
        return "a model's provider failed; no score"
    return error
