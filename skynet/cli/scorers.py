"""`skynet scorers`: the installed scorers, a block each, or one JSON array."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from skynet.cli.show import paragraph, print_json
from skynet.evaluation.display import printable

if TYPE_CHECKING:
    from skynet.scorers.plugins import Option, ScorerInfo


def run_scorers_command(as_json: bool) -> int:
    """Print the scorers on stdout and one line per broken plugin on stderr; return 0, also when a plugin is broken."""
    from skynet.scorers.plugins import installed_scorers

    installed = installed_scorers()
    for warning in installed.warnings:
        print(f"Warning: {printable(warning)}", file=sys.stderr)
    if as_json:
        print_json([info.to_json() for info in installed.scorers])
    else:
        print("\n\n".join("\n".join(_lines(info)) for info in installed.scorers))
    return 0


def _lines(info: ScorerInfo) -> list[str]:
    lines = [printable(f"{info.name}  ({' '.join(filter(None, (info.package, info.version)))})")]
    lines += [paragraph(info.description, 2, 2)] if info.description else []
    options = ", ".join(_written(option) for option in info.options)
    return [*lines, paragraph(options, 4, 4)] if options else lines


def _written(option: Option) -> str:
    return option.name if option.default is None else f"{option.name}={option.default}"
