from __future__ import annotations

import threading
import time

import pytest

from skynet.models import open_calls
from skynet.models.open_calls import OpenCalls
from skynet.models.retry import Cancelled


def under_way(calls: OpenCalls, until: threading.Event) -> threading.Thread:
    begun = threading.Event()

    def work() -> None:
        with calls.call():
            begun.set()
            until.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(20)
    return thread


def test_the_end_waits_for_a_call_that_is_under_way() -> None:
    calls, reply = OpenCalls(), threading.Event()
    thread = under_way(calls, reply)
    threading.Timer(0.2, reply.set).start()
    began = time.monotonic()
    assert calls.end(10)
    assert 0.1 < time.monotonic() - began < 5
    thread.join()


def test_the_end_says_when_a_call_did_not_come_back_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_calls, "BOOKING_SECONDS", 0.0)
    calls, reply = OpenCalls(), threading.Event()
    thread = under_way(calls, reply)
    assert not calls.end(0.05)
    reply.set()
    thread.join()
    assert calls.end(10)


def test_a_call_after_the_end_is_refused() -> None:
    calls = OpenCalls()
    assert calls.end(0)
    with pytest.raises(Cancelled, match="after the end"), calls.call():
        pytest.fail("it was let in")
