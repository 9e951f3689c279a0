"""Projects with every kind of artifact and target, as their spec has them built."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from skynet.artifact import Artifact
from skynet.evaluation.check_project import check_project
from skynet.evaluation.project import Project
from skynet.evaluation.record import Record
from skynet.spec import load_spec
from tests.loopback import ModelServer, model_server
from tests.projects import METRIC, ROWS, model, statuses

__all__ = ["model_server"]

DATA = '[data]\npath = "rows.jsonl"\ninputs = ["text"]\noutputs = ["label"]\n'
MIRROR = "import json, pathlib, sys\nprint(pathlib.Path(sys.argv[1]).read_text(), json.load(sys.stdin)['text'])\n"


def project(folder: Path, artifact: str, target: str, files: dict[str, str], more: str = DATA) -> Project:
    files = {"metric.py": METRIC, "rows.jsonl": "\n".join(map(json.dumps, ROWS)), **files}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    spec = f'objective = "x"\n[artifact]\n{artifact}\n[target]\n{target}\n{more}'
    (folder / "skynet.toml").write_text(spec)
    return Project(load_spec(folder))


def run(opened: Project, artifact: Artifact | None = None) -> Record:
    chosen = artifact or opened.start
    assert chosen is not None
    return opened.runner.run(chosen, opened.dataset.train[0])


def test_code_without_data_is_run_once_with_an_empty_input(tmp_path: Path) -> None:
    files = {
        "solve.py": "def solve(input):\n    return {'got': input}\n",
        "metric.py": "def score(input, output, expected=None):\n    return 0.5, {'feedback': repr(output)}\n",
    }
    with project(tmp_path, 'kind = "code"\npath = "solve.py"\nentry = "solve"', "", files, "") as opened:
        assert run(opened).feedback == "{'got': {}}"
        assert check_project(opened).ok


def test_a_failing_case_of_code_shows_traceback_and_prints_to_the_proposer(tmp_path: Path) -> None:
    files = {"solve.py": "def run(input):\n    print('looking at', input['text'])\n    return input['nothing']\n"}
    with project(tmp_path, 'kind = "code"\npath = "solve.py"', "", files) as opened:
        seen = run(opened).seen("train", 0.0, 4000)
    assert seen.failure == "target"
    assert 'File "solve.py", line 3, in run\n    return input[' in seen.feedback
    assert "KeyError: 'nothing'" in seen.feedback
    assert "stdout:\nlooking at text" in seen.feedback


def test_code_that_fails_is_a_warning_of_the_check(tmp_path: Path) -> None:
    files = {"solve.py": "def run(input):\n    return input['nothing']\n"}
    with project(tmp_path, 'kind = "code"\npath = "solve.py"', "", files) as opened:
        result = check_project(opened)
    assert result.ok
    assert statuses(result)["Run output"] == "warning"


def test_code_cannot_import_the_projects_files(tmp_path: Path) -> None:
    files = {"solve.py": "import metric\ndef run(input):\n    return 1\n"}
    with project(tmp_path, 'kind = "code"\npath = "solve.py"', "", files) as opened:
        assert "No module named 'metric'" in run(opened).feedback


def test_parts_are_the_turns_of_a_chat(tmp_path: Path, model_server: ModelServer) -> None:
    files = {"parts/user.md": "Text: {{ text }}\nassistant:\n", "parts/system.md": "Sort."}
    more = DATA + model(model_server.url, "task")
    with project(tmp_path, 'kind = "parts"\npath = "parts"', 'kind = "chat"', files, more) as opened:
        run(opened)
        text = opened.dataset.train[0].input["text"]
    assert model_server.requests[0].body["messages"] == [
        {"role": "system", "content": "Sort."},
        {"role": "user", "content": f"Text: {text}\nassistant:"},  # in a part no line opens a turn
    ]


def test_parts_are_a_dict_for_a_python_target(tmp_path: Path) -> None:
    files = {"parts/a.md": "A", "parts/b.txt": "B", "run.py": "def run(artifact, input):\n    return artifact\n"}
    target = 'kind = "python"\npath = "run.py"'
    with project(tmp_path, 'kind = "parts"\npath = "parts"', target, files) as opened:
        assert run(opened).output == {"a": "A", "b": "B"}


def test_a_command_is_run_in_the_projects_folder(tmp_path: Path) -> None:
    target = f'kind = "command"\nargv = ["{sys.executable}", "agent.py", "{{artifact}}"]'
    with project(tmp_path, 'path = "p.md"', target, {"p.md": "Hi", "agent.py": MIRROR}) as opened:
        record = run(opened)
        assert record.output == f"Hi {opened.dataset.train[0].input['text']}"
        assert record.cost_usd is None


def test_a_missing_program_fails_the_check_at_run_output(tmp_path: Path) -> None:
    target = 'kind = "command"\nargv = ["./agent", "{artifact}"]'
    with project(tmp_path, 'path = "p.md"', target, {"p.md": "Hi"}) as opened:
        result = check_project(opened)
    assert statuses(result)["Run output"] == "failed"


@pytest.fixture
def agent() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps({"answer": f"{sent['p']} {sent['q']} {self.headers['x-key']}"}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/ask"
    server.shutdown()
    server.server_close()


def test_an_http_agent_is_asked_with_a_key_from_the_env_file(tmp_path: Path, agent: str) -> None:
    target = (
        f'kind = "http"\nurl = "{agent}"\nanswer = "answer"\nheaders = {{ X-Key = "${{AGENT_KEY}}" }}\n'
        'body = { p = "{{ artifact }}", q = "{{ input.text }}" }'
    )
    files = {"p.md": "Hi", ".env": "AGENT_KEY=from-file\n"}
    with project(tmp_path, 'path = "p.md"', target, files) as opened:
        assert run(opened).output == f"Hi {opened.dataset.train[0].input['text']} from-file"
