"""Templates over a case: sandboxed Jinja with strict names, which sees `item` and `sample`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from skynet.errors import nearest
from skynet.metric.show import show
from skynet.scorers.result import ScorerError
from skynet.scorers.text import text_of

_NAME = re.compile(r"'([^']+)'(?: is undefined)?$")  # the end of what Jinja says of a missing name


def render(template: str, item: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
    """Return the template filled in: `item` holds the case's columns, `sample` the output; both by bare name too.

    Values that are not text are put in as JSON. Raises ScorerError for a syntax error and for a name that is not
    there, with the names that are.
    """
    from jinja2 import TemplateError, UndefinedError

    names = {**item, **sample, "item": item, "sample": sample}
    try:
        return str(_compiled(template).render(names))
    except UndefinedError as error:
        found = _NAME.search(error.message or "")
        hint = nearest(found[1], [*item, *sample]) if found else ""
        there = f"item has {_listed(item)}; sample has {_listed(sample)}.{hint}"
        message = f"The template {show(template)} names what is not there: {error.message}"
        raise ScorerError(f"{message}. Here {there}") from error
    except TemplateError as error:
        raise ScorerError(f"The template {show(template)} cannot be filled in: {error}.") from error


def _listed(columns: Mapping[str, Any]) -> str:
    return ", ".join(columns) or "nothing"


@lru_cache(maxsize=256)
def _compiled(template: str) -> Any:
    return _environment().from_string(template)


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class ColumnsFirst(ImmutableSandboxedEnvironment):
        """`item.items` is the column of this name where there is one, not the method of a dict."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            if isinstance(obj, Mapping) and attribute in obj:
                return obj[attribute]
            return super().getattr(obj, attribute)

    return ColumnsFirst(undefined=StrictUndefined, finalize=_final, keep_trailing_newline=True)


def _final(value: Any) -> Any:
    from jinja2 import Undefined

    return value if isinstance(value, Undefined) else text_of(value)
