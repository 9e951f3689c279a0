from __future__ import annotations

import threading
import time

import pytest

from skynet.models.backend import ProviderFault, RawReply
from skynet.models.retry import Cancelled, Halt, RetryPolicy, with_retries


class Attempts:
    """Raises the given faults in turn, then answers; remembers when it was called."""

    def __init__(self, *faults: Exception) -> None:
        self._faults = list(faults)
        self.at: list[float] = []

    def __call__(self) -> RawReply:
        self.at.append(time.monotonic())
        if self._faults:
            raise self._faults.pop(0)
        return RawReply("done", 1, 1)

    @property
    def waits(self) -> list[float]:
        return [after - before for before, after in zip(self.at, self.at[1:], strict=False)]


def _fault(retry_after: float | None = None) -> ProviderFault:
    return ProviderFault("busy", "attempt", status=429, retry_after=retry_after)


def test_waits_double_up_to_the_longest() -> None:
    attempts = Attempts(*(_fault() for _ in range(4)))
    with_retries(attempts, RetryPolicy(attempts=5, first_wait=0.05, longest_wait=0.1), Halt())
    first, second, third, fourth = attempts.waits
    assert first >= 0.05
    assert min(second, third, fourth) >= 0.1


def test_a_retry_after_of_zero_means_at_once() -> None:
    attempts, policy = Attempts(_fault(0.0)), RetryPolicy(first_wait=30)
    with_retries(attempts, policy, Halt())
    assert attempts.waits[0] < policy.first_wait / 10


def test_a_retry_after_longer_than_our_longest_wait_is_waited_out() -> None:
    attempts = Attempts(_fault(0.2))
    with_retries(attempts, RetryPolicy(first_wait=0.01, longest_wait=0.02), Halt())
    assert attempts.waits[0] >= 0.2


def test_a_retry_after_that_is_longer_than_we_wait_spoils_the_model_at_once() -> None:
    attempts = Attempts(_fault(3600.0))
    with pytest.raises(ProviderFault, match=r"busy\. It asks to wait 3600 s.*at most 600 s.*runs resume") as caught:
        with_retries(attempts, RetryPolicy(), Halt())
    assert (caught.value.reach, caught.value.status, len(attempts.at)) == ("model", 429, 1)


def test_no_wait_is_begun_that_would_end_after_the_last_moment() -> None:
    attempts = Attempts(_fault(0.3), _fault(0.3), _fault(0.3))
    with pytest.raises(ProviderFault) as caught:
        with_retries(attempts, RetryPolicy(give_up_after=0.5), Halt())
    assert (caught.value.reach, len(attempts.at)) == ("attempt", 2)


def test_no_attempt_is_made_after_the_last_moment() -> None:
    attempts = Attempts(*(_fault() for _ in range(99)))
    with pytest.raises(ProviderFault):
        with_retries(attempts, RetryPolicy(attempts=99, first_wait=0.05, longest_wait=0.05, give_up_after=0.12), Halt())
    assert 2 <= len(attempts.at) <= 4


def test_another_exception_is_not_tried_again() -> None:
    attempts = Attempts(KeyError("bug"))
    with pytest.raises(KeyError):
        with_retries(attempts, RetryPolicy(), Halt())
    assert len(attempts.at) == 1


@pytest.mark.parametrize("which", [0, 1])
def test_any_flag_halts(which: int) -> None:
    flags = threading.Event(), threading.Event()
    flags[which].set()
    with pytest.raises(Cancelled):
        Halt(None, *flags).sleep(60)


def test_a_slot_is_given_back_after_an_error() -> None:
    slots = threading.Semaphore(1)
    with pytest.raises(KeyError), Halt().holding(slots):
        raise KeyError
    assert slots.acquire(blocking=False)


def test_work_under_way_is_left_to_itself_when_a_flag_is_set() -> None:
    flag, go = threading.Event(), threading.Event()
    threading.Timer(0.05, flag.set).start()
    with pytest.raises(Cancelled):
        Halt(flag).during(lambda: go.wait(60))
    go.set()


def test_work_hands_out_its_result_or_its_error() -> None:
    attempts = Attempts(_fault())
    for halt in (Halt(), Halt(threading.Event())):
        assert halt.during(lambda: 7) == 7
    with pytest.raises(ProviderFault):
        Halt(threading.Event()).during(attempts)
