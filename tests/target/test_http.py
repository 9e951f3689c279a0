from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from skynet.artifact import Artifact, Content
from skynet.data.case import Case
from skynet.target.base import TargetResult, Ticket
from skynet.target.http import HttpTarget, ReplyPaths
from skynet.target.request_template import RequestTemplate

Run = Callable[..., TargetResult]
REPLY = {"choices": [{"text": "billing"}], "steps": [{"tool": "look"}], "usage": {"usd": 0.25}}


@dataclass
class Agent:
    """A deployed agent: it keeps what it was sent, and answers with `status` and `body`."""

    status: int = 200
    body: bytes = json.dumps(REPLY).encode()
    headers: Mapping[str, str] = field(default_factory=dict)
    drip_seconds: float = 0.0
    silent_seconds: float = 0.0  # before the status
    header_drip_seconds: float = 0.0  # between two headers of which there are ten
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    @property
    def sent(self) -> Any:
        """The JSON body of the last request."""
        return json.loads(self.seen[-1][3])


@pytest.fixture
def agent() -> Iterator[Agent]:
    agent = Agent()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            agent.seen.append((self.command, self.path, headers, body))
            time.sleep(agent.silent_seconds)
            self.send_response(agent.status)
            for number in range(10 if agent.header_drip_seconds else 0):
                self.send_header(f"x-{number}", "y")
                try:
                    self.flush_headers()
                except OSError:
                    self.close_connection = True
                    return
                time.sleep(agent.header_drip_seconds)
            self.send_header("content-length", str(len(agent.body)))
            for name, value in agent.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for byte in agent.body if agent.drip_seconds else ():
                    self.wfile.write(bytes([byte]))
                    time.sleep(agent.drip_seconds)
                if not agent.drip_seconds:
                    self.wfile.write(agent.body)
            except OSError:
                self.close_connection = True

        do_GET = do_POST = do_PUT = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    agent.url = f"http://127.0.0.1:{server.server_port}"
    yield agent
    server.shutdown()
    server.server_close()


@pytest.fixture
def run(agent: Agent) -> Iterator[Run]:
    made: list[HttpTarget] = []

    def call(
        content: Content = "Be kind.",
        *,
        input: Mapping[str, Any] | None = None,
        method: str = "POST",
        url: str = "/ask",
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        environ: Mapping[str, str] | None = None,
        timeout: float = 5,
        most: int = 10_000,
        cancel: threading.Event | None = None,
        **paths: str,
    ) -> TargetResult:
        full = url if url.startswith("http:") else agent.url + url
        template = RequestTemplate(method, full, headers or {}, body, environ or {})
        made.append(HttpTarget(template, ReplyPaths(**paths), timeout, most))
        artifact = Artifact("text" if isinstance(content, str) else "parts", content)
        case = Case("1", dict(input or {"message": "Where is it?", "n": 3}), None, "", 1)
        return made[-1].run(artifact, Ticket(case, artifact.id, cancel=cancel))

    yield call
    for target in made:
        target.close()


def test_artifact_and_input_are_placed_in_the_body(agent: Agent, run: Run) -> None:
    turns = ["Q: {{ input.message }}!", "{{input.n}}"]
    body = {"system": "{{ artifact }}", "turns": turns, "all": "{{ input }}", "k": 1}
    result = run("Say {{ input.n }}.", body=body, answer="choices.0.text")
    assert (result.fault, result.output) == (None, "billing")
    assert agent.seen[-1][:2] == ("POST", "/ask")
    assert agent.seen[-1][2]["content-type"] == "application/json"
    assert agent.sent == {
        "system": "Say {{ input.n }}.",  # one pass: what was placed is not looked at again
        "turns": ["Q: Where is it?!", 3],
        "all": {"message": "Where is it?", "n": 3},
        "k": 1,
    }


def test_without_a_body_artifact_and_input_are_sent_as_such(agent: Agent, run: Run) -> None:
    run({"system": "A", "tool": "B"})
    assert agent.sent == {"artifact": {"system": "A", "tool": "B"}, "input": {"message": "Where is it?", "n": 3}}


def test_a_part_is_placed_by_its_name(agent: Agent, run: Run) -> None:
    run({"system": "A", "tool": "B"}, body={"s": "{{ artifact.system }}"})
    assert agent.sent == {"s": "A"}


def test_a_get_request_places_values_in_its_url_and_sends_no_body(agent: Agent, run: Run) -> None:
    run("a&b", method="GET", url="/ask?p={{ artifact }}&m={{ input.message }}")
    assert agent.seen[-1][:2] == ("GET", "/ask?p=a%26b&m=Where%20is%20it%3F")
    assert agent.seen[-1][3] == b""


def test_headers_take_their_values_from_the_environment(agent: Agent, run: Run) -> None:
    run(headers={"Authorization": "Bearer ${AGENT_KEY}"}, environ={"AGENT_KEY": "sekrit-1"})
    assert agent.seen[-1][2]["authorization"] == "Bearer sekrit-1"


def test_a_variable_that_is_not_set_is_told_before_the_first_case() -> None:
    template = RequestTemplate("POST", "http://h", {"X": "${AGENT_KEY}"}, None, {})
    result = HttpTarget(template, ReplyPaths(), 1, 100).load()
    assert result is not None
    assert "AGENT_KEY" in str(result.fault)


def test_trajectory_and_cost_come_from_the_reply(run: Run) -> None:
    result = run(answer="choices.0.text", trajectory="$.steps", cost="usage.usd")
    assert result.trace == [{"tool": "look"}]
    assert result.cost_usd == 0.25
    assert result.elapsed_ms is not None


def test_without_a_path_the_cost_is_unknown_and_the_whole_reply_is_the_answer(run: Run) -> None:
    result = run()
    assert result.output == REPLY
    assert result.cost_usd is None


def test_a_reply_that_is_no_json_is_a_text(agent: Agent, run: Run) -> None:
    agent.body = "schön".encode()
    assert run().output == "schön"
    assert "the reply is no JSON, so [target] answer = 'text' cannot be read: schön" in str(run(answer="text").fault)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("choice.0", "the reply has no 'choice' at its top, which is an object with choices, steps, usage"),
        ("choices.1.text", "the reply has no '1' at 'choices', which is an array of 1"),
        ("choices.0.text.x", "the reply has no 'x' at 'choices.0.text', which is str 'billing'"),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_went(path: str, told: str, run: Run) -> None:
    assert told in str(run(answer=path).fault)


@pytest.mark.parametrize("value", ['"free"', "-1", "true", "NaN"])
def test_a_cost_that_is_no_number_of_dollars_is_told(value: str, agent: Agent, run: Run) -> None:
    agent.body = f'{{"usd": {value}}}'.encode()
    assert "[target] cost: the reply reports" in str(run(cost="usd").fault)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_a_status_that_is_no_success_fails_the_case_with_the_body_cut(status: int, agent: Agent, run: Run) -> None:
    agent.status, agent.body = status, b"no such agent " * 500
    result = run()
    assert result.fault is not None
    assert result.fault.kind == "raised"
    assert f"HTTP {status}" in result.fault.message
    assert "no such agent" in result.fault.message
    assert len(result.fault.message) < 1_200
    assert len(agent.seen) == 1  # a deployed agent is asked once: what it does may not be done twice


def test_a_redirect_is_refused_and_names_where_it_leads(agent: Agent, run: Run) -> None:
    agent.status, agent.headers = 302, {"location": "http://elsewhere/ask"}
    assert "it redirects to http://elsewhere/ask; redirects are refused" in str(run().fault)
    assert len(agent.seen) == 1


def test_a_key_that_the_agent_echoes_is_not_shown(agent: Agent, run: Run) -> None:
    agent.status, agent.body = 401, b"bad token sekrit-1"
    fault = run(headers={"X-Key": "${AGENT_KEY}"}, environ={"AGENT_KEY": "sekrit-1"}).fault
    assert "sekrit-1" not in str(fault)
    assert "bad token [key]" in str(fault)


def test_a_slow_drip_ends_with_the_timeout(agent: Agent, run: Run) -> None:
    agent.drip_seconds = 0.05  # 80 bytes: four seconds for the whole body
    result = run(timeout=0.3)
    assert result.fault is not None
    assert result.fault.kind == "timeout"
    assert "within 0.3 s" in result.fault.message


def test_slow_headers_end_with_the_timeout(agent: Agent, run: Run) -> None:
    agent.header_drip_seconds = 0.25  # each within the time, 2.5 seconds for all of them
    began = time.monotonic()
    result = run(timeout=0.5)
    assert result.fault is not None
    assert result.fault.kind == "timeout"
    assert time.monotonic() - began < 1.2


@pytest.mark.parametrize("slow", [{"silent_seconds": 3.0}, {"drip_seconds": 0.05}], ids=["silent", "drip"])
def test_a_stop_does_not_wait_for_the_agent(slow: dict[str, float], agent: Agent, run: Run) -> None:
    for name, seconds in slow.items():
        setattr(agent, name, seconds)
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    began = time.monotonic()
    result = run(timeout=60, cancel=cancel)
    assert time.monotonic() - began < 1.5
    assert result.fault is not None
    assert result.fault.kind == "cancelled"
    assert result.cost_usd is None  # it was sent, and may be billed
    assert result.elapsed_ms is not None


def test_after_a_stop_nothing_is_sent(agent: Agent, run: Run) -> None:
    cancel = threading.Event()
    cancel.set()
    result = run(cancel=cancel)
    assert result.fault is not None
    assert (result.fault.kind, result.cost_usd, result.elapsed_ms) == ("cancelled", 0, None)
    assert agent.seen == []


def test_a_reply_beyond_the_limit_is_refused(agent: Agent, run: Run) -> None:
    agent.body = b"x" * 5000
    result = run(most=1000)
    assert result.fault is not None
    assert result.fault.kind == "bad_output"


def test_a_host_that_does_not_answer_fails_the_case(run: Run) -> None:
    result = run(url="http://127.0.0.1:9/ask")
    assert "ConnectError" in str(result.fault)
    assert result.cost_usd == 0.0


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("{{ input.mesage }}", "there is no such input column. Did you mean 'message'? There is: message, n"),
        ("{{ artifact.system }}", "but the artifact is one text"),
    ],
)
def test_a_placeholder_that_names_nothing_is_told_and_nothing_is_sent(
    body: str, told: str, agent: Agent, run: Run
) -> None:
    assert told in str(run(body={"x": body}).fault)
    assert agent.seen == []
