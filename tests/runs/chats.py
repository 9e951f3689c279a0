"""Projects with a chat target, whose task and reflection models are a loopback server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.loopback import Body, ModelServer
from tests.projects import CHAT, write_project

GOOD = "Say the label. GOOD"
PRICE = "{ input = 1.0, output = 2.0 }"


def answer(writer: Callable[[int], str], asked: list[str] | None = None) -> Callable[[Body], str]:
    """Return a server's script: the task model is right under a prompt with GOOD, `writer` is the reflection model.

    `writer` gets the how-manyth request it is; `asked` collects what it was asked.
    """
    prompts: list[str] = [] if asked is None else asked

    def reply(body: Body) -> str:
        last = str(body["messages"][-1]["content"])
        if body["model"] == "task":
            return last.replace("text", "label") if "GOOD" in str(body["messages"][0]["content"]) else "no idea"
        prompts.append(last)
        return writer(len(prompts))

    return reply


def write_chat(
    folder: Path,
    server: ModelServer,
    engine: str = 'name = "best_of_n"\nn = 3',
    *,
    start: str = "Say it.",
    budget: str = "metric_calls = 60",
    price: str = PRICE,
    writer: ModelServer | None = None,
    more: str = "",
    **options: Any,
) -> Path:
    """Write the project; both models stand on the server, or the reflection model on a `writer` of its own."""
    models = "".join(
        f'[models.{role}]\nname = "openai/{name}"\nbase_url = "{place.url}"\n'
        f"{f'price = {price}' if price else ''}\nparams = {{ max_tokens = 20 }}\n"
        for role, name, place in (("task", "task", server), ("reflection", "writer", writer or server))
    )
    tables = f"{models}[engine]\n{engine}\n[budget]\n{budget}\n{more}"
    return write_project(folder, target=CHAT, start=start, more=tables, **options)
