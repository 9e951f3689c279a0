"""Wrong keys and values: what each fault says, and what it never repeats."""

from __future__ import annotations

import pytest

from tests.spec.texts import BASE, DATA, Load, fault_lines

SHAPES = [
    (BASE + "timout = 9", "target.timout = 9: no such key. Did you mean 'timeout'?"),
    ("nmae = 'x'\n" + BASE, "nmae = \"x\": no such key. Did you mean 'name'?"),
    (BASE + 'engine = "gepa"', "It belongs at the top of the file, before the first [section]."),
    (BASE + "metric_calls = 3", "target.metric_calls = 3: no such key. It belongs in [budget]."),
    ("root = 'x'\n" + BASE, 'root = "x": no such key.'),
    (BASE + "timeout = 601", "target.timeout = 601: should be a number of seconds above 0 and at most 600."),
    (BASE + "timeout = 0", "target.timeout = 0: should be"),
    (BASE + 'timeout = "60"', 'target.timeout = "60": should be'),
    (BASE + "timeout = true", "target.timeout = true: should be"),
    (BASE + "timeout = inf", "target.timeout = Infinity: should be"),
    (BASE + 'choices = ["a"]', 'target.choices = ["a"]: should be an array of two or more allowed replies.'),
    (BASE + 'choices = ["a", "a"]', "'a' is named twice"),
    ('[artifact]\npath = "prompt.md"\n[target]\nkind = "chta"', "Did you mean 'chat'?"),
    ('[artifact]\npath = "prompt.md"', "target.kind: is missing; it should be chat, python, http or command."),
    ("target = 3", "target = 3: should be a table [target]."),
    ("engine = 3\n" + BASE, "engine = 3: should be the name of an engine, or a table"),
    ("engine = {optimizer = 'x'}\n" + BASE, "engine.name: is missing"),
    ("name = ''\n" + BASE, 'name = "": should be a text'),
    (BASE + "[metric]\nmaximum = nan", "metric.maximum = NaN: should be a number"),
    (BASE + "[metric]\npath = ''", 'metric.path = "": a path is a text'),
    (BASE + "[evaluation]\nrepeats = 0", "evaluation.repeats = 0: should be a whole number, 1 or more"),
    (BASE + "[evaluation]\nconcurrency = true", "evaluation.concurrency = true: should be a whole number"),
    (BASE + "[budget]\nusd = -1", "budget.usd = -1: should be a number of dollars, 0 or more."),
    (BASE + "[budget]\nusd_by_role = { taks = 1 }", "budget.usd_by_role.taks: no such key. Did you mean 'task'?"),
    (BASE + "[limits]\nmemory = '4 GB'", '"4 GiB"'),
    (BASE + "[models]\ntaks = 'x'", "models.taks = \"x\": no such key. Did you mean 'task'?"),
    (BASE + "[models]\ntask = 3", "models.task = 3: should be the name of a model, or a table"),
    (BASE + "[models.task]\nname = 'x'\nbase_url = 'localhost:80'", "a URL starts with http:// or https://"),
    (BASE + "[models.task]\nname = 'x'\nprice = { input = 1 }", "models.task.price.output: is missing"),
    (BASE + "[models.task]\nname = 'x'\nparams = { stream = true }", "params takes no 'stream'"),
    (BASE + "[data]\npath = 'tickets.csv'", "data.inputs: is missing; it should be an array of column names"),
    (BASE + "[data]\npath = 'tickets.csv'\ninputs = 'm'", 'data.inputs = "m": should be an array of column names'),
    (DATA + "seed = 1.5", "data.seed = 1.5: should be a whole number"),
    (DATA + "split = { train = 0.6, val = 0.3 }", "these add up to 0.9"),
    (DATA + "split = { train = 0.0, val = 1.0 }", "train must be above 0"),
    (DATA + "split = { train = -1 }", "data.split.train = -1: should be a number of rows, 1 or more"),
    (DATA + "split = { train = 0.5, vla = 0.5 }", "data.split.vla = 0.5: no such key. Did you mean 'val'?"),
    (DATA + "split = { train = 'a.csv', val = 3 }", "all paths or all numbers"),
    (DATA + "split = { column = 'c', train = 3 }", "column stands alone"),
    (DATA + "split = {}", "a split is fractions such as"),
    (DATA + "split = 0.6", "data.split = 0.6: a split is fractions such as"),
]


@pytest.mark.parametrize(("text", "said"), SHAPES, ids=range(len(SHAPES)))
def test_a_wrong_key_or_value_is_one_line_that_names_file_key_value_and_what_is_right(
    load: Load, text: str, said: str
) -> None:
    lines = fault_lines(load, text)
    assert len(lines) == 1
    assert "mé prøject/skynet.toml: " in lines[0]
    assert said in lines[0]


def test_every_fault_is_listed_at_once(load: Load) -> None:
    lines = fault_lines(load, BASE + "timeout = 0\npth = 1\n[evaluation]\nrepeats = 0")
    assert len(lines) == 3


@pytest.mark.parametrize(
    "text",
    [
        BASE + "[models.task]\nname = 'x'\napi_key = 'sk-12345'",
        BASE + "[models.task]\nname = 'x'\napi_key_env = 'sk-12345'",
        BASE + "[models.task]\nname = 'x'\nparams = { api_key = 'sk-12345' }",
        BASE.replace("chat", "http") + "url = 'http://h'\nheaders = { Authorization = ['sk-12345'] }",
        BASE.replace("chat", "command") + "argv = ['x']\nenv = ['KEY=sk-12345']",
        BASE + "headers = { Authorization = 'sk-12345' }",
    ],
)
def test_what_may_be_a_key_is_never_repeated(load: Load, text: str) -> None:
    lines = fault_lines(load, text)
    assert len(lines) == 1
    assert "sk-12345" not in lines[0]


def test_headers_are_not_part_of_the_repr(load: Load) -> None:
    spec = load(BASE.replace("chat", "http") + "url = 'http://h'\nheaders = { Authorization = 'sk-12345' }")
    assert "sk-12345" not in repr(spec)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = \n", "line 1, column 8: not valid TOML: Invalid value."),
        ("a = 1\nb = 2\na = 3\n", "line 3, column 6: not valid TOML: Cannot overwrite a value."),
        ('a = 1\nb = """x\n', "line 2: not valid TOML: Unterminated string."),
    ],
)
def test_a_syntax_error_names_the_line(load: Load, text: str, said: str) -> None:
    assert said in fault_lines(load, text)[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[eval]\noutput = 'answer'\n[eval.metrics.exact]\ntype = 'exact_match'\n", "score it with `skynet eval`."),
        ("objective = 'x'\n", "should be chat, python, http or command. To score stored outputs only, write [eval]"),
    ],
)
def test_without_artifact_and_target_the_way_to_an_evaluation_is_shown(load: Load, text: str, said: str) -> None:
    (line,) = fault_lines(load, text)
    assert "target.kind: is missing" in line
    assert said in line
