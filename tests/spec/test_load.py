"""Reading `skynet.toml`: what is accepted, and files that cannot be read at all."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from skynet.spec import (
    ColumnSplit,
    CountSplit,
    FractionSplit,
    ModelSpec,
    PathSplit,
    SpecError,
    load_spec,
    parse_spec,
)
from skynet.spec.fields import Section
from skynet.spec.load import merged
from tests.spec.texts import BASE, DATA, Load

FULL = """
name = "tickets"
objective = "Sort each support message."
background = "A shop."
engine = { name = "dspy", optimizer = "miprov2", labels = true, max_demos = 4 }
[artifact]
kind = "text"
path = "prompt.md"
[target]
kind = "chat"
choices = ["shipping", "billing"]
timeout = 30
[metric]
path = "metric.py"
timeout = 600
maximum = 1.0
failure_score = -1
[data]
path = "tickets.csv"
inputs = ["message"]
outputs = ["label"]
split = { train = 0.6, val = 0.2, test = 0.2 }
seed = 0
group = "customer"
[models]
task = "local/smollm2-135m"
[models.reflection]
name = "openai/my-model"
base_url = "http://localhost:8000/v1"
api_key_env = "MY_KEY"
price = { input = 0.1, output = 4 }
params = { max_tokens = 2048 }
[budget]
metric_calls = 200
usd = 5.0
seconds = 3600
usd_by_role = { reflection = 2 }
[evaluation]
concurrency = 4
repeats = 2
[limits]
memory = "2 GiB"
"""


def test_a_full_file_is_read_as_written(load: Load, project: Path) -> None:
    spec = load(FULL)
    assert (spec.name, spec.background, spec.root) == ("tickets", "A shop.", project)
    assert (spec.engine.name, spec.engine.optimizer, spec.engine.labels) == ("dspy", "miprov2", True)
    assert spec.engine.options == {"max_demos": 4}
    assert spec.target.choices == ("shipping", "billing")
    assert (spec.target.timeout, spec.metric.timeout, spec.metric.failure_score) == (30, 600, -1)
    assert spec.data is not None
    assert (spec.data.inputs, spec.data.outputs, spec.data.group) == (("message",), ("label",), "customer")
    assert spec.models.task == ModelSpec(name="local/smollm2-135m")
    assert spec.models.reflection is not None
    assert spec.models.reflection.price is not None
    assert (spec.models.reflection.price.input, spec.models.reflection.price.output) == (0.1, 4)
    assert spec.models.metric is None
    assert spec.budget.usd_by_role == {"reflection": 2}
    assert spec.limits.memory == 2 * 1024**3


def test_what_is_left_out_has_the_documented_default(load: Load) -> None:
    spec = load(DATA)
    assert (spec.name, spec.engine.name, spec.artifact.kind) == ("mé prøject", "auto", "text")
    assert (spec.metric.path, spec.metric.timeout, spec.target.timeout) == ("metric.py", 60, 60)
    assert (spec.evaluation.concurrency, spec.evaluation.repeats) == (8, 1)
    assert spec.data is not None
    assert (spec.data.seed, spec.data.outputs) == (0, ())
    assert spec.data.split == FractionSplit(train=Decimal("0.6"), val=Decimal("0.2"), test=Decimal("0.2"))
    limits = spec.limits
    assert (limits.memory, limits.prints, limits.output, limits.feedback) == (1 << 32, 1 << 16, 1 << 22, 1 << 16)
    assert (limits.proposer_feedback, limits.open_files) == (4096, 256)
    assert load(BASE).data is None


def test_relative_paths_start_from_the_folder_of_the_spec(load: Load, project: Path) -> None:
    spec = load(BASE)
    assert spec.resolve("metric.py") == project / "metric.py"
    assert spec.resolve("/elsewhere/x") == Path("/elsewhere/x")


def test_a_file_may_be_named_instead_of_its_folder(project: Path) -> None:
    other = project / "other.toml"
    other.write_text(BASE, encoding="utf-8")
    assert load_spec(other).root == project


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_bom_and_crlf_are_accepted(project: Path, prefix: bytes, ending: bytes) -> None:
    (project / "skynet.toml").write_bytes(prefix + BASE.encode().replace(b"\n", ending))
    assert load_spec(project).artifact.path == "prompt.md"


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        (
            "{ train = 0.1, val = 0.2, test = 0.7 }",
            FractionSplit(train=Decimal("0.1"), val=Decimal("0.2"), test=Decimal("0.7")),
        ),
        ("{ train = 1.0 }", FractionSplit(train=Decimal(1))),
        ("{ train = 0.8, val = 0.2, test = 0 }", FractionSplit(train=Decimal("0.8"), val=Decimal("0.2"))),
        ("{ train = 30, test = 10 }", CountSplit(train=30, test=10)),
        ('{ column = "source_split" }', ColumnSplit(column="source_split")),
    ],
)
def test_the_form_of_a_split_follows_its_values(load: Load, split: str, expected: Section) -> None:
    data = load(DATA + f"split = {split}").data
    assert data is not None
    assert data.split == expected


def test_a_split_by_paths_takes_the_place_of_the_path(load: Load, project: Path) -> None:
    (project / "test.csv").write_text("x", encoding="utf-8")
    data = load(BASE + '[data]\ninputs = ["m"]\nsplit = { train = "tickets.csv", test = "test.csv" }').data
    assert data is not None
    assert data.split == PathSplit(train="tickets.csv", test="test.csv")


def test_a_code_artifact_is_its_own_target(load: Load) -> None:
    spec = load('[artifact]\nkind = "code"\npath = "run.py"\n[target]\ntimeout = 5\n')
    assert (spec.target.kind, spec.target.timeout, spec.artifact.entry) == ("code", 5, "run")


def test_text_that_is_not_utf8_names_the_line(project: Path) -> None:
    (project / "skynet.toml").write_bytes(b'name = "x"\nobjective = "\xe9"\n')
    with pytest.raises(SpecError, match=r"skynet\.toml: line 2: is not UTF-8 text"):
        load_spec(project)


def test_a_missing_spec_names_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"there is no such file.*skynet init"):
        load_spec(tmp_path)


def test_a_dict_is_checked_as_a_file_is_and_left_as_it_was(project: Path) -> None:
    data: dict[str, Any] = {"artifact": {"kind": "code", "path": "run.py"}, "target": {"timeout": 5}}
    assert parse_spec(data, project).target.kind == "code"
    assert data == {"artifact": {"kind": "code", "path": "run.py"}, "target": {"timeout": 5}}
    with pytest.raises(SpecError, match=r"^call: target\.timeout = 'x'|^call: target\.timeout = \"x\""):
        parse_spec({**data, "target": {"timeout": "x"}}, project, "call")


def test_one_default_is_not_shared_between_specs(project: Path) -> None:
    data = {"artifact": {"path": "prompt.md"}, "target": {"kind": "chat"}}
    parse_spec(data, project).engine.options["x"] = 1
    assert parse_spec(data, project).engine.options == {}


def test_importing_the_spec_loads_no_library_but_pydantic() -> None:
    heavy = "{'httpx', 'litellm', 'numpy', 'sqlalchemy', 'jinja2', 'dspy', 'gepa', 'rich', 'typer', 'yaml', 'openai'}"
    code = f"import sys, skynet.spec, skynet.data; print({heavy} & set(sys.modules))"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"n": 2}, {"name": "gepa", "n": 2, "merge": True}),
        ({"name": "gepa", "n": 2}, {"name": "gepa", "n": 2, "merge": True}),
        ({"name": "demos"}, {"name": "demos"}),
        ("demos", "demos"),
    ],
)
def test_given_keys_win_and_a_table_of_another_name_is_replaced_whole(given: object, expected: object) -> None:
    assert merged({"engine": {"name": "gepa", "n": 1, "merge": True}}, {"engine": given}) == {"engine": expected}
