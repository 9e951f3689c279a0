"""The model requests of a call: any number from any thread, a bounded number at a time, and none after the call."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from skynet.workers.channel import MOST_ASKS
from skynet.workers.pool import WorkerPool
from tests.workers.conftest import Run, setup
from tests.workers.test_replies import CHANNEL


class Desk:
    """Answers after `go`, and knows how many requests it had at most at a time."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.full = threading.Event()
        self._lock = threading.Lock()
        self._open = 0
        self.most = 0

    def ask(self, request: dict[str, Any], clock: object) -> dict[str, Any]:
        with self._lock:
            self._open += 1
            self.most = max(self.most, self._open)
        if self._open >= MOST_ASKS:
            self.full.set()
        self.go.wait(20)
        with self._lock:
            self._open -= 1
        return {"twice": 2 * request["number"]}

    def answer_when_full(self) -> None:
        self.full.wait(20)
        self.go.set()


def test_more_requests_than_may_be_open_wait_for_their_turn(run: Run) -> None:
    desk = Desk()
    asking = 3 * MOST_ASKS
    code = (
        "import threading\nout = {}\ndef go(i): out[i] = ask({'number': i})['twice']\n"
        f"threads = [threading.Thread(target=go, args=(i,)) for i in range({asking})]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]"
    )
    threading.Thread(target=desk.answer_when_full).start()
    outcome = run(code, ask=desk.ask)
    assert outcome.value == {i: 2 * i for i in range(asking)}
    assert desk.most == MOST_ASKS


def test_a_flood_of_requests_past_our_runtime_fails_the_call_with_few_threads(run: Run) -> None:
    desk = Desk()
    before = threading.active_count()
    floods = "for number in range(3000): reply(kind='ask', number=number, request={'number': 1})\ntime.sleep(60)"
    outcome = run(CHANNEL + floods, ask=desk.ask)
    threads = threading.active_count() - before
    desk.go.set()
    assert outcome.kind == "bad_output"
    assert f"more than {2 * MOST_ASKS} requests at a time" in str(outcome.fault)
    assert threads <= 2 * MOST_ASKS
    assert run("out = 'clean'").value == "clean"


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ("{'data': b'x'}", "bytes is not JSON serializable"),
        ("{'number': 10**5000}", "4300 digits"),
    ],
)
def test_a_request_that_no_model_can_be_sent_is_answered_with_why(run: Run, request_: str, said: str) -> None:
    answer = run(f"out = ask({request_})", ask=lambda request, clock: {"text": "x"}).value
    assert "cannot be sent to a model" in answer["error"]
    assert said in answer["error"]


def test_an_answer_that_cannot_cross_is_answered_with_why(run: Run) -> None:
    answer = run("out = ask({})", ask=lambda request, clock: {"text": {1, 2}}).value
    assert "type set at ['text']" in answer["error"]


def test_a_worker_with_an_open_request_serves_no_other_call() -> None:
    desk = Desk()
    code = f"{CHANNEL}import os\nreply(kind='ask', number=1, request={{'number': 1}})\nout = os.getpid()"
    with WorkerPool(setup()) as workers:
        asked = workers.call({"code": code}, timeout=20, ask=desk.ask).value
        assert workers.call({"code": "import os; out = os.getpid()"}, timeout=20).value != asked
        desk.go.set()
