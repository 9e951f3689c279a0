"""judge: a model that scores an output by criteria in words, with a structured reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skynet.errors import nearest
from skynet.metric.context import ReplyError
from skynet.metric.contract import Unmeasured
from skynet.metric.helpers import llm
from skynet.metric.numeric import NotANumber, finite
from skynet.metric.schema import Schema
from skynet.metric.show import show
from skynet.scorers.judge_prompt import instructions, texts_to_judge
from skynet.scorers.on_cases import Metric
from skynet.scorers.redaction import without_expected
from skynet.scorers.result import Result, ScorerError

PASS_OR_FAIL = {"pass": 1.0, "fail": 0.0}
_CHOICES = 'Give at least two labels and what they are worth, such as choices={"good": 1, "fair": 0.5, "bad": 0}.'


def judge(
    criteria: str,
    *,
    choices: Mapping[str, float] | Sequence[str] | None = None,
    schema: Any = None,
    show_expected: bool = False,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
) -> Metric:
    """Return a metric that asks the metric model whether the output meets the criteria; its reason is the feedback.

    choices: the labels to choose from and what each is worth, or labels from best to worst (evenly from 1 to 0); left
    out: pass and fail. schema: a pydantic model class or a JSON Schema with `reason` and a number `score`, or with
    `choices` a text `choice`; its other numbers stand in `scores`. show_expected: the judge sees the expected value,
    which is then taken out of its reason. A reply that does not fit is asked for once more; then the case is
    unmeasured. Raises ScorerError.
    """
    if not isinstance(criteria, str) or not criteria.strip():
        raise ScorerError(f'judge: criteria is {show(criteria)}; it must be a text, such as "The reply is polite."')
    worth = _worth(choices) if choices is not None else PASS_OR_FAIL if schema is None else None
    form = _Form.of(schema, worth)
    prompt = instructions(criteria, form.wanted)

    def judged(input: Any, output: Any, expected: Any = None) -> Result:
        texts = texts_to_judge(input, output, expected if show_expected else None)
        try:
            reply = llm(prompt, input=texts, schema=form.schema, temperature=temperature, max_tokens=max_tokens)
        except ReplyError as error:
            return Unmeasured(_said(f"The judge gave no verdict: {error}", expected, show_expected))
        return form.result(reply, expected, show_expected)

    return judged


def _said(text: str, expected: Any, shown: bool) -> str:
    """Return the judge's words; without the expected value where the judge was shown it."""
    return str(without_expected(text, expected)) if shown else text


def _worth(choices: Any) -> dict[str, float]:
    labels = list(choices) if isinstance(choices, Mapping | list | tuple) else []
    if len(labels) < 2 or len(set(labels)) < len(labels) or not all(isinstance(one, str) and one for one in labels):
        raise ScorerError(f"judge: choices is {show(choices)}. {_CHOICES}")
    if not isinstance(choices, Mapping):
        return {label: 1 - place / (len(labels) - 1) for place, label in enumerate(labels)}
    try:
        worth = {label: finite(value) for label, value in choices.items()}
    except NotANumber as fault:
        raise ScorerError(f"judge: the worth of a choice {fault}: choices is {show(choices)}. {_CHOICES}") from None
    if len(set(worth.values())) == 1:
        raise ScorerError(f"judge: all choices are worth the same, so nothing would be measured. {_CHOICES}")
    return worth


@dataclass(frozen=True, slots=True)
class _Form:
    """The reply's form: its schema, the field that decides, and what the choices are worth (None: it is a number)."""

    schema: Any
    decides: str
    worth: Mapping[str, float] | None
    bounds: tuple[float, float] | None

    @classmethod
    def of(cls, schema: Any, worth: Mapping[str, float] | None) -> _Form:
        decides = "score" if worth is None else "choice"
        if worth is not None:
            schema = _choice_schema(list(worth)) if schema is None else _limited(schema, list(worth))
        fields = Schema(schema).json.get("properties", {})
        for needed in ("reason", decides):
            if needed not in fields:
                there = ", ".join(fields) or "none"
                hint = nearest(needed, fields)
                raise ScorerError(f"judge: the schema has no field {needed!r}; it has: {there}.{hint}")
        bounds = _bounds(fields["score"]) if worth is None else (min(worth.values()), max(worth.values()))
        return cls(schema, decides, worth, bounds)

    @property
    def wanted(self) -> str:
        """What the judge is asked for, in words."""
        if self.worth is None:
            return "your `score`"
        return f"your `choice`, one of {', '.join(map(repr, self.worth))}"

    def result(self, reply: Any, expected: Any, shown: bool) -> Result:
        """Return what a reply that fits the schema says."""
        values: dict[str, Any] = reply if isinstance(reply, dict) else reply.model_dump(mode="json")
        verdict, reason = values.get(self.decides), str(values.get("reason") or "").strip()
        number = self._number(verdict)
        if number is None:
            words = f"The judge gave no verdict: its {self.decides} is {show(verdict)}. {reason}"
            return Unmeasured(_said(words.strip(), expected, shown))
        said = _said(reason or "The judge gave no reason.", expected, shown)
        others = {name: value for name, value in values.items() if name not in ("reason", self.decides)}
        info: dict[str, Any] = {
            "feedback": said if self.worth is None else f"{verdict}: {said}",
            "scores": {name: float(value) for name, value in others.items() if isinstance(value, int | float)},
        }
        if self.worth is not None:
            info["choice"] = verdict
        if self.bounds is not None:
            info["range"] = list(self.bounds)
        if rest := {name: value for name, value in others.items() if name not in info["scores"]}:
            info["judgement"] = without_expected(rest, expected) if shown else rest
        return number, info

    def _number(self, verdict: Any) -> float | None:
        if self.worth is not None:
            return self.worth.get(verdict) if isinstance(verdict, str) else None
        try:
            return finite(verdict)
        except NotANumber:
            return None


def _choice_schema(labels: list[str]) -> dict[str, Any]:
    """Return the schema of a choice. The reason comes first: a model that has given its verdict only defends it."""
    return {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "choice": {"type": "string", "enum": labels}},
        "required": ["reason", "choice"],
        "additionalProperties": False,
    }


def _limited(schema: Any, labels: list[str]) -> Any:
    """Return the schema with its `choice` limited to the labels, so that another one is asked for again."""
    field = Schema(schema).json.get("properties", {}).get("choice", {})
    if isinstance(schema, dict) and isinstance(field, dict) and field and "enum" not in field:
        return {**schema, "properties": {**schema["properties"], "choice": {**field, "enum": labels}}}
    if field and ("enum" not in field or not set(field["enum"]) <= set(labels)):
        literal = ", ".join(map(repr, labels))
        raise ScorerError(f"judge: the schema's `choice` must be limited to the choices: choice: Literal[{literal}].")
    return schema


def _bounds(field: Any) -> tuple[float, float] | None:
    """Return the bounds of the schema's score; None where it names none."""
    if not isinstance(field, Mapping) or "minimum" not in field or "maximum" not in field:
        return None
    return float(field["minimum"]), float(field["maximum"])
