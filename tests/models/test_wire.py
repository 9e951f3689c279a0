from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.models.backend import ModelRequest, ProviderFault, RawReply
from skynet.models.wire import error_words, read_reply, unwrap_choice

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["choices", "message", "content", "usage"]), inner),
    max_leaves=12,
)


def _read(payload: object) -> RawReply | ProviderFault:
    try:
        return read_reply(payload, ModelRequest("m", (), 1))
    except ProviderFault as fault:
        return fault


@given(JSON)
def test_any_json_is_a_reply_or_a_fault_of_the_attempt(payload: object) -> None:
    outcome = _read(payload)
    assert outcome.reach == "attempt" if isinstance(outcome, ProviderFault) else isinstance(outcome.text, str)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ('{"choice": "a"}', "a"),
        (' {"choice":"a", "why": 1}\n', "a"),
        ("a", "a"),
        ('{"choice": "c"}', '{"choice": "c"}'),
        ('{"choice": 1}', '{"choice": 1}'),
        ('["a"]', '["a"]'),
        ("I think a", "I think a"),
    ],
)
def test_only_a_wrapped_choice_is_unwrapped(text: str, choice: str) -> None:
    assert unwrap_choice(text, ["a", "b"]) == choice


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "3"}, {"prompt_tokens": -1}, {"prompt_tokens": True}, 3])
def test_a_token_count_that_is_none_is_none(usage: object) -> None:
    payload = {"choices": [{"message": {"content": "x"}}], "usage": usage}
    assert read_reply(payload, ModelRequest("m", (), 1)).prompt_tokens is None


@pytest.mark.parametrize(
    ("body", "words", "code"),
    [
        ('{"error": {"message": "m", "type": "t", "code": "c"}}', "m", "c"),
        ('{"error": {"message": "m", "type": "insufficient_quota", "code": "x"}}', "m", "insufficient_quota"),
        ('{"error": {"message": {"a": 1}}}', '{"a": 1}', None),
        ('{"error": "m"}', "m", None),
        ('{"detail": [{"loc": 1}]}', '[{"loc": 1}]', None),
        ("[1]", "[1]", None),
        ("  two\n lines ", "two lines", None),
        ("", "", None),
    ],
)
def test_the_words_of_an_error_are_found_in_every_shape(body: str, words: str, code: str | None) -> None:
    assert error_words(body) == (words, code)


@given(st.text() | JSON.map(json.dumps))
def test_no_error_body_breaks_the_reading(body: str) -> None:
    assert isinstance(error_words(body)[0], str)
