"""The OpenAI chat format: a request's body, a reply's text, and the words in an error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from skynet.models.backend import ModelRequest, ProviderFault, RawReply

LONGEST_WORDS = 600  # characters of a provider's words that are shown
MOST_WORDS = 100_000  # that are looked through for keys


def choice_format(choices: Sequence[str]) -> dict[str, Any]:
    """Return the response format that lets a model answer with one of `choices` only, as `{"choice": ...}`."""
    schema = {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": list(choices)}},
        "required": ["choice"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "choice", "strict": True, "schema": schema}}


def schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response format for a JSON schema of the user's, which need not meet OpenAI's strict rules."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema)}}


def chat_body(request: ModelRequest) -> dict[str, Any]:
    """Return the request's body without `extra_body`; parameters that are None are left out."""
    extra = {name: value for name, value in request.extra.items() if name != "extra_body"}
    limit = {} if "max_completion_tokens" in extra else {"max_tokens": request.max_tokens}
    optional: dict[str, Any] = {
        "temperature": request.temperature,
        "response_format": request.response_format,
        "tools": None if request.tools is None else [dict(tool) for tool in request.tools],
        "tool_choice": request.tool_choice,
    }
    return {
        "model": request.model,
        "messages": [dict(message) for message in request.messages],
        **limit,
        **{name: value for name, value in optional.items() if value is not None},
        **extra,
    }


def read_reply(payload: object, request: ModelRequest) -> RawReply:
    """Return the first choice of a chat completion; a body of another shape is a ProviderFault of the attempt."""
    if not isinstance(payload, dict):
        raise _malformed(payload, "a JSON object")
    choices = payload.get("choices")
    if not isinstance(choices, list) or not choices:
        raise _malformed(payload, "at least one entry in 'choices'")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise _malformed(payload, "a 'message' in the first choice")
    text = _text(message)
    if text is None:
        raise _malformed(payload, "a text under 'content'")
    calls = message.get("tool_calls") or ()
    usage = payload.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return RawReply(
        text=unwrap_choice(text, request.choices) if request.choices else text,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        tool_calls=tuple(call for call in calls if isinstance(call, dict)),
        finish_reason=str(choices[0].get("finish_reason") or "stop"),
    )


def unwrap_choice(text: str, choices: Sequence[str]) -> str:
    """Return the bare choice of `{"choice": ...}`; any other text as it is, since a wrong answer is the model's."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    choice = value.get("choice") if isinstance(value, dict) else None
    return choice if isinstance(choice, str) and choice in choices else text


def error_words(body: str) -> tuple[str, str | None]:
    """Return the message and the code of an error body in the shapes that servers use; other text as it is."""
    try:
        payload = json.loads(body)
    except ValueError:
        return _short(body), None
    if not isinstance(payload, dict):
        return _short(body), None
    error = payload.get("error", payload)
    if not isinstance(error, dict):
        return _short(str(error)), None
    words = error.get("message") or error.get("detail") or body
    code = next((error[name] for name in ("code", "type") if isinstance(error.get(name), str)), None)
    if error.get("type") == "insufficient_quota":
        code = "insufficient_quota"
    return _short(words if isinstance(words, str) else json.dumps(words)), code


def _text(message: Mapping[str, Any]) -> str | None:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # content in parts: the texts of it
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if content is None:  # a refusal, a tool call, or a reply cut before its first word
        return str(message.get("refusal") or "")
    return None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _malformed(payload: object, wanted: str) -> ProviderFault:
    shown = _short(json.dumps(payload, default=str))
    return ProviderFault(f"the reply is not a chat completion: it lacks {wanted}. It reads: {shown}", "attempt")


def _short(text: str) -> str:
    """Return the text on one line; it is cut where keys have been removed from it, so that none is cut in two."""
    return " ".join(text[:MOST_WORDS].split())


def shown_words(text: str) -> str:
    """Return a provider's words as they are shown."""
    return text if len(text) <= LONGEST_WORDS else text[:LONGEST_WORDS] + " ..."
