"""Trying a model call again: how often, how long to wait, and how to stop waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from skynet.errors import SkynetError
from skynet.models.backend import ProviderFault, RawReply
from skynet.models.faults import joined
from skynet.models.helpers import HELPERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tenacity import RetryCallState

SLICE = 0.02  # seconds between two looks at the cancel flags
LOOK = 0.25  # the same while a request is under way, of which there may be many

T = TypeVar("T")


class Cancelled(SkynetError):
    """The call was given up because its caller, or the closing gateway, asked for it.

    `sent`: a request was under way, which the provider may answer and bill all the same.
    """

    sent = False


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Waits double from `first_wait` to `longest_wait` seconds; a provider's Retry-After is waited out instead.

    One that asks for more than `longest_asked` seconds has a limit by the hour or day: no request is made before, so
    the run ends. No new attempt is made after `attempts`, or later than `give_up_after` seconds after the first.
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 60.0
    longest_asked: float = 600.0
    give_up_after: float = 600.0

    def wait(self, state: RetryCallState) -> float:
        """Return the seconds to wait after the failed attempt in `state`."""
        from tenacity import wait_exponential_jitter

        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, ProviderFault) and error.retry_after is not None:
            return max(error.retry_after, 0.0)
        jitter = self.first_wait / 2
        return wait_exponential_jitter(multiplier=self.first_wait, max=self.longest_wait, jitter=jitter)(state)

    def judged(self, fault: ProviderFault) -> ProviderFault:
        """Return the fault, as one of the model where the provider asks for a longer wait than we have."""
        if fault.reach != "attempt" or fault.retry_after is None or fault.retry_after <= self.longest_asked:
            return fault
        words = (
            f"It asks to wait {fault.retry_after:.0f} s before the next request; Skynet waits at most "
            f"{self.longest_asked:g} s. What is paid is kept: try again then, a run with `skynet runs resume`."
        )
        return ProviderFault(joined(fault.words, words), "model", status=fault.status)


class WaitClock(Protocol):
    """A caller's clock of its own call, on which our waits and failed attempts must not count."""

    def wait(self) -> AbstractContextManager[None]:
        """Around a time that does not count."""
        ...

    def leave_out(self, seconds: float) -> None:
        """Take off time that turned out not to count."""
        ...


class Halt:
    """Several cancel flags as one. Waiting on it ends within a slice of a flag being set, and stops `clock`."""

    def __init__(self, *flags: threading.Event | None, clock: WaitClock | None = None) -> None:
        self._flags = tuple(flag for flag in flags if flag is not None)
        self._waiting = nullcontext if clock is None else clock.wait

    def check(self) -> None:
        """Raise Cancelled when a flag is set."""
        if any(flag.is_set() for flag in self._flags):
            raise Cancelled("The model call was cancelled before it was answered.")

    def sleep(self, seconds: float) -> None:
        """Sleep, or raise Cancelled."""
        end = time.monotonic() + seconds
        self.check()
        with self._waiting():
            while (left := end - time.monotonic()) > 0:
                time.sleep(min(left, SLICE))
                self.check()

    def during(self, work: Callable[[], T]) -> T:
        """Do `work` on a thread of its own; a flag set meanwhile raises Cancelled here and leaves the work to itself.

        A request that waits for a silent server cannot be taken back, so a run that stops must not wait for it.
        """
        if not self._flags:
            return work()
        result: Future[T] = Future()
        done = threading.Lock()  # much cheaper to wait for than the future
        done.acquire()

        def serve() -> None:
            try:
                result.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised in the caller, if it still waits
                result.set_exception(error)
            done.release()

        HELPERS.give(serve)
        while not done.acquire(timeout=LOOK):
            try:
                self.check()
            except Cancelled as given_up:
                given_up.sent = True
                raise
        return result.result()

    @contextmanager
    def holding(self, slots: threading.Semaphore) -> Iterator[None]:
        """Hold one of the slots; raise Cancelled while waiting for it."""
        self.check()
        if not slots.acquire(blocking=False):
            with self._waiting():
                while not slots.acquire(timeout=SLICE):
                    self.check()
        try:
            self.check()  # a flag may have been set together with the slot
            yield
        finally:
            slots.release()


def with_retries(attempt: Callable[[], RawReply], policy: RetryPolicy, halt: Halt) -> RawReply:
    """Call `attempt` until it answers. Raises the last ProviderFault, or Cancelled."""
    began = time.monotonic()

    def judged() -> RawReply:
        try:
            return attempt()
        except ProviderFault as fault:
            found = policy.judged(fault)
        raise found

    try:
        return judged()
    except ProviderFault as fault:
        if fault.reach != "attempt":
            raise
        first = fault
    return _again(judged, first, policy, halt, policy.give_up_after - (time.monotonic() - began))


def _again(
    attempt: Callable[[], RawReply], first: ProviderFault, policy: RetryPolicy, halt: Halt, seconds: float
) -> RawReply:
    """Go on after a first attempt that met `first`; only then are the retries worth their cost."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, stop_before_delay

    met = [first]

    def next_attempt() -> RawReply:
        if met:
            raise met.pop()
        return attempt()

    retrying = Retrying(
        stop=stop_after_attempt(policy.attempts) | stop_before_delay(seconds),
        wait=policy.wait,
        retry=retry_if_exception(lambda error: isinstance(error, ProviderFault) and error.reach == "attempt"),
        sleep=halt.sleep,
        reraise=True,
    )
    return retrying(next_attempt)
