"""The layers of the source tree, and the search for imports that go against them.

A room is a file or a folder straight under `skynet/`. A room may import the rooms on lower levels, never one on its
own level or above.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LEVELS = (
    {"errors"},
    {"spec"},
    {"workers", "models", "summary", "data", "artifact"},
    {"metric"},
    {"scorers"},
    {"target", "typed"},
    {"evaluation"},
    {"runs"},
    {"cli"},
)
FACADE = "skynet"  # skynet/__init__.py: hands out names of any room but the command line; no room imports it
ENGINE = "engine"  # beside the levels: what both the host and the engines see
SEES_ENGINE = {"evaluation", "runs"}
PLUGINS = {"engines", "skynet_engines"}

LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
MAY_IMPORT = {room: {below for below in LEVEL_OF if LEVEL_OF[below] < level} for room, level in LEVEL_OF.items()}
for seer in SEES_ENGINE:
    MAY_IMPORT[seer].add(ENGINE)
MAY_IMPORT[ENGINE] = {"artifact", "errors"}
MAY_IMPORT[FACADE] = {*LEVEL_OF, ENGINE} - {"cli"}


@dataclass(frozen=True)
class Import:
    """One imported module, by its full dotted name, and the line that imports it."""

    module: str
    line: int


def violations(root: Path) -> list[str]:
    """Return `file:line: what is wrong` for each import in `root/skynet` and `root/engines` that breaks the layers."""
    found: list[str] = []
    for path in sorted((root / "skynet").rglob("*.py")):
        if "templates" not in path.parts:  # written into users' projects; not part of the program
            found += check_room(path, root)
    for path in sorted((root / "engines").rglob("*.py")):
        found += check_engine(path, root)
    return found


def check_room(path: Path, root: Path) -> Iterator[str]:
    where = path.relative_to(root)
    room = room_of(where)
    if room not in MAY_IMPORT:
        yield f"{where}:1: {room} is in no layer; give it a level in tests/layers.py"
        return
    for found in imports(path, root):
        top, _, rest = found.module.partition(".")
        if top in PLUGINS:
            yield f"{where}:{found.line}: {room} imports {found.module}; engines are found by entry point only"
        elif top == FACADE:
            target = rest.partition(".")[0] or FACADE
            if target != room and target not in MAY_IMPORT[room]:
                yield f"{where}:{found.line}: {room} may not import {found.module}"


def check_engine(path: Path, root: Path) -> Iterator[str]:
    where = path.relative_to(root)
    for found in imports(path, root):
        allowed = found.module == f"{FACADE}.{ENGINE}" or found.module.startswith(f"{FACADE}.{ENGINE}.")
        if found.module.partition(".")[0] == FACADE and not allowed:
            yield f"{where}:{found.line}: an engine may import only skynet.engine, not {found.module}"
        elif found.module.partition(".")[0] in PLUGINS:
            yield f"{where}:{found.line}: engines import each other with a relative import, not {found.module}"


def room_of(where: Path) -> str:
    if where.name == "__init__.py" and len(where.parts) == 2:
        return FACADE
    return where.parts[1].removesuffix(".py")


def imports(path: Path, root: Path) -> Iterator[Import]:
    """Yield every import of the file: in functions, under TYPE_CHECKING, and by `import_module("name")` too."""
    package = path.relative_to(root).parts[:-1]
    rooms = {child.stem for child in (root / "skynet").iterdir()}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            yield from imported_from(node, package, rooms)
        elif isinstance(node, ast.Call) and (name := dynamic_import(node)):
            yield Import(name, node.lineno)


def imported_from(node: ast.ImportFrom, package: tuple[str, ...], rooms: set[str]) -> Iterator[Import]:
    module = node.module or ""
    if node.level:
        kept = package[: len(package) - node.level + 1]
        if kept and kept[0] in PLUGINS:
            return  # an engine's own neighbour
        module = ".".join([*kept, *([module] if module else [])])
    if module != FACADE:
        yield Import(module, node.lineno)
        return
    for alias in node.names:  # `from skynet import data` means the room, `from skynet import llm` the facade
        yield Import(f"{FACADE}.{alias.name}" if alias.name in rooms else FACADE, node.lineno)


def dynamic_import(node: ast.Call) -> str | None:
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    first = node.args[0] if node.args else None
    if function in {"import_module", "__import__"} and isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return None
