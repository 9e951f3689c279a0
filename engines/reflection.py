"""What a reflection model is asked, and what is made of its replies; shared by gepa and best_of_n."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skynet.engine import (
    Content,
    Evaluation,
    ModelFailed,
    ModelReply,
    Models,
    Rejected,
    SearchBroken,
    SearchEvaluator,
    SearchTask,
    TaskCase,
    apply_edits,
    extract_proposal,
    parse_edits,
)

from .chat import placed_columns, value_text

FAILURES_IN_A_ROW = 5
ATTEMPTS_TOLD = 5
ATTEMPT_CHARACTERS = 800
VALUE_CHARACTERS = 4096
WHOLE = "artifact"  # the name of the only part of an artifact that has no parts
NOT_RECORDED = frozenset({"expected", "feedback", "scores"})  # of side info: withheld, or recorded under its own name

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A proposal that was not taken."""

    part: str
    text: str
    reason: str


def to_parts(content: Content) -> dict[str, str]:
    """Return the named texts of a content; a text or code is one part."""
    return {WHOLE: content} if isinstance(content, str) else dict(content)


def to_content(parts: Mapping[str, str], task: SearchTask) -> Content:
    """Return the content that the named texts make up."""
    return dict(parts) if task.kind == "parts" else parts[WHOLE]


def refusal(task: SearchTask, models: Models, name: str) -> str | None:
    """Return why an engine that rewrites texts by reflection cannot work on the task."""
    if task.kind == "dspy":
        return f"{name} rewrites texts and code; for a DSPy program use the engine dspy"
    if not models.has("reflection"):
        return f"{name} needs a reflection model; name one as `reflection` under [models]"
    return None if task.train else f"{name} learns from train cases, and there are none"


def to_record(case: TaskCase, evaluation: Evaluation) -> Record:
    """Return what the reflection model may know of one evaluation, in the order in which it is shown."""
    record: Record = {"input": dict(case.input)}
    if evaluation.failure != "target":
        record["output"] = evaluation.output
    record["score"] = "not measured" if evaluation.score is None else evaluation.score
    if evaluation.status == "failed":
        record["score"] = f"{evaluation.value:g}, because the run failed"
    if evaluation.scores:
        record["scores"] = dict(sorted(evaluation.scores.items()))
    record["feedback"] = evaluation.feedback
    record |= {key: evaluation.side_info[key] for key in sorted(evaluation.side_info) if key not in NOT_RECORDED}
    if evaluation.error and evaluation.error not in evaluation.feedback:
        record["error"] = evaluation.error
    return record


class Reflection:
    """Asks for one text at a time, and remembers what was not taken and how many requests in a row failed.

    Each request that brings no text is entered with the evaluator, whose guard ends a search that gets none.
    """

    def __init__(
        self, task: SearchTask, evaluator: SearchEvaluator, models: Models, temperature: float | None = None
    ) -> None:
        self._task = task
        self._evaluator = evaluator
        self._models = models
        self._temperature = temperature
        self._columns = list(dict.fromkeys(name for case in task.train for name in case.input))
        self._attempts: deque[Attempt] = deque(maxlen=ATTEMPTS_TOLD)
        self._failures = 0

    def rewrite(
        self, part: str, current: str, records: Sequence[Record], beside: Mapping[str, str] = {}
    ) -> str | None:
        """Return a new text for the part, or None. Raises SearchBroken at the fifth failed request in a row.

        `beside` are the other parts, shown so that the new text fits them.
        """
        prompt = self._prompt(part, current, records, beside)
        request = {"messages": [{"role": "user", "content": prompt}], "temperature": self._temperature}
        try:
            reply = self._models.ask(request)
        except ModelFailed as failed:
            self._fail(str(failed))
            return None
        if not reply.text.strip():
            self._fail("it replied with nothing" + (f": {reply.cut}" if reply.cut else ""))
            return None
        self._failures = 0
        try:
            text = self._proposed(reply, current)
        except Rejected as rejected:
            self.reject(part, reply.text, str(rejected))
            self._evaluator.reject(reply.text, str(rejected))
            return None
        # A fence cannot show whether the text ends in a line break, so a text that came back unchanged has to stay so.
        return text + "\n" if current.endswith("\n") and not text.endswith("\n") else text

    def _proposed(self, reply: ModelReply, current: str) -> str:
        """Return the text that a reply proposes; for code, also by edits of the current one. Raises Rejected."""
        whole = extract_proposal(reply) if reply.cut else reply.text  # of a reply that was cut, what it closed
        edits = parse_edits(whole) if self._task.kind == "code" else []
        text = apply_edits(current, edits) if edits else extract_proposal(reply)
        if not text.strip():
            raise Rejected("the text was empty")
        return text

    def reject(self, part: str, text: str, reason: str) -> None:
        """Remember that the text was not taken, and why, for the next requests."""
        self._attempts.append(Attempt(part, text[: ATTEMPT_CHARACTERS + 1], reason))

    def _fail(self, cause: str) -> None:
        self._failures += 1
        self._evaluator.reject("", f"the reflection model failed: {cause}")
        if self._failures >= FAILURES_IN_A_ROW:
            raise SearchBroken(
                f"the reflection model failed {self._failures} times in a row; the last time: {cause}"
            ) from None

    def _prompt(self, part: str, current: str, records: Sequence[Record], beside: Mapping[str, str]) -> str:
        task = self._task
        sections = [
            ("", f"You improve {_subject(task, part)}. It is run on many cases, and each run is scored."),
            ("Objective", task.objective),
            ("Background", task.background),
            ("How it is used", "\n".join(self._usage(part, current))),
            ("The text as it is now", _fenced(current)),
            ("The other parts", "\n\n".join(f"## {name}\n{_fenced(text)}" for name, text in beside.items())),
            ("What came of it", "\n\n".join(_shown(number, record) for number, record in enumerate(records, 1))),
            ("Tried already and not taken", "\n\n".join(self._told(part))),
            ("What to do", _code_request(current) if task.kind == "code" else _request(current)),
        ]
        return "\n\n".join(f"# {title}\n{body}" if title else body for title, body in sections if body.strip())

    def _usage(self, part: str, current: str) -> list[str]:
        notes: list[str] = []
        if self._task.target == "chat" and self._task.kind == "text":
            notes.append(
                "It is the prompt of a chat model: the system prompt, unless lines that hold only `system:`, `user:` "
                "or `assistant:` divide it into turns."
            )
        if self._task.kind == "code":
            notes.append(
                "It is a Python file. One function of it is called with the input of a case, a dict, and returns the "
                "output; its name and signature must stay. The file runs by itself in an empty folder."
            )
        if self._task.target == "chat" and self._task.kind == "parts":
            notes.append(f"It is the {part} turn of a chat with a model.")
        if placed := placed_columns(current, self._columns):
            marks = ", ".join(f"{{{{ {column} }}}}" for column in placed)
            notes.append(f"Each run puts its input in the place of {marks}; these marks must stay as they are.")
        notes.append(f"The best score that one case can reach is {self._task.maximum:g}.")
        return notes

    def _told(self, part: str) -> list[str]:
        attempts = [attempt for attempt in self._attempts if attempt.part == part]
        return [
            f"{number}. {attempt.reason}\n{_fenced(_cut(attempt.text, ATTEMPT_CHARACTERS))}"
            for number, attempt in enumerate(attempts, 1)
        ]


def _subject(task: SearchTask, part: str) -> str:
    if task.kind == "parts":
        return f"the part {part!r} of a set of texts that work together"
    return "a piece of code" if task.kind == "code" else "a text"


def _request(current: str) -> str:
    fence = _fence_for(current)
    return (
        "Work out from the cases what the text makes go wrong and what already goes right. Then write the whole text "
        "anew, so that it mends the former and keeps the latter. Put in what holds for cases of this sort in general, "
        "with every rule and fact that the feedback gives away; do not copy single cases. Stay with the language of "
        "the text as it is now.\n"
        f"Reply with the whole new text between two lines {fence} and use that fence once. Only what stands between "
        "the two lines is taken."
    )


def _code_request(current: str) -> str:
    fence = _fence_for(current)
    return (
        "Work out from the cases what the code does wrong, or where it wastes time, and mend it for inputs of this "
        "sort in general, never for single cases. Reply in one of two ways.\n"
        "Edits, each of them in these lines, where the passage stands exactly once in the code, to the letter, white "
        "space too:\n"
        "<<<<<<< SEARCH\na passage of the code as it is now\n=======\nwhat stands there instead\n>>>>>>> REPLACE\n"
        f"Or the whole new file between two lines {fence}, with that fence used once. Explanations outside are ignored."
    )


def _shown(number: int, record: Record) -> str:
    return "\n".join([f"## Case {number}", *(_entry(key, value) for key, value in record.items())])


def _entry(key: str, value: Any) -> str:
    if isinstance(value, dict) and value:
        return "\n".join([f"{key}:", *(_entry(f"- {name}", inner) for name, inner in value.items())])
    text = _cut(value_text(value), VALUE_CHARACTERS)
    return f"{key}:\n{_fenced(text)}" if "\n" in text else f"{key}: {text}"


def _cut(text: str, limit: int) -> str:
    # Outputs may hold lone surrogates, which no request body can carry.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= limit else f"{text[:limit]} [cut here]"


def _fenced(text: str) -> str:
    fence = _fence_for(text)
    return f"{fence}\n{text}\n{fence}"


def _fence_for(text: str) -> str:
    return "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
