"""`skynet engines`: the registered engines, their options, and whether they can run here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skynet.cli.show import paragraph, print_json
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
    if not engines:
        print("No engine is installed.")
    print("\n\n".join("\n".join(_lines(info)) for info in engines))
    return 0


def _lines(info: EngineInfo) -> list[str]:
    state = "can run here" if info.problem is None else "cannot run here"
    lines = [printable(f"{info.name}  ({info.package} {info.version}, {state})")]
    lines += [paragraph(text, 2, 2) for text in (info.description, info.problem) if text]
    return [*lines, *(paragraph(f"{name}: {told}", 4, 8) for name, told in info.options.items())]
