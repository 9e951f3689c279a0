"""SDKs inside `run()` reach the task model through the loopback endpoint, without a key, priced to the case."""

from __future__ import annotations

from pathlib import Path

import pytest

from skynet.artifact import Artifact
from skynet.data.case import Case
from skynet.evaluation.project import Project
from skynet.spec import parse_spec
from skynet.target.base import Ticket
from tests.loopback import ModelServer, status

AT_IMPORT = """
from openai import OpenAI
client = OpenAI(max_retries=0)

def run(artifact, input):
    reply = client.chat.completions.create(model="any", messages=[{"role": "user", "content": artifact + input["q"]}])
    return reply.choices[0].message.content
"""
STREAMED = """
from openai import OpenAI

def run(artifact, input):
    stream = OpenAI().chat.completions.create(
        model="any", messages=[{"role": "user", "content": input["q"]}], stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
"""
SWALLOWED = """
from openai import OpenAI

def run(artifact, input):
    try:
        return OpenAI(max_retries=0).chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    except Exception:
        return "swallowed"
"""


def project(folder: Path, url: str, code: str) -> Project:
    (folder / "run.py").write_text(code)
    (folder / "metric.py").write_text("def score(input, output): return 1.0, {'feedback': 'fine'}\n")
    task = {"name": "openai/small", "base_url": url, "price": {"input": 1_000_000.0, "output": 0.0}}
    spec = {
        "objective": "x",
        "target": {"kind": "python", "path": "run.py"},
        "models": {"task": task},
    }
    return Project(parse_spec(spec, folder))


@pytest.mark.parametrize("code", [AT_IMPORT, STREAMED], ids=["a client made at import, plain", "streamed"])
@pytest.mark.xdist_group("openai")
def test_the_openai_client_works_without_a_key_and_is_priced_to_the_case(
    model_server: ModelServer, tmp_path: Path, code: str
) -> None:
    model_server.reply = "four"
    with project(tmp_path, model_server.url, code) as opened:
        for case in ("1", "2"):
            ticket = Ticket(Case(case, {"q": "two and two"}, None, "", 0), "v")
            result = opened.target.run(Artifact("text", "Say: "), ticket)
            assert result.fault is None, result.fault
            assert result.output == "four"
            assert result.model_calls == 1
            assert result.cost_usd == result.prompt_tokens > 0


@pytest.mark.xdist_group("openai")
def test_a_provider_failure_that_the_program_swallows_is_still_the_providers(
    model_server: ModelServer, tmp_path: Path
) -> None:
    model_server.fail_always(status(401, "no such key"))
    with project(tmp_path, model_server.url, SWALLOWED) as opened:
        result = opened.target.run(Artifact("text", ""), Ticket(Case("1", {}, None, "", 0), "v"))
    assert result.fault is not None
    assert result.fault.kind == "provider"
    assert "no such key" in result.fault.message


def test_without_a_task_model_no_endpoint_and_no_key_is_there(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("import os\ndef run(artifact, input): return os.environ.get('OPENAI_API_KEY')\n")
    (tmp_path / "metric.py").write_text("def score(input, output): return 1.0, {'feedback': 'fine'}\n")
    with Project(parse_spec({"objective": "x", "target": {"kind": "python", "path": "run.py"}}, tmp_path)) as opened:
        assert opened.target.run(Artifact("text", ""), Ticket(Case("1", {}, None, "", 0), "v")).output is None


