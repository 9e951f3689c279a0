"""What a proposal must keep to be worth an evaluation: placeholders survive, code parses, nothing is unreadable."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from skynet.artifact import Artifact, Content
from skynet.evaluation.evaluator import ContentCheck
from skynet.target.prompt import placeholders


def content_check(start: Artifact, columns: Sequence[str], template: bool, entry: str = "") -> ContentCheck:
    """Return the check of a run's proposals: the reason why a content is broken, or None.

    `template` says whether `{{ column }}` in the text places an input, as in a chat target's. `entry` names the
    function that code must define.
    """
    needed = {name: placeholders(str(text), columns) if template else set() for name, text in _texts(start).items()}

    def check(content: Content) -> str | None:
        if isinstance(content, str) != isinstance(start.content, str):
            return f"it is of type {type(content).__name__}, not {type(start.content).__name__} as the start is"
        texts = _texts(Artifact(start.kind, content))
        if texts.keys() != needed.keys():
            return f"its parts are {', '.join(texts) or 'none'}; they must be {', '.join(needed)}, as the start's are"
        for name, text in texts.items():
            where = f"the part {name!r}" if start.kind == "parts" else "it"
            if reason := _broken(text, where, needed[name], columns):
                return reason
        return _broken_code(str(content), entry) if start.kind == "code" else None

    return check


def _texts(artifact: Artifact) -> dict[str, object]:
    """Return the parts of a parts artifact, or the one text that anything else is."""
    if artifact.kind == "parts" and not isinstance(artifact.content, str):
        return dict(artifact.content)
    return {"": artifact.text}


def _broken(text: object, where: str, needed: set[str], columns: Sequence[str]) -> str | None:
    if not isinstance(text, str):
        return f"{where} is of type {type(text).__name__}, not a text"
    if "\x00" in text:
        return f"{where} holds a NUL character"
    if lost := sorted(needed - placeholders(text, columns)):
        return f"{where} lost the placeholder {', '.join('{{ ' + name + ' }}' for name in lost)}; keep each one"
    return None


def _broken_code(text: str, entry: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape is the proposal's affair, nothing for the screen
            code = compile(text, "<proposal>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # nesting without end raises the last two
        line = getattr(error, "lineno", None)
        words = getattr(error, "msg", None) or str(error) or type(error).__name__
        return f"it is not valid Python{f' (line {line})' if line else ''}: {words}"
    if entry and entry not in code.co_names and "*" not in _imported(code.co_consts):
        return f"it defines no function {entry!r}; the file must define {entry}(input)"
    return None


def _imported(constants: Sequence[object]) -> set[object]:
    """Return the names in `from x import ...` tuples among a module's constants."""
    return {name for constant in constants if isinstance(constant, tuple) for name in constant}
