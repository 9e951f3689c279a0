from __future__ import annotations

import threading

from skynet.models.helpers import Helpers


def test_work_is_done_on_another_thread_which_serves_the_next_work_too() -> None:
    helpers = Helpers()
    seen: list[int] = []
    for _ in range(5):
        done = threading.Event()

        def work(done: threading.Event = done) -> None:
            seen.append(threading.get_ident())
            done.set()

        helpers.give(work)
        assert done.wait(20)
    assert threading.get_ident() not in seen
    assert len(set(seen)) < 5  # a thread may not have gone back to waiting when the next work came


def test_work_that_hangs_holds_up_no_other() -> None:
    helpers, go, done = Helpers(), threading.Event(), threading.Event()

    def hang() -> None:
        go.wait(60)

    helpers.give(hang)
    helpers.give(done.set)
    assert done.wait(20)
    go.set()
