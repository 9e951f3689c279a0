"""Keys that make no sense together, and files that are not there."""

from __future__ import annotations

import pytest

from tests.spec.texts import BASE, DATA, Load, fault_lines

HTTP = BASE.replace("chat", "http") + 'url = "http://h"\n'
RULES = [
    ('[artifact]\n[target]\nkind = "chat"', "artifact.path: is missing; without it the first version"),
    ('objective = "x"\n[artifact]\nkind = "parts"\n[target]\nkind = "chat"', "is missing; name the folder that holds"),
    (BASE.replace("chat", "command") + 'argv = ["./agent", "x"]', 'leaves out "{artifact}", which stands for'),
    (HTTP + 'body = { q = "{{ input.m }}" }', "leaves out {{ artifact }}; put it"),
    (HTTP + 'method = "GET"', "leaves out {{ artifact }}, and a GET request has"),
    (HTTP + 'method = "GET"\nbody = 1', "target.body = 1: a GET request has no"),
    ('[artifact]\nkind = "dspy"', "artifact.path: is missing; name the file of the DSPy program"),
    ('[artifact]\npath = "prompt.md"\nentry = "f"\n[target]\nkind = "chat"', "only a code artifact has an entry"),
    ('[artifact]\nkind = "code"\npath = "run.py"\n[target]\nkind = "chat"', "a code artifact is its own target"),
    ('[artifact]\npath = "prompt.md"\n[target]\nkind = "code"', "a text artifact cannot run itself"),
    ('[artifact]\npath = "prompt.md"\n[target]\nkind = "python"', "is missing; a target of kind python needs it"),
    ('[artifact]\npath = "prompt.md"\n[target]\nkind = "http"', "is missing; a target of kind http needs it"),
    ('[artifact]\npath = "prompt.md"\n[target]\nkind = "command"', "is missing; a target of kind command needs it"),
    (
        '[artifact]\npath = "prompt.md"\n[target]\nkind = "python"\npath = "run.py"\nchoices = ["a", "b"]',
        'target.choices = ["a", "b"]: a target of kind python takes no choices; that is for kind chat.',
    ),
    (BASE + 'path = "run.py"', "a target of kind chat takes no path; that is for kind python."),
    (BASE + "[metric]\nmaximum = 1\nfailure_score = 1", "should be below metric.maximum, which is 1."),
    (DATA + 'outputs = ["message"]', "the target would be given the answer"),
    (DATA + 'group = "c"\nstratify = "c"', 'data.stratify = "c": is data.group too'),
    (DATA + 'group = "c"\nsplit = { column = "s" }', 'data.group = "c": works with fractions and counts only'),
    (DATA + 'stratify = "c"\nsplit = { column = "s" }', 'data.stratify = "c": works with fractions and counts only'),
    (DATA + 'split = { train = "tickets.csv" }', "data.split already names the files"),
    (BASE + '[data]\ninputs = ["m"]', "data.path: is missing; name a .csv, .json or .jsonl file"),
    (BASE.replace("prompt.md", "promt.md"), 'artifact.path = "promt.md": no such file in'),
    (BASE.replace("prompt.md", "promt.md"), "Did you mean 'prompt.md'?"),
    (BASE + '[metric]\npath = "."', 'metric.path = ".": is a folder; name a file.'),
    (BASE + '[metric]\npath = "no/metric.py"', "there is no folder"),
    (DATA.replace("tickets", "ticket"), 'data.path = "ticket.csv": no such file in'),
    (BASE + '[data]\ninputs = ["m"]\nsplit = { train = "tickets.csv", val = "v.csv" }', 'data.split.val = "v.csv": no'),
]


@pytest.mark.parametrize(("text", "said"), RULES, ids=range(len(RULES)))
def test_a_senseless_combination_or_a_missing_file_is_one_line_that_says_why(load: Load, text: str, said: str) -> None:
    lines = fault_lines(load, text)
    assert len(lines) == 1
    assert said in lines[0]
