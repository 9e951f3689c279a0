"""Which modules a user's file imports, so that the template imports the libraries among them once for all workers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def imported_libraries(path: Path) -> tuple[str, ...]:
    """Return the modules that the file imports at its top level, less those that lie in its own folder.

    A file that cannot be read or parsed gives none: loading it in a worker tells why.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    names = dict.fromkeys(_names(tree.body))
    return tuple(name for name in names if not _is_neighbour(name, path.parent))


def _names(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            if statement.module and statement.level == 0:
                yield statement.module
        elif isinstance(statement, ast.If | ast.Try):
            yield from _names(statement.body)


def _is_neighbour(name: str, folder: Path) -> bool:
    top = name.partition(".")[0]
    return (folder / f"{top}.py").exists() or (folder / top).is_dir()
