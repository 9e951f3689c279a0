"""A file that is no TOML: what is quoted of it, and what is said to be right."""

from __future__ import annotations

import tomllib

import pytest

from skynet.spec.syntax import syntax_fault


def told(text: str) -> str:
    """Return what is said of a text that tomllib does not read."""
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(text)
    return str(syntax_fault(str(caught.value), text))


def test_the_line_is_quoted_with_a_mark_under_the_place() -> None:
    assert told('name = "x"\nengine = gepa\n').splitlines()[1:] == ["    engine = gepa", "             ^"]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("engine = gepa\n", 'A text stands in quotes: "gepa".'),
        ("objective = Sort the texts, all.  # well\n", 'A text stands in quotes: "Sort the texts, all.".'),
        ("artifact = { path = prompt.md }\n", 'A text stands in quotes: "prompt.md".'),
        ("inputs = [message, other]\n", 'A text stands in quotes: "message".'),
        ("memory = 4 GiB\n", 'A text stands in quotes: "4 GiB".'),
        ("path = C:\\rows.csv\n", "A text stands in quotes: 'C:\\rows.csv'."),
        ("name = “x”\n", 'Quotes are straight: "x".'),
        ('name = "x\nseed = 1\n', "The text's closing quote is missing on this line."),
        ("name = 'x\nother = 'y'\n", "The text's closing quote is missing on this line."),
        ('name = "say "hi" now"\n', 'A quote inside a text is written \\",'),
        ("labels = True\n", "Write true."),
        ("usd = None\n", "TOML has no null: leave the key out."),
        ("name =\n", "A value is missing here."),
        ("name == 'x'\n", "One = is enough."),
        ("metric_calls = 1,000\n", "Write 1000, without commas."),
        ("usd = .5\n", "Write 0.5."),
        ("usd = 5.\n", "Write 5.0."),
        ("usd = $5\n", "Write 5, without a sign."),
        ("train = 60%\n", "Write a percentage as a fraction, such as 0.2."),
        ("seed = 01\n", "A number has no zero in front."),
        ("seed = 1;\n", "Leave ; out;"),
        ("seed = 1 id = 'a'\n", "Each key stands on a line of its own."),
        ("engine: 'gepa'\n", "TOML writes engine = value, and a table as [engine]."),
        ("// a comment\n", "A comment begins with #."),
        ("{'name': 'x'}\n", "A TOML file is no JSON object:"),
        ("a key = 1\n", 'A key of several words stands in quotes: "a key".'),
        ("[data\nseed = 1\n", "A table is written [name], with nothing after it."),
        ("seed = 1\nname = 'x'\nseed = 2\n", "It stands in line 1 already; keep one of the two."),
        ("data = { seed = 1 }\n[data]\nid = 'a'\n", "It stands in line 1 already; keep one of the two, with all keys."),
        ("data = { seed = 1, }\n", "A table in { } stays on one line, without a comma at its end."),
        ("inputs = ['a' 'b']\n", "A comma is missing before this place,"),
        ('path = "C:\\data"\n', "Write \\\\ for one \\,"),
    ],
)
def test_a_common_mistake_is_told_with_what_would_be_right(text: str, right: str) -> None:
    assert right in told(text).splitlines()[0]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("seed = 1\ninputs = ['a',\n# the end\n", "inputs = ['a',"),
        ('a = 1\nobjective = """Sort\nx = y\n', 'objective = """Sort'),
        ("a = 1\nname = 'x\nb = 2\n", "name = 'x"),
    ],
)
def test_of_what_is_never_closed_the_line_that_opened_it_is_quoted(text: str, quoted: str) -> None:
    where, line, _ = told(text).splitlines()
    assert where.startswith("line 2: not valid TOML: ")
    assert line.strip() == quoted


@pytest.mark.parametrize(
    "text",
    [
        "api_key = sk-12345\n",
        '[models]\ntask = { name = "x", api_key = sk-12345 }\n',
        "[target.headers]\nX = sk-12345\n",
        "[target]\nheaders = { Authorization = sk-12345 }\n",
    ],
)
def test_what_may_be_secret_is_not_quoted(text: str) -> None:
    said = told(text)
    assert "sk-12345" not in said
    assert "A text stands in quotes." in said


def test_of_a_long_line_the_part_around_the_place_is_quoted() -> None:
    _, line, mark = told(f'objective = "{"x" * 200}" oh {"y" * 200}\n').splitlines()
    assert max(len(line), len(mark)) <= 84
    assert line[mark.index("^")] == "o"


def test_a_control_character_is_not_sent_to_the_terminal() -> None:
    assert "\x1b" not in told('name = "\x1b[31m"\n')
