from __future__ import annotations

import importlib.util
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skynet.models.backend import ModelRequest, ProviderFault
from skynet.models.local import LocalBackend, choices_grammar, find_model, request_body

NAME = "local/smollm2-135m"
SYSTEM = {"role": "system", "content": "Say whether the review is good or bad."}
SHOWN = [
    {"role": "user", "content": "Broke on the first day."},
    {"role": "assistant", "content": "bad"},
    {"role": "user", "content": "A joy from start to finish."},
    {"role": "assistant", "content": "good"},
]


def request(*messages: dict[str, str], **options: Any) -> ModelRequest:
    return ModelRequest(**{"model": NAME, "messages": messages, "max_tokens": 8, **options})


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@pytest.fixture(scope="module")
def backend(embedded_model: Path) -> Iterator[LocalBackend]:
    made = LocalBackend(embedded_model.parent)
    yield made
    made.close()


@pytest.fixture
def own_backend(embedded_model: Path) -> Iterator[LocalBackend]:
    """A backend whose process a test may kill."""
    made = LocalBackend(embedded_model.parent)
    yield made
    made.close()


def process_id(backend: LocalBackend) -> int:
    (child,) = backend._children.values()
    assert child.pid is not None
    return child.pid


def wait_until_gone(pid: int) -> None:
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return  # ended; only its parent has not asked yet
        time.sleep(0.05)
    pytest.fail(f"process {pid} lives on")


def test_a_reply_has_its_text_and_token_counts(backend: LocalBackend) -> None:
    reply = backend.complete(request(user("Say hi."), max_tokens=5))

    assert reply.text.strip()
    assert reply.completion_tokens == 5
    assert reply.finish_reason == "length"
    assert reply.prompt_tokens is not None
    assert reply.prompt_tokens > 5  # the chat template's own tokens are counted
    assert reply.latency_ms is not None
    assert reply.latency_ms > 0


def test_a_reply_never_depends_on_what_was_asked_before(backend: LocalBackend) -> None:
    prefixes = [[], [SYSTEM], [SYSTEM, *SHOWN[:2]], [SYSTEM, *SHOWN]]
    asked = [
        request(*prefix, user(text))
        for prefix, text in itertools.product(prefixes, ["The soup was cold.", "Lovely, lovely room!"])
    ]
    there = [backend.complete(one).text for one in asked]
    back = [backend.complete(one).text for one in reversed(asked)]
    mixed = {index: backend.complete(asked[index]).text for index in (0, 7, 2, 5, 4, 3, 6, 1)}

    assert back == there[::-1]
    assert [mixed[index] for index in range(8)] == there


def test_requests_of_several_threads_get_the_replies_they_get_alone(backend: LocalBackend) -> None:
    asked = [request(SYSTEM, *SHOWN, user(f"I waited {hours} hours."), max_tokens=4) for hours in range(4)]
    alone = [backend.complete(one).text for one in asked]
    together: dict[int, str] = {}
    threads = [
        threading.Thread(target=lambda at=at, one=one: together.update({at: backend.complete(one).text}))
        for at, one in enumerate(asked)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [together[at] for at in range(4)] == alone


@pytest.mark.parametrize(
    "choices",
    [
        ("Zürich", "Genève"),
        ('a "quoted" one', 'a \\ "back\\slash"'),
        ("東京", "two\nlines"),
        ("a", "ab"),
        ("only one",),
    ],
)
def test_the_reply_is_one_of_the_choices(backend: LocalBackend, choices: tuple[str, ...]) -> None:
    assert backend.complete(request(user("Which one?"), choices=choices, max_tokens=1)).text in choices


def test_a_json_schema_binds_the_reply(backend: LocalBackend) -> None:
    schema = {
        "type": "object",
        "properties": {"label": {"enum": ["good", "bad"]}},
        "required": ["label"],
        "additionalProperties": False,
    }

    reply = backend.complete(request(user("A fine day out. Label it."), schema=schema, max_tokens=60))

    assert json.loads(reply.text)["label"] in ("good", "bad")


def test_the_seed_decides_at_a_temperature_above_zero(backend: LocalBackend) -> None:
    def ask(seed: int) -> str:
        return backend.complete(request(user("Tell me a story."), temperature=1.5, extra={"seed": seed})).text

    assert ask(1) == ask(1)
    assert len({ask(seed) for seed in range(4)}) > 1


def test_a_prompt_that_is_too_long_is_a_fault_of_the_request(backend: LocalBackend) -> None:
    with pytest.raises(ProviderFault, match=r"the prompt is too long: request \(\d+ tokens\).*8192") as caught:
        backend.complete(request(SYSTEM, user("hi " * 9000)))
    assert caught.value.reach == "request"


@pytest.mark.parametrize(
    "asked",
    [request(user("x"), schema={"type": "strange"}), request(user("half \ud800 a pair"))],
    ids=["schema", "surrogate"],
)
def test_a_request_that_cannot_be_read_is_refused_with_the_cause(backend: LocalBackend, asked: ModelRequest) -> None:
    with pytest.raises(ProviderFault, match=r"local/smollm2-135m refused the request: .+") as caught:
        backend.complete(asked)
    assert caught.value.reach == "request"


def test_a_process_that_dies_is_a_fault_of_the_attempt_and_is_started_again(own_backend: LocalBackend) -> None:
    first = own_backend.complete(request(user("Say hi."))).text
    threading.Timer(0.2, os.kill, (process_id(own_backend), signal.SIGKILL)).start()

    with pytest.raises(ProviderFault, match=r"died during a request \(killed by SIGKILL") as caught:
        own_backend.complete(request(user("Count to a million."), max_tokens=6000))
    assert caught.value.reach == "attempt"
    assert own_backend.complete(request(user("Say hi."))).text == first


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_the_process_is_given_no_keys(embedded_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "sk-nobodys-business")
    monkeypatch.setenv("PLAIN_SETTING", "told")
    backend = LocalBackend(embedded_model.parent)
    backend.complete(request(user("Say hi."), max_tokens=1))
    environment = Path(f"/proc/{process_id(backend)}/environ").read_bytes()
    backend.close()
    assert b"PLAIN_SETTING=told" in environment
    assert b"sk-nobodys-business" not in environment


def test_a_request_that_takes_too_long_ends_and_the_next_one_works(own_backend: LocalBackend) -> None:
    own_backend.complete(request(user("Say hi."), max_tokens=1))

    with pytest.raises(ProviderFault, match=r"did not answer within 0\.2 s") as caught:
        own_backend.complete(request(user("Count to a million."), max_tokens=6000, timeout=0.2))
    assert caught.value.reach == "request"
    assert own_backend.complete(request(user("Say hi."), max_tokens=1)).completion_tokens == 1


def test_close_ends_a_request_under_way(own_backend: LocalBackend) -> None:
    own_backend.complete(request(user("Say hi."), max_tokens=1))
    pid = process_id(own_backend)
    threading.Timer(0.2, own_backend.close).start()

    with pytest.raises(ProviderFault, match="was closed"):
        own_backend.complete(request(user("Count to a million."), max_tokens=6000))
    wait_until_gone(pid)


def test_the_process_ends_when_the_host_is_killed_during_a_request(embedded_model: Path) -> None:
    program = (
        "import threading\nfrom pathlib import Path\nfrom tests.models.test_local import *\n"
        "backend = LocalBackend(Path('.'))\nbackend.complete(request(user('Say hi.'), max_tokens=1))\n"
        "print(process_id(backend), flush=True)\n"
        "backend.complete(request(user('Count to a million.'), max_tokens=6000))\n"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    )
    assert host.stdout is not None
    pid = int(host.stdout.readline())
    host.kill()
    host.communicate()

    wait_until_gone(pid)


def test_a_file_by_its_path_is_the_same_model(backend: LocalBackend, embedded_model: Path) -> None:
    by_path = f"local/{embedded_model.name}"

    assert find_model(by_path, embedded_model.parent, os.environ) == embedded_model.resolve()
    assert backend.complete(request(user("Say hi."), model=by_path)).text == (
        backend.complete(request(user("Say hi."))).text
    )


def test_a_file_that_is_no_model_is_refused_with_the_loaders_words(embedded_model: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_text("hello")
    backend = LocalBackend(tmp_path)

    with pytest.raises(ProviderFault, match=r"could not be loaded from .*broken\.gguf(.|\n)*invalid magic") as caught:
        backend.complete(request(user("x"), model="local/broken.gguf"))
    assert caught.value.reach == "model"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("local/smolm2-135m", r"Did you mean 'smollm2-135m'\?"),
        ("local/nothing.gguf", r"there is no file .*nothing\.gguf"),
        (NAME, "`skynet models pull` fetches it"),
    ],
)
def test_a_model_that_is_not_there_says_what_to_do(name: str, said: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        said = r"pip install 'skynet-optimizer\[local\]'"

    with pytest.raises(ProviderFault, match=said) as caught:
        LocalBackend(tmp_path, environ={"SKYNET_CACHE": str(tmp_path)}).complete(request(user("x"), model=name))
    assert caught.value.reach == "model"


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(ProviderFault, match=r"pip install 'skynet-optimizer\[local\]'"):
        find_model(NAME, tmp_path, {})


def test_the_host_never_imports_the_library(embedded_model: Path) -> None:
    program = (
        "import sys\nfrom tests.models.test_local import *\nbackend = LocalBackend(Path('.'))\n"
        "backend.complete(request(user('x'), max_tokens=1))\nbackend.close()\nprint('xllamacpp' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("choices", "grammar"),
    [
        (("good", "bad"), 'root ::= "good" | "bad"'),
        (("Köln",), 'root ::= "Köln"'),
        (('a"b', "c\\d"), 'root ::= "a\\U00000022b" | "c\\U0000005cd"'),
        (("x\ny",), 'root ::= "x\\U0000000ay"'),
    ],
)
def test_choices_become_a_grammar(choices: tuple[str, ...], grammar: str) -> None:
    assert choices_grammar(choices) == grammar


def test_the_temperature_is_zero_unless_the_request_names_one() -> None:
    assert request_body(request(user("x")))["temperature"] == 0.0
    assert request_body(request(user("x"), temperature=0.7))["temperature"] == 0.7
