"""`skynet engines`: the registered engines, their options, and whether they can run here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skynet.cli.show import print_json
from skynet.evaluation.display import printable

if TYPE_CHECKING:
    from skynet.runs.engines import EngineInfo


def run_engines_command(as_json: bool) -> int:
    """Print every registered engine, also those that cannot run here."""
    from skynet.runs.engines import list_engines

    engines = list_engines()
    if as_json:
        print_json([info.to_json() for info in engines])
        return 0
    for info in engines:
        print(printable("\n".join(_lines(info))))
    if not engines:
        print("No engine is installed.")
    return 0


def _lines(info: EngineInfo) -> list[str]:
    state = "can run here" if info.problem is None else "cannot run here"
    lines = [f"{info.name}  ({info.package} {info.version}, {state})"]
    lines += [f"  {text}" for text in (info.description, info.problem) if text]
    return [*lines, *(f"    {name}: {told}" for name, told in info.options.items())]
