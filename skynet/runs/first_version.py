"""The first version of a run without one: written by the reflection model from the objective and the train inputs."""

from __future__ import annotations

from collections.abc import Sequence

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.engine import Message, ModelFailed, ModelReply, Rejected, extract_proposal
from skynet.evaluation.content_check import content_check
from skynet.evaluation.guards import Stop
from skynet.evaluation.project import Project
from skynet.runs.engine_models import EngineModels
from skynet.target.prompt import input_text

_SHOWN_INPUTS = 8
_INPUT_CHARS = 1_000
_TRIES = 3


def write_first_version(project: Project, models: EngineModels) -> Artifact:
    """Return the first version. Raises Stop with `reflection_broken` when no usable text came in three tries."""
    if not models.has("reflection"):
        raise Stop(
            "reflection_broken",
            "there is no start version, and no reflection model to write one; name a file under [artifact] path, "
            "or a model under [models] reflection",
        )
    request = _request(project)
    messages, problem = [_turn(request)], ""
    for _ in range(_TRIES):
        try:
            reply = models.ask({"messages": messages})
        except ModelFailed as failed:
            messages, problem = [_turn(request)], str(failed)
            continue
        try:
            return _usable(project, reply)
        except Rejected as rejected:
            problem = str(rejected)
            messages = _objection(request, reply.text, problem)
    raise Stop(
        "reflection_broken",
        f"the reflection model wrote no usable first version in {_TRIES} tries, the last time because {problem}; "
        "name a file under [artifact] path, or another model under [models] reflection",
    )


def _usable(project: Project, reply: ModelReply) -> Artifact:
    """Return what a reply proposes. Raises Rejected where it could not be a version of this project."""
    text = extract_proposal(reply)
    if not text.strip():
        raise Rejected(reply.cut or "the reply was empty")
    artifact = Artifact(project.spec.artifact.kind, text)
    reason = content_check(artifact, (), False, project.spec.artifact.entry)(text)
    if reason is not None:
        raise Rejected(reason)
    return artifact


def _objection(request: str, reply: str, reason: str) -> list[Message]:
    """Return the turns that ask for another reply, none of them empty and no two of one role in a row."""
    text = f"Your reply cannot be used: {reason}. Write it anew: the whole text between one pair of code fences."
    if not reply.strip():
        return [_turn(f"{request}\n\n{text}")]
    return [_turn(request), {"role": "assistant", "content": reply}, _turn(text)]


def _turn(text: str) -> Message:
    return {"role": "user", "content": text}


def _request(project: Project) -> str:
    spec = project.spec
    wanted = {
        "text": "the system prompt for a language model that is given each input as the user's message",
        "code": f"a Python file that defines {spec.artifact.entry}(input)",
    }.get(spec.artifact.kind, "the text")
    if spec.target.kind == "python":
        wanted = "the text that the program below works with"
    parts = [f"Write {wanted}.", f"# Objective\n{spec.objective}"]
    if spec.background.strip():
        parts.append(f"# Background\n{spec.background.strip()}")
    if spec.target.choices:
        parts.append("# Allowed replies\n" + "\n".join(spec.target.choices))
    parts.append("# Inputs it will meet\n" + _inputs(project.dataset.train))
    parts.append("Reply with the whole text between one pair of code fences (```), and nothing else.")
    return "\n\n".join(parts)


def _inputs(cases: Sequence[Case]) -> str:
    shown = [input_text(case.input)[:_INPUT_CHARS] for case in cases[:_SHOWN_INPUTS] if case.input]
    return "\n---\n".join(shown) if shown else "(none: it is run once, without an input)"
