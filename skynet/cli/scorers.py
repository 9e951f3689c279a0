"""`skynet scorers`: the installed scorers as a table, or as one JSON array."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from skynet.cli.show import print_json, print_table
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
        _print_table(installed.scorers)
    return 0


def _print_table(infos: tuple[ScorerInfo, ...]) -> None:
    print_table(
        ("package", "version", "name", "description", "options"),
        [
            (
                info.package,
                info.version or "-",
                info.name,
                info.description or "-",
                ", ".join(_written(option) for option in info.options) or "-",
            )
            for info in infos
        ],
    )


def _written(option: Option) -> str:
    return option.name if option.default is None else f"{option.name}={option.default}"
