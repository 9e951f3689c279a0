"""Provider failures: which may be tried again, and the error that the user reads when none helped."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from skynet.errors import SkynetError
from skynet.models.backend import ProviderFault, Reach

OF_AN_ATTEMPT = frozenset({408, 409, 429})  # and 500 to 599
OF_THE_MODEL = frozenset({401, 402, 403, 404, 405, 410})  # key, credit, rights, name, address; and redirects
NO_MONEY = "insufficient_quota"  # OpenAI sends it with 429, though waiting does not help


class ProviderError(SkynetError):
    """A model call failed for good: at once when `permanent`, else after `attempts` attempts.

    `hopeless`: every further request would be refused too, so that the run ends; else its case alone fails. `status`
    is the last HTTP status, None where no reply came; `words` are the provider's, without keys.
    """

    def __init__(
        self,
        message: str,
        *,
        model: str,
        permanent: bool,
        status: int | None,
        attempts: int,
        words: str,
        hopeless: bool = False,
    ) -> None:
        super().__init__(message)
        self.model = model
        self.permanent = permanent
        self.status = status
        self.attempts = attempts
        self.words = words
        self.hopeless = hopeless


def provider_error(fault: ProviderFault, *, role: str, model: str, attempts: int, advice: str) -> ProviderError:
    """Return the error for the last fault of a call; its words must be free of keys already."""
    if fault.reach == "attempt":
        what = f"failed {attempts} times; the last time"
    elif fault.status is not None:
        what = "refused the call"
    else:  # it was not even asked, or did not answer
        what = "cannot be used" if fault.reach == "model" else "failed on this request"
    status = "" if fault.status is None else f"status {fault.status}: "
    return ProviderError(
        f"The {role} model {model!r} {what}: {status}{joined(fault.words, advice)}",
        model=model,
        permanent=fault.reach != "attempt",
        status=fault.status,
        attempts=attempts,
        words=fault.words,
        hopeless=fault.reach == "model",
    )


def joined(words: str, advice: str) -> str:
    """Return the provider's words and our advice as sentences of their own."""
    if not advice:
        return words
    return f"{words}{'' if words.endswith(('.', '!', '?', ':')) else '.'} {advice}"


def refusal(status: int, words: str, code: str | None, headers: Mapping[str, str]) -> ProviderFault:
    """Return the fault for an HTTP status other than 200."""
    return ProviderFault(
        words or "(the reply has no body)",
        reach_of(status, code),
        status=status,
        retry_after=retry_after(headers, time.time()),
    )


def reach_of(status: int, code: str | None) -> Reach:
    """Return what a refusal spoils. One that is in no list is the request's: it was too long or filtered, say."""
    if code == NO_MONEY or status in OF_THE_MODEL or 300 <= status < 400:
        return "model"
    return "attempt" if status in OF_AN_ATTEMPT or status >= 500 else "request"


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
