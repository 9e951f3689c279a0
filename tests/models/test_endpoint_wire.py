"""Bodies that programs send to the endpoint: what it cannot take is refused with the reason."""

from __future__ import annotations

import pytest

from skynet.models.endpoint_wire import MOST_LEVELS, BadRequest, parse_request


def body(content: str) -> bytes:
    return f'{{"model": "m", "messages": [{{"role": "user", "content": {content}}}]}}'.encode()


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [MOST_LEVELS, 980, 100_000])
def test_a_body_nested_too_deeply_to_be_sent_on_is_refused(levels: int) -> None:
    with pytest.raises(BadRequest, match=f"more than {MOST_LEVELS} levels"):
        parse_request(body(nested(levels)))


def test_a_body_nested_as_deeply_as_allowed_is_taken() -> None:
    around = 3  # the body, its messages, the message
    assert parse_request(body(nested(MOST_LEVELS - around))).messages[0]["role"] == "user"


def test_many_brackets_beside_each_other_are_taken() -> None:
    text = "[" * 10_000
    assert parse_request(body(f'"{text}"')).messages[0]["content"] == text
