"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skynet.errors import SkynetError

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The folder with skynet.toml.")]
RunId = Annotated[str, typer.Argument(metavar="ID", help="The run's id, or a beginning that no other run has.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
HERE = Path(".")
Accept = Annotated[bool, typer.Option("--yes", help="Go on where the budget buys no proposal or a price is unknown.")]
MetricCalls = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="The budget in metric calls, instead of the spec's.")
]
EngineName = Annotated[str | None, typer.Option(metavar="NAME", help="The engine, instead of the spec's.")]
Trust = Annotated[
    bool, typer.Option("--trust-artifacts", help="Run code that a model wrote, as your user (artifacts of kind code).")
]
Fork = Annotated[
    str | None, typer.Option(metavar="ID", help="Take over what is still valid of this run's paid results.")
]
SkipBadRows = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Leave out up to N data rows that cannot be read.")
]


def require_folder(directory: Path) -> None:
    """Raise SkynetError where neither the folder nor, in its place, a spec file is there."""
    if not directory.exists():
        raise SkynetError(f"there is no folder {directory}; name the project's folder")


def skipping(rows: int | None) -> dict[str, object]:
    """Return what `--skip-bad-rows` puts into the spec."""
    return {} if rows is None else {"data": {"skip_bad_rows": rows}}
