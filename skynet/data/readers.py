"""Data files, plain or gzip, as rows: which reader a file's name asks for, and its content."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from skynet.data.case import DataError
from skynet.data.columnar import COLUMNAR, read_columnar
from skynet.data.row import BadRows, Row
from skynet.data.text_formats import TEXT_READERS

KINDS = "a .csv, .json, .jsonl, .parquet, .orc, .feather or .arrow file, maybe .gz"
_GZIP = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_BY_LINES = (".csv", ".jsonl", ".ndjson")  # where one bad line says nothing about the next


def kind_of(path: Path) -> str | None:
    """Return the ending that says how a file is read, without .gz; None for a file that is no data file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] == ".gz":
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    return kind if kind in TEXT_READERS or kind in COLUMNAR else None


def read_rows(path: Path, bad: BadRows | None = None) -> list[Row]:
    """Read every row of a data file; `bad` takes the rows that cannot be read, else they raise. Raises DataError."""
    kind = kind_of(path)
    if kind is None:
        raise DataError(f"{path}: not a kind of file that can be read; name {KINDS}")
    bad = bad or BadRows()
    if kind in COLUMNAR:
        rows = list(read_columnar(kind, _content(path), str(path)))
    else:
        rows = list(TEXT_READERS[kind](_text(path, lenient=bad.limit > 0 and kind in _BY_LINES), str(path), bad))
    if not rows:
        raise DataError(f"{path}: the file holds no rows")
    return rows


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    if content.startswith(_GZIP):
        try:
            return gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path}: damaged gzip data: {error}") from error
    if path.suffix.lower() == ".gz":
        raise DataError(f"{path}: not gzip data, though the name says so")
    return content


def _text(path: Path, lenient: bool) -> str:
    """Return the file's text. A lenient reading keeps bytes that are not UTF-8 as lone surrogates, for the reader."""
    content = _content(path)
    body = content.removeprefix(_UTF8_BOM)
    utf16 = content.startswith(_UTF16_BOMS)
    try:
        return body.decode("utf-8", "surrogateescape" if lenient and not utf16 else "strict")
    except UnicodeDecodeError as error:
        hint = "; it looks like UTF-16" if utf16 else ""
        line = body.count(b"\n", 0, error.start) + 1
        byte = body[error.start]
        raise DataError(f"{path}, line {line}: not UTF-8 (byte 0x{byte:02x}){hint}; save the file as UTF-8") from None
