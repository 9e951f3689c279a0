"""A scripted engine, installed as a plugin would be, and small runs with it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, ConfigDict

from skynet.engine import Models, Rejected, SearchEvaluator, SearchTask, Version
from skynet.runs import engines

Script = Callable[[SearchTask, SearchEvaluator, Models], None]

METADATA = "Metadata-Version: 2.1\nName: scripted-engine\nVersion: 1.5\n"
ENTRY_POINTS = "[skynet.engines]\nscripted = tests.runs.scripted:Scripted\n"


class ScriptedOptions(BaseModel):
    """`texts` are put forward and evaluated on val, one after another."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: bool = False
    texts: tuple[str, ...] = ()
    hang: bool = False


class Scripted:
    """Puts forward what it is told; `script`, when a test sets it, does the search instead."""

    name: ClassVar[str] = "scripted"
    Options: ClassVar[type] = ScriptedOptions
    script: ClassVar[Script | None] = None
    refusal: ClassVar[str | None] = None

    def applies(self, task: SearchTask, models: Models, options: Any) -> str | None:
        return self.refusal

    def estimate(self, task: SearchTask, budget: int, options: ScriptedOptions) -> int:
        return budget // len(task.val)

    def search(self, task: SearchTask, evaluator: SearchEvaluator, models: Models, options: ScriptedOptions) -> None:
        script = type(self).script
        if script is not None:
            script(task, evaluator, models)
            return
        put_forward(task, evaluator, *options.texts)
        while options.hang:
            try:
                time.sleep(3600)
            except Exception as error:  # noqa: BLE001 - this engine swallows everything
                print(error)


def put_forward(task: SearchTask, evaluator: SearchEvaluator, *texts: str) -> list[Version | str]:
    """Propose each text and evaluate it on val; return the versions, and the reasons of those not taken."""
    found: list[Version | str] = []
    for text in texts:
        try:
            version = evaluator.propose(text, task.start, "scripted")
        except Rejected as rejected:
            found.append(str(rejected))
            continue
        evaluator.evaluate(version, task.val)
        found.append(version)
    return found


def install(folder: Path) -> Path:
    """Write the metadata of an installed package that registers the engine; return the folder for `sys.path`."""
    info = folder / "scripted_engine-1.5.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(METADATA, encoding="ascii")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="ascii")
    return folder


@contextmanager
def installed(folder: Path) -> Iterator[type[Scripted]]:
    """Make the engine known to this process."""
    sys.path.insert(0, str(install(folder)))
    engines._registered.cache_clear()
    try:
        yield Scripted
    finally:
        sys.path.remove(str(folder))
        engines._registered.cache_clear()
        Scripted.script, Scripted.refusal = None, None


@pytest.fixture
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Scripted]]:
    with installed(tmp_path_factory.mktemp("plugin")) as engine:
        yield engine
