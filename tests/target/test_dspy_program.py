from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.errors import SkynetError
from skynet.evaluation.project import Project
from skynet.spec import load_spec
from skynet.target.base import TargetResult, Ticket
from tests.loopback import ModelServer, status
from tests.projects import write_project

pytestmark = pytest.mark.xdist_group("dspy")

SPEC = """
objective = "Name the colour."
[artifact]
kind = "dspy"
path = "program.py"
[target]
timeout = 20
[data]
path = "rows.jsonl"
inputs = ["text"]
outputs = OUTPUTS
[metric]
timeout = 10
[models]
task = { name = "openai/loopback", base_url = "URL", price = { input = 1.0, output = 1.0 } }
"""
ONE = 'import dspy\nprogram = dspy.Predict("text -> label")\n'
REASONS = 'import dspy\ndef build():\n    return dspy.ChainOfThought("text -> label, why")\n'
AGENT = '''
import dspy
from words import MEANING

def look(word: str) -> str:
    """Look a word up."""
    return MEANING[word]

program = dspy.ReAct("text -> label", tools=[look], max_iters=2)
'''

Open = Callable[..., Project]


@pytest.fixture
def open_program(tmp_path: Path, model_server: ModelServer) -> Iterator[Open]:
    opened: list[Project] = []

    def make(program: str, outputs: str = '["label"]', beside: dict[str, str] | None = None) -> Project:
        folder = write_project(tmp_path, beside={"program.py": program, **(beside or {})})
        spec = SPEC.replace("OUTPUTS", outputs).replace("URL", model_server.url)
        (folder / "skynet.toml").write_text(spec, encoding="utf-8")
        opened.append(Project(load_spec(folder), environ={"PATH": "/usr/bin:/bin"}))
        return opened[-1]

    yield make
    for project in opened:
        project.close()


def run(project: Project, state: Any = None, text: str = "text 1") -> TargetResult:
    assert project.start is not None
    artifact = project.start if state is None else Artifact("dspy", state)
    case = Case("1", {"text": text}, {"label": "label 1"}, "rows.jsonl", 1)
    return project.target.run(artifact, Ticket(case, artifact.id))


def fields(**values: str) -> str:
    return "\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()) + "\n[[ ## completed ## ]]"


def test_the_start_is_the_programs_own_state_as_program_load_reads_it(open_program: Open, tmp_path: Path) -> None:
    import dspy

    start = open_program(ONE).start
    assert start is not None
    assert isinstance(start.content, dict)
    assert start.content["demos"] == []
    assert start.content["signature"]["instructions"] == "Given the fields `text`, produce the fields `label`."
    (tmp_path / "state.json").write_text(json.dumps(start.content), encoding="utf-8")
    changed = dspy.Predict(
        "text -> label",
    )
    changed.demos = [{"text": "a", "label": "b"}]
    changed.load(str(tmp_path / "state.json"))
    assert changed.demos == []


def test_a_version_runs_with_its_instructions_and_demonstrations(open_program: Open, model_server: ModelServer) -> None:
    project = open_program(ONE)
    model_server.reply = fields(label="label 1")
    assert project.start is not None
    assert isinstance(project.start.content, dict)
    signature = {**project.start.content["signature"], "instructions": "Label it, WITH CARE."}
    state = {**project.start.content, "signature": signature, "demos": [{"text": "SHOWN", "label": "label 7"}]}
    result = run(project, state)
    assert (result.output, result.fault, result.trace) == ("label 1", None, None)
    sent = str(model_server.requests[0].body["messages"])
    assert "WITH CARE" in sent
    assert "SHOWN" in sent
    run(project)
    assert "WITH CARE" not in str(model_server.requests[1].body["messages"])


def test_model_calls_are_counted_priced_and_never_cached(open_program: Open, model_server: ModelServer) -> None:
    project = open_program(ONE)
    model_server.reply = fields(label="label 1")
    results = [run(project), run(project)]
    assert len(model_server.requests) == 2
    for result in results:
        assert result.model_calls == 1
        assert result.completion_tokens > 0
        assert result.cost_usd is not None
        assert result.cost_usd > 0
        assert result.elapsed_ms is not None


def test_reasoning_is_no_output_and_several_columns_make_a_dict(open_program: Open, model_server: ModelServer) -> None:
    model_server.reply = fields(reasoning="hm", label="label 1", why="so")
    assert run(open_program(REASONS)).output == "label 1"
    both = open_program(REASONS, '["label", "why"]')
    assert run(both).output == {"label": "label 1", "why": "so"}


def test_a_column_that_the_program_lacks_fails_the_case_naming_its_fields(
    open_program: Open, model_server: ModelServer
) -> None:
    model_server.reply = fields(reasoning="hm", label="label 1", why="so")
    fault = run(open_program(REASONS, '["colour"]')).fault
    assert fault is not None
    assert "no output field 'colour'; it has label, why" in fault.message


def test_an_agent_calls_its_tools_and_neighbours_and_its_trajectory_is_the_trace(
    open_program: Open, model_server: ModelServer
) -> None:
    def reply(body: dict[str, Any]) -> str:
        if "next_tool_name" not in str(body["messages"][0]):
            return fields(reasoning="seen", label="label 1")
        done = "observation_0" in body["messages"][-1]["content"]
        name, arguments = ("finish", "{}") if done else ("look", '{"word": "text"}')
        return fields(next_thought="I look", next_tool_name=name, next_tool_args=arguments)

    model_server.reply = reply
    result = run(open_program(AGENT, beside={"words.py": 'MEANING = {"text": "found it"}\n'}))
    assert (result.output, result.fault) == ("label 1", None)
    assert result.trace["observation_0"] == "found it"
    assert result.model_calls == 3


def test_a_reply_that_cannot_be_read_is_the_versions_failure(open_program: Open, model_server: ModelServer) -> None:
    model_server.reply = "I would rather not say"
    fault = run(open_program(ONE)).fault
    assert fault is not None
    assert (fault.kind, fault.type) == ("raised", "AdapterParseError")


def test_a_refused_request_is_the_providers_failure(open_program: Open, model_server: ModelServer) -> None:
    model_server.fail_always(status(400, "too long"))
    fault = run(open_program(ONE)).fault
    assert fault is not None
    assert fault.kind == "provider"
    assert "too long" in fault.message


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("x = 1\n", "defines neither `program` nor build()"),
        ("program = 5\n", "`program` of program.py is int, no dspy.Module"),
        ("def build():\n    return None\n", "build() of program.py is NoneType, no dspy.Module"),
        ("import dspy\nclass P(dspy.Module):\n    pass\nprogram = P()\n", "has no predictor"),
        ("import dspyy\n", "imports dspyy, which is not installed"),
    ],
)
def test_a_program_file_that_is_none_is_told_with_what_would_be_right(
    open_program: Open, program: str, told: str
) -> None:
    with pytest.raises(SkynetError) as raised:
        _ = open_program(program).start
    assert told in str(raised.value)
    assert "program.py" in str(raised.value)


def test_a_host_program_is_fresh_each_time(open_program: Open) -> None:
    project = open_program(ONE)
    programs, start = project.programs, project.start
    assert programs is not None
    assert start is not None
    first, second = programs(start), programs(start)
    first.signature = first.signature.with_instructions("Other.")
    assert programs.state(first) != start.content
    assert programs.state(second) == programs.state(programs(start)) == start.content


def test_the_host_finds_the_programs_neighbours_without_a_place_on_its_path(open_program: Open, tmp_path: Path) -> None:
    source = "import dspy\nfrom beside_the_program import SIGNATURE\nprogram = dspy.Predict(SIGNATURE)\n"
    project = open_program(source, beside={"beside_the_program.py": 'SIGNATURE = "text -> label"\n'})
    assert project.start is not None
    assert project.programs is not None
    assert project.programs.state(project.programs(project.start)) == project.start.content
    assert str(tmp_path) not in sys.path
