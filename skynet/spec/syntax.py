"""A file that is no TOML: the line, a mark under the place, and what would be right where that can be known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from skynet.spec.faults import Fault, is_secret

_WIDEST = 72  # characters of the line that are quoted
_INDENT = "    "
_KEY = re.compile(r"([\w.-]+|\"[^\"]*\")\s*[=:]")
_TABLE = re.compile(r"\s*\[+\s*([^\]]*?)\s*\]")
_WORDS = {
    "true": "write true", "false": "write false", "yes": "write true", "on": "write true", "no": "write false",
    "off": "write false", "none": "TOML has no null: leave the key out", "null": "TOML has no null: leave the key out",
    "nil": "TOML has no null: leave the key out",
}  # fmt: skip
_OPENERS = {"array": re.compile(r"=\s*(\[)"), "table": re.compile(r"=\s*(\{)"), "text": re.compile(r"(\"\"\"|''')|'")}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parser stopped: the file's lines, the index of the line, and the index of the character in it."""

    lines: list[str]
    row: int
    at: int

    @property
    def line(self) -> str:
        """The whole line."""
        return self.lines[self.row]

    @property
    def before(self) -> str:
        """The line up to the place."""
        return self.line[: self.at]

    @property
    def rest(self) -> str:
        """The line from the place on."""
        return self.line[self.at :]

    @property
    def secret_from(self) -> int | None:
        """Where in the line something begins that may be secret, None where nothing does."""
        tables = (found[1] for line in self.lines[: self.row] if (found := _TABLE.match(line)))
        if any(is_secret(part) for part in (list(tables) or [""])[-1].split(".")):
            return self.line.find("=") + 1
        return next((found.end() for found in _KEY.finditer(self.line) if is_secret(found[1])), None)


def syntax_fault(message: str, content: str) -> Fault:
    """Return the fault for what the parser said, with the line that it names at the end of its message."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if match is None:
        return Fault("syntax", "", f"not valid TOML: {message}.")
    lines = content.replace("\r\n", "\n").split("\n")
    text = match[1]
    if match[2]:
        place = Place(lines, int(match[2]) - 1, int(match[3]) - 1)
        key = f"line {match[2]}, column {match[3]}"
    else:
        place = _opened(text, lines)
        key = f"line {place.row + 1}"
    hint = next((find(place) for start, find in _HINTS if text.startswith(start)), "")
    told = f" {hint[0].upper()}{hint[1:]}." if hint else ""
    return Fault(key, "", f"not valid TOML: {text}.{told}\n{_quoted(place)}")


def _opened(text: str, lines: list[str]) -> Place:
    """Return where that was opened which the file ends without closing."""
    opener = _OPENERS["array" if "array" in text else "table" if "table" in text else "text"]
    for row in range(len(lines) - 1, -1, -1):
        if found := list(opener.finditer(lines[row])):
            return Place(lines, row, found[-1].start(1) if found[-1][1] else found[-1].start())
    last = max((row for row, line in enumerate(lines) if line.strip()), default=0)
    return Place(lines, last, len(lines[last]))


def _quoted(place: Place) -> str:
    """Return the line, cut around the place, and a mark under it; what may be secret is left out."""
    secret = place.secret_from
    line = place.line if secret is None else f"{place.line[:secret]} ..."
    at = min(place.at, len(line))
    start = max(0, at - _WIDEST + 12) if len(line) > _WIDEST else 0
    shown = "".join(char if char.isprintable() else " " for char in line[start : start + _WIDEST])
    head, tail = "... " if start else "", " ..." if len(line) > start + _WIDEST else ""
    return f"{_INDENT}{head}{shown.rstrip()}{tail}\n{_INDENT}{' ' * (len(head) + at - start)}^"


def _value(place: Place) -> str:
    word = _token(place)
    if not word:
        return "a value is missing here"
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if re.fullmatch(r"\.\d+", word):
        return f"write 0{word}"
    if re.fullmatch(r"\$\d[\d.]*", word):
        return f"write {word[1:]}, without a sign"
    if word.startswith("="):
        return "one = is enough"
    return _in_quotes(word, place)


def _token(place: Place) -> str:
    """Return the value at the place: to the end of the line, inside brackets to the next comma or bracket."""
    inside = re.search(r"=.*[\[{]", place.before) or not re.search(r"=", place.before)
    return re.split(r"[,\]}#]" if inside else r"#", place.rest)[0].strip()


def _in_quotes(word: str, place: Place) -> str:
    """Say that a text needs quotes, and how it looks with them."""
    plain = word.strip("\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb")
    if plain != word:
        return f"quotes are straight: {json.dumps(plain, ensure_ascii=False)}"
    if place.secret_from is not None or re.search(r"[\"']", word):
        return "a text stands in quotes"
    return f"a text stands in quotes: {_text(word)}"


def _text(word: str) -> str:
    return f"'{word}'" if "\\" in word else json.dumps(word, ensure_ascii=False)


def _after_value(place: Place) -> str:
    """Say what stands behind a value that may not: often the value is a text without quotes."""
    number = re.search(r"=\s*([\d_]+)$", place.before)
    more = re.match(r"((?:,\d{3})+)\s*(?:#.*)?$", place.rest)
    if number and more:
        return f"write {number[1]}{more[1].replace(',', '')}, without commas"
    if number and re.match(r"\.\s*(?:#.*)?$", place.rest):
        return f"write {number[1]}.0"
    if number and place.rest.startswith("%"):
        return "write a percentage as a fraction, such as 0.2"
    if place.rest.startswith((";", ",")):
        return f"leave {place.rest[0]} out; a value ends with its line"
    if re.match(r"[\w.-]+\s*=", place.rest):
        return "each key stands on a line of its own"
    if place.before.rstrip().endswith(('"', "'")):
        return 'a quote inside a text is written \\", or the text stands in quotes of the other kind'
    whole = re.search(r"=\s*([^#\[{]*)$", place.line)
    word = whole[1].strip() if whole else ""
    if re.fullmatch(r"0\d+", word):
        return "a number has no zero in front"
    return "" if re.fullmatch(r"[\d_]*", word) else _in_quotes(word, place)


def _key(place: Place) -> str:
    name = place.before.strip()
    if place.rest.startswith(":"):
        return f"TOML writes {name} = value, and a table as [{name}]"
    if "=" in place.line:
        return f"a key of several words stands in quotes: {_text(place.line.partition('=')[0].strip())}"
    return "a line is a key = value, a [table], or a comment that begins with #"


def _statement(place: Place) -> str:
    if place.rest.startswith("//"):
        return "a comment begins with #"
    if place.rest.startswith("{"):
        return "a TOML file is no JSON object: each key stands on a line of its own, as key = value"
    return "the key before = is missing" if place.rest.startswith("=") else ""


def _twice(place: Place) -> str:
    """Name the line in which the same key or table stands already."""
    table = _TABLE.match(place.line)
    name = table[1] if table else place.line.partition("=")[0].strip()
    again = re.compile(rf"\s*(?:\[+\s*{re.escape(name)}\s*\]|{re.escape(name)}\s*=)")
    for row in range(place.row - 1, -1, -1):
        if again.match(place.lines[row]):
            return f"it stands in line {row + 1} already; keep one of the two{', with all keys' if table else ''}"
    return ""


def _line_break(place: Place) -> str:
    return "the text's closing quote is missing on this line"


def _bracket(place: Place) -> str:
    return "a comma is missing before this place, or the bracket that closes what was opened"


def _inline(place: Place) -> str:
    return "a table in { } stays on one line, without a comma at its end" if "{" in place.before else ""


_HINTS: tuple[tuple[str, Callable[[Place], str]], ...] = (
    ("Invalid value", _value),
    ("Expected newline or end of document", _after_value),
    ("Expected '=' after a key", _key),
    ("Expected ']' at the end of a table", lambda place: "a table is written [name], with nothing after it"),
    ("Invalid statement", _statement),
    ("Invalid initial character for a key", _inline),
    ("Cannot overwrite", _twice),
    ("Cannot declare", _twice),
    ("Illegal character '\\n'", _line_break),
    ("Found invalid character '\\n'", _line_break),
    ("Unclosed", _bracket),
    ("Unterminated string", lambda place: "the three quotes that end this text are missing"),
    ('Expected "\'"', lambda place: "the text's closing quote is missing"),
    ("Unescaped '\\' in a string", lambda place: "write \\\\ for one \\, or put the text in single quotes, as 'a\\b'"),
)
