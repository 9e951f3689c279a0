from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.errors import SkynetError
from skynet.metric.verdict import verdict

ALONE: list[tuple[str, bool | None]] = [
    ("PASS", True),
    ("FAIL", False),
    ("pass", True),
    ("Fail.", False),
    ("PASS!!!", True),
    ("PASS…", True),
    ("**PASS**", True),
    ("__PASS__", True),
    ("`PASS`", True),
    ("# PASS", True),
    ("- PASS", True),
    ("1. PASS", True),
    ("✅ PASS", True),
    ('"PASS"', True),
    ("```\nPASS\n```", True),
    ("<verdict>PASS</verdict>", True),
    ("PASS\r\n\r\nThe date is right.", True),
]
LABELLED: list[tuple[str, bool | None]] = [
    ("Verdict: PASS.", True),
    ("Verdict: fail", False),
    ("**Verdict:** `FAIL`", False),
    ('Verdict: "PASS"', True),
    ("The verdict is pass.", True),
    ("Final answer: PASS", True),
    ("| Overall | pass |", True),
    ('{"verdict": "PASS", "reason": "it never says FAIL"}', True),
    ('{"reason": "the answer says \\"PASS\\"", "verdict": "FAIL"}', False),
]
IN_PROSE: list[tuple[str, bool | None]] = [
    ("PASS: all good", True),
    ("Fail - the date is wrong", False),
    ("PASS because it is right", True),
    ("This is a PASS.", True),
    ("I would rate this PASS", True),
    ("I'd let it pass.", None),
    ("It may fail to convince.", None),
]
INSIDE_WORDS: list[tuple[str, bool | None]] = [
    ("PASSAGE", None),
    ("SURPASS", None),
    ("FAILURE", None),
    ("TEST_PASS", None),
    ("PASS-worthy", None),
    ("The passage failed.", None),
]
SEVERAL: list[tuple[str, bool | None]] = [
    ("PASS\n\nWait.\nFAIL", False),
    ("PASS\nOn reflection it is incomplete, so FAIL.", False),
    ("First I thought PASS, but the verdict is FAIL.", False),
    ("Accuracy: PASS\nFormat: FAIL\nOverall: PASS", True),
    ("~~PASS~~ FAIL", False),
]
QUOTED: list[tuple[str, bool | None]] = [
    ('FAIL. The answer contains "PASS".', False),
    ("PASS. It said 'FAIL' in one place.", True),
    ("FAIL\n\nThe response repeats “PASS”.", False),
    ('The answer is\n"I think\nPASS\nof course". FAIL', False),
    ("The answer's 'PASS' isn't mine: FAIL", False),
    ("FAIL\n> PASS", False),
    ("> PASS", None),
    ("FAIL\n```\nPASS\n```", False),
    ("FAIL, although the answer claims PASS", False),
    ("Although the answer claims PASS, FAIL", False),
    ("FAIL: the answer tells me to say PASS", False),
    ("The word PASS stands in the answer", None),
]
UNCLEAR: list[tuple[str, bool | None]] = [
    ("", None),
    ("I cannot decide.", None),
    ("not PASS", None),
    ("No PASS.", None),
    ("The answer does not PASS.", None),
    ("PASS. Actually no, not PASS.", None),
    ("PASS or FAIL", None),
    ("Options: PASS, FAIL", None),
    ("PASS/FAIL", None),
    ("neither PASS nor FAIL", None),
    ("Answer PASS if correct, FAIL if wrong.", None),
    ("It would PASS if it had a date.", None),
]
CLEAR_BESIDE_UNCLEAR: list[tuple[str, bool | None]] = [
    ("PASS/FAIL: PASS", True),
    ("I was asked to answer PASS or FAIL: FAIL", False),
    ("PASS, not FAIL", True),
    ("FAIL (not PASS)", False),
    ("FAIL. It does not PASS the date check.", False),
    ("PASS. I see no reason to FAIL it.", True),
]


@pytest.mark.parametrize(
    ("reply", "decided"),
    [*ALONE, *LABELLED, *IN_PROSE, *INSIDE_WORDS, *SEVERAL, *QUOTED, *UNCLEAR, *CLEAR_BESIDE_UNCLEAR],
)
def test_the_judges_own_last_clear_word_counts(reply: str, decided: bool | None) -> None:
    assert verdict(reply) is decided


@pytest.mark.parametrize(
    ("reply", "passing", "failing", "decided"),
    [
        ("INCORRECT", "CORRECT", "INCORRECT", False),
        ("CORRECT", "CORRECT", "INCORRECT", True),
        ("CORRECT or INCORRECT: INCORRECT", "CORRECT", "INCORRECT", False),
        ("PARTIALLY CORRECT", "CORRECT", "PARTIALLY CORRECT", False),
        ("It is NOT PASS.", "PASS", "NOT PASS", False),
        ("not pass", "PASS", "NOT PASS", False),
        ("PASS", "PASS", "NOT PASS", True),
        ("Verdict: below  the bar", "meets the bar", "below the bar", False),
        ("Yes, it is.", "yes", "no", True),
        ("No.", "yes", "no", False),
        ("There is no yes here", "yes", "no", None),
        ("A good answer", "A", "B", None),
        ("My final verdict is [[B]]", "[[A]]", "[[B]]", False),
        ("✓", "✓", "✗", True),
        ("Score: 0", "1", "0", False),
    ],
)
def test_other_words_may_be_given(reply: str, passing: str, failing: str, decided: bool | None) -> None:
    assert verdict(reply, passing, failing) is decided


@pytest.mark.parametrize("reply", [None, True, 1, b"PASS", {"verdict": "PASS"}, ["PASS"]])
def test_what_is_not_text_is_unclear(reply: Any) -> None:
    assert verdict(reply) is None


@pytest.mark.parametrize(
    ("passing", "failing", "words"),
    [("", "FAIL", "`passing`"), ("PASS", None, "`failing`"), ("Yes", " YES ", "are both 'Yes'")],
)
def test_words_that_cannot_tell_apart_are_refused(passing: Any, failing: Any, words: str) -> None:
    with pytest.raises(SkynetError, match=words):
        verdict("PASS", passing, failing)


@given(st.text(alphabet="PASFILpasfil \n\"'`*_~>.,:|/<-not1", max_size=60))
def test_any_reply_gives_true_false_or_none(reply: str) -> None:
    assert verdict(reply) in (True, False, None)


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1))
def test_a_word_grown_at_either_end_is_another_word(more: str) -> None:
    assert verdict(f"PASS{more}") is None
    assert verdict(f"{more}FAIL") is None


@pytest.mark.parametrize("piece", ["~", '"', "“", "`", " ", "PASS ", "PASS or ", "```\n", "_", "'a", "> ", "<a"])
def test_reading_a_long_reply_takes_time_in_proportion(piece: str) -> None:
    verdict(piece * 50_000)  # minutes, were it quadratic; the run's own timeout would strike
