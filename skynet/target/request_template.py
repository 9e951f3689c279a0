"""The request of an http target: placeholders in its URL and JSON body, and headers from the environment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from skynet.artifact import Content
from skynet.errors import SkynetError, nearest
from skynet.target.prompt import as_text

DEFAULT_BODY = {"artifact": "{{ artifact }}", "input": "{{ input }}"}
_PLACEHOLDER = re.compile(r"\{\{\s*(artifact|input)(?:\.([^{}]*?))?\s*\}\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HIDDEN = "[key]"
_SHORTEST_SECRET = 6  # a shorter value would be cut out of ordinary words


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request, filled in."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


class RequestTemplate:
    """Fills in `{{ artifact }}`, `{{ artifact.part }}`, `{{ input }}` and `{{ input.column }}`.

    A text in the body that is one placeholder and nothing else becomes the value with its JSON type; inside a longer
    text, and in the URL, the value stands as text. `${NAME}` in a header is the environment variable.
    """

    def __init__(
        self, method: str, url: str, headers: Mapping[str, str], body: Any, environ: Mapping[str, str]
    ) -> None:
        self._method = method
        self._url = url
        self._headers = headers
        self._body = DEFAULT_BODY if body is None else body
        names = [name for value in headers.values() for name in _VARIABLE.findall(value)]
        self._values = {name: environ.get(name, "").strip() for name in names}

    def missing_variables(self) -> list[str]:
        """Return the environment variables that headers name and that are not set."""
        return [name for name, value in self._values.items() if not value]

    def fill(self, artifact: Content, values: Mapping[str, Any]) -> HttpRequest:
        """Return the request of one case. Raises SkynetError for a placeholder that names nothing."""
        known = {"artifact": artifact, "input": dict(values)}
        url = _PLACEHOLDER.sub(lambda match: quote(as_text(_value(match, known)), safe=""), self._url)
        headers = {
            name.lower(): _VARIABLE.sub(lambda match: self._values[match[1]], text)
            for name, text in self._headers.items()
        }
        if self._method == "GET":
            return HttpRequest(self._method, url, headers, None)
        # A lone surrogate crosses as its JSON escape; nothing else is escaped that need not be.
        body = json.dumps(_filled(self._body, known), ensure_ascii=True, default=str).encode("ascii")
        return HttpRequest(self._method, url, {"content-type": "application/json"} | headers, body)

    def redact(self, text: str) -> str:
        """Return the text without the values of the environment variables, which may be keys."""
        for value in sorted(self._values.values(), key=len, reverse=True):
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, _HIDDEN)
        return text


def _filled(template: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(template, dict):
        return {key: _filled(value, known) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [_filled(value, known) for value in template]
    if not isinstance(template, str):
        return template
    if (whole := _PLACEHOLDER.fullmatch(template.strip())) is not None:
        return _value(whole, known)
    return _PLACEHOLDER.sub(lambda match: as_text(_value(match, known)), template)


def _value(match: re.Match[str], known: Mapping[str, Any]) -> Any:
    root, name = match[1], match[2]
    value = known[root]
    if name is None:
        return value
    if not isinstance(value, dict):
        raise SkynetError(
            f"[target] names {{{{ {root}.{name} }}}}, but the artifact is one text; write {{{{ artifact }}}}"
        )
    if name not in value:
        has = ", ".join(value) or "none"
        what = "input column" if root == "input" else "part"
        hint = nearest(name, value)
        raise SkynetError(f"[target] names {{{{ {root}.{name} }}}}; there is no such {what}.{hint} There is: {has}")
    return value[name]
