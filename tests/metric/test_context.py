from __future__ import annotations

import threading

from skynet.metric.context import Stopped, current
from tests.metric.calls import call


def test_a_thread_of_the_users_code_is_in_the_same_call() -> None:
    seen: list[object] = []
    with call():
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
        assert seen == [current()]
        assert seen[0] is not None
    assert current() is None


def test_a_stop_is_no_exception_that_user_code_catches() -> None:
    assert not issubclass(Stopped, Exception)
