"""What results depend on of a function given from Python: its source, and the values that it reads from outside."""

from __future__ import annotations

import copyreg
import dataclasses
import dis
import functools
import hashlib
import inspect
import re
import sys
import sysconfig
import uuid
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

from skynet.data.case import content_hash
from skynet.evaluation.source_files import with_neighbours
from skynet.metric.source import neighbour

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the repr of an object that has no better one
_EXACT = (str, bytes, int, float, complex, bool, type(None), EllipsisType)  # whose repr tells all of them
_THIS_PROCESS = uuid.uuid4().hex
_INSTALLED = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))


def function_mark(source: Callable[..., Any]) -> dict[str, str]:
    """Return the hash of its source under `def`, and one under the name of each value that it reads.

    That are the values of its closure, of its partial and of its module, which in a notebook is the notebook, and under
    `import name` the files of a module of the user's that it imports inside. A module of the user's counts with its
    files; what is installed by its name, whatever it holds by value. A value that cannot be read, which pickle refuses,
    never has the same mark in another process.
    """
    marks = {name: _Marker(source).mark(value) for name, value in _read(source).items()}
    return {"def": content_hash(_code(source)), **{name: content_hash(mark) for name, mark in marks.items()}}


class _Marker:
    """Turns values into ones that can be hashed and are the same in every process."""

    def __init__(self, start: object) -> None:
        self._inside: list[object] = []  # the containers that lead here
        self._met = [start]  # functions and objects are walked once, however many ways lead to them
        self._taken_apart: dict[int, tuple[object, str]] = {}  # by id, with the object, so that the id stays its own

    def mark(self, value: Any) -> Any:
        """Return the value as JSON values."""
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            return self._container(value)
        if isinstance(value, ModuleType):
            return [value.__name__, _module_files(value.__name__.partition(".")[0], None)]
        if type(value) in _EXACT:
            return repr(value)
        walked = isinstance(value, FunctionType | type | functools.partial) or inspect.ismethod(value)
        if not (walked or _is_plain_record(value) or _is_own(_function(value))):
            return self._installed_object(value)
        if any(value is one for one in self._met):
            return "met before"
        self._met.append(value)
        return [_code(value), [[name, self.mark(item)] for name, item in _read(value).items()]]

    def _installed_object(self, value: Any) -> str:
        """Return the hash of what pickle would take it apart into; its repr may be shortened."""
        if id(value) not in self._taken_apart:
            if any(value is one for one in self._inside):
                return "itself"
            self._inside.append(value)
            try:
                self._taken_apart[id(value)] = value, content_hash(self._parts(value))
            finally:
                self._inside.pop()
        return self._taken_apart[id(value)][1]

    def _parts(self, value: Any) -> Any:
        kind = type(value)
        try:
            reduce = copyreg.dispatch_table.get(kind)
            parts = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:  # noqa: BLE001 - code of anybody's; that it cannot be told is the answer
            if kind.__module__.partition(".")[0] in sys.stdlib_module_names:  # a lock, a socket: it holds no data
                return _ADDRESS.sub("", repr(value))
            return ["unreadable", kind.__qualname__, str(error), _THIS_PROCESS, id(value)]
        if isinstance(parts, str):  # a name to find it by
            return [getattr(value, "__module__", None), parts]
        call, arguments, state, *items = (*parts, None, None, None)[:5]
        listed = [None if each is None else list(each) for each in items]
        return [self.mark(one) for one in (call, arguments, state, *listed)]

    def _container(self, value: Any) -> Any:
        if any(value is one for one in self._inside):
            return "itself"
        self._inside.append(value)
        try:
            if isinstance(value, Mapping):
                return [[repr(key), self.mark(item)] for key, item in value.items()]
            marks = [self.mark(item) for item in value]
            return sorted(map(content_hash, marks)) if isinstance(value, set | frozenset) else marks
        finally:
            self._inside.pop()


def _is_plain_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _function(source: Any) -> Any:
    """Return what is called in the end: under partials, decorators and methods; a class for an instance of it."""
    while isinstance(source, functools.partial):
        source = source.func
    if inspect.ismethod(source):
        source = source.__func__
    source = inspect.unwrap(source) if callable(source) else source
    return source if isinstance(source, FunctionType | type) or not hasattr(source, "__dict__") else type(source)


def imported_inside(code: CodeType) -> Iterator[str]:
    """Yield the modules that the code itself imports by name, without functions inside it; "" for a relative one."""
    steps = list(dis.get_instructions(code))
    for number, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            relative = steps[number - 2].argval  # its level is loaded first, then the names to take
            yield "" if relative else str(step.argval)


def _module_files(top: str, folder: Path | None) -> dict[str, str]:
    """Return the hash of each file of a module of the user's, by its place; of one that is installed, none."""
    if top in sys.stdlib_module_names or top in ("", "skynet", "__main__"):
        return {}
    file = _file_of(top, folder)
    if file is None or str(file).startswith(_INSTALLED):
        return {}
    package = file.parent if file.name == "__init__.py" else file if file.is_dir() else None
    files = with_neighbours(file) if package is None else sorted(package.glob("**/*.py"))
    root = file.parent if package is None else package.parent
    return {one.relative_to(root).as_posix(): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def _file_of(top: str, folder: Path | None) -> Path | None:
    """Return a module's file, or the folder of a package that has none of its own."""
    loaded = getattr(sys.modules.get(top), "__file__", None)
    if loaded is not None:
        return Path(loaded)
    found = PathFinder.find_spec(top)
    if found is not None and found.origin is not None:
        return Path(found.origin)
    if folder is not None and (beside := neighbour(top, folder)) is not None:
        return beside
    places = list(found.submodule_search_locations or ()) if found is not None else []
    if folder is not None and (folder / top).is_dir():
        places.insert(0, str(folder / top))
    return Path(places[0]) if places else None


def _inner_imports(function: FunctionType) -> dict[str, Any]:
    """Return the files of each module of the user's that the function imports inside, under `import name`."""
    file = inspect.getsourcefile(function)
    folder = Path(file).parent if file is not None and Path(file).is_file() else None
    tops = {name.partition(".")[0] for code in codes_of(function.__code__) for name in imported_inside(code)}
    return {f"import {top}": files for top in sorted(tops) if (files := _module_files(top, folder))}


def _is_own(function: Any) -> bool:
    """Whether a function or class is the user's: of neither Python, nor Skynet, nor an installed package."""
    module = getattr(function, "__module__", None)
    if not isinstance(function, FunctionType | type) or not isinstance(module, str):
        return False
    if module == "__main__":  # whatever program reads the user's code: an installed one as well
        return True
    root = module.partition(".")[0]
    if root == "skynet" or root in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or not file.startswith(_INSTALLED)


def _code(source: Any) -> Any:
    function = _function(source)
    if not _is_own(function):
        return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into a prompt: its compiled form is all there is
        code = getattr(function, "__code__", None)
        return function.__qualname__ if code is None else _compiled(code)


def _compiled(code: CodeType) -> list[Any]:
    """Return the code as values that do not depend on where it stands."""
    constants = [_compiled(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return [code.co_code, list(code.co_names), list(code.co_varnames), constants]


def _read(source: Any) -> dict[str, Any]:
    """Return the values that a callable or an object holds or reads, by name.

    Of an installed function these are not the names of its module.
    """
    if _is_plain_record(source):
        return {one.name: getattr(source, one.name) for one in dataclasses.fields(source)}
    found: dict[str, Any] = {}
    while isinstance(source, functools.partial):
        found |= {f"argument {number}": value for number, value in enumerate(source.args, 1)} | source.keywords
        source = source.func
    if inspect.ismethod(source):
        found["self"] = source.__self__
    elif not isinstance(source, FunctionType | type):
        found |= getattr(source, "__dict__", {})
    function = _function(source)
    if not isinstance(function, FunctionType):
        return found
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found |= {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    if not _is_own(function):
        return found
    found |= _inner_imports(function)
    module = function.__globals__
    return found | {name: module[name] for name in sorted(_names(function.__code__)) if name in module}


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # the name is set after the function was made, if ever
        return False
    return True


def _names(code: CodeType) -> set[str]:
    """Return the global names that the code reads, those of the functions inside it too."""
    steps = (step for one in codes_of(code) for step in dis.get_instructions(one))
    return {str(step.argval) for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield the code and that of every function inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)
