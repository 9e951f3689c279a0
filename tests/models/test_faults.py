from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.models.backend import ProviderFault, Reach
from skynet.models.faults import joined, provider_error, reach_of, retry_after

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("status", "code", "reach"),
    [
        *((status, None, "attempt") for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        *((status, None, "request") for status in (400, 411, 413, 414, 415, 418, 422, 451)),
        *((status, None, "model") for status in (301, 307, 401, 402, 403, 404, 405, 410)),
        (429, "insufficient_quota", "model"),
        (429, "rate_limit_exceeded", "attempt"),
    ],
)
def test_what_a_refusal_spoils(status: int, code: str | None, reach: Reach) -> None:
    assert reach_of(status, code) == reach


@pytest.mark.parametrize(
    ("reach", "status", "permanent", "hopeless", "head"),
    [
        ("attempt", 503, False, False, "failed 3 times; the last time: status 503: so it says"),
        ("attempt", None, False, False, "failed 3 times; the last time: so it says"),
        ("request", 400, True, False, "refused the call: status 400: so it says"),
        ("request", None, True, False, "failed on this request: so it says"),
        ("model", 401, True, True, "refused the call: status 401: so it says"),
        ("model", None, True, True, "cannot be used: so it says"),
    ],
)
def test_an_error_says_whether_it_ends_the_run(
    reach: Reach, status: int | None, permanent: bool, hopeless: bool, head: str
) -> None:
    fault = ProviderFault("so it says", reach, status=status)
    error = provider_error(fault, role="task", model="m", attempts=3, advice="")
    assert (error.permanent, error.hopeless, str(error)) == (permanent, hopeless, f"The task model 'm' {head}")


@pytest.mark.parametrize(
    ("words", "advice", "whole"),
    [
        ("no key", "Name one.", "no key. Name one."),
        ("No key.", "Name one.", "No key. Name one."),
        ("no key", "", "no key"),
    ],
)
def test_words_and_advice_are_sentences_of_their_own(words: str, advice: str, whole: str) -> None:
    assert joined(words, advice) == whole


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Tue, 14 Nov 0000 99:13:50 GMT"}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(st.text())
def test_no_header_breaks_the_wait(text: str) -> None:
    seconds = retry_after({"retry-after": text}, NOW)
    assert seconds is None or seconds >= 0
