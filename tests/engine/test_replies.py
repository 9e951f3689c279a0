from __future__ import annotations

import pytest

from skynet.engine import ModelReply, Rejected, extract_proposal

CUT = r"cut at max_tokens = 40; raise max_tokens in the params of \[models\] reflection"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Say it.\n", "Say it."),
        ("Here:\n```\nSay it.\n```\nThat", "Say it."),
        ("~~~md\nSay\n```\nx\n```\n~~~", "Say\n```\nx\n```"),
    ],
)
def test_a_reply_proposes_what_stands_in_its_one_fence_or_the_whole_of_it(reply: str, text: str) -> None:
    assert extract_proposal(ModelReply(reply)) == text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("```\na\n```\n```\nb\n```", "holds 2 code fences"), ("```\na", "is never closed"), ("a\n~~~", "is never closed")],
)
def test_a_reply_whose_text_nobody_can_tell_is_rejected(reply: str, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        extract_proposal(ModelReply(reply))


@pytest.mark.parametrize("reply", ["```\nSay", "Say", "", "```\na\n```\nor\n```\nb"])
def test_a_reply_that_was_cut_is_rejected_for_that(reply: str) -> None:
    with pytest.raises(Rejected, match=CUT):
        extract_proposal(ModelReply(reply, finish_reason="length", max_tokens=40))


def test_a_reply_that_was_cut_behind_its_fence_is_whole() -> None:
    assert extract_proposal(ModelReply("```\nSay it.\n```\nI chose", finish_reason="length")) == "Say it."
