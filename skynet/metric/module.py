"""Running a user's Python file as a module of its own, and saying at which line it went wrong."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from skynet.errors import nearest
from skynet.metric.problem import LoadProblem
from skynet.workers.fault import fault_of

# Packages whose name to install is not the name to import.
_PACKAGES = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "PIL": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


def load_module(path: str | Path, name: str) -> ModuleType:
    """Run the file as module `name` and return it. What the file raises passes through.

    Python itself decodes the bytes: byte order mark, coding line, CRLF.
    """
    file = Path(path).absolute()
    # Not the loader's exec_module: it would write a __pycache__ and may serve a stale one.
    code = compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
    module = module_from_spec(ModuleSpec(name, SourceFileLoader(name, str(file)), origin=str(file)))
    module.__file__ = str(file)
    sys.modules[name] = module  # dataclasses and pydantic look their own module up
    try:
        exec(code, module.__dict__)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def read_source(path: Path) -> bytes:
    """Return the bytes of metric.py, known to be text. Raises LoadProblem at the stage Metric file."""
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        raise LoadProblem("Metric file", f"There is no file {path.name} in {path.parent}.") from None
    except IsADirectoryError:
        raise LoadProblem("Metric file", f"{path} is a folder. Name the metric's Python file.") from None
    except OSError as error:
        raise LoadProblem("Metric file", f"{path.name} cannot be read: {error.strerror or error}.") from error
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        source.decode(encoding)
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        message = f"{path.name} is not {error.encoding}: it has the byte {source[error.start]:#04x}. Save it as UTF-8."
        raise LoadProblem("Metric file", message, line) from error
    except SyntaxError as error:
        raise LoadProblem("Metric file", f"{path.name} cannot be decoded: {error.msg}. Save it as UTF-8.") from error
    return source


def parse_source(source: bytes, path: Path) -> ast.Module:
    """Return the syntax tree. Raises LoadProblem for a fault of syntax or a file without a statement."""
    try:
        tree = ast.parse(source, filename=str(path))
    except SyntaxError as error:
        message = f"{path.name} is not valid Python: {error.msg}{_source_line(error)}"
        raise LoadProblem("Metric load", message, error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL byte; nesting without end
        message = f"{path.name} is not valid Python: {error or type(error).__name__}"
        raise LoadProblem("Metric load", message) from error
    if not tree.body:
        raise LoadProblem("Metric file", f"{path.name} is empty. It needs a function `score(input, output, expected)`.")
    return tree


def _source_line(error: SyntaxError) -> str:
    text = (error.text or "").strip()
    return f", in: {text}" if text else ""


def run_file(path: Path, name: str, hidden: Sequence[str] = ()) -> ModuleType:
    """Run the user's file as module `name`. Raises LoadProblem; `hidden` are the warnings that may explain it."""
    try:
        return load_module(path, name)
    except BaseException as error:  # SystemExit and the like too: nothing that the file raises ends the worker
        told = _explained(error, path, hidden)
        frames = "" if told else fault_of(error, str(path.parent), (str(path),)).traceback
        message = told or f"{path.name} raised while it was loaded: {_summary(error)}"
        raise LoadProblem("Metric load", message, _line_in(error, path), frames) from error


def _line_in(error: BaseException, path: Path) -> int | None:
    """Return the innermost line of the file that the error passed through or stands at, or None."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else None


def _explained(error: BaseException, path: Path, hidden: Sequence[str]) -> str:
    """Return what is known to be wrong and how to mend it, or nothing where only the user's frames can tell."""
    if isinstance(error, SystemExit):
        return f"{path.name} called exit() while it was loaded (SystemExit: {error.code}). Remove the call."
    if isinstance(error, ModuleNotFoundError) and error.name and error.msg == f"No module named {error.name!r}":
        return _missing_module(error.name, path)
    if isinstance(error, ImportError):
        hint = " Import a file beside it by its plain name: import helper." if "relative import" in str(error) else ""
        return " ".join([f"An import of {path.name} failed: {error}.{hint}", *hidden])
    if isinstance(error, SyntaxError) and error.filename:
        if error.filename == str(path):
            return f"{path.name} is not valid Python: {error.msg}{_source_line(error)}"
        return f"{path.name} imports {error.filename}, which is not valid Python: {error.msg} (line {error.lineno})."
    return ""


def _missing_module(missing: str, path: Path) -> str:
    top = missing.partition(".")[0]
    if top != missing:
        return f"{path.name} imports {missing}, but {top} has no such module. See which version is installed."
    hint = nearest(top, [file.stem for file in path.parent.glob("*.py") if file != path])
    install = f"pip install {_PACKAGES.get(top, top)}"
    return f"{path.name} imports {top}, which is not installed.{hint} Install it with: {install}"


def _summary(error: BaseException) -> str:
    """Return type and text of the error; traceback knows what to write when its own `__str__` fails."""
    return "".join(traceback.format_exception_only(error)).strip()
