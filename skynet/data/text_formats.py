"""CSV, JSON and JSONL text as rows that know their line.

A row that cannot be read goes to `bad`, which leaves it out or raises. What leaves it unknown where the next row
begins, such as broken JSON inside an array, is always an error.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any

from skynet.data.case import DataError
from skynet.data.row import BadRows, Row

_SPACE = re.compile(r"[ \t\r\n]*")  # what JSON calls whitespace
_UNDECODED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as `surrogateescape` writes them
_DECODER = json.JSONDecoder()
_MOST_LEVELS = 100  # deeper values could not be copied, hashed and sent without running out of stack
_JSON_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def read_csv(text: str, file: str, bad: BadRows) -> Iterator[Row]:
    """Yield a CSV file's rows; the first record is the header."""
    header: list[str] | None = None
    for line, cells in _records(text, file):
        undecoded = any(_UNDECODED.search(cell) for cell in cells)
        if header is None:
            if undecoded:
                raise _not_utf8(file, line)
            header = _checked_header(cells, file, line)
        elif undecoded:
            bad.add(_not_utf8(file, line))
        elif len(cells) != len(header):
            count = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
            hint = "; quote a cell that holds a comma" if len(cells) > len(header) else ""
            bad.add(DataError(f"{file}, line {line}: {count}, but the header names {len(header)} columns{hint}"))
        else:
            yield Row(dict(zip(header, cells, strict=True)), line, file, empty_is_missing=True)


def _records(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the line on which it starts. Blank lines are skipped."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        limit = csv.field_size_limit(sys.maxsize)  # the module's own limit would refuse a cell of 128 KiB
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{file}, line {line}: not valid CSV: {error}") from None
        finally:
            csv.field_size_limit(limit)
        if cells:
            yield line, cells


def _checked_header(cells: list[str], file: str, line: int) -> list[str]:
    for name in cells:
        if cells.count(name) > 1:
            raise DataError(f"{file}, line {line}: two columns are called {name!r}; give each its own name")
    return cells


def read_jsonl(text: str, file: str, bad: BadRows) -> Iterator[Row]:
    """Yield the object of each line; blank lines are skipped."""
    # Only a line feed ends a line: str.splitlines would cut at characters that JSON allows inside a string.
    for line, content in enumerate(_lines(text), start=1):
        start = _skip_space(content, 0)
        if start == len(content):
            continue
        try:
            yield _line_row(content, start, file, line)
        except DataError as fault:
            bad.add(fault)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines one at a time: a list of them all would hold the text a second time."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _line_row(content: str, start: int, file: str, line: int) -> Row:
    if _UNDECODED.search(content):
        raise _not_utf8(file, line)
    value, end = _parsed(content, start, file, line)
    if _skip_space(content, end) != len(content):
        raise DataError(f"{file}, line {line}: more text after the object; a .jsonl file holds one object a line")
    return _row(value, file, line, "a .jsonl file holds one object a line, a .json file may hold an array")


def _not_utf8(file: str, line: int) -> DataError:
    return DataError(f"{file}, line {line}: not UTF-8; save the file as UTF-8")


def read_json(text: str, file: str, bad: BadRows) -> Iterator[Row]:
    """Yield the objects of an array, or the one object that the file holds."""
    start = _skip_space(text, 0)
    if start == len(text):
        return
    if text[start] == "[":
        end = yield from _array(text, start + 1, file, bad)
    else:
        value, end = _parsed(text, start, file, 1)
        yield _row(value, file, _line_at(text, start), "a .json file holds an array of objects, or one object")
    rest = _skip_space(text, end)
    if rest != len(text):
        advice = "a .json file holds one array or one object; name it .jsonl when each line is an object"
        raise DataError(f"{file}, line {_line_at(text, rest)}: more text after the end; {advice}")


def _array(text: str, position: int, file: str, bad: BadRows) -> Generator[Row, None, int]:
    """Yield the objects of an array element by element, so that each knows its line; return where the array ends."""
    line, counted = 1, 0
    position = _skip_space(text, position)
    if text.startswith("]", position):
        return position + 1
    while True:
        line, counted = line + text.count("\n", counted, position), position
        value, end = _parsed(text, position, file, 1)
        if isinstance(value, dict):
            yield Row(value, line, file)
        else:
            bad.add(_not_an_object(value, file, line, "each element of the array is an object"))
        position = _skip_space(text, end)
        if text.startswith("]", position):
            return position + 1
        if not text.startswith(",", position):
            place = f"{file}, line {_line_at(text, position)}"
            raise DataError(f"{place}: not valid JSON: a comma or the closing ] of the array is missing")
        position = _skip_space(text, position + 1)


def _parsed(text: str, start: int, file: str, first_line: int) -> tuple[Any, int]:
    """Return the JSON value at `start` and where it ends; `first_line` is the line number of the text's start."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        line = first_line + text.count("\n", 0, error.pos)
        raise DataError(f"{file}, line {line}, column {error.colno}: not valid JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of too many digits; nesting too deep
        line = first_line + text.count("\n", 0, start)
        raise DataError(f"{file}, line {line}: JSON that cannot be read: {error}") from None
    brackets = text.count("[", start, end) + text.count("{", start, end)  # seldom enough for a closer look
    if brackets > _MOST_LEVELS and _is_deep(value):
        line = first_line + text.count("\n", 0, start)
        raise DataError(f"{file}, line {line}: lists and objects nested more than {_MOST_LEVELS} levels deep")
    return value, end


def _is_deep(value: Any) -> bool:
    layer = [value]
    for _ in range(_MOST_LEVELS):
        layer = [part for one in layer if isinstance(one, list | dict) for part in _parts(one)]
    return any(isinstance(one, list | dict) for one in layer)


def _parts(value: list[Any] | dict[str, Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _row(value: Any, file: str, line: int, advice: str) -> Row:
    if not isinstance(value, dict):
        raise _not_an_object(value, file, line, advice)
    return Row(value, line, file)


def _not_an_object(value: Any, file: str, line: int, advice: str) -> DataError:
    return DataError(f"{file}, line {line}: {_JSON_NAMES[type(value)]}, not an object; {advice}")


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _line_at(text: str, position: int) -> int:
    return 1 + text.count("\n", 0, position)


TEXT_READERS: dict[str, Callable[[str, str, BadRows], Iterator[Row]]] = {
    ".csv": read_csv,
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
}
