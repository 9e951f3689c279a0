"""Provider failures: which may be tried again, and the error that the user reads when none helped."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from skynet.errors import SkynetError
from skynet.models.backend import ProviderFault

TRANSIENT = frozenset({408, 409, 429})
OF_ONE_REQUEST = frozenset({400, 413, 422})  # it was too long or filtered, say; another one may pass
NO_MONEY = "insufficient_quota"  # OpenAI sends it with 429, though waiting does not help


class ProviderError(SkynetError):
    """A model call failed for good: at once when `permanent`, else after `attempts` attempts.

    `status` is the last HTTP status, None where no reply came; `words` are the provider's, without keys.
    """

    def __init__(self, message: str, *, model: str, permanent: bool, status: int | None, attempts: int, words: str):
        super().__init__(message)
        self.model = model
        self.permanent = permanent
        self.status = status
        self.attempts = attempts
        self.words = words

    @property
    def hopeless(self) -> bool:
        """Whether every further request would be refused too: a wrong key, no credit, no such model."""
        return self.permanent and self.status not in OF_ONE_REQUEST


def provider_error(fault: ProviderFault, *, role: str, model: str, attempts: int, advice: str) -> ProviderError:
    """Return the error for the last fault of a call; its words must be free of keys already."""
    status = "" if fault.status is None else f"status {fault.status}: "
    if fault.transient:
        head = f"The {role} model {model!r} failed {attempts} times; the last time: "
    else:
        head = f"The {role} model {model!r} refused the call: "
    message = f"{head}{status}{fault.words}{advice}"
    return ProviderError(
        message, model=model, permanent=not fault.transient, status=fault.status, attempts=attempts, words=fault.words
    )


def refusal(status: int, words: str, code: str | None, headers: Mapping[str, str]) -> ProviderFault:
    """Return the fault for an HTTP status other than 200; 408, 409, 429 and 5xx are transient."""
    return ProviderFault(
        words or "(the reply has no body)",
        transient=(status in TRANSIENT or status >= 500) and code != NO_MONEY,
        status=status,
        retry_after=retry_after(headers, time.time()),
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that `retry-after-ms` or `retry-after` (seconds or an HTTP date) names, or None."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return seconds
    try:
        return max(parsedate_to_datetime(text).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
