"""`skynet init`: a working project from one of the folders in `templates`."""

from __future__ import annotations

import shlex
from pathlib import Path

from skynet.errors import SkynetError

TEMPLATES = Path(__file__).parent / "templates"
# A real .gitignore inside the package would rule over the package's own folder.
RENAMED = {"gitignore": ".gitignore"}


class InitError(SkynetError):
    """The project cannot be written."""


def write_project(directory: Path, template: str) -> list[Path]:
    """Write the files of `template`, the name of a folder in `templates`, and return their paths.

    Makes `directory` when it is missing. Raises InitError, with nothing written, when one of the files is there.
    """
    files = {directory / _place(source, template): source for source in _sources(template)}
    refuse_existing(directory, list(files))
    try:
        for path, source in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:  # "x": a file that appeared since the look above is not lost either
                file.write(source.read_bytes())
    except OSError as error:
        raise InitError(f"Cannot write {error.filename or directory}: {error.strerror or error}.") from error
    return list(files)


def _sources(template: str) -> list[Path]:
    found = (TEMPLATES / template).rglob("*")
    return sorted(path for path in found if path.is_file() and path.parent.name != "__pycache__")


def _place(source: Path, template: str) -> Path:
    """Return where a file of the template goes, relative to the project."""
    relative = source.relative_to(TEMPLATES / template)
    return relative.with_name(RENAMED.get(relative.name, relative.name))


def refuse_existing(directory: Path, files: list[Path]) -> None:
    if directory.exists() and not directory.is_dir():
        raise InitError(f"{directory} is a file; name a folder, one that need not exist yet.")
    # A link to nowhere does not "exist", yet would be written through.
    taken = [str(path.relative_to(directory)) for path in files if path.exists() or path.is_symlink()]
    if taken:
        raise InitError(
            f"{directory} already holds {', '.join(taken)}. Nothing was written. "
            "Name another folder, or move these files away."
        )


# What a run of a template needs besides the command, where it needs something.
BEFORE_A_RUN = {
    "code": ("skynet run --trust-artifacts", "after a [models] reflection is named; the code runs as your user"),
    "reviews": ("skynet run", "after `skynet models pull`"),
    "dspy": ("skynet run", "after `skynet models pull`"),
}
_NAMED = ("skynet run", "after the models are named under [models] in skynet.toml")


def next_steps(directory: Path, files: list[Path], template: str) -> str:
    """Return what the user reads after the project was written."""
    command, when = BEFORE_A_RUN.get(template, _NAMED)
    names = [f"  {path.relative_to(directory)}" for path in files]
    lines = [f"Wrote {len(files)} files to {directory}:", *names, "", "Next:"]
    if directory.resolve() != Path.cwd():
        lines.append(f"  cd {shlex.quote(str(directory))}")
    lines += [
        "  skynet check        # does the metric work?",
        f"  {command:<19} # search for a better version, {when}",
        "Then put your own data and metric in.",
    ]
    return "\n".join(lines)


def run_init_command(directory: Path, template: str) -> int:
    """Write the project, print the next steps, return the exit status."""
    print(next_steps(directory, write_project(directory, template), template))
    return 0
